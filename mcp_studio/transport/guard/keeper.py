"""The keeper: the process that stands between the studio and one server."""

from __future__ import annotations

import os
import select
import time

from .family import Family
from .start import StartError, start_server
from .system import PR_SET_CHILD_SUBREAPER, prctl, signal, socket

PATIENCE = 1.0
"""Seconds between SIGTERM and SIGKILL."""
LEFTOVER_PATIENCE = 0.5
"""The same for what a server leaves behind when it ends by itself."""
GIVE_UP = 10.0
"""Seconds after the first SIGKILL: what is left then hangs in the kernel, and no signal reaches it."""


class Keeper:
    """Starts one server, waits for its end or for the studio's word, and leaves nothing behind."""

    def __init__(self, control: socket.socket, pipes: list[int], life: int) -> None:
        self.control = control
        self.pipes = pipes
        self.life = life
        # The end of a child wakes `poll` through this pipe.
        self.wake, wake_end = os.pipe()
        os.set_blocking(self.wake, False)
        os.set_blocking(wake_end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake_end)
        self.poll = select.poll()
        for fd in (self.wake, life, control.fileno()):
            self.poll.register(fd, select.POLLIN)

    def report(self, text: str) -> None:
        """Tell the studio, if it is still there."""
        try:
            self.control.send(text.encode() + b"\n")
        except OSError:
            pass

    def run(self) -> None:
        """The keeper's whole life."""
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        try:
            family = Family(start_server(read_request(self.control), self.pipes))
        except StartError as failure:
            return self.report("fail {} {}".format(*failure.args))
        for fd in self.pipes:
            os.close(fd)
        self.control.setblocking(False)
        self.report(f"pid {family.server}")
        empty, word = self.wait(family, None)
        if word:
            if word == b"s":
                family.signal(signal.SIGTERM)
            return self.end(family, word, PATIENCE)
        left = 0 if empty else family.signal(signal.SIGTERM)
        if not empty:
            self.end(family, b"", LEFTOVER_PATIENCE)
        return self.report(f"left {left}") if left else None

    def wait(self, family: Family, seconds: float | None) -> tuple[bool, bytes]:
        """Wait until the server ends, nobody is left, or there is word from the studio.

        Returns whether nobody is left, and the word: `s` or `k`, or empty.
        """
        ended = family.status is not None
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            empty = family.reap()
            if family.status is not None and not ended:
                self.report(f"exit {family.status}")
                return empty, b""
            left = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
            if empty or not (events := dict(self.poll.poll(left))):
                return empty, b""
            if self.wake in events:
                os.read(self.wake, 4096)
            if self.life in events:
                self.poll.unregister(self.life)
                return False, b"s"
            if self.control.fileno() in events:
                return False, self.word()

    def word(self) -> bytes:
        """What the studio says; when it is gone, that it wants everything ended."""
        try:
            data = self.control.recv(16)
        except OSError:
            data = b""
        if not data:
            self.poll.unregister(self.control.fileno())
        return b"k" if b"k" in data else b"s"

    def end(self, family: Family, word: bytes, patience: float) -> None:
        """Wait for all to follow their SIGTERM, then kill until nobody is left."""
        empty = False
        deadline = time.monotonic() + patience
        while not empty and word != b"k" and (seconds := deadline - time.monotonic()) > 0:
            empty, word = self.wait(family, seconds)
        deadline = time.monotonic() + GIVE_UP
        while not empty and time.monotonic() < deadline:
            family.signal(signal.SIGKILL)
            # Who was born during the walk is found by the next one.
            empty, _ = self.wait(family, 0.02)


def read_request(control: socket.socket) -> list[bytes]:
    """The fields of the request. Ends the keeper when the studio is gone before it was complete."""

    def exactly(size: int) -> bytes:
        parts: list[bytes] = []
        while size:
            more = control.recv(size)
            if not more:
                os._exit(0)
            parts.append(more)
            size -= len(more)
        return b"".join(parts)

    return exactly(int.from_bytes(exactly(4), "big")).split(b"\0")
