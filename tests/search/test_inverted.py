"""The index of words answers as a new one would, whatever came and went before."""

from __future__ import annotations

import math
from collections.abc import Sequence
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from mcp_studio.catalog.listing import KINDS, Ref
from mcp_studio.search import bm25
from mcp_studio.search.bm25 import InvertedIndex, Scores, Weighted
from mcp_studio.search.method import EVERYWHERE, Scope

WORDS = ["a", "ab", "abc", "b", "ba", "read", "reading", "读", "读取"]
refs = st.builds(Ref, st.sampled_from(KINDS[:2]), st.sampled_from("st"), st.sampled_from("uvwxyz"))
weighted = st.builds(
    Weighted,
    refs,
    st.dictionaries(st.sampled_from(WORDS), st.sampled_from([0.1, 1 / 3, 0.7, 1.0]), max_size=5),
    st.lists(st.sampled_from(WORDS), max_size=4).map(tuple),
    st.integers(0, 15),
)
steps = st.lists(st.lists(weighted, max_size=4) | st.sets(refs, max_size=6), max_size=25)
questions = st.lists(
    st.dictionaries(st.sampled_from([*WORDS, "none"]), st.sampled_from([0.3, 1.0]), max_size=3), max_size=4
)
scopes = st.sampled_from(
    [EVERYWHERE, Scope(frozenset("s")), Scope(kinds=frozenset(("tool",))), Scope(frozenset("tq"), frozenset(KINDS[1:]))]
)


def okapi_idf(frequency: Scores, count: int) -> Scores:
    """What words are worth to rank_bm25, where it is above 0."""
    return np.log((count - frequency + 0.5) / (frequency + 0.5))


def tool(name: str, server: str = "s") -> Ref:
    return Ref("tool", server, name)


def of(index: InvertedIndex, scores: Scores, refs: Sequence[Ref]) -> list[float]:
    """The scores of single documents, 0 for those that have none."""
    found = dict(index.slots.best(scores.astype(np.float64), 1_000)[0])
    return [found.get(ref, 0.0) for ref in refs]


def names(index: InvertedIndex, *words: str, limit: int = 50, scope: Scope = EVERYWHERE) -> list[str]:
    found, _ = index.slots.best(index.scores([{word: 1.0} for word in words], scope), limit)
    return [f"{ref.server}.{ref.name}" for ref, _ in found]


@given(steps, questions, scopes)
@settings(max_examples=40, deadline=None)
def test_after_any_coming_and_going_every_number_is_that_of_a_new_index(
    history: list[list[Weighted] | set[Ref]],
    asked: list[dict[str, float]],
    scope: Scope,
) -> None:
    there: dict[Ref, Weighted] = {}
    lived = InvertedIndex()
    for step in history:
        if isinstance(step, set):
            lived.remove(step)
            there = {ref: one for ref, one in there.items() if ref not in step}
        else:
            batch = {one.ref: one for one in step}
            lived.add(batch.values())
            there |= batch
        lived.slots.best(lived.scores(asked, scope) + lived.name_coverage({"a": 1.0}), 3)
    fresh = InvertedIndex()
    fresh.add(sorted(there.values()))
    assert len(lived.slots) == len(fresh.slots) == len(there)
    for word in (*WORDS, "none"):
        assert lived.frequency(word) == sum(word in one.words for one in there.values())
        assert lived.idf(word) == fresh.idf(word)
    for prefix in ("", "a", "读", "x"):
        assert lived.beginning(prefix, 2) == fresh.beginning(prefix, 2)
    answers: list[object] = []
    for index in (lived, fresh):
        scores = index.scores(asked, scope)
        named = np.where(scores > 0, scores + index.name_coverage({"a": 1.0, "读": 0.5, "none": 1.0}), 0)
        assert of(index, scores, [Ref("prompt", "s", "none")]) == [0.0]
        against = of(index, index.other_deeds(5).astype(np.float64), sorted(there))
        assert against == [float(one.deeds in (2, 8, 10)) for _, one in sorted(there.items())]
        answers.append((index.slots.best(named, 3), index.slots.best(scores, 50), of(index, scores, sorted(there))))
    assert answers[0] == answers[1]


@given(st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8), min_size=5, max_size=12), st.data())
@settings(max_examples=25, deadline=None)
def test_one_field_is_scored_as_rank_bm25_scores_it(corpus: list[list[str]], data: st.DataObject) -> None:
    okapi = BM25Okapi(corpus, k1=1.2, b=0.6)
    index = InvertedIndex()
    index.add(
        Weighted(
            tool(f"{number:02}"),
            {
                word: text.count(word) * 2.2 / (text.count(word) + 1.2 * (0.4 + 0.6 * len(text) / okapi.avgdl))
                for word in text
            },
        )
        for number, text in enumerate(corpus)
    )
    rare = [word for word in WORDS if 0 < 2 * sum(word in text for text in corpus) < len(corpus)]
    asked = data.draw(st.lists(st.sampled_from(rare or ["none"]), max_size=4))
    with patch.object(bm25, "idf", okapi_idf):
        ours = index.scores([{word: 1.0} for word in asked])
    assert ours == pytest.approx(okapi.get_scores(asked), rel=1e-6, abs=1e-9)


