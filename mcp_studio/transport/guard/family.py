"""All processes of one server."""

from __future__ import annotations

import os

from .system import LINUX


class Family:
    """All processes that descend from this keeper.

    On Linux the keeper is their subreaper: whoever loses its parent becomes the keeper's child, so to have no child
    means that nobody is left. Elsewhere only the server's own process group is known.
    """

    def __init__(self, server: int) -> None:
        self.server = server
        self.status: int | None = None
        """The server's exit code, or the negative number of the signal that ended it."""

    def reap(self) -> bool:
        """Take note of who ended; tell whether nobody is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return LINUX or not self.signal_group(0)
            if pid == 0:
                return False
            if pid == self.server:
                self.status = os.waitstatus_to_exitcode(status)

    def members(self) -> list[int]:
        """The pids of all living descendants, by a walk over /proc."""
        children: dict[int, list[int]] = {}
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    with open(f"/proc/{name}/stat", "rb", 0) as file:
                        text = file.read(1024)
                except OSError:
                    continue
                # The name in parentheses may itself hold blanks and parentheses.
                state, parent = text[text.rindex(b")") + 2 :].split(None, 2)[:2]
                if state != b"Z":
                    children.setdefault(int(parent), []).append(int(name))
        found: list[int] = []
        waiting = [os.getpid()]
        while waiting:
            below = children.get(waiting.pop(), [])
            found += below
            waiting += below
        return found

    def signal_group(self, number: int) -> int:
        """Send a signal to the server's process group; returns whether there was one."""
        try:
            os.killpg(self.server, number)
        except OSError:
            return 0
        return 1

    def signal(self, number: int) -> int:
        """Send a signal to every member; returns to how many."""
        try:
            members = self.members() if LINUX else []
        except OSError:  # no /proc
            members = []
        for pid in members:
            try:
                os.kill(pid, number)
            except OSError:
                pass
        return len(members) or self.signal_group(number)
