"""Why a row was found by what somebody typed letter by letter."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_studio.catalog.ref import Ref
from mcp_studio.search.document import Document
from mcp_studio.search.fields import Fields, fields
from mcp_studio.search.grades import MOST_WORDS, addresses, words_of
from mcp_studio.search.method import LONGEST, SIMILAR, Query, Reason
from mcp_studio.search.names import LONGEST_NAME, NAME, decoded, fold, parts
from mcp_studio.search.stretch import spot, stretch

MOST = 3
"""Fields that are named."""


def literal_reasons(document: Document, query: Query, why: Reason) -> tuple[Reason, ...]:
    """Where what was found by its letters has them: why it was found, in full."""
    if why.text == SIMILAR:
        return _similar(_name(document), why.words)
    return _strict(document, words_of(query.text[:LONGEST])[:MOST_WORDS])


def _behind_server(ref: Ref, word: str) -> str | None:
    """What stands behind the server's name where a word begins the address; None where it does not."""
    begins = [begins for server, begins in addresses(word) if server == ref.server.lower()]
    return decoded(begins[0].removeprefix(NAME)) if begins else None


def _strict(document: Document, words: Sequence[str]) -> tuple[Reason, ...]:
    """Where each word stands first, by field; the name before the rest."""
    found: dict[str, tuple[str, list[str]]] = {}
    read: Fields | None = None
    name = _name(document)
    for word in words:
        folded = fold(word)
        pieces = in_name(name, word, folded)
        if pieces:
            _keep(found, "name", "", pieces)
            continue
        if (rest := _behind_server(document.ref, word)) is not None:
            if place := spot(name, rest):
                _keep(found, "name", "", (name[slice(*place)],))
            _keep(found, "server", document.ref.server, (document.ref.server,))
            continue
        read = read or fields(document)
        for field, text in _texts(read):
            if place := spot(text, folded):
                shown = stretch(text, *place) if field in ("description", "uri") else text
                _keep(found, field, shown, (text[slice(*place)],))
                break
    return tuple(Reason(field, tuple(dict.fromkeys(pieces)), text) for field, (text, pieces) in found.items())[:MOST]


def _similar(name: str, terms: Sequence[str]) -> tuple[Reason, ...]:
    """The same for a name that is only similar: `terms` are the folded parts of it that are meant; none is all."""
    places = [spot(name, term) for term in terms]
    pieces = tuple(name[slice(*place)] for place in places if place)
    return (Reason("name", pieces or (name,), SIMILAR),)


def _name(document: Document) -> str:
    ref = document.ref
    return ref.name[:LONGEST_NAME] if ref.kind in ("tool", "prompt") else fields(document).name


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
