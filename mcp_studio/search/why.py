"""Why a document answers a question that is asked in words: which pieces of its own texts did it.

The question is taken apart once, by the same rules as the search itself; each hit that is shown is then read for what
was looked for.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from mcp_studio.catalog.listing import Ref
from mcp_studio.search import question as glossary
from mcp_studio.search import tokens
from mcp_studio.search.fields import LONGEST_TEXT, Fields, fields
from mcp_studio.search.grades import LONGEST_NAME, MOST_WORDS, NAME, addresses, decoded, fold, parts, words_of
from mcp_studio.search.method import LONGEST, SIMILAR, Document, Query, Reason
from mcp_studio.search.question import LONGEST_SPLIT, Asked, analyse
from mcp_studio.search.tokens import CHUNK, chunk_words, matching, stem, words

LONGEST_STRETCH = 120
"""Characters of a stretch, without the marks that say that there is more."""
_LOOKED_AT = 4_000
_SPACE = re.compile(r"\s+")


def spot(text: str, folded: str) -> tuple[int, int] | None:
    """Where a folded word stands in a text first: begin and end."""
    if not folded:
        return None
    lowered = text.lower()
    if len(lowered) == len(text) and (at := lowered.find(folded)) >= 0:
        return at, at + len(folded)
    if text.isascii():
        return None
    return _spot_folded(text[:_LOOKED_AT], folded)


def _spot_folded(text: str, folded: str) -> tuple[int, int] | None:
    """The same where folding changes lengths."""
    places: list[int] = []
    letters: list[str] = []
    for place, char in enumerate(text):
        plain = fold(char) or " "
        letters.append(plain)
        places.extend([place] * len(plain))
    at = "".join(letters).find(folded)
    return None if at < 0 else (places[at], places[at + len(folded) - 1] + 1)


def stretch(text: str, start: int = 0, end: int = 0, most: int = LONGEST_STRETCH) -> str:
    """What stands round a piece of a text, on one line, cut between words where there are some.

    Args:
        start: where the piece begins.
        end: where it ends; of a long piece only the beginning is sure to be there.
        most: characters, without the `…` on each side that has more.
    """
    end = min(max(end, start), start + most)
    room = most - (end - start)
    left = max(0, start - room // 3)
    right = min(len(text), left + most)
    left = max(0, min(left, right - most))
    if left and (space := _SPACE.search(text, left, start)):
        left = space.end()
    if right < len(text) and (at := max(text.rfind(" ", end, right), text.rfind("\n", end, right))) > end:
        right = at
    middle = _SPACE.sub(" ", text[left:right]).strip()
    return f"{'…' if left else ''}{middle}{'…' if right < len(text) else ''}"


LOOKED_AT = 1_500
"""Characters of a text in which pieces are looked for."""
KEPT = 256
"""Documents that are kept as they were read: what is on the screen, and what was before it."""
_MOST_PARAMETERS = 25
BEGINNING = 400
"""Characters of what a document, and a question, begins with that count by themselves."""


Place = tuple[int, int]
"""Where a chunk stands: in which text, and at which character. There are many: a plain tuple takes a fifth."""


class Word(NamedTuple):
    """A word of a document."""

    stem: str
    """Empty where it has none: it is a single letter, or of a script without spaces."""
    chunks: list[str]
    """The chunks that it stands in, or is made of."""


class Reading(NamedTuple):
    """A document that was read."""

    texts: tuple[tuple[str, str], ...]
    """Each text with its field, in the order in which they count."""
    chunks: dict[str, list[Place]]
    words: dict[str, Word]
    beginning: str
    """Its name, title and server, and the beginning of what it says of itself."""

    @property
    def vocabulary(self) -> frozenset[str]:
        """The words of that; hardly ever asked for."""
        return frozenset(words(self.beginning))


class Readings:
    """Documents as they were read, those that were asked for last. Any thread may use it."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._kept: dict[Ref, tuple[Document, Reading]] = {}

    def of(self, document: Document) -> Reading:
        """A document as it was read before, or is read now."""
        with self._turn:
            known = self._kept.pop(document.ref, None)
        if known is None or known[0].raw is not document.raw or known[0].tags != document.tags:
            known = document, read(document)
        with self._turn:
            self._kept[document.ref] = known
            if len(self._kept) > KEPT:
                del self._kept[next(iter(self._kept))]
        return known[1]

    def forget(self, refs: Iterable[Ref]) -> None:
        """Let go of what is there no more."""
        with self._turn:
            for ref in refs:
                self._kept.pop(ref, None)


