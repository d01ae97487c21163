"""What is told about the hit under the cursor: what it takes, and why it matched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from textual.content import Content

from mcp_studio.safetext import safe
from mcp_studio.search.method import Hit, Reason
from mcp_studio.tui.screens.search_rows import title_of, words_in
from mcp_studio.tui.screens.search_signature import Signature, signature
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import mark_matches

Part = str | tuple[str, str]
_FOUND = "$text-accent bold underline"
_READ = 1_000
_SEEN = 120
"""Characters of a description that can be seen on any screen."""
_LONG = ("description", "parameter", "uri")
"""Fields of which a stretch is quoted; other ones are shown whole."""
_REASONS = 6
_WORDS = 5


def preview(hit: Hit | None, room: int = 1_000) -> Content:
    """The signature, the reasons, and the description as far as there is room.

    Before them stands its name, where that has more cells than the row has for it (`room`).
    """
    if hit is None:
        return Content("")
    if hit.entry is None:
        return Content(f"{safe(hit.ref.server, 60)} does not list it any more.")
    parts: list[Part] = []
    server, name = safe(hit.ref.server, 100), title_of(hit.ref, hit.entry)
    if cell_len(f"{server}.{name}") > room:
        words = words_in(hit.reasons, ("name", "title", "uri"))
        parts += [(f"{server}.", "$quiet"), *_marked(name, words, "b"), "\n"]
    parts += _signature(signature(hit.entry), words_in(hit.reasons, ("parameter", "uri")))
    text = " ".join(hit.entry.view.description[:_READ].split())
    if why := list(_why(hit.reasons, text)):
        parts += ["\n", *why]
    if text:
        parts += ["\n", *_marked(safe(text, _READ), words_in(hit.reasons, ("description",)), "$quiet")]
    return Content.assemble(*parts)


def _signature(takes: Signature, words: Sequence[str]) -> list[Part]:
    parts: list[Part] = []
    for one in takes.parameters:
        parts += [f" {glyphs().dot} "] if parts else []
        parts += _marked(safe(one.name, 60) or "(no name)", words, "b")
        parts += [(f": {safe(one.type, 80)}" if one.type else "", "$quiet"), ("*", "b $accent") if one.required else ""]
    if takes.more:
        parts.append((f" {glyphs().dot} {takes.more:,} more", "$quiet"))
    if takes.note:
        parts += [f" {glyphs().dot} " if parts else "", *_marked(safe(takes.note, 400), words, "$quiet")]
    return parts


def _why(reasons: Sequence[Reason], description: str) -> Iterable[Part]:
    """Where it matched, and by which pieces of text; what the beginning of the description shows is not quoted."""
    if not reasons:
        return
    yield "matched by ", "$quiet"
    for number, reason in enumerate(reasons[:_REASONS]):
        if number:
            yield f" {glyphs().dot} ", "$quiet"
        yield safe(reason.field, 30), "$quiet"
        yield from _by(reason, description)
    if len(reasons) > _REASONS:
        yield f" {glyphs().dot} {len(reasons) - _REASONS} more", "$quiet"


def _by(reason: Reason, description: str) -> Iterable[Part]:
    """The pieces, or the text that they stand in."""
    words = list({word.casefold(): safe(word, 60) for word in reason.words[:_WORDS][::-1]}.values())[::-1]
    text = " ".join(reason.text[:300].split())
    if text and reason.field not in _LONG and any(word in text for word in words):
        yield " "
        yield from _marked(safe(text, 160), words, "")
        return
    yield (f" {', '.join(words)}", "b") if words else ""
    if text and text.strip("…")[:60] not in description[:_SEEN]:
        begin, end = (" “", "”") if reason.field in _LONG else (" (", ")")
        yield begin, "$quiet"
        yield from _marked(safe(text, 160), words, "")
        yield end, "$quiet"


def _marked(text: str, words: Sequence[str], look: str) -> list[Part]:
    return [(piece, str(style)) for piece, style in mark_matches(text, words, look, _FOUND)]
