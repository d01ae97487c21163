"""Expansion of `${…}` in a server's entry, which also finds the values that are secret.

    ${NAME}            the environment variable; an error where it is not set
    ${NAME:-default}   the same, with a default (also an empty one)
    ${env:NAME}        the same as ${NAME}, as other clients write it
    ${keyring:NAME}    the secret stored under NAME in the system's keyring, or where `[secrets] store` says
    ${workspaceFolder} ${workspaceFolderBasename} ${userHome} ${pathSeparator} ${/}   as other clients write them
    ${client:TEXT}     a value that only another client can compute, such as a command's output: kept, but refused
    $${                a literal ${

Any other `${…}` stays unchanged: it may be meant for a shell.
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
from mcp_studio.config.table import lone_surrogate
from mcp_studio.errors import ConfigError, nearest
from mcp_studio.paths import home
from mcp_studio.redact import is_secret_name
from mcp_studio.vault.keyring import lookup

Environ = Mapping[str, str]
Lookup = Callable[[str], str]
"""Returns the secret of a name; raises ConfigError."""

REFERENCE = re.compile(r"\$(\$\{)|\$\{(?:([A-Za-z]+):(?![-=?+]))?((?<=client:)[^{}]*|[^{}:$]*)(?::-([^{}]*))?\}")
_HARMLESS = "HOME USER LOGNAME PATH PWD SHELL TERM LANG TZ TMPDIR TEMP TMP HOSTNAME EDITOR USERPROFILE".split()


class Expander:
    """Replaces references in the texts of one server and remembers the secrets that replaced them.

    Args:
        folder: the value of `${workspaceFolder}`, and the folder that a relative `cwd` starts from.
    """

    def __init__(self, environ: Environ, keyring: Lookup, folder: str = "") -> None:
        self._environ = environ
        self._keyring = keyring
        self._folder = folder
        self.secrets: dict[str, None] = {}

    def text(self, text: str) -> str:
        """Replace the references in a text.

        Raises:
            ConfigError: a variable is not set, a secret does not exist, or a reference is mistyped.
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
        # Redacting these would only hide paths and flags from a person who debugs.
        plain = name in _HARMLESS or name.startswith("XDG_") or os.path.isabs(value) or value.isdigit()
        if value and value != default and (is_secret_name(name) or not plain):
            self.secrets[value] = None
        return value


def expanded(server: ServerConfig, environ: Environ, keyring: Lookup, folder: str = "") -> ServerConfig:
    """The entry with all references replaced, with its secrets listed, and with the original entry as `written`.

    Raises:
        ConfigError: a variable is not set, or a secret is not in the keyring; `key` names the key inside the entry.
    """
    expander = Expander(environ, keyring, folder)

    def value(key: str, text: str) -> str:
        try:
            text = expander.text(text)
        except ConfigError as problem:
            raise ConfigError(problem.message, key=key, hint=problem.hint) from None
        if key.startswith("roots["):
            return _root_uri(text, folder, environ)
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
    """A path joined to a folder, if there is a folder."""
    return os.path.normpath(os.path.join(folder, path)) if folder else path


def _root_uri(text: str, folder: str, environ: Environ) -> str:
    """Specification, client/roots: a root is a `file://` URI; a text with a scheme stays unchanged."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", text):
        return text
    return Path(located(_user(text, environ), folder or os.getcwd())).absolute().as_uri()


def effective_roots(roots: tuple[Root, ...], server: ServerConfig) -> tuple[Root, ...]:
    """The roots that an existing server would get for these (errors as `expanded`)."""
    return effective(ServerConfig(server.name, roots=roots, source=server.source)).roots


def effective(server: ServerConfig, environ: Environ = os.environ, keyring: Lookup = lookup) -> ServerConfig:
    """Expand an entry that was edited or pasted, so that it can be started.

    Raises:
        ConfigError: as `expanded`.
    """
    return expanded(server.written or server, environ, keyring, folder_of(server.source.file))


def folder_of(file: str) -> str:
    """The value of `${workspaceFolder}` in a file: its folder, or the folder around `.vscode`, `.cursor` and so on."""
    parent = Path(file).absolute().parent
    return "" if not file else str(parent.parent if parent.name.startswith(".") else parent)


def uses(server: ServerConfig) -> Iterator[tuple[str, str]]:
    """The stored secrets that an entry refers to: each name, with the key that refers to it."""
    for key, text in texts(server.written or server):
        yield from ((name, key) for _, scheme, name, _ in REFERENCE.findall(text) if scheme == "keyring")
