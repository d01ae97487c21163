"""Words of a shell come back as they went in, and what others quoted is read as the shell reads it."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_studio.call.copying.shell import END, PasteProblem, quote, shell_words

NASTY = st.text(alphabet=st.sampled_from("ab -'\"\\$`\n#;|&<>(){}*?!~=é😀"), max_size=12)


@settings(max_examples=60, deadline=None)
@given(st.lists(NASTY, min_size=1, max_size=4))
def test_quoted_words_are_read_back(texts: list[str]) -> None:
    line = " ".join(map(quote, texts))
    assert shlex.split(line) == texts
    assert shell_words(line) == texts


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="ab '\"\\", max_size=20))
def test_words_are_those_of_the_standard_library(text: str) -> None:
    try:
        wanted = shlex.split(text + "x")
    except ValueError:
        with pytest.raises(PasteProblem):
            shell_words(text + "x")
        return
    assert shell_words(text + "x") == wanted


def test_a_real_shell_reads_what_is_quoted() -> None:
    texts = ["", "-x", "it's", "a\nb", "$HOME `id` $(id)", "é😀", "\x1b[201~\x07", "\\", "tab\there", "!!", "~", "*"]
    script = "printf '%s\\0' " + " ".join(map(quote, texts))
    done = subprocess.run(["sh", "-c", script], capture_output=True, timeout=60)
    assert done.stdout.decode().split("\0")[:-1] == texts


def test_no_control_character_is_ever_pasted_into_a_terminal() -> None:
    quoted = quote("\x1b[201~\rrm -rf ~\x07\x9b31m\u202e\u200b")
    assert not set(quoted) & set(map(chr, [*range(9), *range(11, 32), *range(127, 160), 0x202E, 0x200B]))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (r"a $'b\'c\n\x41\u00e9\0' d", ["a", "b'c\nAé\0", "d"]),
        ("a \\\n  b", ["a", "b"]),
        ("a # b\nc", ["a", END, "c"]),
        ("a#b 'c'#d", ["a#b", "c#d"]),
        ("a && b | c > d 2>&1; e", ["a", END, "b", END, "c", END, "d", END, "e"]),
        ('"a\\nb \\" \\$x"', ['a\\nb " $x']),
    ],
)
def test_what_a_shell_means(text: str, wanted: list[str]) -> None:
    assert shell_words(text) == wanted


def test_a_quote_that_is_not_closed_is_named_by_its_line() -> None:
    with pytest.raises(PasteProblem) as problem:
        shell_words("a\nb 'c\nd")
    assert problem.value.line == 2
