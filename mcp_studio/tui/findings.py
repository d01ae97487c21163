"""How findings of the lint read: on a message, and summed up for a server. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mcp_studio.present import servers
from mcp_studio.safetext import safe
from mcp_studio.trace.lint.ledger import Ledger
from mcp_studio.trace.lint.rules import SEVERITIES, Finding, Severity, worst
from mcp_studio.trace.message import WireMessage
from mcp_studio.tui.views.glyphs import glyphs

Part = str | tuple[str, str]
_MOST = 60
_LOOKS: dict[Severity, str] = {"error": "$text-error", "warning": "$text-warning", "hint": "$quiet"}


def sign(severity: Severity) -> str:
    """One character for a severity."""
    signs = glyphs()
    return {"error": signs.bad, "warning": signs.warning, "hint": signs.dot}[severity]


def mark(message: WireMessage) -> tuple[str, str]:
    """The sign in front of a row, and its look; blank without findings."""
    found = worst(message.findings) if message.findings else None
    if found is None:
        return " ", ""
    return sign(found), {"error": "bad", "warning": "warn", "hint": "dim"}[found]


def comment_sign() -> str:
    """What stands in front of a person's comment."""
    return glyphs().said


def headline(messages: Sequence[WireMessage]) -> str:
    """The worst finding on some messages in one line, and how many more there are; empty without any."""
    findings = sorted(_all(messages), key=lambda finding: SEVERITIES.index(finding.severity))
    if not findings:
        return ""
    first, more = findings[0], len(findings) - 1
    rest = f" (+{more})" if more else ""
    return f"{sign(first.severity)} {safe(first.text, 200)}{rest}"


def text(parts: Sequence[tuple[str, WireMessage]]) -> str:
    """All findings on the messages of an exchange, each message under its heading."""
    lines: list[str] = []
    for heading, message in parts:
        if message.findings:
            lines += [*([""] if lines else []), f"{heading} (message {message.number})"]
        for finding in sorted(message.findings, key=lambda one: SEVERITIES.index(one.severity)):
            lines += ["", f"{sign(finding.severity)} {finding.severity}: {safe(finding.text, 500)}"]
            where = f"at {safe(finding.pointer, 200)}, " if finding.pointer else ""
            lines.append(f"  {where}rule {finding.rule}, specification {finding.section}")
    return "\n".join(lines)


def parts(ledger: Ledger) -> Iterator[Part]:
    """What was found on a server, grouped, worst first."""
    groups = ledger.groups()
    if not groups:
        return
    yield f"\nFindings: {servers.finding_counts(ledger)}\n", "b $accent"
    for group in groups[:_MOST]:
        what, where = servers.finding(group)
        yield f"  {sign(group.first.severity)} {what}\n", _LOOKS[group.first.severity]
        yield f"    {where}\n", "$quiet"
    if len(groups) > _MOST:
        yield f"  and {len(groups) - _MOST} more\n", "$quiet"


def _all(messages: Sequence[WireMessage]) -> list[Finding]:
    return [finding for message in messages for finding in message.findings]
