"""The guard process of this studio, and the servers that it starts; the guard runs `guard_program`."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence

from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import Unreachable

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "guard_program.py")
_HANDOVER = 5.0
"""Seconds for a keeper to read its request."""


class StartFailure(Exception):
    """The server could not be started: `step` is `fork`, `cwd`, `exec` or `guard`, `errno` the system's reason."""

    def __init__(self, step: str, errno: int) -> None:
        super().__init__(step, errno)
        self.step = step
        self.errno = errno


class GuardedChild:
    """One server process, with our ends of its pipes (non-blocking) and of its keeper's control socket.

    The caller owns the pipes, this object owns the control socket.
    """

    def __init__(self, control: socket.socket, stdin_fd: int, stdout_fd: int, stderr_fd: int) -> None:
        self._loop = loop = asyncio.get_running_loop()
        self.pid = 0
        self.stdin_fd = stdin_fd
        self.stdout_fd = stdout_fd
        self.stderr_fd = stderr_fd
        self.left = 0
        """How many processes the server left behind when it ended by itself; the keeper ended them."""
        self.started: asyncio.Future[None] = loop.create_future()
        """Done when the program runs; a `StartFailure` if it could not be started."""
        self.exited: asyncio.Future[int | None] = loop.create_future()
        """The exit code, negative for a signal; None if its keeper was killed, so that the code is unknown."""
        self.gone: asyncio.Future[None] = loop.create_future()
        """Done when neither the server nor any process that it started is left."""
        self._control = control
        self._text = b""
        loop.add_reader(control, self._read)

    def _read(self) -> None:
        try:
            data = self._control.recv(4096)
        except OSError:
            data = b""
        *lines, self._text = (self._text + data).split(b"\n")
        for line in lines:
            self._on_report(*line.decode().split())
        if not data:
            self.release()

    def _on_report(self, word: str, *values: str) -> None:
        if word == "pid":
            self.pid = int(values[0])
            if not self.started.done():  # the caller may have stopped waiting
                self.started.set_result(None)
        elif word == "fail" and not self.started.done():
            self.started.set_exception(StartFailure(values[0], int(values[1])))
        elif word == "exit":
            self.exited.set_result(int(values[0]))
        elif word == "left":
            self.left = int(values[0])

    def stop(self) -> None:
        """Stop the server and all that it started: SIGTERM, a second later SIGKILL."""
        self._send_command(b"s")

    def kill(self) -> None:
        """Kill the server and all that it started."""
        self._send_command(b"k")

    def _send_command(self, word: bytes) -> None:
        try:
            self._control.send(word)
        except OSError:
            pass  # the keeper is gone, as `_read` is about to see

    def release(self) -> None:
        """Close the control socket, so that the keeper ends all that is left; it may be called more than once."""
        if self._control.fileno() < 0:
            return
        self._loop.remove_reader(self._control)
        self._control.close()
        if not self.started.done():
            self.started.set_exception(StartFailure("guard", 0))
        if not self.exited.done():
            self.exited.set_result(None)
        self.gone.set_result(None)


class Guard:
    """The one guard process of this studio, started when first needed and again if it was killed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    @property
    def pid(self) -> int:
        """The guard's pid, or 0."""
        return self._process.pid if self._process is not None else 0

    def start(self) -> socket.socket:
        """Start the process unless it runs; this does not wait until it is ready.

        Raises:
            Unreachable: this system cannot guard child processes.
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

    async def spawn(self, argv: Sequence[str], env: Mapping[str, str], cwd: str) -> GuardedChild:
        """Start `argv` in a session of its own; `env` is its whole environment, and `cwd` must be absolute.

        Raises:
            StartFailure: the program could not be started.
            Unreachable: there is no guard, or no descriptors are left.
        """
        request = _request(argv, env, cwd)
        try:
            try:
                child = _launch(self.start(), request)
            except (BrokenPipeError, ConnectionResetError):
                # The guard was killed, and its servers with it.
                self.stop()
                child = _launch(self.start(), request)
        except OSError as error:
            raise Unreachable(f"The server could not be handed to the guard process: {error.strerror}.") from None
        try:
            await child.started
        except BaseException:
            child.release()
            for fd in (child.stdin_fd, child.stdout_fd, child.stderr_fd):
                os.close(fd)
            raise
        return child

    def stop(self) -> None:
        """Let the guard exit; keepers and their servers live on until their own sockets close."""
        if self._socket is not None and self._process is not None:
            self._socket.close()
            self._process.wait(_HANDOVER)
        self._socket = self._process = None


def _launch(guard: socket.socket, request: bytes) -> GuardedChild:
    """Hand the guard a request; the child's control socket reports the result."""
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
            control.settimeout(_HANDOVER)
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
    return GuardedChild(control, *ours)


def _request(argv: Sequence[str], env: Mapping[str, str], cwd: str) -> bytes:
    fields = [cwd, str(len(argv)), *argv, *(f"{name}={value}" for name, value in env.items())]
    if any("\0" in field for field in fields):
        raise Unreachable("The command, its folder or its environment contains a NUL character.")
    body = b"\0".join(os.fsencode(field) for field in fields)
    return len(body).to_bytes(4, "big") + body


guard = Guard()
"""The guard that all parts of this program share."""

ALWAYS_PASSED = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
"""The variables of our own environment that every server gets."""
if sys.platform == "darwin":
    ALWAYS_PASSED += ("TMPDIR", "__CF_USER_TEXT_ENCODING")


def child_environment(config: ServerConfig, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """All variables that an entry's server gets: the default ones, those it inherits by name, those it sets."""
    names = (*ALWAYS_PASSED, *config.inherit_env)
    # A value that begins like this is a shell function, which no server needs and old shells would run.
    passed = {name: environ[name] for name in names if name in environ and not environ[name].startswith("()")}
    return passed | dict(config.env)