def test_a_rare_word_counts_more_and_its_worth_follows_the_documents() -> None:
    index = InvertedIndex()
    index.add([Weighted(tool(name), {"file": 1.0, name: 1.0}) for name in ("read", "write", "move")])
    assert index.idf("read") == pytest.approx(math.log1p(2.5 / 1.5))
    assert index.idf("read") > index.idf("file") > 0
    assert names(index, "file", "move") == ["s.move", "s.read", "s.write"]
    index.remove([tool("read"), tool("write")])
    assert index.idf("file") == index.idf("move") == pytest.approx(math.log1p(0.5 / 1.5))
    assert index.idf("read") == pytest.approx(math.log1p(1.5 / 0.5))
    assert names(index, "read") == []


def test_of_words_for_one_thing_the_best_counts_and_things_add_up() -> None:
    index = InvertedIndex()
    index.add([Weighted(tool("both"), {"repo": 0.5, "repository": 0.25}), Weighted(tool("one"), {"repo": 0.5})])
    refs = [tool("both"), tool("one")]
    with patch.object(bm25, "idf", lambda frequency, count: 1.0):
        either = index.scores([{"repo": 1.0, "repository": 0.8}])
        each = index.scores([{"repo": 1.0}, {"repository": 0.8}])
    assert of(index, either, refs) == [0.5, 0.5]
    assert of(index, each, refs) == pytest.approx([0.7, 0.5])


def test_a_scope_limits_the_answer_and_not_what_words_are_worth() -> None:
    index = InvertedIndex()
    index.add(Weighted(Ref(kind, server, "x"), {"word": 1.0}) for server in "abc" for kind in KINDS)
    whole = index.slots.best(index.scores([{"word": 1.0}]), 3)
    assert whole[1] == 12
    found, total = index.slots.best(
        index.scores([{"word": 1.0}], Scope(frozenset("bq"), frozenset(("tool", "prompt")))), 9
    )
    assert [ref for ref, _ in found] == [Ref("prompt", "b", "x"), Ref("tool", "b", "x")]
    assert total == 2
    assert found[0][1] == whole[0][0][1]
    assert index.slots.best(index.scores([{"word": 1.0}], Scope(frozenset())), 9) == ([], 0)


def test_a_thousand_equal_scores_come_by_server_name_and_kind() -> None:
    index = InvertedIndex()
    index.add(
        Weighted(tool(f"t{number % 50:02}", f"s{number // 50:02}"), {"word": 1.0}) for number in range(999, -1, -1)
    )
    assert names(index, "word", limit=120) == [f"s{n // 50:02}.t{n % 50:02}" for n in range(120)]
    index.add([Weighted(tool("z", "zz"), {"word": 1.1})])
    assert names(index, "word", limit=2) == ["zz.z", "s00.t00"]
    assert names(index, "word", limit=0) == []


def test_how_much_of_a_name_is_covered() -> None:
    index = InvertedIndex()
    index.add(
        [
            Weighted(tool("read_file"), {"x": 1.0}, ("read", "file")),
            Weighted(tool("write_file"), {"x": 1.0}, ("write", "file")),
            Weighted(tool("nameless"), {"x": 1.0}),
        ]
    )
    order = [tool("read_file"), tool("write_file"), tool("nameless")]
    whole = of(index, index.name_coverage({"read": 1.0, "file": 1.0}), order)
    assert whole[0] == pytest.approx(1)
    assert 0 < whole[1] < 0.5
    assert whole[2] == 0
    assert of(index, index.name_coverage({"read": 0.5}), order)[0] < 0.5
    assert of(index, index.name_coverage({}), order) == [0, 0, 0]


def test_an_empty_index_answers() -> None:
    index = InvertedIndex()
    assert index.beginning("a", 5) == []
    assert index.slots.best(index.scores([{"a": 1.0}]), 5) == ([], 0)
    assert len(index.name_coverage({"a": 1.0})) == 0
    index.add([])
    index.remove([tool("none")])
    index.add([Weighted(tool("wordless"), {})])
    assert names(index, "a") == []
    index.remove([tool("wordless")])
    assert index.slots.best(index.scores([{"a": 1.0}]), 5) == ([], 0)
