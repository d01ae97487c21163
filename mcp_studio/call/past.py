"""One call that has ended, as it is remembered: a line of JSON, and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from mcp_studio.call.outcome import (
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
from mcp_studio.call.private import Keeper
from mcp_studio.catalog.ref import KINDS, EntryKind, Ref
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, JsonProblem, dumps, items_of, loads, mapping
from mcp_studio.record import record
from mcp_studio.safetext import safe

LARGEST = 256 * 1024
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
    if len(frame) > LARGEST:
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
