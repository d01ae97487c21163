"""Why a row was found by what somebody typed letter by letter."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_studio.search.fields import Fields, fields
from mcp_studio.search.method import Reason
from mcp_studio.search.names import LONGEST_NAME, Row, fold, parts
from mcp_studio.search.stretch import spot, stretch

MOST = 3
"""Fields that are named."""


def literal_reasons(row: Row, words: Sequence[str]) -> tuple[Reason, ...]:
    """Where each word stands first, by field; the name before the rest."""
    found: dict[str, tuple[str, list[str]]] = {}
    read: Fields | None = None
    name = ""
    for word in words:
        folded = fold(word)
        name = name or _name(row)
        pieces = in_name(name, word, folded)
        if pieces:
            _keep(found, "name", "", pieces)
            continue
        read = read or fields(row.document)
        for field, text in _texts(read):
            if place := spot(text, folded):
                shown = stretch(text, *place) if field in ("description", "uri") else text
                _keep(found, field, shown, (text[slice(*place)],))
                break
    return tuple(Reason(field, tuple(dict.fromkeys(pieces)), text) for field, (text, pieces) in found.items())[:MOST]


def name_reasons(row: Row, terms: Sequence[str]) -> tuple[Reason, ...]:
    """The same for a name that is only similar: `terms` are the folded parts of it that are meant; none is all."""
    name = _name(row)
    places = [spot(name, term) for term in terms]
    pieces = tuple(name[slice(*place)] for place in places if place)
    return (Reason("name", pieces or (name,), "similar"),)


def _name(row: Row) -> str:
    ref = row.document.ref
    return ref.name[:LONGEST_NAME] if ref.kind in ("tool", "prompt") else fields(row.document).name


def in_name(name: str, word: str, folded: str) -> tuple[str, ...]:
    """The pieces of a name that a word stands for: itself, its parts in other spelling, or parts by their initials."""
    if place := spot(name, folded):
        return (name[slice(*place)],)
    its_parts = parts(word)
    if len(its_parts) > 1:
        places = [spot(name, part) for part in its_parts]
        if all(places):
            return tuple(name[slice(*place)] for place in places if place)
    named = [part for part in parts(name) if part.isascii()]
    if len(folded) > 1 and "".join(part[0] for part in named).startswith(folded):
        return tuple(name[slice(*place)] for part in named[: len(folded)] if (place := spot(name, part)))
    return ()


def _texts(read: Fields) -> list[tuple[str, str]]:
    found = [("title", read.title), ("server", read.server), ("uri", read.uri)]
    found += [("tag", tag) for tag in read.tags]
    found += [("parameter", one.name) for one in read.parameters]
    return [*found, ("description", read.description)]


def _keep(found: dict[str, tuple[str, list[str]]], field: str, text: str, pieces: Sequence[str]) -> None:
    found.setdefault(field, (text, []))[1].extend(pieces)
