"""One entry by value, as all exports take it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from mcp_studio.redact import Redactor
from mcp_studio.trace import columns as bits
from mcp_studio.trace.columns import Columns
from mcp_studio.trace.heads import cleaned
from mcp_studio.trace.lint.finding import Finding
from mcp_studio.trace.message import DIRECTIONS, KINDS, OUTCOMES, Direction, MessageKind

_OUTCOMES = ("", *OUTCOMES)


class Extra(NamedTuple):
    """What only few entries have."""

    findings: tuple[Finding, ...] = ()
    comment: str = ""


class Item(NamedTuple):
    """What is known of an entry; texts and body redacted once more."""

    number: int
    time: float
    """Seconds since the epoch."""
    server: str
    direction: Direction
    kind: MessageKind
    body: bytes
    size: int
    """Bytes on the wire."""
    method: str = ""
    target: str = ""
    link: int = 0
    """Of a request the number of its answer, of an answer that of its request."""
    outcome: str = ""
    """See `message.OUTCOMES`; empty for what is no end of a span."""
    under: int = 0
    """The request that a request came under."""
    follows: int = 0
    """The earlier round of its conversation."""
    exchange: int = 0
    flags: int = 0
    """See `columns`."""
    ms: float | None = None
    """Milliseconds from request to answer."""
    extra: Extra = Extra()


def items(
    columns: Columns,
    numbers: Iterable[int],
    body: Callable[[int], bytes],
    extras: dict[int, Extra],
    redactor: Redactor,
) -> Iterator[Item]:
    """The entries with these numbers that are kept."""
    cleaned = _Cleaned(redactor)
    for number in numbers:
        row = number - columns.first
        if 0 <= row < len(columns.time):
            yield _item(columns, number, row, body(number), extras.get(number), cleaned)


class _Cleaned:
    """Texts that occur again and again, redacted once each."""

    def __init__(self, redactor: Redactor) -> None:
        self.redactor = redactor
        self._known: dict[str, str] = {}

    def text(self, text: str) -> str:
        known = self._known.get(text)
        if known is None:
            if len(self._known) > 10_000:
                self._known.clear()
            known = self._known[text] = self.redactor.text(text)
        return known

    def body(self, body: bytes, kind: str) -> bytes:
        return cleaned(body, self.redactor) if kind == "http" else self.redactor.bytes(body)


def _item(columns: Columns, number: int, row: int, body: bytes, extra: Extra | None, cleaned: _Cleaned) -> Item:
    kind, direction = columns.kind[row] & 15, columns.kind[row] >> 4
    if extra is not None:
        told = tuple(
            finding._replace(text=cleaned.text(finding.text), pointer=cleaned.text(finding.pointer))
            for finding in extra.findings
        )
        extra = Extra(told, cleaned.text(extra.comment))
    return Item(
        number, columns.time[row], cleaned.text(columns.servers.texts[columns.server[row]]),
        DIRECTIONS[direction], KINDS[kind], cleaned.body(body, KINDS[kind]), columns.size[row],
        cleaned.text(columns.methods.texts[columns.method[row]]),
        cleaned.text(columns.targets.texts[columns.target[row]]),
        columns.link[row], _OUTCOMES[columns.outcome[row]],
        columns.parents.get(number, 0), columns.follows.get(number, 0),
        columns.exchange[row], columns.flags[row], columns.ms(row), extra or Extra(),
    )  # fmt: skip


PROBE, BY_HAND, ASKED, MARKED, COMMENTED = bits.PROBE, bits.BY_HAND, bits.ASKED, bits.MARKED, bits.COMMENTED