def own_words(chunk: str) -> tuple[str, ...]:
    """The words of a chunk, whatever script it is in."""
    return tuple(tokens.grams(chunk)) if tokens.is_dense(chunk[0]) else chunk_words(chunk)


def read(document: Document, whole: bool = False) -> Reading:
    """Read a document.

    Args:
        whole: everything that is searched, to the last value of a parameter; slow where there is much.
    """
    given = fields(document)
    texts = tuple((field, text) for field, text in _texts(given, whole) if text)
    end = LONGEST_TEXT if whole else LOOKED_AT
    chunks: dict[str, list[Place]] = {}
    for number, (_, text) in enumerate(texts):
        for match in CHUNK.finditer(text, 0, end):
            chunks.setdefault(match[0], []).append((number, match.start()))
    known: dict[str, Word] = {}
    for chunk in chunks:
        for word in own_words(chunk):
            if word not in known:
                known[word] = Word(stem(word) if len(word) > 1 else "", [])
            known[word].chunks.append(chunk)
    return Reading(texts, chunks, known, f"{given.name} {given.title} {given.server} {given.head}"[:BEGINNING])


def _texts(given: Fields, whole: bool) -> Iterator[tuple[str, str]]:
    yield "name", given.name
    yield "title", given.title
    yield "server", given.server
    yield "uri", given.uri
    for tag in given.tags:
        yield "tag", tag
    yield "description", given.description
    parameters = given.parameters if whole else given.parameters[:_MOST_PARAMETERS]
    for parameter in parameters:
        yield "parameter", parameter.name
    for parameter in parameters:
        yield "parameter", parameter.description
    for parameter in parameters if whole else ():
        yield "parameter", ", ".join(parameter.values)


MOST = 3
"""Fields that are named."""
MOST_PIECES = 8
"""Pieces of one field."""
_WEIGHTS = {"name": 4.0, "title": 3.0, "description": 1.0, "uri": 0.95, "server": 0.95, "tag": 0.95, "parameter": 0.9}
_SHORTEST_BEGINNING = 2


class _Words:
    """A vocabulary: every word where what the documents have is not known, which mostly makes no difference."""

    def __init__(self, known: Collection[str] | None = None) -> None:
        self._known = known

    def frequency(self, word: str) -> int:
        return 1 if word and (self._known is None or word in self._known) else 0

    def forms(self, word: str) -> Iterable[str]:
        return ()

    def beginning(self, prefix: str, most: int) -> list[str]:
        return []


class _Piece(NamedTuple):
    start: int
    end: int
    groups: frozenset[int]
    """Which of the things asked for it answers."""
    asked: str
    """What was asked where this is another word for it."""

    def at(self, start: int) -> _Piece:
        """The same in the text in which its chunk begins there."""
        return _Piece(start + self.start, start + self.end, self.groups, self.asked)


