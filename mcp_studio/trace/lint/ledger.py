"""What the lint found on one server, counted: the same finding a thousand times is one line with a number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from mcp_studio.trace.lint.rules import Finding, Severity, weight
from mcp_studio.trace.message import WireMessage

_PER_RULE = 20
"""Different texts of one rule that are counted apart; further ones are counted together."""
_VERSIONS = 100


@dataclass(slots=True)
class Group:
    """Findings of one rule with the same text."""

    first: Finding
    others: bool = False
    """Findings of the rule with ever different texts; `first` is only the first of them."""
    count: int = 0
    last: int = 0
    """The number of the newest message it was found on."""


class Ledger:
    """All findings on one server since it was last connected.

    Args:
        on_wrong: called at the first error or warning.
    """

    def __init__(self, on_wrong: Callable[[], None] = lambda: None) -> None:
        self._on_wrong = on_wrong
        self._versions: list[tuple[int, str]] = []
        self.begins()

    def begins(self, first: int = 0) -> None:
        """Another connection: what was, or will be, found on messages before this number is no longer counted."""
        self._first = first
        self._groups: dict[tuple[str, str], Group] = {}
        self._texts: Counter[str] = Counter()
        self._covered: set[str] = set()
        self.counts: Counter[Severity] = Counter()
        """How many findings of each severity."""
        self.wrong = False
        """Whether there is an error or a warning."""

    def add(self, findings: Iterable[Finding]) -> None:
        """Count findings."""
        for finding in findings:
            if finding.number < self._first:
                continue  # its connection is over
            self.counts[finding.severity] += 1
            if not self.wrong and finding.severity != "hint":
                self.wrong = True
                self._on_wrong()
            group = self._group(finding)
            group.count += 1
            group.last = finding.number

    def _group(self, finding: Finding) -> Group:
        group = self._groups.get((finding.rule, finding.text))
        if group is not None:
            return group
        if self._texts[finding.rule] < _PER_RULE:
            self._texts[finding.rule] += 1
            return self._groups.setdefault((finding.rule, finding.text), Group(finding))
        return self._groups.setdefault((finding.rule, ""), Group(finding, others=True))

    def groups(self) -> tuple[Group, ...]:
        """Worst first, then in the order in which they were first found."""
        return tuple(sorted(self._groups.values(), key=lambda group: -weight((group.first,))))

    def cover(self, warning: str) -> None:
        """A finding says the same as this warning of the session."""
        if len(self._covered) < _VERSIONS:
            self._covered.add(warning)

    def uncovered(self, warnings: Iterable[str]) -> tuple[str, ...]:
        """The warnings that no finding says."""
        return tuple(warning for warning in warnings if warning not in self._covered)

    def speaks(self, number: int, version: str) -> None:
        """From this message on the connection has this protocol version."""
        self._versions.append((number, version))
        del self._versions[:-_VERSIONS]

    def version_at(self, number: int) -> str:
        """The protocol version that was agreed on when a message crossed the wire; empty before that."""
        return next((version for since, version in reversed(self._versions) if since <= number), "")


def attach(entry: WireMessage, ledger: Ledger, findings: Iterable[Finding]) -> bool:
    """Put findings on a message, those that are not there yet; whether there were any.

    What is wrong with a message of ours is shown on it, and not counted: it is nothing that the server does.
    """
    new = tuple(finding for finding in findings if finding not in entry.findings)
    if new:
        entry.findings += new
        if entry.direction == "in":
            ledger.add(new)
    return bool(new)
