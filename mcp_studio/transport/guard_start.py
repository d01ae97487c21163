"""Starting the guard process and handing it servers. Synchronous, and quick to import: before asyncio is.

Files and sockets are kept as plain descriptors, so nothing has to be said about them when the interpreter ends.
"""

from __future__ import annotations

import _socket  # `socket` takes ten times longer to import, and start-up hangs on the guard being started first
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mcp_studio.errors import Unreachable

if TYPE_CHECKING:
    from mcp_studio.config.model import ServerConfig

FOLDER = os.path.dirname(os.path.abspath(__file__))
SCRIPT = "import sys; sys.path.append(sys.argv[1]); from guard.main import main; main()"
HELD_SIGNALS = (1, 2, 3, 15)  # HUP INT QUIT TERM: held back until the guard has left our session


class Launched:
    """A server that the guard was asked to start, and our ends of its pipes (non-blocking descriptors)."""

    # No dataclass: importing `dataclasses` would take longer than starting the guard.
    __slots__ = ("control", "stderr", "stdin", "stdout", "unsent")

    def __init__(self, control: int, stdin: int, stdout: int, stderr: int, unsent: bytes) -> None:
        self.control = control
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr
        self.unsent = unsent
        """What of the request did not fit into the control socket yet."""

    def close(self) -> None:
        """Give it up: closing the control socket ends whatever was started."""
        for fd in (self.control, self.stdin, self.stdout, self.stderr):
            os.close(fd)


class GuardProcess:
    """The one guard process of this studio, started when first needed and again when it was killed."""

    def __init__(self) -> None:
        self._socket = -1
        self._ahead: dict[bytes, Launched] = {}
        self.pid = 0
        """The guard's pid, or 0."""

    def start(self) -> None:
        """Start the process if it does not run yet; it gets ready by itself.

        Raises:
            Unreachable: child processes cannot be guarded on this system.
        """
        if self._socket >= 0:
            return
        if os.name != "posix":
            raise Unreachable(
                "Servers that are programs cannot be started on Windows yet.",
                hint="Run the studio inside WSL, or start the server yourself and give its URL.",
            )
        ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            null = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_RDWR, 0)
            self.pid = os.posix_spawn(
                sys.executable,
                [sys.executable, "-I", "-S", "-c", SCRIPT, FOLDER],
                os.environ,
                file_actions=[(os.POSIX_SPAWN_DUP2, theirs.fileno(), 0), null, (os.POSIX_SPAWN_DUP2, 1, 2)],
                setsigmask=HELD_SIGNALS,
            )
        except OSError as error:
            ours.close()
            text = f"The guard process for servers could not be started: {error.strerror} ({sys.executable})."
            raise Unreachable(text) from None
        finally:
            theirs.close()
        ours.setblocking(False)
        self._socket = ours.detach()

    def launch(self, argv: Sequence[str], env: Mapping[str, str], cwd: str) -> Launched:
        """Ask for a server; what became of it is told on the control socket.

        `env` is the child's whole environment; `cwd` must be absolute.

        Raises:
            Unreachable: no guard, or no descriptors left.
        """
        request = _request(argv, env, cwd)
        if early := self._ahead.pop(request, None):
            return early
        self.start()
        try:
            return self._launch(request)
        except (BrokenPipeError, ConnectionResetError):
            # Somebody killed the guard, and its servers went with it.
            self.stop()
            self.start()
        except OSError as error:
            raise _no_guard(error) from None
        try:
            return self._launch(request)
        except OSError as error:
            raise _no_guard(error) from None

    def launch_ahead(self, argv: Sequence[str], env: Mapping[str, str], cwd: str) -> None:
        """Have a server started that `launch` will be asked for shortly, with the same values, to get this one.

        Raises:
            Unreachable: as `launch`.
        """
        request = _request(argv, env, cwd)
        if request not in self._ahead:
            self._ahead[request] = self.launch(argv, env, cwd)

    def drop_ahead(self) -> None:
        """End what was started ahead and nobody asked for."""
        while self._ahead:
            self._ahead.popitem()[1].close()

    def _launch(self, request: bytes) -> Launched:
        control, control_end = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
        ours, theirs = [control.detach()], [control_end.detach()]
        try:
            for ours_is in (1, 0, 0):
                ends = os.pipe()
                ours.append(ends[ours_is])
                theirs.append(ends[1 - ours_is])
            for fd in ours:
                os.set_blocking(fd, False)
            self._pass(theirs)
            sent = os.write(ours[0], request)
            return Launched(ours[0], ours[1], ours[2], ours[3], request[sent:])
        except OSError:
            for fd in ours:
                os.close(fd)
            raise
        finally:
            for fd in theirs:
                os.close(fd)

    def _pass(self, fds: list[int]) -> None:
        guard = _socket.socket(fileno=self._socket)
        try:
            packed = b"".join(fd.to_bytes(4, sys.byteorder) for fd in fds)
            guard.sendmsg([b"+"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, packed)])
        finally:
            guard.detach()

    def stop(self) -> None:
        """Let the guard go; keepers, and the servers with them, live on until their own sockets close."""
        if self._socket >= 0:
            os.close(self._socket)
            self._socket = -1

    def reap(self) -> bool:
        """Whether the guard, once stopped, is gone; takes its exit status."""
        if self.pid:
            try:
                if os.waitpid(self.pid, os.WNOHANG)[0] == 0:
                    return False
            except ChildProcessError:
                pass
            self.pid = 0
        return True


def _request(argv: Sequence[str], env: Mapping[str, str], cwd: str) -> bytes:
    fields = [cwd, str(len(argv)), *argv, *(f"{name}={value}" for name, value in env.items())]
    if any("\0" in field for field in fields):
        raise Unreachable("The command, its folder or its environment contains a NUL character.")
    body = b"\0".join(os.fsencode(field) for field in fields)
    return len(body).to_bytes(4, "big") + body


def _no_guard(error: OSError) -> Unreachable:
    return Unreachable(f"The server could not be handed to the guard process: {error.strerror}.")


process = GuardProcess()
"""The one that everything in this program shares."""


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
