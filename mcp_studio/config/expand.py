"""Replacing `${…}` in a server's entry, and finding out which of its values are secret.

    ${NAME}            the environment variable; an error where it is not set
    ${NAME:-default}   the same, with a default (also an empty one)
    ${env:NAME}        the same as ${NAME}, as other clients write it
    ${keyring:NAME}    the secret kept under NAME in the operating system's keyring, or where `[secrets] store` says
    ${workspaceFolder} ${userHome} ${pathSeparator}   as other clients write them
    $${                a literal ${

Anything else in `${…}` stays as it is: it may be meant for a shell.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from mcp_studio.config import servers as certificates
from mcp_studio.config import servers as signing
from mcp_studio.config.model import Auth, Root, ServerConfig, Tls
from mcp_studio.config.table import lone_surrogate, nearest
from mcp_studio.errors import ConfigError
from mcp_studio.jsontext import Json
from mcp_studio.paths import home
from mcp_studio.redact import is_secret_name
from mcp_studio.vault.keyring import lookup

Lookup = Callable[[str], str]
"""Gives a secret by its name; raises ConfigError."""

REFERENCE = re.compile(r"\$(\$\{)|\$\{(?:([A-Za-z]+):(?![-=?+]))?([^{}:$]*)(?::-([^{}]*))?\}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_SCHEMES = ("env", "keyring", "input")
_HARMLESS = frozenset(
    "HOME USER LOGNAME PATH PWD SHELL TERM LANG TZ TMPDIR TEMP TMP HOSTNAME EDITOR USERPROFILE".split()
)
_FLAG = re.compile(r"--?([A-Za-z][\w-]*)(?:=(.*))?\Z", re.DOTALL)
_PASSWORD = re.compile(r"://[^/?#@:\s]*:([^/?#@\s]+)@")
_IN_URL = re.compile(r"://([^/?#@\s]+)@|[?&]([^=&#]+)=([^&#]+)")


class Expander:
    """Replaces references in the strings of one server and remembers what they stood for.

    Args:
        folder: what `${workspaceFolder}` stands for, and what a relative `cwd` is relative to.
    """

    def __init__(self, environ: Mapping[str, str], keyring: Lookup, folder: str = "") -> None:
        self._environ = environ
        self._keyring = keyring
        self._folder = folder
        self.secrets: dict[str, None] = {}

    def text(self, text: str, key: str) -> str:
        """The text with its references replaced.

        Raises:
            ConfigError: names `key`: a variable is not set, a secret is not there, or a reference is mistyped.
        """
        return REFERENCE.sub(lambda found: self._value(found, key), text) if "$" in text else text

    def _value(self, found: re.Match[str], key: str) -> str:
        literal, scheme, name, default = found.groups()
        if literal:
            return "${"
        if scheme == "keyring":
            return self._secret(name, key)
        if scheme == "input":
            raise ConfigError(
                f"`{found[0]}` asks for a value that only its own client can ask for.",
                key=key,
                hint=f"Use ${{keyring:{name}}} or an environment variable instead.",
            )
        if scheme not in (None, "env"):
            if hint := nearest(scheme, _SCHEMES):
                raise ConfigError(f"`{found[0]}`: `{scheme}` is not known.", key=key, hint=hint)
            return found[0]
        return self._variable(found[0], name, default, key)

    def _secret(self, name: str, key: str) -> str:
        try:
            secret = self._keyring(name)
        except ConfigError as problem:
            raise ConfigError(problem.message, key=key, hint=problem.hint) from None
        self.secrets[secret] = None
        return secret

    def _variable(self, whole: str, name: str, default: str | None, key: str) -> str:
        known = {"workspaceFolder": self._folder, "userHome": str(home(self._environ)), "pathSeparator": os.sep}
        if name in known:
            return known[name]
        if not _VARIABLE.match(name):
            return whole
        value = self._environ.get(name) or default
        if value is None:
            if name in self._environ:
                return ""
            hint = nearest(name, (other for other in self._environ if len(other) > 3))
            raise ConfigError(f"the environment variable {name} is not set.", key=key, hint=hint)
        if lone_surrogate(value):
            raise ConfigError(f"the environment variable {name} is not UTF-8 text.", key=key)
        if value != default and not _harmless(name, value):
            self.secrets[value] = None
        return value


def _harmless(name: str, value: str) -> bool:
    """Whether hiding this value would only hide paths and flags from a person who debugs."""
    if is_secret_name(name):
        return False
    return name in _HARMLESS or name.startswith("XDG_") or os.path.isabs(value) or value.isdigit()


def expanded(server: ServerConfig, environ: Mapping[str, str], keyring: Lookup, folder: str = "") -> ServerConfig:
    """The entry with all references replaced, its secrets named, and itself kept as `written`.

    Raises:
        ConfigError: names the key inside the entry; `${NAME}` is not set, or a secret is not in the keyring.
    """
    expander = Expander(environ, keyring, folder)
    done = replace(
        server,
        command=_user(expander.text(server.command, "command"), environ),
        args=tuple(expander.text(arg, f"args[{number}]") for number, arg in enumerate(server.args)),
        env={name: expander.text(value, f"env.{name}") for name, value in server.env.items()},
        cwd=_located(_user(expander.text(server.cwd, "cwd"), environ), folder),
        url=expander.text(server.url, "url"),
        capabilities=_deep(server.capabilities, expander, "capabilities"),
        client_info=_deep(server.client_info, expander, "client_info"),
        roots=_roots(server.roots, expander, folder, environ),
        headers={name: expander.text(value, f"headers.{name}") for name, value in server.headers.items()},
        auth=_auth(server.auth, expander, folder, environ),
        tls=_tls(server.tls, expander, folder, environ),
        written=server,
    )
    return replace(done, secrets=tuple(dict.fromkeys((*expander.secrets, *secret_places(done)))))


def _deep(value: Json, expander: Expander, key: str) -> Json:
    """JSON with the references in its texts replaced; its own object where it has none."""
    found = dict(json_texts(value, key))
    if not any("$" in text for text in found.values()):
        return value
    if isinstance(value, dict):
        return {name: _deep(item, expander, f"{key}.{name}") for name, item in value.items()}
    if isinstance(value, list):
        return [_deep(item, expander, f"{key}[{number}]") for number, item in enumerate(value)]
    return expander.text(value, key) if isinstance(value, str) else value


def json_texts(value: Json, key: str) -> Iterator[tuple[str, str]]:
    """The texts inside JSON, each with its key below `key`: `capabilities.experimental.x[0]`."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from json_texts(item, f"{key}.{name}")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from json_texts(item, f"{key}[{number}]")


