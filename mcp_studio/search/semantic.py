"""Searching by meaning: queries and documents are compared as vectors, so they need not share words."""

from __future__ import annotations

import hashlib
import logging
import math
import re
import sqlite3
import time
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcp_studio.catalog.listing import Ref
from mcp_studio.search.bm25 import Slots
from mcp_studio.search.fields import LONGEST_HEAD, LONGEST_NAME, Fields, fields
from mcp_studio.search.method import BY_MEANING, LONGEST, Answer, Document, Query, Scored, SearchProblem, order
from mcp_studio.search.model import SIZE, Model, identity
from mcp_studio.search.question import ASIDE, CIRCUMSTANCE, STOP, deeds_of, deeds_wanted, translations
from mcp_studio.search.tokens import CHUNK, DENSE, is_dense, parts

log = logging.getLogger(__name__)
Vector = NDArray[np.float32]
FOREIGN = "the model for meaning was made of English, and knows little of these letters."
_FAR = 0.15
"""Cosines below this mean that a document has nothing to do with the query."""
_TOKENS = 32
"""Tokens of each text of a document that are read."""
_QUESTION_TOKENS = 128
_LOOKED_UP = 64
"""Documents whose vectors are looked up in one step."""
_PARAMETERS_SHARE = 0.25
"""The weight of a document's parameters; the rest is the weight of its description."""
_HEAD_WORDS = 32
_PARAMETERS = 12
_SENTENCES = 6
"""Sentences of a query that are compared separately."""
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_FEWEST_WORDS = 3
"""Words of the shortest sentence that is compared separately."""
_GIST_SHARE = 1 / 3
_FEWEST_BARE = 2
_CIRCUMSTANCE = re.compile(rf"\b(?:{'|'.join(sorted(CIRCUMSTANCE))})\b", re.IGNORECASE)
_BEFORE_SIGN = re.compile(r"\s+(?=[.,;!?])")
_LETTERS = re.compile(r"\w+")
_LIKELIEST = 2
"""English words that are used for one Chinese word."""
_STRETCH = re.compile(f"([{DENSE}]+)")
_LATIN_WORD = re.compile(r"[A-Za-z]{3,}")
_BEHIND_LATIN = "\u0250"
_DENSE_WEIGHT = 3
"""The number of letters that say as much as one character of a script without spaces."""


class Passage(NamedTuple):
    """A text that represents a document or a sentence of a query, with its weight."""

    text: str
    share: float
    """The weight of the text; all weights together are 1."""


def passages_of(texts: Fields) -> tuple[Passage, ...]:
    """The texts that represent a document: its description, and its parameters."""
    name = _as_words(texts.name)
    title = "" if texts.title == texts.name else " ".join(texts.title.split())
    head = " ".join(texts.head.split()[:_HEAD_WORDS])
    does = (f"{_as_words(texts.server)}: {name}", title, head if understood(head) else "")
    what = ". ".join(part for part in does if part)
    takes = ", ".join(_as_words(one.name) for one in texts.parameters[:_PARAMETERS])
    if not takes:
        return (Passage(what, 1.0),)
    return Passage(what, 1 - _PARAMETERS_SHARE), Passage(f"{name} ({takes})", _PARAMETERS_SHARE)


def _as_words(name: str) -> str:
    """An identifier as spoken: its words, with spaces."""
    found: list[str] = []
    for chunk in re.findall(CHUNK, name):
        end = 0
        for part in parts(chunk):
            if part.start >= end:
                found.append(chunk[part.start : part.end])
                end = part.end
    return " ".join(found)


def questions_of(text: str) -> list[tuple[Passage, ...]]:
    """The whole query, then its sentences if there are several, because each may ask for something different."""
    if translated(text):
        return [(Passage(_in_english(text), 1.0),)]
    sentences = [part.strip() for part in _SENTENCE.split(text) if len(part.split()) >= _FEWEST_WORDS]
    whole = " ".join(text.split())
    if len(sentences) > 1:
        return [(Passage(whole, 1.0),), *(_with_gist(sentence) for sentence in sentences[:_SENTENCES])]
    return [_with_gist(whole)]


