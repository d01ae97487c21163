"""The default method and rank_bm25 check each other: on one field both rank alike."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_studio.catalog.listing import Ref
from mcp_studio.search import bm25
from mcp_studio.search.bm25 import Okapi
from mcp_studio.search.method import Document, Query
from tests.search.test_inverted import okapi_idf

WORDS = ["zorb", "quix", "flem", "gratt", "wumb", "plic", "drok", "spuv", "trem"]
K1, B = 1.5, 0.75
"""What rank_bm25 has."""
texts = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6), min_size=6, max_size=14)


@given(texts, st.data())
@settings(max_examples=25, deadline=None)
def test_on_one_field_the_default_method_ranks_as_rank_bm25_does(corpus: list[list[str]], data: st.DataObject) -> None:
    rare = [word for word in WORDS if 2 * sum(word in text for text in corpus) < len(corpus)]  # idf above 0
    asked = data.draw(st.lists(st.sampled_from([*rare, "none"]), min_size=1, max_size=3, unique=True))
    usual = sum(map(len, corpus)) / len(corpus)
    one_field = ((1.0, usual, B),) * len(bm25._FIELDS)
    documents = [
        Document(Ref("tool", "_" * number, "_"), {"description": " ".join(text)})
        for number, text in enumerate(corpus, 1)
    ]
    okapi, engine = Okapi(), bm25.Bm25()
    with (
        patch.object(bm25, "_FIELDS", one_field),
        patch.object(bm25, "idf", okapi_idf),
        patch.object(bm25, "SATURATION", K1),
        patch("mcp_studio.search.bm25.LEAST_IDF", -np.inf),
    ):
        okapi.index(documents)
        engine.index(documents)
        query = Query(" ".join(asked), limit=len(corpus))
        theirs, ours = okapi.search(query), engine.search(query)
    assert ours.total == theirs.total == sum(not set(asked).isdisjoint(text) for text in corpus)
    best = max((hit.score for hit in theirs.hits), default=1.0)
    expected = {hit.ref: hit.score / best for hit in theirs.hits}
    assert {hit.ref: hit.score for hit in ours.hits} == pytest.approx(expected, rel=1e-5)