def _auth(auth: Auth, expander: Expander, folder: str, environ: Mapping[str, str]) -> Auth:
    """A key, assertion or token may be in a file: a relative one is beside the configuration."""
    if auth == Auth():
        return auth
    texts = {key: value for key in signing.AUTH_FIELDS if isinstance(value := getattr(auth, key), str)}
    done = {key: expander.text(value, f"auth.{key}") for key, value in texts.items()}
    for key in signing.FILED:
        if file := signing.file_of(done[key]):
            done[key] = _located(_user(file, environ), folder)
    scopes = tuple(expander.text(scope, f"auth.scopes[{number}]") for number, scope in enumerate(auth.scopes))
    return replace(auth, scopes=scopes, **done)


def _tls(tls: Tls, expander: Expander, folder: str, environ: Mapping[str, str]) -> Tls:
    if tls == Tls():
        return tls
    texts = {key: expander.text(getattr(tls, key), f"tls.{key}") for key in (*certificates.FILES, "password")}
    files = {key: _located(_user(texts[key], environ), folder) for key in certificates.FILES}
    return replace(tls, password=texts["password"], **files)


def secret_places(server: ServerConfig) -> Iterator[str]:
    """Values that stand where secrets stand: to sign in, or under a telling name in env, headers, options, the URL."""
    for name, value in (*server.env.items(), *server.headers.items()):
        if value and is_secret_name(name):
            yield value
    yield from signing.secrets_of(server.auth)
    if server.tls.password:
        yield server.tls.password
    waiting = False
    for arg in server.args:
        flag = _FLAG.match(arg)
        if waiting and not flag:
            yield arg
        waiting = bool(flag and flag[2] is None and is_secret_name(flag[1]))
        if flag and flag[2] and is_secret_name(flag[1]):
            yield flag[2]
    for user, name, value in _IN_URL.findall(server.url):
        if user:
            yield user
        elif is_secret_name(name):
            yield value
            yield unquote(value)
    for text in (server.url, *server.args, *server.env.values(), *server.headers.values()):
        for password in _PASSWORD.findall(text):
            yield password
            yield unquote(password)


def _user(path: str, environ: Mapping[str, str]) -> str:
    return str(home(environ)) + path[1:] if path == "~" or path.startswith(("~/", "~" + os.sep)) else path


def _located(path: str, folder: str) -> str:
    return os.path.normpath(os.path.join(folder, path)) if path and folder else path


def effective_roots(
    roots: tuple[Root, ...], server: ServerConfig, environ: Mapping[str, str] = os.environ
) -> tuple[Root, ...]:
    """Roots of an existing server as they can be sent (errors as `expanded`)."""
    folder = folder_of(server.source.file) if server.source.file else ""
    return _roots(roots, Expander(environ, lookup, folder), folder, environ)


def _roots(roots: tuple[Root, ...], expander: Expander, folder: str, environ: Mapping[str, str]) -> tuple[Root, ...]:
    return tuple(
        root._replace(uri=_rooted(expander.text(root.uri, f"roots[{number}]"), folder, environ))
        for number, root in enumerate(roots)
    )


