"""What tests of the search by meaning share: a model that is there at once, and documents."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from mcp_studio.search import semantic
from mcp_studio.search.bm25 import Bm25
from mcp_studio.search.method import Answer, Document, Query
from mcp_studio.search.semantic import SIZE, Semantic, Vector
from tests.search.index_kit import document

DOCUMENTS = [
    document("store", "delete_document", "Delete a document for good."),
    document("store", "search_documents", "Find documents that have some text."),
    document("weather", "get_forecast", "The weather of the next days at a place."),
    document("mail", "send_message", "Send an email to somebody."),
    document("calendar", "create_event", "Put an appointment into the calendar."),
]


class Letters:
    """Stands in for the model: texts with the same words are near each other. Counts what it is asked for."""

    def __init__(self) -> None:
        self.embedded: Counter[str] = Counter()
        self.loaded = 0
        self.gate = threading.Event()
        """Nothing is embedded while it is not set."""
        self.gate.set()
        self.begun = threading.Event()

    def __call__(self) -> Letters:
        """Loading it."""
        self.loaded += 1
        return self

    def embed(self, text: str, most: int = 128) -> Vector:
        """The vector of a text."""
        self.begun.set()
        assert self.gate.wait(20)
        self.embedded[text] += 1
        vector = np.full(SIZE, 1e-4, np.float32)
        for word in text.lower().replace(":", " ").replace(".", " ").split():
            vector[int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big") % SIZE] += 1
        return vector / float(np.linalg.norm(vector))


class Both:
    """Words and meaning, filled and asked as an index does it."""

    def __init__(self, meaning: Semantic) -> None:
        self.words, self.meaning = Bm25(), meaning

    def index(self, documents: Sequence[Document]) -> None:
        """Take documents."""
        self.words.index(documents)
        self.meaning.index(documents)

    def search(self, query: Query) -> Answer:
        """The mixed answer."""
        return self.meaning.mixed(query, self.words.search(query._replace(limit=200)))


def learn(meaning: Semantic) -> Semantic:
    """Have all vectors found out."""
    while meaning.step():
        pass
    return meaning


def stand_in(monkeypatch: pytest.MonkeyPatch, ident: str = "letters") -> Letters:
    """Have no real model loaded in this test."""
    letters = Letters()
    monkeypatch.setattr(semantic, "Model", letters)
    monkeypatch.setattr(semantic, "identity", lambda: ident)
    return letters


def many(count: int) -> list[Document]:
    """Documents that differ."""
    return [document("many", f"tool_{number}", f"Does what number {number} does.") for number in range(count)]
