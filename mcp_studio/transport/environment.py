"""The environment of a server: little by default, so that what our own environment holds does not reach it unasked."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

# Importing `typing` and the model for this would delay the start of the first server by 30 ms.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcp_studio.config.model import ServerConfig

_POSIX = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
_MACOS = ("TMPDIR", "__CF_USER_TEXT_ENCODING")
_WINDOWS = (
    "APPDATA",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "USERNAME",
    "USERPROFILE",
)


def default_names(platform: str = sys.platform) -> tuple[str, ...]:
    """The variables of our own environment that every server gets."""
    if platform == "win32":
        return _WINDOWS
    return _POSIX + _MACOS if platform == "darwin" else _POSIX


def child_environment(config: ServerConfig, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """All variables that the server of this entry gets: the default ones, those it inherits by name, those it sets."""
    return inherited(config.inherit_env, environ) | dict(config.env)


def inherited(further: tuple[str, ...] = (), environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The part of our own environment that a server gets: the default variables and those named further."""
    names = (*default_names(), *further)
    # A value that starts so is a shell function, which no server needs and old shells would run.
    return {name: environ[name] for name in names if name in environ and not environ[name].startswith("()")}


def environment_names(config: ServerConfig, environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The names alone, sorted: what may be shown and asked about."""
    return tuple(sorted(child_environment(config, environ)))
