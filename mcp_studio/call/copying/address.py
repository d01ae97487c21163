"""How a server is reached, without its secrets: each is written as a reference to an environment variable."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from mcp_studio.call.copying.hiding import holds
from mcp_studio.call.copying.sh import printed, quote
from mcp_studio.config.expand import REFERENCE, folder_of, secret_places
from mcp_studio.config.model import Kind, ServerConfig
from mcp_studio.safetext import LINES_LIVE, safe

_SCHEME = re.compile(r"(?i)(bearer|basic|token) +")
_FLAG = re.compile(r"--?([A-Za-z][\w-]*)(?:=|\Z)")
_UNSAFE = re.compile(r"[^A-Za-z0-9_]+")
_TAME = re.compile(r"[\w ./:@%+=,;?&*-]*", re.ASCII)
"""What means itself between double quotes."""
_IN_DOUBLE = re.compile(r'([\\"$`}])')
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
"""Names that a shell takes for variables."""


class Variable(NamedTuple):
    """Stands for the value of an environment variable."""

    name: str
    default: str | None = None
    keyring: str = ""
    """The name under which the keyring has what belongs into it."""
    written: str = ""
    """How an entry of ours writes it."""


Words = tuple[str | Variable, ...]
"""A text in parts."""


class Address(NamedTuple):
    """A server's entry in words that may be shown."""

    kind: Kind
    command: tuple[Words, ...]
    """The program and its arguments."""
    env: Mapping[str, Words]
    cwd: str
    url: Words
    headers: Mapping[str, Words]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The environment variables that somebody has to set."""
        texts = (*self.command, *self.env.values(), self.url, *self.headers.values())
        parts = [part for text in texts for part in text if isinstance(part, Variable)]
        # One that has a default in one place and none in another has to be set.
        return tuple({one.name: one for one in sorted(parts, key=lambda one: one.default is None)}.values())

    @property
    def remarks(self) -> tuple[str, ...]:
        """What has to be set, and what to: a sentence for each variable."""
        return tuple(
            f"{one.name} has to be set: {where}."
            for one in self.variables
            if one.default is None
            for where in [
                f"the keyring has it as {safe(one.keyring, 80)}" if one.keyring else "what belongs there is secret"
            ]
        )


def address_of(server: ServerConfig, kind: Kind) -> Address:
    """How to reach a server, as it is in force, but nothing of it that is secret."""
    written = server.written or server
    told = _Told(server)
    env = {name: told.text(value, written.env.get(name, value), name) for name, value in server.env.items()}
    env |= {name: (Variable(name, ""),) for name in server.inherit_env if name not in env and _NAME.match(name)}
    headers = {name: told.text(value, written.headers.get(name, value), name) for name, value in server.headers.items()}
    return Address(
        kind,
        (told.text(server.command, written.command, "COMMAND"), *told.arguments(server.args, written.args)),
        env,
        server.cwd,
        told.text(server.url, written.url, "URL_SECRET"),
        headers,
    )


class _Told:
    """Tells texts of one entry."""

    def __init__(self, server: ServerConfig) -> None:
        known = {*server.secrets, *secret_places(server)} - {""}
        self._secrets = sorted(known, key=len, reverse=True)
        self._folder = folder_of(server.source.file) if server.source.file else ""

    def arguments(self, values: Iterable[str], written: tuple[str, ...]) -> list[Words]:
        """The arguments of a command: what follows `--token` is named after it."""
        found: list[Words] = []
        name = ""
        for number, value in enumerate(values):
            flag = _FLAG.match(value)
            source = written[number] if number < len(written) else value
            found.append(self.text(value, source, flag[1] if flag else name or f"ARGUMENT_{number + 1}"))
            name = flag[1] if flag and "=" not in value else ""
        return found

    def text(self, value: str, written: str, name: str) -> Words:
        """One text: as it is in force where nothing in it is secret, else with references."""
        if not holds(value, self._secrets):
            return (value,) if value else ()
        parts: list[str | Variable] = []
        at = 0
        for found in REFERENCE.finditer(written):
            parts += [*self._literal(written[at : found.start()], name), self._reference(found)]
            at = found.end()
        return tuple(part for part in (*parts, *self._literal(written[at:], name)) if part)

    def _reference(self, found: re.Match[str]) -> str | Variable:
        literal, scheme, name, default = found.groups()
        if literal:
            return "${"
        if scheme == "keyring":
            return Variable(_variable(name), None, name, found[0])
        if name == "workspaceFolder":
            return self._folder
        if scheme not in (None, "env") or not name.isidentifier() or not name.isascii():
            return os.sep if name == "pathSeparator" else found[0]
        return Variable("HOME" if name == "userHome" else name, default, "", found[0])

    def _literal(self, text: str, name: str) -> list[str | Variable]:
        """Text between references; secrets that were written out become variables named after their place."""
        if (scheme := _SCHEME.match(text)) and text in self._secrets:
            return [scheme[0], _own(name)]
        for secret in self._secrets:
            if holds(text, (secret,)):
                before, _, after = text.partition(secret)
                return [*self._literal(before, name), _own(name), *self._literal(after, name)]
        return [text]


def _variable(name: str) -> str:
    plain = _UNSAFE.sub("_", name).strip("_").upper() or "SECRET"
    return f"_{plain}" if plain[0].isdigit() else plain


def _own(name: str) -> Variable:
    made = _variable(name)
    return Variable(made, None, "", f"${{{made}}}")


def in_shell(words: Words) -> str:
    """The text as one word of a shell."""
    parts = _joined(words)
    if len(parts) > 1 and all(isinstance(part, Variable) or _TAME.fullmatch(part) for part in parts):
        return '"' + "".join(part if isinstance(part, str) else _dollar(part, braces=True) for part in parts) + '"'
    return "".join(quote(part) if isinstance(part, str) else f'"{_dollar(part)}"' for part in parts) or "''"


def assigned(env: Mapping[str, Words]) -> list[str]:
    """Words of a shell: `env`, and what is set; names are no less foreign than values."""
    pairs = [f"{name if _NAME.match(name) else quote(name)}={in_shell(words)}" for name, words in env.items()]
    return ["env", *["--"] * any(name.startswith("-") for name in env), *pairs]


def _joined(words: Words) -> list[str | Variable]:
    found: list[str | Variable] = []
    for part in words:
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += part
        else:
            found.append(part)
    return found


def _dollar(variable: Variable, braces: bool = False) -> str:
    """A reference inside double quotes."""
    if variable.default is None:
        return f"${{{variable.name}}}" if braces else f"${variable.name}"
    default = _IN_DOUBLE.sub(r"\\\1", variable.default)
    default = LINES_LIVE.sub(lambda found: printed(found[0]), default)
    return f"${{{variable.name}{':-' if default else '-'}{default}}}"


def in_entry(words: Words) -> str:
    """The text as an entry of ours, or an option that replaces references, has it."""
    return "".join(part.replace("${", "$${") if isinstance(part, str) else part.written for part in words)