def _rooted(text: str, folder: str, environ: Mapping[str, str]) -> str:
    """Specification, client/roots: a root is a `file://` URI; whatever has a scheme already stays as it is."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", text):
        return text
    return Path(_located(_user(text, environ), folder or os.getcwd())).absolute().as_uri()


def effective(server: ServerConfig, environ: Mapping[str, str] = os.environ, keyring: Lookup = lookup) -> ServerConfig:
    """The entry as it can be started, made anew from how it is written; for entries that were edited or pasted.

    Raises:
        ConfigError: as `expanded`.
    """
    file = server.source.file
    return expanded(server.written or server, environ, keyring, folder_of(file) if file else "")


def folder_of(file: str) -> str:
    """What `${workspaceFolder}` means in a file: its folder, or the one around `.vscode`, `.cursor` and the like."""
    parent = Path(file).absolute().parent
    return str(parent.parent if parent.name.startswith(".") else parent)


_PLAIN = ("command", "cwd", "url")
_INNER = ("auth", "tls")
_NUMBERED = re.compile(r"(args|roots|auth\.scopes)\[(\d+)\]\Z")


def texts(server: ServerConfig) -> Iterator[tuple[str, str]]:
    """Key and text, such as `headers.Authorization`, `args[2]` or `auth.client_secret`; empty ones are left out."""
    for key in _PLAIN:
        if text := getattr(server, key):
            yield key, text
    yield from ((f"args[{number}]", arg) for number, arg in enumerate(server.args) if arg)
    yield from ((f"env.{name}", value) for name, value in server.env.items() if value)
    yield from ((f"headers.{name}", value) for name, value in server.headers.items() if value)
    yield from ((f"roots[{number}]", root.uri) for number, root in enumerate(server.roots) if root.uri)
    for inner in _INNER:
        table: Auth | Tls = getattr(server, inner)
        for item in fields(table):
            value = getattr(table, item.name)
            if isinstance(value, str) and value:
                yield f"{inner}.{item.name}", value
    yield from ((f"auth.scopes[{number}]", scope) for number, scope in enumerate(server.auth.scopes) if scope)


def uses(server: ServerConfig) -> Iterator[tuple[str, str]]:
    """Which kept secrets an entry refers to: their names, and the keys where."""
    entry = server.written or server
    objects = (*json_texts(entry.capabilities, "capabilities"), *json_texts(entry.client_info, "client_info"))
    for key, text in (*texts(entry), *objects):
        for _, scheme, name, _ in REFERENCE.findall(text) if "${" in text else ():
            if scheme == "keyring":
                yield name, key


def with_texts(server: ServerConfig, changes: Mapping[str, str]) -> ServerConfig:
    """The entry with other texts under some of the keys that `texts` gives.

    Raises:
        KeyError: there is no text under one of them.
    """
    if unknown := changes.keys() - {key for key, _ in texts(server)}:
        raise KeyError(*sorted(unknown))
    given: dict[str, Any] = {}
    auth: dict[str, Any] = {}
    tls: dict[str, Any] = {}
    lists = {"args": list(server.args), "roots": list(server.roots), "auth.scopes": list(server.auth.scopes)}
    pairs = {"env": dict(server.env), "headers": dict(server.headers)}
    for key, text in changes.items():
        first, _, rest = key.partition(".")
        if numbered := _NUMBERED.match(key):
            items: list[Any] = lists[numbered[1]]
            at = int(numbered[2])
            items[at] = items[at]._replace(uri=text) if numbered[1] == "roots" else text
        elif first in pairs and rest:
            pairs[first][rest] = text
        elif first in _INNER and rest:
            (auth if first == "auth" else tls)[rest] = text
        else:
            given[key] = text
    return replace(
        server,
        args=tuple(lists["args"]),
        roots=tuple(lists["roots"]),
        auth=replace(server.auth, scopes=tuple(lists["auth.scopes"]), **auth),
        tls=replace(server.tls, **tls),
        **pairs,
        **given,
    )


_SHOWN = "client_id client_secret key assertion idp_client_id idp_client_secret idp_id_token".split()
"""Settings by which a client shows who it is."""


def see_to(config: ServerConfig) -> str:
    """What a person can do about an entry that gets its tokens by itself: nobody can sign in to it."""
    names = [name for name in _SHOWN if getattr(config.auth, name)]
    table = f"[servers.{config.name}.auth]"
    told = f"Nobody signs in here: check {_listed(names)} in {table}, and what its authorization server allows it."
    kept = dict.fromkeys(name for name, key in uses(config) if key.removeprefix("auth.") in names)
    return f"{told} Another secret: mcp-studio config secrets set {_listed(list(kept))}" if kept else told


def _listed(names: list[str]) -> str:
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)
