"""A query's text as tokens with their places."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from mcp_studio.errors import UsageError

LONGEST = 10_000
"""Characters of a query; longer ones are refused."""
Form = Literal["bare", "quoted", "regex"]
_SPACE = re.compile(r"\s*")
_RUN = re.compile(r"[^\s()]*")
_KEY = re.compile(r"([A-Za-z][A-Za-z_-]*):(?!//)")
_COMPARE = re.compile(r"([<>]=?)(\s*)([^\s()<>]*)")
_SIGN = re.compile(r"~([A-Za-z])(?=[\s()]|$)")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.S)
_REGEX = re.compile(r"/((?:[^/\\\n]|\\.)+)/([ism]{0,3})(?=[\s()]|$)")
_PATH = re.compile(r"/[\w./~%:-]*(?=[\s()]|$)")
_ESCAPED = re.compile(r"\\(.)", re.S)
_WORDS: tuple[Literal["and", "or", "not"], ...] = ("and", "or", "not")


class QueryError(UsageError):
    """A text that is no query.

    Attributes:
        start: where in the text the wrong part begins; the text's length where something is missing at its end.
        end: where it ends, at least `start`.
    """

    def __init__(self, message: str, start: int, end: int, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.start = start
        self.end = end


class Token(NamedTuple):
    """A word of the query. `text[start:end]` is all of it, `text[at:end]` its value."""

    kind: Literal["(", ")", "and", "or", "not", "term"]
    start: int
    end: int
    key: str = ""
    """Before the colon, or the letter of a short sign such as `~s`; empty for what is looked for everywhere."""
    value: str = ""
    form: Form = "bare"
    compare: str = ""
    """`>`, `>=`, `<` or `<=` before the value."""
    flags: str = ""
    """The letters behind a regex."""
    at: int = 0


def lex(text: str) -> list[Token]:
    """Take a query apart.

    Raises:
        QueryError: a quote or a regex without an end.
    """
    if len(text) > LONGEST:
        raise QueryError(f"A query has at most {LONGEST:,} characters.", LONGEST, len(text))
    tokens: list[Token] = []
    at = _skip(text, 0)
    while at < len(text):
        tokens.append(_token(text, at))
        at = _skip(text, tokens[-1].end)
    return tokens


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _token(text: str, at: int) -> Token:
    char = text[at]
    if char == "(":
        return Token("(", at, at + 1)
    if char == ")":
        return Token(")", at, at + 1)
    if char == "-" and not (text[at + 1 : at + 2] or " ").isspace() and text[at + 1] not in "-)":
        return Token("not", at, at + 1)
    if sign := _SIGN.match(text, at):
        return Token("term", at, sign.end(), "~" + sign[1].lower(), at=sign.end())
    if key := _KEY.match(text, at):
        return _value(text, key.end())._replace(start=at, key=key[1])
    found = _value(text, at)
    if found.form == "bare" and not found.compare and found.value.casefold() in _WORDS:
        return found._replace(kind=_WORDS[_WORDS.index(found.value.casefold())])
    return found


def _plain(escaped: re.Match[str]) -> str:
    return {"n": "\n", "t": "\t"}.get(escaped[1], escaped[1])


def _value(text: str, at: int) -> Token:
    """What stands at a place, without a key."""
    char = text[at : at + 1]
    if char == '"':
        quoted = _QUOTED.match(text, at)
        if quoted is None:
            raise QueryError("This quote has no end.", at, len(text), hint='Write " once more.')
        return Token("term", at, quoted.end(), value=_ESCAPED.sub(_plain, quoted[1]), form="quoted", at=at)
    if char == "/":
        regex = _REGEX.match(text, at)
        if regex:
            return Token("term", at, regex.end(), value=regex[1], form="regex", flags=regex[2], at=at)
        if not _PATH.match(text, at):
            raise QueryError("This regex has no end.", at, len(text), hint="Write / behind it, or quote the text.")
    compare = _COMPARE.match(text, at)
    if compare:
        return Token("term", at, compare.end(), value=compare[3], compare=compare[1], at=at)
    run = _RUN.match(text, at)
    end = run.end() if run else at
    return Token("term", at, end, value=text[at:end], at=at)
