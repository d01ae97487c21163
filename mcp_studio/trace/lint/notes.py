"""Where findings go: onto their message, and into the ledger of the server that sent it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from mcp_studio.trace.lint.catalogue import found
from mcp_studio.trace.lint.finding import Finding, Spot
from mcp_studio.trace.lint.ledger import Ledger
from mcp_studio.trace.message import WireMessage

_MOST = 50
"""Findings of one message that are kept."""
_MADE = 200


class Notes:
    """Makes findings of what rules have seen.

    Args:
        clean: takes secrets out of a text.
    """

    def __init__(self, ledger: Ledger, clean: Callable[[str], str]) -> None:
        self._ledger = ledger
        self._clean = clean
        self._made: dict[tuple[Spot, bool], Finding] = {}

    def put(self, entry: WireMessage, spots: Sequence[Spot], modern: bool) -> None:
        """Put what was seen on a message."""
        attach(entry, self._ledger, [self._finding(spot, entry.number, modern) for spot in spots[:_MOST]])

    def _finding(self, spot: Spot, number: int, modern: bool) -> Finding:
        """The finding, its text without secrets. A server that errs does so again and again: the newest are kept."""
        made = self._made.get((spot, modern))
        if made is None:
            made = found(spot, number, modern)
            made = made._replace(text=self._clean(made.text))
            if len(self._made) >= _MADE:
                self._made.clear()
            self._made[spot, modern] = made
        return Finding(made.severity, made.rule, made.text, made.section, made.pointer, number)


def attach(entry: WireMessage, ledger: Ledger, findings: Iterable[Finding]) -> bool:
    """Put findings on a message, those that are not there yet; whether there were any.

    What is wrong with a message of ours is shown on it, and not counted: it is nothing that the server does.
    """
    old = entry.findings
    new = tuple(finding for finding in findings if finding not in old) if old else tuple(findings)
    if new:
        entry.findings = old + new
        if entry.direction == "in":
            ledger.add(new)
    return bool(new)
