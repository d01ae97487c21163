"""The thread that finds out what entries mean: looks their vectors up, and computes those that nobody knows yet."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from mcp_studio.catalog.listing import Ref
from mcp_studio.search.fields import TOKENS, Said, fields, texts_of
from mcp_studio.search.method import Document, SearchProblem
from mcp_studio.search.threads import Lane
from mcp_studio.search.vectors import FILE, Kept, Model, Vector, VectorCache, identity, key_of, packed

_LOOKED_UP = 64
"""Documents whose vectors are looked up in one step."""
_POLITE = 0.05
"""Seconds for which one step lets questions go first."""
_NICE = 10

Deliver = Callable[[Document, Kept], None]


class Embedder:
    """Makes vectors of documents in the background, at low priority. Nothing is loaded before there is a need.

    Args:
        deliver: given a vector, in the thread.
        told: something was delivered, or the model is there, or cannot be loaded; in the thread.
    """

    def __init__(self, cache: VectorCache, deliver: Deliver, told: Callable[[bool], None]) -> None:
        self._cache = cache
        self._deliver = deliver
        self._told = told
        self._turn = threading.Lock()
        self._loading = threading.Lock()
        self._files = threading.Lock()
        """Held by who uses the cache."""
        self._fresh: dict[Ref, Document] = {}
        """Not looked up yet."""
        self._unknown: dict[Ref, Document] = {}
        """To be computed."""
        self._model: Model | None = None
        self._wanted = False
        self.problem: SearchProblem | None = None
        """Why there will be no vectors."""
        self._asked = 0
        self._quiet = threading.Event()
        self._quiet.set()
        self._idle = threading.Event()
        self._idle.set()
        self._lowered = False
        self._closed = False
        self._lane = Lane("search meaning", self._step, self._give_way)

    # -------------------------------------------------------------- what to do

    def want(self, documents: Sequence[Document]) -> None:
        """Have vectors made, soon; of a document that is there already the new one counts."""
        with self._turn:
            if self.problem is not None or self._closed:
                return
            for document in documents:
                self._unknown.pop(document.ref, None)
                self._fresh[document.ref] = document
        self._begin()

    def forget(self, refs: Collection[Ref]) -> None:
        """Make none of these."""
        with self._turn:
            for ref in refs:
                self._fresh.pop(ref, None)
                self._unknown.pop(ref, None)

    def ready(self) -> Model | None:
        """The model if it is loaded; otherwise loading it begins."""
        if self._model is None and self.problem is None:
            with self._turn:
                self._wanted = not self._closed
            self._begin()
        return self._model

    def model(self) -> Model:
        """The model, loaded here and now if it was not.

        Raises:
            SearchProblem: it cannot be loaded.
        """
        with self._loading:
            if self.problem is not None:
                raise self.problem
            if self._model is None:
                if self._closed:
                    raise SearchProblem("The search has ended.")
                try:
                    self._model = Model()
                except SearchProblem as problem:
                    self._break(problem)
                    raise
            return self._model

    @property
    def unknown(self) -> int:
        """Documents whose vectors nobody has kept, and that are not computed yet."""
        return len(self._unknown)

    def asking(self, change: int) -> None:
        """A question begins (1) or has its answer (-1): until then the thread waits."""
        with self._turn:
            self._asked += change
            self._quiet.clear() if self._asked else self._quiet.set()

    def wait(self, seconds: float) -> bool:
        """Wait until there is nothing to do; False when that takes longer."""
        return self._idle.wait(seconds)

    def close(self, within: float) -> None:
        """End the thread, bounded, and let the model go."""
        with self._turn:
            self._closed = True
            self._wanted = False
            self._fresh.clear()
            self._unknown.clear()
        self._quiet.set()
        self._lane.close(within)
        if self._files.acquire(timeout=within):
            self._cache.close()
            self._files.release()
        self._model = None
        self._idle.set()

    # -------------------------------------------------------------- the thread

    def _begin(self) -> None:
        with self._turn:
            if self._closed:
                return
            self._idle.clear()
        self._lane.wake()

    def _give_way(self) -> None:
        self._quiet.wait(_POLITE)

    def _step(self) -> bool:
        self._lower()
        try:
            if self._fresh:
                self._look_up()
            elif self._wanted and self._model is None:
                self.model()
                self._told(False)
            elif self._unknown:
                self._compute()
            else:
                self._rest()
                return False
        except SearchProblem as problem:
            self._break(problem)
        return True

    def _look_up(self) -> None:
        with self._turn:
            some = [document for document, _ in zip(self._fresh.values(), range(_LOOKED_UP), strict=False)]
        keys = {document.ref: _key(document) for document in some}
        with self._files:
            known = self._cache.get(list(keys.values()))
        with self._turn:
            some = [document for document in some if self._fresh.get(document.ref) is document]
            for document in some:
                del self._fresh[document.ref]
                if keys[document.ref] not in known:
                    self._unknown[document.ref] = document
        found = [(document, known[keys[document.ref]]) for document in some if keys[document.ref] in known]
        for document, vector in found:
            self._deliver(document, vector)
        if found:
            self._told(False)

    def _compute(self) -> None:
        with self._turn:
            document = next(iter(self._unknown.values()), None)
        if document is None:
            return
        said = texts_of(fields(document))
        key = _key_of(said)
        with self._files:
            vector = self._cache.get((key,)).get(key)
        if vector is None:
            vector = packed(mean(self.model(), said))
            with self._files:
                self._cache.put({key: vector})
        with self._turn:
            if self._unknown.get(document.ref) is not document:
                return
            del self._unknown[document.ref]
        self._deliver(document, vector)
        self._told(False)

    def _rest(self) -> None:
        with self._files:
            self._cache.flush()
        with self._turn:
            if self._fresh or self._unknown or (self._wanted and self._model is None):
                return
            self._idle.set()
        self._told(True)

    def _break(self, problem: SearchProblem) -> None:
        with self._turn:
            self.problem = problem
            self._wanted = False
            self._fresh.clear()
            self._unknown.clear()
        self._idle.set()
        self._told(True)

    def _lower(self) -> None:
        """The thread gives way to everything else, where the system can do that for one thread."""
        if not self._lowered and sys.platform == "linux":
            self._lowered = True
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)


def kept(folder: Path, documents: Sequence[Document]) -> float:
    """The share of documents whose vectors are in the file of a folder; reads 32 of them in 40 ms, computes nothing."""
    if not documents or not (folder / FILE).is_file():
        return 0.0
    cache = VectorCache(folder)
    try:
        keys = {_key(document) for document in documents}
        return len(cache.get(list(keys))) / len(keys)
    except SearchProblem:
        return 0.0
    finally:
        cache.close()


def _key(document: Document) -> bytes:
    return _key_of(texts_of(fields(document)))


def _key_of(said: Sequence[Said]) -> bytes:
    return key_of(identity(), "\n".join(f"{share} {TOKENS} {text}" for text, share in said))


def mean(model: Model, said: Sequence[Said], most: int = TOKENS) -> Vector:
    """One vector for texts: how near another is to it is the mean of how near that is to each."""
    vector = said[0].share * model.embed(said[0].text, most)
    for text, share in said[1:]:
        vector += share * model.embed(text, most)
    return vector / max(float(np.linalg.norm(vector)), 1e-9)
