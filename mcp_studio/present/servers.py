"""The facts about a server in words: its connection, what it declares and offers, what is wrong with it."""

from __future__ import annotations

from mcp_studio.auth.discovery import is_loopback, tidy
from mcp_studio.catalog.catalog import Catalog
from mcp_studio.catalog.listing import KINDS
from mcp_studio.config.model import ServerConfig
from mcp_studio.jsontext import Json, mapping
from mcp_studio.present import definition, stray
from mcp_studio.present.units import plural
from mcp_studio.safetext import safe
from mcp_studio.session.state import Status
from mcp_studio.trace.lint.ledger import Group, Ledger
from mcp_studio.trace.lint.rules import SEVERITIES
from mcp_studio.trace.message import Recording

_SHOWN = 3
"""The most unexpected lines of each kind."""


def tls(server: ServerConfig) -> str:
    """Whether a URL's connection is encrypted and which certificates it accepts; begins with ✗ if it is not safe."""
    if server.url.startswith(("http:", "ws:")):
        near = is_loopback(tidy(server).url)
        return "none: it is on this machine" if near else "✗ none: others can read everything on the way"
    if server.tls.insecure:
        return "✗ NOT CHECKED: any certificate is accepted (insecure = true)"
    authorities = f", also by the authorities in {server.tls.ca}" if server.tls.ca else ""
    client = f", we show the client certificate {server.tls.cert}" if server.tls.cert else ""
    return f"certificates are checked{authorities}{client}"


def capabilities(declared: Json) -> str:
    """Capabilities on one line: `tools (listChanged), logging`. Foreign text."""
    parts: list[str] = []
    for name, inner in mapping(declared).items():
        inside = ", ".join(key for key, value in mapping(inner).items() if value is not False)
        parts.append(f"{name} ({inside})" if inside else name)
    return ", ".join(parts) or "nothing"


def warnings(status: Status, catalog: Catalog, ledger: Ledger) -> list[str]:
    """The warnings about a server that the lint does not report. Foreign text."""
    lines = [f"it {warning}" for warning in ledger.uncovered(status.warnings)]
    for kind in KINDS:
        listing = catalog.listing(status.server, kind)
        problems = () if ledger.wrong else listing.problems
        lines += [f"{kind}s: {text}" for text in (listing.error, listing.capped, *problems) if text]
        lines += definition.doubts(listing)
        for entry in listing.entries if kind == "tool" else ():
            if entry.change and entry.change.unaccepted:
                lines.append(f"{entry.ref}: its definition is not what was accepted ({entry.change.words})")
    return lines


def finding_counts(ledger: Ledger) -> str:
    """`2 errors, 1 hint`; empty if there are no findings."""
    counts = ledger.counts
    return ", ".join(plural(counts[severity], severity) for severity in SEVERITIES if counts[severity])


def finding(group: Group) -> tuple[str, str]:
    """A group of findings in words: the message and how often, and the section of the specification and the place."""
    first = group.first
    what = f"and others of the rule {first.rule}" if group.others else safe(first.text, 400)
    times = f" ({group.count:,} times, last on message {group.last})" if group.count > 1 else ""
    return what + times, f"{first.section}, message {first.number} {safe(first.pointer, 120)}".rstrip()


def stray_lines(trace: Recording, server: ServerConfig) -> list[dict[str, Json]]:
    """A server's unexpected output: for each kind the count, explanation, preceding message and first lines."""
    groups: dict[str, dict[str, Json]] = {}
    for burst in reversed(stray.bursts(trace, server.name)):
        before = f"{burst.before.method} {burst.before.target}".strip() if burst.before is not None else ""
        for line in burst.lines:
            explanation = stray.explain(line.sort, (server.command, *server.args))
            new = {"kind": stray.SORTS[line.sort], "count": 0, "explanation": explanation, "after": before, "lines": []}
            one = groups.setdefault(line.sort, new)
            one["count"] += 1
            if len(one["lines"]) < _SHOWN:
                one["lines"].append(stray.text_of(line.entry)[:300].decode("utf-8", "replace"))
    return list(groups.values())
