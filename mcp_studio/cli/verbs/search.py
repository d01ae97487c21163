"""`search`: what servers offer, found by name, words, patterns or meaning, each hit with why it was found."""

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
    """Search, and return the exit code: 1 where nothing is found.

    Raises:
        UsageError: there is no such server.
    """
    options, config = out.options, configured(out)
    text, names = " ".join(options.words), options.values("--server")
    method = options.value("--method") or config.settings.search_method
    limit = options.count("--limit", 1_000) or 20
    offline = options.flag("--offline")
    # Offline also those that are disabled: nothing is started.
    chosen = select(config, (names or list(config.servers)) if offline else names)
    kinds: list[EntryKind] = [kind for kind in KINDS if kind in options.values("--kind")]

    async def body(studio: Studio) -> int:
        if not offline:
            await _listed(studio, kinds, out)
        scope = Scope(kinds=frozenset(kinds) or None)
        seconds = options.seconds() if method in MEANT else None
        try:
            async with asyncio.timeout(seconds):  # finding out what entries mean takes as long as it takes
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
"""Fields that are short: what matched is told, not what stands round it."""


async def _listed(studio: Studio, kinds: Sequence[EntryKind], out: Output) -> None:
    """Wait for all servers; of those that cannot be reached what is remembered is searched, and that is told.

    A list that failed, or is not whole, is told too.

    Raises:
        StudioError: none can be reached, and nothing is remembered.
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
    """Why nothing is shown, and what else may find it."""
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
    # A URI behind a server's name and a dot would look like part of it.
    address = str(ref) if ref.kind in ("tool", "prompt") else f"{ref.server} {ref.name}"
    if entry is None:
        return address, ref.kind, "", ""
    about = safe(entry.view.description.strip().split("\n", 1)[0] or entry.view.title, _ABOUT)
    risk = RISKS[entry.view.risk] if isinstance(entry.view, ToolView) else ""
    return address, ref.kind, risk, f"(remembered) {about}".rstrip() if entry.remembered else about


def said(reason: Reason, shown: str = "") -> str:
    """A reason in a few words: the field, and what of it matched, or stands round it where that is not `shown`."""
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
