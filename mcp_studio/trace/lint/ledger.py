"""What the lint found on one server, counted: the same finding a thousand times is one line with a number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from mcp_studio.trace.lint.rules import SEVERITIES, Finding, Severity, Spot, found
from mcp_studio.trace.message import WireMessage

_PER_RULE = 20
"""Different texts of one rule that are told apart; further ones are counted together."""
_VERSIONS = 100


class Group:
    """Findings of one rule with the same text."""

    __slots__ = ("count", "first", "last", "others")

    def __init__(self, first: Finding, others: bool = False) -> None:
        self.first = first
        self.count = 1
        self.last = first.number
        """The number of the newest message it was found on."""
        self.others = others
        """Findings of the rule with ever different texts; `first` is only the first of them."""


class Ledger:
    """All findings on one server since it was last connected.

    Args:
        on_wrong: told of the first error or warning.
    """

    def __init__(self, on_wrong: Callable[[], None] = lambda: None) -> None:
        self._on_wrong = on_wrong
        self._groups: dict[tuple[str, str], Group] = {}
        self._texts: Counter[str] = Counter()
        self._versions: list[tuple[int, str]] = []
        self._covered: set[str] = set()
        self._first = 0
        self.counts: Counter[Severity] = Counter()
        """How many findings of each severity."""
        self.wrong = False
        """Whether there is an error or a warning."""

    def begins(self, first: int = 0) -> None:
        """Another connection: what was, or will be, found on messages before this number is no longer counted."""
        self._first = first
        self._groups.clear()
        self._texts.clear()
        self._covered.clear()
        self.counts.clear()
        self.wrong = False

    def add(self, findings: Iterable[Finding]) -> None:
        """Count findings."""
        for finding in findings:
            if finding.number < self._first:
                continue  # found late: its connection is over
            self.counts[finding.severity] += 1
            if not self.wrong and finding.severity != "hint":
                self.wrong = True
                self._on_wrong()
            key = (finding.rule, finding.text)
            group = self._groups.get(key)
            if group is None:
                group = self._room(key, finding)
            if group is None:
                continue
            group.count += 1
            group.last = finding.number

    def groups(self) -> tuple[Group, ...]:
        """Worst first, then in the order in which they were first found."""
        order = {severity: place for place, severity in enumerate(SEVERITIES)}
        return tuple(sorted(self._groups.values(), key=lambda group: order[group.first.severity]))

    def cover(self, warning: str) -> None:
        """A warning in words says what a finding says already."""
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
        known = ""
        for since, version in self._versions:
            if since > number:
                break
            known = version
        return known

    def _room(self, key: tuple[str, str], finding: Finding) -> Group | None:
        """Begin a group, which has counted the finding then; or give the one for the rest of its rule."""
        rest = (finding.rule, "")
        if self._texts[finding.rule] < _PER_RULE:
            self._texts[finding.rule] += 1
            self._groups[key] = Group(finding)
        elif rest in self._groups:
            return self._groups[rest]
        else:
            self._groups[rest] = Group(finding, others=True)
        return None


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