class Looked:
    """What a question looks for. What is learned on the way is kept: entries of one answer have the same words.

    Args:
        known: the only words there are, where that matters.
        loose: single characters count too, also of scripts without spaces, the halves of words, and words that say
            nothing.
    """

    def __init__(self, text: str, typing: bool, known: Collection[str] | None = None, *, loose: bool = False) -> None:
        own = words(text)
        self._loose = loose
        self._known: dict[str, tuple[frozenset[int], str]] = {}
        self._exact: dict[str, list[tuple[int, str]]] = {}
        self._stems: dict[str, list[tuple[int, str]]] = {}
        self._chunks: dict[str, list[_Piece]] = {}
        last = own[-1] if typing and own and text[-1:].isalnum() else ""
        self._beginning = last if loose or len(last) >= _SHORTEST_BEGINNING else ""
        for group, asked in enumerate(analyse(text, _Words(known))):
            for word, instead in _forms(asked, text, frozenset(own)):
                self._exact.setdefault(word, []).append((group, instead))
                if not tokens.is_dense(word[0]):
                    self._stems.setdefault(stem(word), []).append((group, instead))
        for one in (one for word in own for one in (word, *_halves(word))) if loose else ():
            self._exact.setdefault(one, []).append((-1, ""))

    def pieces(self, read: Reading) -> dict[int, list[tuple[int, _Piece]]]:
        """The pieces of a document's texts that were looked for, by text, in their order, at most `MOST_PIECES`.

        Each comes with the place of its chunk; it says where in that it stands.
        """
        places = [(place, chunk) for chunk in self._chunks_of(read) for place in read.chunks[chunk]]
        places.sort()
        found: dict[int, list[tuple[int, _Piece]]] = {}
        for (text, start), chunk in places:
            before = found.setdefault(text, [])
            if len(before) < MOST_PIECES:
                before += [(start, piece) for piece in self._chunks[chunk]]
                del before[MOST_PIECES:]
        return found

    def _chunks_of(self, read: Reading) -> set[str]:
        """The chunks of a document with words that were looked for."""
        exact, stems, beginning = self._exact, self._stems, self._beginning
        if not beginning:
            likely = [one for word, one in read.words.items() if word in exact or one.stem in stems]
        else:
            likely = [
                one
                for word, one in read.words.items()
                if word in exact or one.stem in stems or word.startswith(beginning)
            ]
        return {chunk for one in likely for chunk in one.chunks if self._within(chunk)}

    def of(self, word: str) -> tuple[frozenset[int], str]:
        """Which of the things asked for a word answers, and what was asked where it is another word for that."""
        known = self._known.get(word)
        if known is None:
            some = self._exact.get(word) or (self._stems.get(stem(word)) if len(word) > 1 else None) or []
            instead = "" if any(not asked for _, asked in some) else next((asked for _, asked in some), "")
            groups = frozenset(group for group, _ in some)
            if not groups and self._beginning and word.startswith(self._beginning):
                groups = frozenset({-1})
            known = self._known[word] = groups, instead
        return known

    def _within(self, chunk: str) -> list[_Piece]:
        """The pieces of a chunk that were looked for."""
        known = self._chunks.get(chunk)
        if known is None:
            known = self._chunks[chunk] = self._pieces_of(chunk)
        return known

    def _pieces_of(self, chunk: str) -> list[_Piece]:
        own = tuple(dict.fromkeys(own_words(chunk)))
        hits = [word for word in own if self.of(word)[0]]
        if len(hits) > 1 and not tokens.is_dense(chunk[0]) and hits[-1] == own[-1]:
            hits.pop()  # all of the identifier as one word; its parts tell more
        found: list[_Piece] = []
        places = matching(chunk, hits) if hits else []
        if not places and self._loose:
            single = set(hits)
            places = list(islice(((at, at + 1) for at, char in enumerate(chunk) if char in single), MOST_PIECES))
            if not places and hits:  # it stands there in another form, such as narrow kana
                places = [(0, min(len(chunk), LONGEST_STRETCH))]
        for begin, end in places:
            inside = chunk[begin:end].casefold()
            meant = [self.of(word) for word in hits if word in inside] or [self.of(word) for word in hits]
            groups = frozenset(group for groups, _ in meant for group in groups)
            found.append(_Piece(begin, end, groups, "" if any(not one for _, one in meant) else meant[0][1]))
        return found


