"""What a question asks for, rule by rule."""

from __future__ import annotations

from collections.abc import Iterable
from time import process_time

from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_studio.search import question
from mcp_studio.search.question import IN_ASIDE, LATER, LOOK, MOST_SENTENCES, MOST_TERMS, SINGLE, read
from mcp_studio.search.tokens import stem, words


class Known:
    """A vocabulary of these words, each in as many documents as it is said."""

    def __init__(self, text: str) -> None:
        self._words = words(text)

    def frequency(self, word: str) -> int:
        return self._words.count(word)

    def forms(self, word: str) -> Iterable[str]:
        return sorted({one for one in self._words if stem(one) == stem(word)})

    def beginning(self, prefix: str, most: int) -> list[str]:
        return sorted({one for one in self._words if one.startswith(prefix)})[:most]


def weights(text: str, known: str, *, typing: bool = False) -> dict[str, float]:
    """What each known word counts that a question may mean."""
    found: dict[str, float] = {}
    for asked in read(text, Known(known), typing).terms:
        for word, much in asked.words.items():
            found[word] = max(found.get(word, 0.0), asked.weight * much)
    return found


@given(st.text(max_size=400), st.booleans())
@settings(max_examples=60, deadline=None)
def test_any_question_asks_for_a_bounded_number_of_things(text: str, typing: bool) -> None:
    asked = read(text, Known("file search 文件 a"), typing)
    assert asked == read(text, Known("file search 文件 a"), typing)
    assert len(asked.terms) <= MOST_TERMS
    assert len(asked.sentences) <= MOST_SENTENCES
    assert all(0 < one.weight <= 1 and one.words for one in asked.terms)


def test_the_longest_questions_take_moments() -> None:
    for text in ("x" * 100_000, "the file " * 20_000, "文件" * 50_000, '"' * 100_000, "a@" * 50_000, "/" * 100_000):
        start = process_time()
        read(text, Known("file 文件"), typing=True)
        assert process_time() - start < 2, text[:10]


def test_words_that_tell_nothing_are_left_out_unless_there_are_no_others() -> None:
    assert weights("please show me the file", "the me file show") == {"file": 1.0, "show": LOOK}
    assert "who" in weights("who is it", "who is it")
    assert weights("打开的文件", "打开的文件") == dict.fromkeys("打开文件", SINGLE) | dict.fromkeys(
        ("打开", "开的", "的文", "文件"), 1.0
    )
    assert weights("的", "的") == {"的": SINGLE}


def test_other_forms_and_other_words_count_less() -> None:
    found = weights("delete files", "file files delete remove")
    assert found["files"] == found["delete"] == 1.0
    assert 0 < found["remove"] < found["file"] < 1.0


def test_quoted_text_paths_addresses_and_numbers_count_little() -> None:
    known = "file mail report acme com users 2025 q41vnhgf4akl"
    for text in ("mail 'file'", "mail “file”", "mail /users/file", "mail file@acme.com", "mail <file>", "mail `file`"):
        found = weights(text, known)
        assert found["mail"] == 1.0, text
        assert found["file"] == IN_ASIDE, text
    assert weights("report Q41vNHGf4AKl", known)["q41vnhgf4akl"] == IN_ASIDE
    assert weights("don't file it's a report", known)["file"] == 1.0


def test_circumstances_count_less_than_what_is_to_be_done() -> None:
    assert weights("list topics in my subscription", "topics subscription")["subscription"] == LATER
    assert weights("in my subscription. List topics", "topics subscription")["topics"] == 1.0


def test_neighbours_are_joined_and_unknown_words_parted() -> None:
    assert "appconfig" in weights("app config store", "appconfig")
    assert {"cosmos", "accounts"} <= weights("cosmosaccounts", "cosmos accounts " * 3).keys()
    assert not weights("cosmosaccounts", "cosmos " * 3)


def test_each_sentence_may_ask_for_something_of_its_own() -> None:
    known = Known("file mail weather read send get")
    assert read("read the file", known).sentences == []
    asked = read("Read the file. Send it by mail, then get the weather.", known)
    assert [[word for one in part for word in one.words] for part in asked.sentences][-1] == ["get", "weather"]
    assert len(asked.sentences) == 3


def test_a_quotation_is_not_taken_apart() -> None:
    assert len(read("send 'Read the file. Get the weather.' as mail", Known("file mail weather send")).sentences) == 0


def test_the_last_word_may_be_a_beginning_while_it_is_typed() -> None:
    known = "repository repositories report rep"
    assert weights("list rep", known, typing=True)["rep"] == 1.0
    assert {"repository", "repositories", "report"} <= weights("list rep", known, typing=True).keys()
    assert weights("list rep", known).keys() == {"rep"}
    assert "repository" in weights("list repos", "repository")
    assert weights("rep ", "report", typing=True) == {}
    assert weights("th", "theme", typing=True) == {"theme": question.BEGINNING}


def test_chinese_asks_for_characters_pairs_and_english_words() -> None:
    found = weights("请帮我搜索数据库", "search database 数 据 数据 据库 帮我")
    assert {"database", "数据", "据库", "数"} <= found.keys()
    assert "帮我" not in found
    assert found["数"] < found["数据"] == 1.0
