"""Starting the guard process and handing it servers."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import Unreachable

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "guard_program.py")
_HANDING_OVER = 5.0
"""Seconds that a keeper may take to read its request."""


class Launched(NamedTuple):
    """A server that the guard was asked to start, and our ends of its pipes (non-blocking descriptors)."""

    control: socket.socket
    stdin: int
    stdout: int
    stderr: int

    def close(self) -> None:
        """Give it up: closing the control socket ends whatever was started."""
        self.control.close()
        for fd in (self.stdin, self.stdout, self.stderr):
            os.close(fd)


class GuardProcess:
    """The one guard process of this studio, started when first needed and again when it was killed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    @property
    def pid(self) -> int:
        """The guard's pid, or 0."""
        return self._process.pid if self._process is not None else 0

    def start(self) -> socket.socket:
        """Start the process if it does not run yet; it gets ready by itself.

        Raises:
            Unreachable: child processes cannot be guarded on this system.
        """
        if self._socket is not None:
            return self._socket
        if os.name != "posix":
            raise Unreachable(
                "Servers that are programs cannot be started on Windows yet.",
                hint="Run the studio inside WSL, or start the server yourself and give its URL.",
            )
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", PROGRAM],
                    stdin=theirs.fileno(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/",
                    start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                ours.close()
                text = f"The guard process for servers could not be started: {error.strerror} ({sys.executable})."
                raise Unreachable(text) from None
        ours.setblocking(False)
        self._socket = ours
        return ours

    def launch(self, argv: Sequence[str], env: Mapping[str, str], cwd: str) -> Launched:
        """Ask for a server; what became of it is told on the control socket.

        `env` is the child's whole environment; `cwd` must be absolute.

        Raises:
            Unreachable: no guard, or no descriptors left.
        """
        request = _request(argv, env, cwd)
        try:
            try:
                return _launch(self.start(), request)
            except (BrokenPipeError, ConnectionResetError):
                # Somebody killed the guard, and its servers went with it.
                self.stop()
                return _launch(self.start(), request)
        except OSError as error:
            raise Unreachable(f"The server could not be handed to the guard process: {error.strerror}.") from None

    def stop(self) -> None:
        """Let the guard go; keepers, and the servers with them, live on until their own sockets close."""
        if self._socket is not None and self._process is not None:
            self._socket.close()
            self._process.wait(_HANDING_OVER)
        self._socket = self._process = None


def _launch(guard: socket.socket, request: bytes) -> Launched:
    ours: list[int] = []
    theirs: list[int] = []
    control, control_end = socket.socketpair()
    with control_end:
        try:
            for ours_is in (1, 0, 0):
                ends = os.pipe()
                ours.append(ends[ours_is])
                theirs.append(ends[1 - ours_is])
                os.set_blocking(ends[ours_is], False)
            socket.send_fds(guard, [b"+"], [control_end.fileno(), *theirs])
            control.settimeout(_HANDING_OVER)
            control.sendall(request)
            control.setblocking(False)
        except OSError:
            control.close()
            for fd in ours:
                os.close(fd)
            raise
        finally:
            for fd in theirs:
                os.close(fd)
    return Launched(control, *ours)


def _request(argv: Sequence[str], env: Mapping[str, str], cwd: str) -> bytes:
    fields = [cwd, str(len(argv)), *argv, *(f"{name}={value}" for name, value in env.items())]
    if any("\0" in field for field in fields):
        raise Unreachable("The command, its folder or its environment contains a NUL character.")
    body = b"\0".join(os.fsencode(field) for field in fields)
    return len(body).to_bytes(4, "big") + body


process = GuardProcess()
"""The one that everything in this program shares."""


_POSIX = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
_MACOS = ("TMPDIR", "__CF_USER_TEXT_ENCODING")


def default_names(platform: str = sys.platform) -> tuple[str, ...]:
    """The variables of our own environment that every server gets."""
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
