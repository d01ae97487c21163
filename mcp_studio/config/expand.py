"""Replacing `${…}` in a server's entry, and finding out which of its values are secret.

    ${NAME}            the environment variable; an error where it is not set
    ${NAME:-default}   the same, with a default (also an empty one)
    ${env:NAME}        the same as ${NAME}, as other clients write it
    ${keyring:NAME}    the secret kept under NAME in the operating system's keyring, or where `[secrets] store` says
    ${workspaceFolder} ${workspaceFolderBasename} ${userHome} ${pathSeparator} ${/}   as other clients write them
    ${client:TEXT}     what only another client can fill in, such as a command that it runs: kept, and refused
    $${                a literal ${

Anything else in `${…}` stays as it is: it may be meant for a shell.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from mcp_studio.config.model import Root, ServerConfig
from mcp_studio.config.secrets import map_texts, secret_values, texts
from mcp_studio.config.servers import FILED, file_of
from mcp_studio.config.table import lone_surrogate, nearest
from mcp_studio.errors import ConfigError
from mcp_studio.paths import home
from mcp_studio.redact import is_secret_name
from mcp_studio.vault.keyring import lookup

Environ = Mapping[str, str]
Lookup = Callable[[str], str]
"""Gives a secret by its name; raises ConfigError."""

REFERENCE = re.compile(r"\$(\$\{)|\$\{(?:([A-Za-z]+):(?![-=?+]))?((?<=client:)[^{}]*|[^{}:$]*)(?::-([^{}]*))?\}")
_HARMLESS = "HOME USER LOGNAME PATH PWD SHELL TERM LANG TZ TMPDIR TEMP TMP HOSTNAME EDITOR USERPROFILE".split()


class Expander:
    """Replaces references in the strings of one server and remembers what they stood for.

    Args:
        folder: what `${workspaceFolder}` stands for, and what a relative `cwd` is relative to.
    """

    def __init__(self, environ: Environ, keyring: Lookup, folder: str = "") -> None:
        self._environ = environ
        self._keyring = keyring
        self._folder = folder
        self.secrets: dict[str, None] = {}

    def text(self, text: str) -> str:
        """The text with its references replaced.

        Raises:
            ConfigError: a variable is not set, a secret is not there, or a reference is mistyped.
        """
        return REFERENCE.sub(self._value, text) if "$" in text else text

    def _value(self, found: re.Match[str]) -> str:
        literal, scheme, name, default = found.groups()
        if literal:
            return "${"
        if scheme == "keyring":
            self.secrets[secret := self._keyring(name)] = None
            return secret
        if scheme in ("input", "client"):
            key = name if scheme == "input" else "NAME"
            hint = f"Write the value itself, ${{keyring:{key}}} or an environment variable instead."
            raise ConfigError(f"`{found[0]}` stands for a value that only its own client can give.", hint=hint)
        if scheme not in (None, "env"):
            if hint := nearest(scheme, ("env", "keyring", "input")):
                raise ConfigError(f"`{found[0]}`: `{scheme}` is not known.", hint=hint)
            return found[0]
        return self._variable(found[0], name, default)

    def _variable(self, whole: str, name: str, default: str | None) -> str:
        known = {"workspaceFolder": self._folder, "workspaceFolderBasename": os.path.basename(self._folder)}
        known |= {"userHome": str(home(self._environ)), "pathSeparator": os.sep, "/": os.sep}
        if name in known:
            return known[name]
        if not (name.isascii() and name.isidentifier()):
            return whole
        value = self._environ.get(name) or (self._environ.get(name) if default is None else default)
        if value is None:
            hint = nearest(name, (other for other in self._environ if len(other) > 3))
            raise ConfigError(f"the environment variable {name} is not set.", hint=hint)
        if lone_surrogate(value):
            raise ConfigError(f"the environment variable {name} is not UTF-8 text.")
        # Hiding these would only hide paths and flags from a person who debugs.
        plain = name in _HARMLESS or name.startswith("XDG_") or os.path.isabs(value) or value.isdigit()
        if value and value != default and (is_secret_name(name) or not plain):
            self.secrets[value] = None
        return value


def expanded(server: ServerConfig, environ: Environ, keyring: Lookup, folder: str = "") -> ServerConfig:
    """The entry with all references replaced, its secrets named, and itself kept as `written`.

    Raises:
        ConfigError: names the key inside the entry; `${NAME}` is not set, or a secret is not in the keyring.
    """
    expander = Expander(environ, keyring, folder)

    def value(key: str, text: str) -> str:
        try:
            text = expander.text(text)
        except ConfigError as problem:
            raise ConfigError(problem.message, key=key, hint=problem.hint) from None
        if key.startswith("roots["):
            return _rooted(text, folder, environ)
        if key in ("command", "headers_command[0]"):
            return _user(text, environ)
        if key in _PATHS or key.startswith("sandbox.paths[") or (key in _MAYBE_PATHS and file_of(text)):
            return located(_user(text, environ), folder)
        return text

    done = replace(map_texts(server, value), written=server)
    return replace(done, secrets=tuple(dict.fromkeys((*expander.secrets, *secret_values(done)))))


_PATHS = ("cwd", "tls.ca", "tls.cert", "tls.key")
_MAYBE_PATHS = tuple(f"auth.{key}" for key in FILED)


def _user(path: str, environ: Environ) -> str:
    return str(home(environ)) + path[1:] if path == "~" or path.startswith(("~/", "~" + os.sep)) else path


def located(path: str, folder: str) -> str:
    """A path that is relative to a folder, where there is one."""
    return os.path.normpath(os.path.join(folder, path)) if folder else path


def _rooted(text: str, folder: str, environ: Environ) -> str:
    """Specification, client/roots: a root is a `file://` URI; whatever has a scheme already stays as it is."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", text):
        return text
    return Path(located(_user(text, environ), folder or os.getcwd())).absolute().as_uri()


def effective_roots(roots: tuple[Root, ...], server: ServerConfig) -> tuple[Root, ...]:
    """Roots of an existing server as they can be sent (errors as `expanded`)."""
    return effective(ServerConfig(server.name, roots=roots, source=server.source)).roots


def effective(server: ServerConfig, environ: Environ = os.environ, keyring: Lookup = lookup) -> ServerConfig:
    """The entry as it can be started, made anew from how it is written; for entries that were edited or pasted.

    Raises:
        ConfigError: as `expanded`.
    """
    return expanded(server.written or server, environ, keyring, folder_of(server.source.file))


def folder_of(file: str) -> str:
    """What `${workspaceFolder}` means in a file: its folder, or the one around `.vscode`, `.cursor` and the like."""
    parent = Path(file).absolute().parent
    return "" if not file else str(parent.parent if parent.name.startswith(".") else parent)


def uses(server: ServerConfig) -> Iterator[tuple[str, str]]:
    """Which kept secrets an entry refers to: their names, and the keys where."""
    for key, text in texts(server.written or server):
        yield from ((name, key) for _, scheme, name, _ in REFERENCE.findall(text) if scheme == "keyring")