def _with_gist(sentence: str) -> tuple[Passage, ...]:
    core = gist(sentence)
    if core == sentence:
        return (Passage(sentence, 1.0),)
    return Passage(sentence, 1 - _GIST_SHARE), Passage(core, _GIST_SHARE)


def gist(sentence: str) -> str:
    """The request in a sentence: without quoted text and names, and only up to the first `in` or `with`."""
    plain = _BEFORE_SIGN.sub("", " ".join(ASIDE.sub(" ", sentence).split()))
    if len(plain.split()) < _FEWEST_BARE:
        plain = sentence
    for word in _CIRCUMSTANCE.finditer(plain):
        before = plain[: word.start()]
        if sum(one not in STOP for one in _LETTERS.findall(before.lower())) >= _FEWEST_BARE:
            return before.rstrip()
    return plain


def translated(text: str) -> bool:
    """Whether a query is compared by English translations of its Chinese words."""
    return bool(_STRETCH.search(text)) and bool(_in_english(text))


@lru_cache(64)
def _in_english(text: str) -> str:
    """The English words of a query, with the glossary's translations of its Chinese words."""
    found: list[str] = []
    for stretch in _STRETCH.split(text):
        if _STRETCH.match(stretch):
            found += [word.replace("_", " ") for _, english in translations(stretch) for word in english[:_LIKELIEST]]
        else:
            found += _LATIN_WORD.findall(stretch)
    return " ".join(dict.fromkeys(found))


def understood(text: str) -> bool:
    """Whether most of a text is in letters that the model knows, which was trained on English."""
    known = sum(char < _BEHIND_LATIN for char in text if char.isalpha())
    other = sum(_DENSE_WEIGHT if is_dense(char) else 1 for char in text if char >= _BEHIND_LATIN and char.isalpha())
    return known >= other


class Packed(NamedTuple):
    """A vector as bytes with their factor. The error of a product is below 0.003."""

    numbers: NDArray[np.int8]
    scale: float


def packed(vector: Vector) -> Packed:
    scale = max(float(np.abs(vector).max()), 1e-9) / 127
    return Packed(np.rint(vector / scale).astype(np.int8), scale)


class Matrix:
    """Vectors by row number; a row that was not set has the cosine 0 with everything."""

    def __init__(self) -> None:
        self._rows = np.zeros((0, SIZE), np.float32)
        self.known: NDArray[np.bool_] = np.zeros(0, np.bool_)

    def grow(self, size: int) -> None:
        """Make room for rows below `size`."""
        if size > len(self._rows):
            more = size + size // 4 + 64
            self._rows.resize((more, SIZE), refcheck=False)  # new rows are 0
            self.known.resize(more, refcheck=False)

    def put(self, row: int, vector: Packed) -> None:
        self._rows[row], self.known[row] = vector.numbers * np.float32(vector.scale), True

    def cosines(self, vectors: NDArray[np.float32], size: int) -> NDArray[np.float32]:
        """The cosine of each vector with each of the first `size` rows; 0 for rows that are not set."""
        return np.stack([self._rows[:size] @ vector for vector in vectors])  # one product for all is slower


FILE = "meanings-1.db"
"""The number changes with the format."""
MOST = 200_000
"""The most vectors in the file, 90 MB; the oldest are deleted."""
BUSY = 0.5
"""Seconds to wait while another process writes."""
_TABLE = (
    "CREATE TABLE IF NOT EXISTS vector (key BLOB PRIMARY KEY, used INTEGER, scale REAL, numbers BLOB) WITHOUT ROWID"
)
_OLDEST = "DELETE FROM vector WHERE key IN (SELECT key FROM vector ORDER BY used, key LIMIT ?)"
_DAY = 86_400


def key_of(ident: str, text: str) -> bytes:
    """The key of a text's vector."""
    return hashlib.sha256(f"{ident}\n{text}".encode(errors="surrogatepass")).digest()[:16]


