"""What was called, with which arguments, and how that ended: kept on disk, the newest few of every entry."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple, cast

from mcp_studio.call.call import (
    Call,
    CallOutcome,
    Cancelled,
    Denied,
    InBackground,
    Lost,
    Rejected,
    Succeeded,
    TimedOut,
    ToolFailed,
)
from mcp_studio.catalog.listing import KINDS, EntryKind, Ref
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, JsonProblem, dumps, items_of, loads, mapping
from mcp_studio.limits import MB
from mcp_studio.paths import write_atomically
from mcp_studio.record import record
from mcp_studio.redact import is_secret_name
from mcp_studio.safetext import safe
from mcp_studio.schema.place import Path as Place
from mcp_studio.schema.place import pointer
from mcp_studio.signal import Signal

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

LARGEST_JOURNAL = 2 * MB
"""Bytes that are left by a rewriting; it happens at twice as many."""
_JOURNAL_PATIENCE = 2.0
"""Seconds for which the lock of another program is waited for."""
_PAUSE = 0.01

Choose = Callable[[list[bytes]], Sequence[bytes]]
"""Gives those of all lines, oldest first, that stay."""


class Journal:
    """The lines of a file, oldest first. Every method blocks and belongs into a thread.

    Args:
        choose: which lines stay when it is rewritten; of those the newest `largest` bytes do.
    """

    def __init__(self, file: Path, choose: Choose, largest: int = LARGEST_JOURNAL) -> None:
        self._file = file
        self._choose = choose
        self._largest = largest

    def lines(self) -> list[bytes]:
        """All lines, also one that was cut short; of a file that something else let grow, those at its end."""
        try:
            # Whatever stands in its place: opening waits for nobody.
            handle = os.open(self._file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
            with os.fdopen(handle, "rb") as stream:
                now = os.fstat(handle)
                if not stat.S_ISREG(now.st_mode):
                    return []
                left_out = max(0, now.st_size - 4 * self._largest)
                stream.seek(left_out)
                return stream.read(4 * self._largest).splitlines()[1 if left_out else 0 :]
        except OSError:
            return []

    def add(self, lines: Sequence[bytes]) -> None:
        """Add lines at the end; without the lock where another program does not give it back.

        Raises:
            OSError: the disk refuses.
        """
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._locked() as alone:
            if self._append(b"".join(line + b"\n" for line in lines)) > 2 * self._largest and alone:
                self._rewrite(self._choose(self.lines()))

    def keep(self, choose: Choose) -> bool:
        """Remove the lines that `choose` does not give; False where another program does not give the lock back.

        Raises:
            OSError: the disk refuses.
        """
        with self._locked() as alone:
            if alone:
                self._rewrite(choose(self.lines()))
            return alone

    def _append(self, data: bytes) -> int:
        """Write at the end; returns the size of the file."""
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        handle = os.open(self._file, flags, 0o600)
        try:
            size = os.lseek(handle, 0, os.SEEK_END)
            if size:
                os.lseek(handle, size - 1, os.SEEK_SET)
                data = data if os.read(handle, 1) == b"\n" else b"\n" + data
            size += len(data)
            while data:
                data = data[os.write(handle, data) :]
            return size
        finally:
            os.close(handle)

    def _rewrite(self, lines: Sequence[bytes]) -> None:
        room, kept = self._largest, list[bytes]()
        for line in reversed(lines):
            room -= len(line) + 1
            if room < 0:
                break
            kept.append(line + b"\n")
        write_atomically(self._file, b"".join(reversed(kept)))

    @contextmanager
    def _locked(self) -> Generator[bool]:
        """Whether nobody else writes while this is open."""
        handle = os.open(self._file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            end = time.monotonic() + _JOURNAL_PATIENCE
            while not (alone := _take(handle)) and time.monotonic() < end:
                time.sleep(_PAUSE)
            yield alone
        finally:
            os.close(handle)  # which gives the lock back


def _take(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


class Keeper(NamedTuple):
    """Takes secrets out of values."""

    redact: Callable[[str], str] = str
    """Takes secrets out of a text; a text that it changes is not kept at all."""
    hides: Callable[[str], bool] = is_secret_name
    """Whether values of a field of this name are secret."""

    def kept(self, value: Json, hidden: Collection[str] = ()) -> tuple[Json, tuple[str, ...]]:
        """The value without its secrets, and the pointers of the places where some were.

        Args:
            hidden: what is secret whatever its name is: members at the top by their names, any place by its pointer.
        """
        left: list[str] = []
        if self._secret(value):
            return None, ("",)
        return self._inner(value, (), hidden, left), tuple(left)

    def _inner(self, value: Json, path: Place, hidden: Collection[str], left: list[str]) -> Json:
        if isinstance(value, dict):
            members: dict[str, Json] = {}
            for key, item in cast("dict[str, Json]", value).items():
                place = (*path, key)
                named = self.hides(key) and item is not None
                if named or self._secret(item) or self._secret(key) or _hidden(place, hidden):
                    left.append(pointer(*place))
                else:
                    members[key] = self._inner(item, place, hidden, left)
            return members
        if isinstance(value, list):
            items: list[Json] = []
            for index, item in enumerate(cast("list[Json]", value)):
                place = (*path, index)
                if self._secret(item) or _hidden(place, hidden):
                    left.append(pointer(*place))
                else:
                    items.append(self._inner(item, place, hidden, left))
            return items
        return value

    def _secret(self, value: Json) -> bool:
        return isinstance(value, str) and self.redact(value) != value


def _hidden(place: Place, hidden: Collection[str]) -> bool:
    return bool(hidden) and (pointer(*place) in hidden or (len(place) == 1 and place[0] in hidden))


LARGEST_ENTRY = 256 * 1024
"""Bytes; larger arguments are not kept, only that there was the call."""
_SAID = 200
_PLACES = 1_000
_LATEST = 2e11
"""A moment that is a date everywhere: in the year 8307."""
OUTCOMES: dict[type[CallOutcome], str] = {
    Succeeded: "ok", ToolFailed: "tool error", Rejected: "refused", Denied: "not sent", Cancelled: "stopped",
    InBackground: "task", TimedOut: "timed out", Lost: "lost",
}  # fmt: skip
"""What outcomes are called."""


@record(frozen=True)
class Past:
    """One call that has ended."""

    ref: Ref
    """The tool, prompt, resource or template."""
    arguments: Json = None
    at: float = 0.0
    """When it was started, in seconds since 1970."""
    origin: str = ""
    kind: str = ""
    """`ok`, `tool error`, `refused`, `not sent`, `stopped`, `task`, `timed out` or `lost`."""
    ms: float = 0.0
    size: int = 0
    """Bytes of the answer."""
    said: str = ""
    """Why it was no success, on a line."""
    left_out: tuple[str, ...] = ()
    """Pointers of arguments that are secret, and so were not kept."""
    large: bool = False
    """The arguments were too large to be kept."""
    id: str = ""

    @property
    def loss(self) -> str:
        """What of the arguments was not kept, in a sentence; empty where all was."""
        if self.large:
            return "Its arguments were too large to be kept."
        if not self.left_out:
            return ""
        names = ", ".join(safe(place.lstrip("/"), 80) or "the whole value" for place in self.left_out[:5])
        more = f" and {len(self.left_out) - 5} more" if len(self.left_out) > 5 else ""
        return f"Not kept, for it is secret: {names}{more}."


def said_of(outcome: CallOutcome) -> str:
    """Why a call was no success, on a line; empty where it was."""
    match outcome:
        case ToolFailed(result=result):
            texts = [mapping(block).get("text") for block in items_of(mapping(result).get("content"))]
            said = next((text for text in texts if isinstance(text, str) and text.strip()), "")
        case Rejected(code=code, message=message):
            said = f"{code} {message}" if code and message else outcome.said
        case Denied(rule=rule):
            said = rule
        case TimedOut(limit=limit):
            said = f"no answer within {limit}"
        case Lost(error=error):
            said = error.message
        case InBackground(task=task):
            said = task
        case _:
            said = ""
    return " ".join(said[: 4 * _SAID].split())[:_SAID]


def line_of(past: Past, hidden: Collection[str], keeper: Keeper) -> bytes:
    """A call as it is written; nothing where its address alone holds a secret."""
    if keeper.redact(past.ref.name) != past.ref.name:
        return b""
    large = False
    try:
        arguments, left = keeper.kept(past.arguments, hidden)
        frame = dumps(arguments)
    except (ValueError, TypeError, RecursionError):
        frame, left, large = b"null", (), True
    if len(frame) > LARGEST_ENTRY:
        frame, left, large = b"null", (), True
    rest = dumps(
        {
            "at": round(past.at, 3), "origin": past.origin, "outcome": past.kind, "ms": past.ms, "size": past.size,
            "said": past.said, "left_out": list(left), "large": large, "id": past.id,
        }
    )  # fmt: skip
    return head_of(past.ref) + b'"arguments":' + frame + b"," + rest[1:]


def head_of(ref: Ref) -> bytes:
    """How every line of an entry begins."""
    return dumps({"kind": ref.kind, "server": ref.server, "name": ref.name})[:-1] + b","


def newest(lines: list[bytes], keep: int) -> list[bytes]:
    """The newest few of every entry, in their order; lines that are none go."""
    seen: Counter[bytes] = Counter()
    kept: list[bytes] = []
    for line in reversed(lines):
        head, found, _ = line.partition(b',"arguments":')
        if found and line.endswith(b"}") and seen[head] < keep:
            seen[head] += 1
            kept.append(line)
    return kept[::-1]


def past_of(line: bytes) -> Past | None:
    """A line read; None where it makes no sense."""
    try:
        raw = mapping(loads(line, exact=True))
    except (JsonProblem, StudioError):
        return None
    kinds: list[EntryKind] = [kind for kind in KINDS if kind == raw.get("kind")]
    server, name, at = raw.get("server"), raw.get("name"), raw.get("at")
    if not kinds or not isinstance(server, str) or not isinstance(name, str) or not isinstance(at, (int, float)):
        return None
    return Past(
        Ref(kinds[0], server, name), raw.get("arguments"), min(_number(at), _LATEST), _text(raw.get("origin")),
        next((word for word in OUTCOMES.values() if word == raw.get("outcome")), ""),
        _number(raw.get("ms")), int(_number(raw.get("size"))), _text(raw.get("said")),
        tuple(item for item in items_of(raw.get("left_out"))[:_PLACES] if isinstance(item, str)),
        raw.get("large") is True, _text(raw.get("id")),
    )  # fmt: skip


def _text(value: Json) -> str:
    """A word or a line; whatever wrote the file, it is no longer than ours are."""
    return value[:_SAID] if isinstance(value, str) else ""


def _number(value: Json) -> float:
    usable = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e13
    return float(value) if usable else 0.0


Origin = Literal["studio", "command line"]
"""Where a call was started."""
KEEP = 20
"""Calls of one entry that are kept where the settings say nothing."""
_PATIENCE = 1.0
_MOST_WAITING = 500
"""Calls that wait for a slow disk; older ones are not kept then."""


class _New(NamedTuple):
    past: Past
    hidden: Collection[str]


class History:
    """The file. A disk that refuses costs what would have been kept and nothing else.

    Args:
        keep: calls of one entry that are kept; with 0 nothing is written, and nothing read.
    """

    def __init__(self, file: Path, keep: int = KEEP, keeper: Keeper = Keeper()) -> None:  # noqa: B008
        self.changed: Signal[Ref] = Signal()
        """There is one more of this entry, or fewer; what is read from now on has it."""
        self.keep = keep
        self._keeper = keeper
        self._journal = Journal(file, lambda lines: newest(lines, keep))
        self._waiting: list[_New] = []
        self._writing: asyncio.Task[None] | None = None

    def follow(self, call: Call, ref: Ref, arguments: Json, *, origin: Origin, hidden: Collection[str] = ()) -> None:
        """Keep a call once it has ended.

        Args:
            ref: what was run: for a template that, not the resource that came of it.
            hidden: arguments that are secret whatever they look like, by pointer, or by name at the top.
        """
        if self.keep <= 0:
            return
        began = time.time()

        def changed(one: Call) -> None:
            if one.outcome is not None:
                disconnect()
                past = Past(
                    ref, arguments, began, origin, OUTCOMES.get(type(one.outcome), ""), round(one.outcome.ms, 1),
                    one.outcome.size, self._keeper.redact(said_of(one.outcome)), id=os.urandom(6).hex(),
                )  # fmt: skip
                self.put(past, hidden)

        disconnect = call.changed.connect(changed)
        if call.outcome is not None:
            changed(call)

    def put(self, past: Past, hidden: Collection[str] = ()) -> None:
        """Keep what has ended; `hidden` as `follow` has it."""
        if self.keep > 0:
            self._add(_New(past, hidden))

    async def of(self, ref: Ref) -> tuple[Past, ...]:
        """The calls of an entry, newest first."""
        if self.keep <= 0:
            return ()
        await self._written()
        return await asyncio.to_thread(self._read, head_of(ref), self.keep)

    async def all(self) -> tuple[Past, ...]:
        """The calls of all entries, newest first."""
        if self.keep <= 0:
            return ()
        await self._written()
        return await asyncio.to_thread(self._read, b"", self.keep)

    async def forget(self, past: Past) -> None:
        """Remove a call, also from the disk.

        Raises:
            StudioError: it cannot be removed.
        """
        await self._written()
        mark = b'"id":' + dumps(past.id) + b"}"
        try:
            done = await asyncio.to_thread(
                self._journal.keep, lambda lines: [line for line in lines if not line.endswith(mark)]
            )
        except OSError as problem:
            raise StudioError(f"The history cannot be written: {problem.strerror or problem}.") from None
        if not done:
            raise StudioError("The history cannot be written: another studio is at it.", hint="Try again.")
        self.changed.emit(past.ref)

    async def close(self) -> None:
        """Wait until all is written, if the disk takes it soon."""
        if self._writing is not None:
            await asyncio.wait((self._writing,), timeout=_PATIENCE)

    def _add(self, new: _New) -> None:
        self._waiting.append(new)
        del self._waiting[:-_MOST_WAITING]
        if self._writing is None:
            self._writing = asyncio.get_running_loop().create_task(self._write())

    async def _write(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                await asyncio.to_thread(self._put, batch)
                for ref in dict.fromkeys(new.past.ref for new in batch):
                    self.changed.emit(ref)
        finally:
            self._writing = None

    async def _written(self) -> None:
        if self._writing is not None:
            await asyncio.wait((self._writing,), timeout=_PATIENCE)

    def _put(self, batch: list[_New]) -> None:
        lines = [line for new in batch if (line := line_of(new.past, new.hidden, self._keeper))]
        try:
            self._journal.add(lines)
        except OSError:
            return

    def _read(self, head: bytes, keep: int) -> tuple[Past, ...]:
        lines = [line for line in self._journal.lines() if line.startswith(head)]
        found = (past_of(line) for line in reversed(newest(lines, keep)))
        return tuple(past for past in found if past is not None)
