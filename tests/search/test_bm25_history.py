"""The default method answers the same whatever came and went before, and in whatever order."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_studio.catalog.listing import Ref
from mcp_studio.search.bm25 import Bm25
from mcp_studio.search.method import Document, Query, Scope

NAMES = ["read_file", "readFiles", "list_issues", "getWeather", "send-mail", "x", "読む"]
TEXTS = [
    "",
    "Reads a file. From the disk.",
    "Lists issues of a repository, or reads one",
    "获取天气",
    "Sends mail",
    "___",
]
documents = st.builds(
    lambda server, name, text, parameter: Document(
        Ref("tool", server, name),
        {"name": name, "description": text, "inputSchema": {"properties": {parameter: {"description": text}}}},
    ),
    st.sampled_from(["files", "github"]),
    st.sampled_from(NAMES),
    st.sampled_from(TEXTS),
    st.sampled_from(["path", "file_name", "文件"]),
)
refs = st.builds(Ref, st.just("tool"), st.sampled_from(["files", "github"]), st.sampled_from(NAMES))
histories = st.lists(
    st.lists(documents, max_size=5, unique_by=lambda one: one.ref) | st.sets(refs, max_size=6), max_size=12
)
QUESTIONS = [
    Query("read a file"),
    Query("re", typing=True),
    Query("list the issues of github", limit=2),
    Query("读取文件 天气"),
    Query("file", scope=Scope(frozenset(["files"]))),
]


@given(histories, st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None)
def test_after_any_coming_and_going_answers_are_those_of_a_new_index(
    history: list[list[Document] | set[Ref]], chance: Random
) -> None:
    there: dict[Ref, Document] = {}
    lived, fresh = Bm25(), Bm25()
    for step in history:
        if isinstance(step, set):
            lived.remove(step)
            there = {ref: one for ref, one in there.items() if ref not in step}
        else:
            lived.remove([one.ref for one in step])
            lived.index(step)
            there |= {one.ref: one for one in step}
        lived.search(chance.choice(QUESTIONS))
    given = list(there.values())
    chance.shuffle(given)
    for one in given:
        fresh.index([one])
    for query in QUESTIONS:
        assert lived.search(query) == fresh.search(query)
