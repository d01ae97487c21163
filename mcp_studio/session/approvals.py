"""Waiting approvals as small files, so that another terminal can list and answer them."""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from mcp_studio.errors import UsageError
from mcp_studio.jsontext import Json, dumps, items_of, loads
from mcp_studio.limits import KB
from mcp_studio.paths import read_object, write_object
from mcp_studio.redact import Redactor
from mcp_studio.session.inbox import Inbox, InputRequest
from mcp_studio.session.state import Spawn

_POLL = 0.3
"""Seconds between two looks for an answer while an approval waits; each look is also a sign of life."""
_PATIENCE = 5.0
"""Seconds without a sign of life after which the waiting process is taken for dead."""
_ANSWER = ".answer"
_LARGEST = 256 * KB
"""Bytes of the largest arguments that are written."""


class WaitingCall(NamedTuple):
    """A call that waits for approval, in this or another process."""

    id: str
    subject: str
    arguments: Json
    reasons: tuple[str, ...]
    asked: float
    """Seconds since the epoch."""
    until: float
    """The time at which the approval is refused without an answer."""


class Approvals:
    """Shows the approvals of an inbox to other processes, and takes their answers.

    Args:
        spawn: starts a task in the studio.
    """

    def __init__(self, folder: Path, inbox: Inbox, redactor: Redactor, spawn: Spawn) -> None:
        self._folder = folder
        self._inbox = inbox
        self._redactor = redactor
        self._spawn = spawn
        self._task: asyncio.Task[None] | None = None
        self._mark = os.urandom(4).hex()
        """Part of the names of this process's files, so that it takes no answer for another process."""
        inbox.changed.connect(self._on_change)

    def _on_change(self, request: InputRequest) -> None:
        if request.kind == "approval" and (self._task is None or self._task.done()):
            self._task = self._spawn(self._serve())

    async def _serve(self) -> None:
        """Write waiting approvals, look for answers, and remove the files of answered ones, until none waits."""
        shown: dict[str, InputRequest] = {}
        try:
            while waiting := {
                f"{self._mark}-{one.number}": one for one in self._inbox.pending if one.kind == "approval"
            }:
                for name in shown.keys() - waiting.keys():
                    self._remove(name)
                for name, request in waiting.items():
                    if name not in shown:
                        self._write(name, request)
                    self._look(name, request)
                shown = waiting
                await asyncio.sleep(_POLL)
        finally:
            for name in shown:
                self._remove(name)

    def _look(self, name: str, request: InputRequest) -> None:
        """Take an answer. Whoever removes its file decides: the other terminal removes an answer that nobody took."""
        file = self._folder / (name + _ANSWER)
        with suppress(OSError):
            os.utime(self._folder / f"{name}.json")
            if (answer := read_object(file)) and not request.reply.done():
                file.unlink()
                accepted, note = answer.get("approved") is True, str(answer.get("note") or "")
                request.answer("accept" if accepted else "decline", by="another terminal", note=note)
                self._remove(name)

    def _write(self, name: str, request: InputRequest) -> None:
        now, mono = time.time(), time.monotonic()
        data = dumps(request.arguments)
        arguments = loads(self._redactor.bytes(data)) if len(data) <= _LARGEST else "too large to be shown here"
        value: dict[str, Json] = {
            "version": 1, "subject": request.subject, "arguments": arguments, "reasons": list(request.reasons),
            "asked": now - (mono - request.asked), "until": now + (request.until - mono),
        }  # fmt: skip
        with suppress(OSError):  # if the disk refuses, only the dialog asks
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_object(self._folder / f"{name}.json", value)

    def _remove(self, name: str) -> None:
        (self._folder / f"{name}.json").unlink(missing_ok=True)


def waiting(folder: Path) -> list[WaitingCall]:
    """The calls of all processes of this person that wait for approval, oldest first."""
    found: list[WaitingCall] = []
    for file in folder.glob("*.json"):
        value = read_object(file)
        asked, until = (float(item) if isinstance(item := value.get(key), (int, float)) else 0.0 for key in _TIMES)
        if until <= time.time():
            file.unlink(missing_ok=True)  # its process ended without removing the file
        elif _alive(file):
            reasons = tuple(str(one) for one in items_of(value.get("reasons")))
            subject = str(value.get("subject") or "")
            found.append(WaitingCall(file.stem, subject, value.get("arguments"), reasons, asked, until))
    return sorted(found, key=lambda one: one.asked)


_TIMES = ("asked", "until")


def _alive(file: Path) -> bool:
    with suppress(OSError):
        return time.time() - file.stat().st_mtime < _PATIENCE
    return False


def answer(folder: Path, name: str, *, approved: bool, note: str = "") -> WaitingCall:
    """Approve or reject a call that waits in another process, and wait until that process has taken the answer.

    Raises:
        UsageError: no call of that name waits, or it waits no longer.
    """
    known = {one.id: one for one in waiting(folder)}
    if name not in known:
        hint = f"What waits: {', '.join(known)}." if known else "Nothing waits for approval."
        raise UsageError(f"No call waits for approval under {name!r}.", hint=hint)
    file, until = folder / (name + _ANSWER), time.monotonic() + _PATIENCE
    write_object(file, {"approved": approved, "note": note})
    while file.exists() and (folder / f"{name}.json").exists() and time.monotonic() < until:
        time.sleep(_POLL / 3)
    try:
        file.unlink()
    except FileNotFoundError:
        return known[name]
    raise UsageError(f"{known[name].subject} waits no more: it was answered there, or its program has ended.")
