"""The guard: owns every server process from the start, so that none outlives the studio, however the studio ends.

`transport.guard` starts this file as a program of its own; the studio never imports it. For each server the studio
sends one byte with four descriptors: the control socket and the server's standard input, output and error. The guard
forks a keeper, which reads the request from the control socket, starts the server, adopts all processes that the server
starts, and ends them when told to or when the control socket closes.

From studio to keeper: the request (4 bytes of length, then NUL-separated: working folder, number of arguments,
arguments, environment as `NAME=value`), later `s` (stop: SIGTERM, a second later SIGKILL) or `k` (SIGKILL at once).
From keeper to studio, one line each: `pid N` or `fail STEP ERRNO`, then `exit CODE` (negative: a signal), then `left N`
(processes that the server left behind when it ended by itself). The socket closes when nothing is left.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import signal
import socket
import subprocess
import sys
import time

LINUX = sys.platform == "linux"
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
IGNORED = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT)
"""The signals that a terminal or a logout may send: guard and keepers exit only when the studio's sockets close."""
PATIENCE = 1.0
"""Seconds between SIGTERM and SIGKILL."""
LEFTOVER_PATIENCE = 0.5
"""The same for processes that a server leaves behind when it ends by itself."""
GIVE_UP = 10.0
"""Seconds after the first SIGKILL: a process that is left then hangs in the kernel, where no signal reaches it."""
LIBC = ctypes.CDLL(None)


def prctl(option: int, value: int) -> None:
    """Set an attribute of this process, on Linux."""
    if LINUX:
        LIBC.prctl(option, value, 0, 0, 0)