def reasons(
    document: Document,
    query: Query,
    otherwise: tuple[Reason, ...] = (),
    reading: Callable[[Document], Reading] = read,
) -> tuple[Reason, ...]:
    """Where a document has what a question looks for, the most telling fields first.

    Args:
        document: what was found.
        query: what was asked.
        otherwise: what it is where no word did it.
        reading: gives a document as it was read.
    """
    text, known = query.text[:LONGEST], reading(document)
    found = _found(known, _looked(text, query.typing))
    if not found:  # then by words that only make sense with those of the document: `onedrive` for `one`, `drive`
        found = _found(known, Looked(text[:BEGINNING], query.typing, known.vocabulary))
    if not found and not query.typing:  # what begins so is found too where there is no such word
        found = _found(known, _looked(text, True))
    if not found and not otherwise:  # then what says little did it, or what stands far behind
        loose = _looked(text, True, True)
        found = _found(known, loose) or _found(read(document, whole=True), loose)
    return found or otherwise


def _found(read: Reading, looked: Looked) -> tuple[Reason, ...]:
    found: dict[str, tuple[float, str, list[tuple[int, _Piece]]]] = {}
    for number, pieces in looked.pieces(read).items():
        field, text = read.texts[number]
        worth = _WEIGHTS[field] * len({group for _, piece in pieces for group in piece.groups})
        if field not in found or found[field][0] < worth:
            found[field] = worth, text, pieces
    best = sorted(found.items(), key=lambda one: -one[1][0])[:MOST]
    return tuple(
        _reason(field, text, [piece.at(start) for start, piece in pieces]) for field, (_, text, pieces) in best
    )


@lru_cache(maxsize=8)
def _looked(text: str, typing: bool, loose: bool = False) -> Looked:
    return Looked(text, typing, loose=loose)


def _halves(word: str) -> Iterator[str]:
    """What a word may begin or end with: it is taken for two where hardly any entry has it."""
    for at in range(2, min(len(word), LONGEST_SPLIT) - 1) if not tokens.is_dense(word[0]) else ():
        yield from (word[:at], word[at:])


def _forms(asked: Asked, text: str, own: frozenset[str]) -> Iterator[tuple[str, str]]:
    """What may stand for something that was asked, each with what was asked where it is another word."""
    said = [word for word in asked.words if word in own or any(word in one or one in word for one in own)]
    for word in asked.words:
        if word:
            yield word, "" if word in said else said[0] if said else _translated(word, text)


def _translated(word: str, text: str) -> str:
    """The word of the question that an English one stands for."""
    whole = "_".join(word.split())
    known = glossary.entries().items()
    return next((key for key, english in known if key in text and any(whole in one.split("_") for one in english)), "")


def _reason(field: str, text: str, pieces: list[_Piece]) -> Reason:
    shown = ""
    if field in ("description", "uri", "parameter"):
        first = _first(pieces)
        pieces = [piece for piece in pieces if first.start <= piece.start < first.start + LONGEST_STRETCH // 2]
        shown = stretch(text, first.start, first.end)
        pieces = [piece for piece in pieces if text[piece.start : piece.end] in shown]
    found = dict.fromkeys(text[piece.start : piece.end] for piece in pieces)
    asked = {text[piece.start : piece.end]: piece.asked for piece in pieces if piece.asked and piece.asked not in text}
    if asked and shown:
        shown = f"{shown} (asked: {', '.join(dict.fromkeys(asked.values()))})"
    elif asked:
        shown = ", ".join(f"{word} (asked: {asked[word]})" if word in asked else word for word in found)
    elif field == "title":
        shown = text
    return Reason(field, tuple(found), shown)


def _first(pieces: list[_Piece]) -> _Piece:
    """The one with the most of what was asked for behind it, within what is shown."""

    def near(piece: _Piece) -> int:
        end = piece.start + LONGEST_STRETCH // 2
        return len({group for one in pieces if piece.start <= one.start < end for group in one.groups})

    return max(pieces, key=near)


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
        for field, text in _literal_texts(read):
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


def _literal_texts(read: Fields) -> list[tuple[str, str]]:
    found = [("title", read.title), ("server", read.server), ("uri", read.uri)]
    found += [("tag", tag) for tag in read.tags]
    found += [("parameter", one.name) for one in read.parameters]
    return [*found, ("description", read.description)]


def _keep(found: dict[str, tuple[str, list[str]]], field: str, text: str, pieces: Sequence[str]) -> None:
    found.setdefault(field, (text, []))[1].extend(pieces)