class VectorCache:
    """Vectors in a file of the cache folder, by a hash of model and text. A fault costs time, never an answer.

    Several processes may use the file at once, but only one thread at a time may use a cache.

    Args:
        folder: None stores nothing.
    """

    def __init__(self, folder: Path | None, most: int = MOST) -> None:
        self._file = folder / FILE if folder is not None else None
        self._most = most
        self._db: sqlite3.Connection | None = None

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Packed]:
        """The known vectors of these keys."""
        found: dict[bytes, Packed] = {}

        def look_up(db: sqlite3.Connection) -> None:
            for key in keys:
                row = db.execute("SELECT scale, numbers FROM vector WHERE key = ?", (key,)).fetchone()
                if row and isinstance(row[0], float) and isinstance(row[1], bytes) and len(row[1]) == SIZE:
                    found[key] = Packed(np.frombuffer(row[1], np.int8), row[0])

        if self._file is not None and self._file.exists():
            self._use(look_up)
        return found

    def put(self, key: bytes, vector: Packed) -> None:
        """Store a vector."""
        row = key, int(time.time() // _DAY), vector.scale, vector.numbers.tobytes()
        self._use(lambda db: db.execute("INSERT OR REPLACE INTO vector VALUES (?, ?, ?, ?)", row))

    def close(self) -> None:
        """Close the file; a later use opens it again."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def _use(self, work: Callable[[sqlite3.Connection], object]) -> None:
        """Use the file in a transaction; without a usable file, do nothing."""
        if self._file is None:
            return
        try:
            db = self._db = self._db or _connect(self._file, self._most)
            with db:
                work(db)
        except sqlite3.OperationalError as problem:  # locked, full or read-only: a later write may work
            log.info("vectors are not stored this time: %s", problem)
        except (sqlite3.Error, OSError) as problem:
            log.info("the file of vectors is thrown away: %s", problem)
            self.close()
            with suppress(OSError):
                self._file.unlink(missing_ok=True)


def _connect(file: Path, most: int) -> sqlite3.Connection:
    file.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(file, timeout=BUSY)
    db.execute("PRAGMA synchronous=OFF")  # a power failure only costs computing vectors again
    with db:
        db.execute(_TABLE)
        (count,) = db.execute("SELECT count(*) FROM vector").fetchone()
        if count > most:
            db.execute(_OLDEST, (count - most * 9 // 10,))
    return db


class Nearness(NamedTuple):
    """How near documents are to a query, at most 1."""

    known: dict[Ref, float]
    """The documents that were asked for and have vectors."""
    best: list[tuple[Ref, float]]
    """The nearest documents in the scope."""
    total: int
    """The number of documents that have to do with the query."""


class Semantic:
    """A `Method`: by meaning. `step` computes the vectors; until then a document is not found, which the note says.

    Args:
        cache: the folder with the file of vectors; None stores none.
    """

    def __init__(self, cache: Path | None = None) -> None:
        self._slots = Slots()
        self._matrix = Matrix()
        self._cache = VectorCache(cache)
        self._fresh: dict[Ref, Document] = {}
        """Documents whose vectors are not looked up yet."""
        self._unknown: dict[Ref, Document] = {}
        """Documents whose vectors must be computed."""
        self._chinese: set[Ref] = set()
        self._model: Model | None = None
        self._model_wanted = False
        self.problem: SearchProblem | None = None
        """Why there are no vectors."""

    def index(self, documents: Sequence[Document]) -> None:
        for document in documents:
            self._slots.add(document.ref)
            about = document.raw.get("description")
            if isinstance(about, str) and _STRETCH.search(about[:LONGEST_HEAD]):
                self._chinese.add(document.ref)
            if self.problem is None:
                self._unknown.pop(document.ref, None)
                self._fresh[document.ref] = document
        self._matrix.grow(self._slots.size)

    def remove(self, refs: Collection[Ref]) -> None:
        self._slots.remove(refs)
        self._chinese.difference_update(refs)
        for ref in refs:
            self._fresh.pop(ref, None)
            self._unknown.pop(ref, None)

    def search(self, query: Query) -> Answer:
        """Answer a query; the first one waits for the model.

        Raises:
            SearchProblem: the model is not installed, or does not work.
        """
        near = self.near(query, self.model(), query.limit)
        known = understood(query.text) or translated(query.text)
        note = self.note() if known else f"{FOREIGN[0].upper()}{FOREIGN[1:]} {self.note()}".rstrip()
        return Answer([Scored(ref, score, BY_MEANING) for ref, score in near.best], near.total, note)

    def near(self, query: Query, model: Model, most: int, of: Iterable[Ref] = ()) -> Nearness:
        """The `most` nearest documents to a query, and how near the documents in `of` are."""
        vectors = np.stack(
            [_mean(model, passages, _QUESTION_TOKENS) for passages in questions_of(query.text[:LONGEST])]
        )
        slots, size = self._slots, self._slots.size
        cosines: NDArray[np.float32] = self._matrix.cosines(vectors, size)
        known = self._matrix.known[:size]
        inside = known & slots.within(query.scope)
        if len(vectors) > 1:
            # Documents are ranked by their best sentence; a weaker sentence makes up half of its distance to the
            # strongest.
            tops = np.max(cosines, axis=1, where=inside, initial=0.0)
            cosines += ((tops.max() - tops) / 2)[:, None]
        scores = cosines.max(axis=0)
        found = {ref: float(scores[at]) for ref in of if (at := slots.at(ref)) is not None and known[at]}
        best, total = slots.best(np.where(inside & (scores > _FAR), scores, 0).astype(np.float64), most)
        return Nearness(found, best, total)

    def _not_chinese(self, near: Nearness) -> Nearness:
        """Remove documents with Chinese descriptions, which the own words of a Chinese query find better."""
        best = [(ref, cosine) for ref, cosine in near.best if ref not in self._chinese]
        known = {ref: cosine for ref, cosine in near.known.items() if ref not in self._chinese}
        return near._replace(known=known, best=best)

    def mixed(self, query: Query, found: Answer) -> Answer:
        """The answer by words with meaning mixed in; the note says where that is impossible."""
        in_english = translated(query.text)
        near = None
        note = f"Searched by words alone: {FOREIGN}"
        if in_english or understood(query.text):
            try:
                model = self.ready_model() if query.typing else self.model()
                near = self.near(query, model, POOL, [hit.ref for hit in found.hits]) if model else None
                note = self.note() or ("" if near else "Searched by words alone: the model is being loaded.")
            except SearchProblem as problem:
                note = str(problem)
        hits = found.hits
        if near is not None:
            hits = mix(hits, self._not_chinese(near) if in_english else near, query.text)
        notes = " ".join(filter(None, (found.note, note)))
        return Answer(hits[: query.limit], max(found.total, len(hits)), notes)

    def model(self) -> Model:
        """The model, loaded if necessary.

        Raises:
            SearchProblem: the model cannot be loaded.
        """
        if self.problem is not None:
            raise self.problem
        if self._model is None:
            try:
                self._model = Model()
            except SearchProblem as problem:
                self._fail(problem)
                raise
        return self._model

    def ready_model(self) -> Model | None:
        """The model if it is loaded; otherwise a step will load it."""
        self._model_wanted = True
        return self._model

    def look_up(self) -> bool:
        """Look up some vectors in the file; False where there is nothing to look up."""
        some = [document for document, _ in zip(self._fresh.values(), range(_LOOKED_UP), strict=False)]
        keys = {document.ref: _key(passages_of(fields(document))) for document in some}
        known = self._cache.get(list(keys.values()))
        for document in some:
            del self._fresh[document.ref]
            if vector := known.get(keys[document.ref]):
                self._store_vector(document.ref, vector)
            else:
                self._unknown[document.ref] = document
        return bool(some)

    def step(self) -> bool:
        """Look up some vectors, compute one, or load the model; False where there is nothing to do."""
        if self.problem is not None:
            return False
        try:
            if not self.look_up():
                if self._unknown:
                    self._compute(next(iter(self._unknown.values())))
                elif self._model_wanted and self._model is None:
                    self.model()
                else:
                    return False
        except SearchProblem as problem:
            self._fail(problem)
        return True

    @property
    def settled(self) -> bool:
        """Whether all vectors are known or have been given up."""
        return not self._fresh and not self._unknown

    @property
    def share(self) -> float:
        """The share of looked-up documents whose vectors are known."""
        looked_up = len(self._slots) - len(self._fresh)
        return 1 - len(self._unknown) / looked_up if looked_up and self.problem is None else 0.0

    @property
    def progress(self) -> tuple[int, int]:
        """The number of documents with vectors, and the number of all documents."""
        everything = len(self._slots)
        return (0 if self.problem else everything - len(self._fresh) - len(self._unknown)), everything

    def note(self) -> str:
        """A note for the person about answers given now; empty where there is none."""
        if self.problem is not None:
            return str(self.problem)
        done, everything = self.progress
        missing = everything - done
        return f"The meaning of {missing:,} of {everything:,} entries is not known yet." if missing else ""

    def close(self) -> None:
        """Close the file and release the model."""
        self._cache.close()
        self._model = None

    def _compute(self, document: Document) -> None:
        passages = passages_of(fields(document))
        key = _key(passages)
        vector = self._cache.get((key,)).get(key)  # another document or process may have stored the same text
        if vector is None:
            vector = packed(_mean(self.model(), passages, _TOKENS))
            self._cache.put(key, vector)
        self._unknown.pop(document.ref, None)
        self._store_vector(document.ref, vector)

    def _store_vector(self, ref: Ref, vector: Packed) -> None:
        if (slot := self._slots.at(ref)) is not None:
            self._matrix.put(slot, vector)

    def _fail(self, problem: SearchProblem) -> None:
        self.problem = problem
        self._fresh.clear()
        self._unknown.clear()


def _key(passages: Sequence[Passage]) -> bytes:
    return key_of(identity(), "\n".join(f"{share} {_TOKENS} {text}" for text, share in passages))


def _mean(model: Model, passages: Sequence[Passage], most: int) -> Vector:
    """One vector for several texts, whose cosine with another vector is the mean of the texts' cosines."""
    vector = sum((one.share * model.embed(one.text, most) for one in passages), np.zeros(1, np.float32))
    return vector / max(float(np.linalg.norm(vector)), 1e-9)


MEANING_SHARE = 0.435
"""The weight of meaning."""
LEAD = 0.13
"""The weight of the rank by words: the first gets all of it, the second half, the third a third."""
CONTRADICTION = 0.25
"""Penalty for a tool whose name contradicts the query (delete for list)."""
STEEP = 0.25
"""The distance to the nearest document at which the score by meaning falls to about a third."""
POOL = 200
"""The number of best hits by words, and by meaning, that are mixed."""


def mix(words: Sequence[Scored], near: Nearness, text: str = "") -> list[Scored]:
    """Mix the ranking by words with the ranking by meaning.

    By words, the best hit counts 1 and the rest in proportion, with a bonus for the first places; by meaning, the
    nearest counts 1 and the rest less with distance. A document without a vector gets its score by words for both.
    """
    reasons = {hit.ref: hit.reasons for hit in words}
    best = max((hit.score for hit in words), default=0.0)
    by_words = {hit.ref: hit.score / best if best > 0 else 0.0 for hit in words}
    places = sorted(-word for word in by_words.values())
    cosines = {**near.known, **dict(near.best)}
    top = max(cosines.values(), default=0.0)
    deeds = deeds_wanted(text)
    found: list[Scored] = []
    for ref in {*by_words, *cosines}:
        word = by_words.get(ref, 0.0)
        meaning = math.exp((cosines[ref] - top) / STEEP) if ref in cosines else word
        lead = 1 / (1 + bisect_left(places, -word)) if word else 0.0
        score = (1 - MEANING_SHARE - LEAD) * word + LEAD * lead + MEANING_SHARE * meaning
        if deeds and ref.kind == "tool" and (does := deeds_of(ref.name[:LONGEST_NAME])) and not does & deeds:
            score *= 1 - CONTRADICTION
        found.append(Scored(ref, score, reasons.get(ref, BY_MEANING)))
    return sorted(found, key=order)