class Keeper:
    """Starts one server for the studio, waits for its end or a command, and leaves no process of it behind.

    On Linux the keeper is the subreaper of the server: orphaned processes become its children, so that none is left
    once it has no child. Elsewhere it only knows the server's own process group.
    """

    def __init__(self, control: socket.socket, pipes: list[int], life: int) -> None:
        self.control = control
        self.pipes = pipes
        self.life = life
        self.server = 0
        self.status: int | None = None
        """The server's exit code, or the negative number of the signal that ended it."""
        self.empty = False
        """Whether no process is left."""
        # The end of a child wakes `poll` through this pipe.
        self.wake, wake_end = os.pipe()
        os.set_blocking(self.wake, False)
        os.set_blocking(wake_end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake_end)
        self.poll = select.poll()
        for fd in (self.wake, life, control.fileno()):
            self.poll.register(fd, select.POLLIN)

    def run(self) -> None:
        """Run the keeper from start to end."""
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        if not self.start():
            return
        word = self.watch()
        alive = 0
        if word != b"k" and not self.empty:
            alive = self.signal_all(signal.SIGTERM)
            self.watch(PATIENCE if word else LEFTOVER_PATIENCE)
        give_up = time.monotonic() + GIVE_UP
        while not self.empty and time.monotonic() < give_up:
            self.signal_all(signal.SIGKILL)
            self.watch(0.02)  # the next walk finds processes that were forked during this one
        if alive and not word:
            self.report(f"left {alive}")

    def start(self) -> bool:
        """Start the server, report the result to the studio, and return whether it runs."""
        cwd, count, *rest = self.request()
        argv, environ = rest[: int(count)], dict(item.split(b"=", 1) for item in rest[int(count) :])
        keeper = os.getpid()

        def before_exec() -> None:
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != keeper:
                os._exit(127)
            for number in IGNORED:
                signal.signal(number, signal.SIG_DFL)

        stdin, stdout, stderr = self.pipes
        try:
            # Never through a shell: a file of unknown format is an error, not a script.
            self.process = subprocess.Popen(
                argv, stdin=stdin, stdout=stdout, stderr=stderr, cwd=cwd, env=environ, start_new_session=True,
                preexec_fn=before_exec,
            )  # fmt: skip
        except OSError as error:
            step = "cwd" if error.filename == cwd else "exec" if error.filename else "fork"
            self.report(f"fail {step} {error.errno}")
            return False
        except ValueError:  # the name of a variable is invalid
            self.report(f"fail exec {errno.EINVAL}")
            return False
        self.server = self.process.pid
        for fd in self.pipes:
            os.close(fd)
        self.control.setblocking(False)
        self.report(f"pid {self.server}")
        return True

    def request(self) -> list[bytes]:
        """Read the fields of the request. Exits if the studio goes before the request is complete."""

        def exactly(size: int) -> bytes:
            data = self.control.recv(size, socket.MSG_WAITALL)
            if len(data) < size:
                os._exit(0)
            return data

        return exactly(int.from_bytes(exactly(4), "big")).split(b"\0")

    def report(self, text: str) -> None:
        """Send a line to the studio, if it still listens."""
        try:
            self.control.send(text.encode() + b"\n")
        except OSError:
            pass

    def watch(self, seconds: float | None = None) -> bytes:
        """Wait at most `seconds` until no process is left; without `seconds` until the server ends or a command comes.

        Returns the command that ended the wait, `s` or `k`; `k` always ends it.
        """
        deadline = time.monotonic() + (seconds or 0.0)
        while True:
            self.reap()
            if self.empty or (seconds is None and self.status is not None):
                return b""
            wait = None if seconds is None else max(0.0, deadline - time.monotonic()) * 1000
            events = dict(self.poll.poll(wait))
            if not events:
                return b""
            if self.wake in events:
                os.read(self.wake, 4096)
            word = b""
            if self.life in events:
                self.poll.unregister(self.life)
                word = b"s"
            if self.control.fileno() in events:
                word = self.hear()
            if word == b"k" or (word and seconds is None):
                return word

    def hear(self) -> bytes:
        """The studio's command; a closed socket counts as `s`."""
        try:
            data = self.control.recv(16)
        except OSError:
            data = b""
        if not data:
            self.poll.unregister(self.control.fileno())
        return b"k" if b"k" in data else b"s"

    def reap(self) -> None:
        """Collect the exit codes of ended children."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self.empty = LINUX or not self.signal_group(0)
                return
            if pid == 0:
                return
            if pid == self.server:
                self.status = os.waitstatus_to_exitcode(status)
                self.report(f"exit {self.status}")

    def signal_all(self, number: int) -> int:
        """Send a signal to the server and all its descendants; returns how many got it."""
        try:
            members = descendants(os.getpid()) if LINUX else []
        except OSError:  # there is no /proc
            members = []
        for pid in members:
            try:
                os.kill(pid, number)
            except OSError:
                pass
        return len(members) or self.signal_group(number)

    def signal_group(self, number: int) -> int:
        """Send a signal to the server's process group; returns whether there was one."""
        try:
            os.killpg(self.server, number)
        except OSError:
            return 0
        return 1


def descendants(pid: int) -> list[int]:
    """The pids of all living descendants, found by a walk over /proc."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb", 0) as file:
                    text = file.read(1024)
            except OSError:
                continue
            # The name in parentheses may itself contain blanks and parentheses.
            state, parent = text[text.rindex(b")") + 2 :].split(None, 2)[:2]
            if state != b"Z":
                children.setdefault(int(parent), []).append(int(name))
    pids = [pid]
    for each in pids:
        pids += children.get(each, [])
    return pids[1:]


def main() -> None:
    """Fork a keeper for every message from the studio, until the studio closes the socket."""
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the guard does not wait for keepers
    studio = socket.socket(fileno=os.dup(0))
    os.dup2(1, 0)
    life, life_end = os.pipe()  # keepers hold the reading end, which shows them that the guard was killed
    while True:
        data, fds, _, _ = socket.recv_fds(studio, 1, 4)
        if not data:
            return
        control = socket.socket(fileno=fds[0])
        try:
            pid = os.fork()
        except OSError as error:
            control.send(f"fail fork {error.errno}\n".encode())
            pid = -1
        if pid == 0:
            studio.close()
            os.close(life_end)
            Keeper(control, fds[1:], life).run()
            os._exit(0)
        control.close()
        for fd in fds[1:]:
            os.close(fd)


if __name__ == "__main__":
    main()
