"""What the lint says: one finding about one message."""

from __future__ import annotations

from typing import Literal, NamedTuple

Severity = Literal["error", "warning", "hint"]
"""`error`: the specification forbids it. `warning`: it should not be. `hint`: allowed, and worth a look."""
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "hint")
"""Worst first."""


class Finding(NamedTuple):
    """One thing that is wrong with a message."""

    severity: Severity
    rule: str
    """The rule's id, such as `orphan-response`."""
    text: str
    """A sentence; may quote foreign text, which is redacted but not sanitized."""
    section: str
    """Page and heading of the specification, such as `server/tools#output-schema`."""
    pointer: str = ""
    """JSON pointer into the message, empty where the whole message is meant."""
    number: int = 0
    """The number of the message in the trace."""


class Spot(NamedTuple):
    """What a rule has seen; `catalogue.found` makes a finding of it."""

    rule: str
    text: str
    pointer: str = ""
    section: str = ""
    """Where it is written, if the rule's own section is not precise enough."""


def weight(findings: tuple[Finding, ...]) -> int:
    """The severity that matters most as a number: 1 hint, 2 warning, 3 error; 0 without findings."""
    return max((len(SEVERITIES) - SEVERITIES.index(finding.severity) for finding in findings), default=0)


def worst(findings: tuple[Finding, ...]) -> Severity | None:
    """The severity that matters most; None without findings."""
    if len(findings) == 1:
        return findings[0].severity
    present = {finding.severity for finding in findings}
    return next((severity for severity in SEVERITIES if severity in present), None)
