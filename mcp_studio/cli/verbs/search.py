"""`search`: find what servers offer by name, words, patterns or meaning, and show why each hit was found."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from mcp_studio.catalog.listing import KINDS, EntryKind
from mcp_studio.cli.engine import connect_all, execute
from mcp_studio.cli.targets import configured, select
from mcp_studio.cli.terminal import RISKS, Output, table
from mcp_studio.errors import StudioError
from mcp_studio.protocol.views import ToolView
from mcp_studio.safetext import safe
from mcp_studio.search.engine import MEANT
from mcp_studio.search.method import Found, Hit, Reason, Scope
from mcp_studio.studio import Studio


def run(out: Output) -> int:
    """Search. Returns the exit code, which is 1 if nothing is found.

    Raises:
        UsageError: there is no such server.
    """
    options, config = out.options, configured(out)
    text, names = " ".join(options.words), options.values("--server")
    method = options.value("--method") or config.settings.search_method
    limit = options.count("--limit", 1_000) or 20
    offline = options.flag("--offline")
    # Offline, nothing is started, so include disabled servers.
    chosen = select(config, (names or list(config.servers)) if offline else names)
    kinds: list[EntryKind] = [kind for kind in KINDS if kind in options.values("--kind")]

    async def body(studio: Studio) -> int:
        if not offline:
            await _listed(studio, kinds, out)
        scope = Scope(kinds=frozenset(kinds) or None)
        seconds = options.seconds() if method in MEANT else None
        try:
            async with asyncio.timeout(seconds):  # no limit for computing what entries mean
                found = await studio.index.ask(text, method=method, scope=scope, limit=limit, once=True)
        except TimeoutError:
            done, all = studio.index.vectors
            late = f"What entries mean was not found out within {seconds} seconds: it is known of {done:,} of {all:,}."
            raise StudioError(late, hint="What is known is stored: the next search goes on from there.") from None
        if not found.hits:
            return out.done(found.as_json(), _nothing(found, method, out))
        out.data(*_lines(found))
        out.note(_summary(found))
        return out.done(found.as_json())

    return execute(chosen, out, body, answers=not offline, connects=not offline)


_ABOUT = 160
_LINES = ("name", "title", "server", "tag")
"""Short fields: the matching words are shown without the text around them."""


async def _listed(studio: Studio, kinds: Sequence[EntryKind], out: Output) -> None:
    """Wait for all servers. For those that cannot be reached, say so and search what they offered last time.
    Also warn of lists that failed or are incomplete.

    Raises:
        StudioError: no server can be reached, and nothing is remembered.
    """
    names, failed = studio.manager.names(), await connect_all(studio, out)
    known = {name for name in names if any(studio.catalog.listing(name, kind).entries for kind in KINDS)}
    if len(failed) == len(names) and not known:
        raise failed[names[-1]]
    for name in names:
        if name in failed:
            remembered = " What it offered last time is searched." if name in known else ""
            out.warn(f"{name}: {failed[name].message}{remembered}")
            continue
        for kind in kinds or KINDS:
            listing = studio.catalog.listing(name, kind)
            out.warn_of_list(name, kind, listing.error, listing.capped)


def _nothing(found: Found, method: str, out: Output) -> StudioError:
    """Explain why nothing was found, and suggest what else could find it."""
    if not found.of:
        hint = "Without --offline servers are asked." if out.options.flag("--offline") else ""
        return StudioError("There is nothing to search: no entry is known.", hint=hint)
    why = f"Nothing was found for `{safe(found.query.text, 100)}` among all {found.of:,}. {found.note}".rstrip()
    if method in ("auto", "semantic"):
        return StudioError(why, hint="" if found.note else "--method semantic finds what means the same.")
    return StudioError(why, hint="--method auto looks for words, their forms, and names that are similar.")


def _lines(found: Found) -> list[str]:
    rows, lines = [_row(hit) for hit in found.hits], list[str]()
    for row, line, hit in zip(rows, table(rows), found.hits, strict=True):
        lines.append(line)
        if why := " · ".join(said(reason, row[-1]) for reason in hit.reasons):
            lines.append(f"    {why}")
    return lines


def _row(hit: Hit) -> tuple[str, ...]:
    ref, entry = hit.ref, hit.entry
    # Keep server and URI apart: joined by a dot, the server's name would look like part of the URI.
    address = str(ref) if ref.kind in ("tool", "prompt") else f"{ref.server} {ref.name}"
    if entry is None:
        return address, ref.kind, "", ""
    about = safe(entry.view.description.strip().split("\n", 1)[0] or entry.view.title, _ABOUT)
    risk = RISKS[entry.view.risk] if isinstance(entry.view, ToolView) else ""
    return address, ref.kind, risk, f"(remembered) {about}".rstrip() if entry.remembered else about


def said(reason: Reason, shown: str = "") -> str:
    """Describe a reason in a few words: the field and the words that match. If that text is not `shown`, quote it."""
    words = ", ".join(safe(word, _ABOUT) for word in reason.words)
    text = reason.text
    if text == "similar":
        words = f"{words} (similar)"
    elif text.strip("…") not in shown and (reason.field not in _LINES or "(asked:" in text):
        words = safe(text, 2 * _ABOUT)
    return f"{reason.field}: {words}" if words else reason.field


def _summary(found: Found) -> str:
    shown = f"{len(found.hits):,} of {found.total:,}" if len(found.hits) < found.total else f"{found.total:,}"
    how = "used last and most first" if found.method == "used" else f"found by {found.method}"
    return f"{shown}, {how}, among {found.of:,} in {found.ms:.0f} ms. {found.note}".rstrip()
