"""How a text falls into words: the same way every time, whatever the text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_studio.search.tokens import LONGEST_CHUNK, grams, matching, stem, words

anything = st.text(max_size=300)


@given(anything)
@settings(max_examples=60, deadline=None)
def test_any_text_falls_into_words_the_same_way_twice(text: str) -> None:
    found = words(text)
    assert found == words(text)
    assert all(word and not word.isspace() for word in found)
    assert len(found) <= 4 * len(text) + 4
    assert max(map(len, found), default=0) <= 4 * LONGEST_CHUNK


@given(st.lists(st.sampled_from(["read", "File", "MySQL", "get_user", "读取文件", "e-mail", "🔥", "ÉLAN"]), max_size=8))
def test_words_do_not_depend_on_what_stands_round_them(texts: list[str]) -> None:
    assert words(" ".join(texts)) == [word for text in texts for word in words(text)]


@given(anything, st.sets(st.text(min_size=1, max_size=4), max_size=5))
@settings(max_examples=60, deadline=None)
def test_places_lie_within_the_text_in_order_and_apart(text: str, wanted: set[str]) -> None:
    before = 0
    for start, end, _ in matching(text, wanted):
        assert before <= start < end <= len(text)
        before = end


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("get_current_stock_price", "get current stock price getcurrentstockprice"),
        ("getVMSizes", "get vm sizes getvmsizes"),
        ("listGitHubRepos", "list github repos listgithubrepos"),
        ("MySQL", "mysql"),
        ("k8s v2 s3 EC2", "k8s v2 s3 ec2"),
        ("listS3Buckets", "list s3 buckets lists3buckets"),
        ("oauth2", "oauth2 oauth"),
        ("getURLs", "get urls geturls"),
        ("foundry.agents_connect", "foundry agents connect agentsconnect"),
        ("e-mail, don't; user's", "e mail email don user"),
        ("C# and c++", "c# and c++"),
        ("Straße ŁÓDŹ naïve", "strasse lodz naive"),
        ("ＡＰＩ", "api"),
        ("cafe\N{COMBINING ACUTE ACCENT}", "cafe"),
        ("новый ФАЙЛ", "новый файл"),
        ("使用bing搜索", "使 用 使用 bing 搜 索 搜索"),
        ("検索する", "検 索 す る 検索 索す する"),
        ("파일을 search", "파 일 을 파일 일을 search"),
        ("🔥 hot", "🔥 hot"),
        ("", ""),
        ("--- ___ ...", ""),
    ],
)
def test_what_counts_as_a_word(text: str, expected: str) -> None:
    assert words(text) == expected.split()


@pytest.mark.parametrize(
    "forms",
    [
        "file files filing filed",
        "query queries querying queried",
        "create creates creating created creation creator",
        "delete deletion deleting",
        "repository repositories",
        "notify notification notifications",
        "organize organization organizations",
        "manage manager management",
        "analyze analysis analyzer analytics",
        "translate translation translator",
        "day days",
        "child children",
        "файл файлы файлов",
    ],
)
def test_forms_of_a_word_have_one_stem(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1


@pytest.mark.parametrize(
    "pair", ["new news", "status state", "access accept", "process product", "user use", "bus but"]
)
def test_other_words_have_another_stem(pair: str) -> None:
    one, other = pair.split()
    assert stem(one) != stem(other)


@given(st.text(max_size=40))
def test_a_stem_is_no_longer_than_its_word_but_for_odd_ones(word: str) -> None:
    assert len(stem(word.lower())) <= len(word.lower()) + 3


def test_places_of_parts_forms_and_pairs_are_found() -> None:
    def pieces(text: str, *wanted: str) -> list[str]:
        return [text[start:end] for start, end, _ in matching(text, wanted)]

    assert pieces("Use getUserById for users", "user", "users") == ["User", "users"]
    assert pieces("在数据库中搜索文件", "搜索", "数据", "据库") == ["数据库", "搜索"]
    assert pieces("the MySQL server", "mysql") == ["MySQL"]
    assert pieces("", "a") == []


def test_a_dictionary_adds_its_longer_words() -> None:
    assert grams("数据库文件", lambda run: ["数据库", "文件"])[-1] == "数据库"
    assert words("数据库 db", lambda run: [run]) == [*grams("数据库"), "数据库", "db"]
