"""The lint's findings on one server, counted: equal findings become one group with a number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from mcp_studio.trace.lint.rules import Finding, Severity, weight
from mcp_studio.trace.message import WireMessage

_PER_RULE = 20
"""Different texts of one rule that are counted separately; further ones are counted together."""
_VERSIONS = 100


@dataclass(slots=True)
class Group:
    """Findings of one rule with the same text."""

    first: Finding
    others: bool = False
    """Whether the group collects further texts of the rule, of which `first` is only the first."""
    count: int = 0
    last: int = 0
    """The number of the newest message with the finding."""


class Ledger:
    """All findings on one server since its last connection began.

    Args:
        on_wrong: called at the first error or warning.
    """

    def __init__(self, on_wrong: Callable[[], None] = lambda: None) -> None:
        self._on_wrong = on_wrong
        self._versions: list[tuple[int, str]] = []
        self.begins()

    def begins(self, first: int = 0) -> None:
        """Start to count anew, because a new connection begins; findings on earlier messages no longer count."""
        self._first = first
        self._groups: dict[tuple[str, str], Group] = {}
        self._texts: Counter[str] = Counter()
        self._covered: set[str] = set()
        self.counts: Counter[Severity] = Counter()
        """The number of findings of each severity."""
        self.wrong = False
        """Whether there is an error or a warning."""

    def add(self, findings: Iterable[Finding]) -> None:
        for finding in findings:
            if finding.number < self._first:
                continue  # the finding's connection has ended
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
        """The groups, worst first, then by their first finding."""
        return tuple(sorted(self._groups.values(), key=lambda group: -weight((group.first,))))

    def cover(self, warning: str) -> None:
        """Record that a finding says the same as this warning of the session."""
        if len(self._covered) < _VERSIONS:
            self._covered.add(warning)

    def uncovered(self, warnings: Iterable[str]) -> tuple[str, ...]:
        """The warnings that no finding repeats."""
        return tuple(warning for warning in warnings if warning not in self._covered)

    def speaks(self, number: int, version: str) -> None:
        """Record the protocol version of the messages from this one on."""
        self._versions.append((number, version))
        del self._versions[:-_VERSIONS]

    def version_at(self, number: int) -> str:
        """The protocol version when a message crossed the wire; empty before one was agreed on."""
        return next((version for since, version in reversed(self._versions) if since <= number), "")


def attach(entry: WireMessage, ledger: Ledger, findings: Iterable[Finding]) -> bool:
    """Attach new findings to a message; returns whether there were any.

    Findings on messages of ours are shown but not counted, because they do not concern the server.
    """
    new = tuple(finding for finding in findings if finding not in entry.findings)
    if new:
        entry.findings += new
        if entry.direction == "in":
            ledger.add(new)
    return bool(new)
