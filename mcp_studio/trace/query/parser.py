"""A text as a query."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, Protocol, TypeAlias

from mcp_studio.config.table import nearest
from mcp_studio.trace.message import BY_HAND, COMMENTED, DIRECTIONS, KINDS, MARKED, PROBE
from mcp_studio.trace.query.needle import Needle, QueryError, Regex

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


class TextTest(Protocol):
    """Whether texts are what is looked for."""

    def which(self, texts: Sequence[str]) -> bytes:
        """1 for each text that is, 0 for each that is not.

        Raises:
            TooSlow: a regex does not come to an end.
        """
        ...


class Contains(NamedTuple):
    """The text occurs in it."""

    folded: str

    def which(self, texts: Sequence[str]) -> bytes:
        """See `TextTest`."""
        return bytes(self.folded in text.casefold() for text in texts)


class Whole(NamedTuple):
    """It is one of these."""

    folded: frozenset[str]

    def which(self, texts: Sequence[str]) -> bytes:
        """See `TextTest`."""
        return bytes(text.casefold() in self.folded for text in texts)


class Like(NamedTuple):
    """The whole of it is like a text with `*`, which stands for anything."""

    parts: tuple[str, ...]
    """What stands between the stars."""

    def which(self, texts: Sequence[str]) -> bytes:
        """See `TextTest`."""
        return bytes(self._is(text.casefold()) for text in texts)

    def _is(self, text: str) -> bool:
        first, *middle, last = self.parts
        if len(text) < len(first) + len(last) or not text.startswith(first) or not text.endswith(last):
            return False
        at, end = len(first), len(text) - len(last)
        for part in middle:
            at = text.find(part, at, end)
            if at < 0:
                return False
            at += len(part)
        return True


class Status(NamedTuple):
    """The first line of an HTTP answer has this status; `x` is any digit."""

    code: str

    def which(self, texts: Sequence[str]) -> bytes:
        """See `TextTest`."""
        pattern = re.compile(self.code.lower().replace("x", "[0-9]") + "(?: |$)")
        return bytes(pattern.match(text) is not None for text in texts)


class Anything(NamedTuple):
    """It is not empty."""

    def which(self, texts: Sequence[str]) -> bytes:
        """See `TextTest`."""
        return bytes(map(bool, texts))


def name_test(value: str) -> TextTest:
    """What a value in a query asks of a name: `=name` all of it, `na*e` all of it with gaps, `name` that it occurs."""
    folded = value.casefold()
    if folded.startswith("="):
        return Whole(frozenset({folded[1:]}))
    if folded == "*":
        return Anything()
    return Like(tuple(folded.split("*"))) if "*" in folded else Contains(folded)


class All(NamedTuple):
    """All of these are true; without parts it is true."""

    parts: tuple[Node, ...] = ()


class Any(NamedTuple):
    """One of these is true."""

    parts: tuple[Node, ...]


class Not(NamedTuple):
    """This is not true."""

    part: Node


class Name(NamedTuple):
    """The server, method or target is so."""

    column: Literal["server", "method", "target"]
    test: TextTest


class Kind(NamedTuple):
    """It is of one of these kinds, and goes in one of these directions where there are any."""

    kinds: frozenset[str]
    directions: frozenset[str] = frozenset()


class Outcome(NamedTuple):
    """It is an end of a request that came to one of these."""

    outcomes: frozenset[str]


class Compare(NamedTuple):
    """A number is over or under a limit: bytes, milliseconds from request to answer, or seconds since the epoch."""

    column: Literal["size", "ms", "time"]
    sign: str
    """`>`, `>=`, `<` or `<=`."""
    limit: float


class Flag(NamedTuple):
    """One of these bits of `columns.flags` is set."""

    bits: int


class Severe(NamedTuple):
    """The worst finding on it is at least so bad: 1 hint, 2 warning, 3 error."""

    least: int


class Comment(NamedTuple):
    """A person's comment on it is so."""

    test: TextTest


class Id(NamedTuple):
    """It is a message with this id."""

    id: str


class Text(NamedTuple):
    """It occurs in the body, and where `anywhere` is set, in server, method, target or kind instead."""

    sought: Needle | Regex
    anywhere: bool


Node: TypeAlias = All | Any | Not | Name | Kind | Outcome | Compare | Flag | Severe | Comment | Id | Text


def terms(node: Node) -> list[Node]:
    """All questions of a tree, without what combines them."""
    if isinstance(node, Not):
        return terms(node.part)
    if isinstance(node, (All, Any)):
        return [term for part in node.parts for term in terms(part)]
    return [node]


def cost(node: Node) -> int:
    """How dear the answer is: 0 from the columns, 2 and 3 where bodies are read."""
    if isinstance(node, (All, Any, Not)):
        return max(map(cost, terms(node)), default=0)
    if isinstance(node, Text):
        return 2 if isinstance(node.sought, Needle) else 3
    if isinstance(node, Id):
        return 2
    return int(isinstance(node, Comment) or (isinstance(node, Compare) and node.column == "ms"))


_DEEPEST = 50
_MOST = 200


class Query:
    """What a text asks for; an empty one asks for everything. Two of the same text and moment are equal."""

    def __init__(self, text: str, root: Node) -> None:
        self.text = text
        self.root = root
        self.cost = cost(root)
        """At most 1 where the columns answer it, more where bodies have to be read."""
        self.slow = any(isinstance(part, Regex) for term in terms(root) for part in term)
        """A regex may take its time: not on the event loop."""

    def __bool__(self) -> bool:
        return self.root != All()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Query) and (other.text.strip(), other.root) == (self.text.strip(), self.root)

    def __hash__(self) -> int:
        return hash(self.text.strip())


def parse(text: str, now: float | None = None) -> Query:
    """Read a query.

    Args:
        text: what a person wrote.
        now: the moment that `since:10m` and `since:12:01` are reckoned from; the present where it is not given.

    Raises:
        QueryError: it is none; says what is wrong, and where.
    """
    return Query(text, _Parser(text, time.time() if now is None else now).all())


class _Parser:
    def __init__(self, text: str, now: float) -> None:
        self._tokens = lex(text)
        self._end = len(text)
        self._now = now
        self._at = 0
        if len(self._tokens) > _MOST:
            raise QueryError(f"A query has at most {_MOST} parts.", self._tokens[_MOST].start, self._end)

    def all(self) -> Node:
        if not self._tokens:
            return All()
        root = self._any(0)
        token = self._next()
        if token is not None:  # only a `)` stops it
            raise QueryError("There is no ( before this ).", token.start, token.end)
        return root

    def _next(self) -> Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _any(self, depth: int) -> Node:
        parts = [self._all(depth)]
        while (token := self._next()) and token.kind == "or":
            self._at += 1
            self._needed(token)
            parts.append(self._all(depth))
        return parts[0] if len(parts) == 1 else Any(tuple(sorted(parts, key=cost)))

    def _all(self, depth: int) -> Node:
        parts = [self._not(depth)]
        while (token := self._next()) and token.kind not in ("or", ")"):
            if token.kind == "and":
                self._at += 1
                self._needed(token)
            parts.append(self._not(depth))
        return parts[0] if len(parts) == 1 else All(tuple(sorted(parts, key=cost)))

    def _not(self, depth: int) -> Node:
        negated = False
        while (token := self._next()) and token.kind == "not":
            negated = not negated
            self._at += 1
            self._needed(token)
        node = self._one(depth)
        return Not(node) if negated else node

    def _needed(self, token: Token) -> None:
        """Something has to follow."""
        following = self._next()
        if following is None or following.kind in (")", "or", "and"):
            word = {"not": "`-` or `not`"}.get(token.kind, f"`{token.kind}`")
            raise QueryError(f"Something is missing after {word}.", token.start, token.end)

    def _one(self, depth: int) -> Node:
        token = self._next()
        assert token is not None
        self._at += 1
        if token.kind == "term":
            return self._term(token)
        if token.kind in ("and", "or"):
            hint = f'Put quotes around the word: "{token.kind}".'
            raise QueryError(f"Something is missing before `{token.kind}`.", token.start, token.end, hint=hint)
        if token.kind == ")":
            raise QueryError("There is no ( before this ).", token.start, token.end)
        if depth >= _DEEPEST:
            raise QueryError("Too many ( inside each other.", token.start, token.end)
        inside = self._next()
        if inside is None or inside.kind == ")":
            raise QueryError("There is nothing in these ( ).", token.start, inside.end if inside else token.end)
        node = self._any(depth + 1)
        if self._next() is None:
            raise QueryError("This ( has no ).", token.start, token.end)
        self._at += 1
        return node

    def _term(self, token: Token) -> Node:
        if token.key in SIGNS:
            return self._signed(token)
        if token.key.startswith("~"):
            if token.key not in _ALONE:
                hint = "There are ~s server, ~m method, ~t target, ~e error and ~w findings."
                raise QueryError(f"There is no sign {token.key}.", token.start, token.end, hint=hint)
            return _ALONE[token.key]
        if token.key:
            return self._keyed(token)
        if token.compare:
            return compare_of(token)
        if token.form == "regex":
            return Text(regex_of(token), True)
        known = _ALONE.get(token.value.casefold()) if token.form == "bare" else None
        return Text(Needle(token.value), True) if known is None else known

    def _signed(self, sign: Token) -> Node:
        """`~s github`: the value is the next word."""
        token = self._next()
        if token is None or token.kind != "term" or token.key or token.compare:
            raise QueryError(f"A value is missing after {sign.key}.", sign.start, sign.end)
        self._at += 1
        return KEYS[SIGNS[sign.key]].make(token, self._now)

    def _keyed(self, token: Token) -> Node:
        name = token.key.lower()
        key = KEYS.get(ALIASES.get(name, name))
        if key is None:
            known = nearest(name, (*KEYS, *ALIASES))
            hint = f"{known} Text with a colon needs quotes around it.".lstrip()
            raise QueryError(f"There is no key `{token.key}`.", token.start, token.start + len(token.key), hint=hint)
        if not token.value and not token.compare:
            hint = f"Such as {key.example}."
            raise QueryError(f"A value is missing after {token.key}:", token.start, token.end, hint=hint)
        if token.compare and not key.compared:
            raise QueryError(f"{token.key}: cannot be compared.", token.at, token.end, hint="ms: and size: can be.")
        return key.make(token, self._now)


_FAILED = Outcome(frozenset({"tool error", "error", "lost"}))


FAILED = All((Any((_FAILED, Kind(frozenset({"error", "invalid", "stray"})))), Not(Flag(PROBE))))
"""`status:error`, `error`: what went wrong, in whatever way; that a server is of the other era is nothing wrong."""


FLAGS = {"marked": MARKED, "commented": COMMENTED, "probe": PROBE, "by-hand": BY_HAND}


IS = (*FLAGS, "sign-in")
"""`is:` takes these."""


SIGN_IN = All((Kind(frozenset({"http"})), Not(Name("target", Whole(frozenset({""}))))))
"""`is:sign-in`: of all HTTP messages only those of signing in say what they are for."""


LEVELS = {"any": 1, "hint": 1, "note": 1, "warning": 2, "error": 3}
"""`finding:` -> the least severity."""


STATUSES = ("ok", "error", "tool-error", "open", "cancelled", "lost")


_OUTCOMES = ("ok", "tool error", "open", "cancelled", "lost")


_ANSWERS = {"response": ("result", "error"), "answer": ("result", "error")}


_NUMBER = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([A-Za-zµ]*)")


MS = {"us": 0.001, "µs": 0.001, "ms": 1.0, "s": 1_000.0, "sec": 1_000.0, "m": 60_000.0, "min": 60_000.0,
      "h": 3_600_000.0, "d": 86_400_000.0}  # fmt: skip
"""Unit of a duration -> its milliseconds."""


BYTES = {"b": 1.0, "k": 1e3, "kb": 1e3, "m": 1e6, "mb": 1e6, "g": 1e9, "gb": 1e9, "kib": 1024.0, "mib": 1024.0**2,
         "gib": 1024.0**3}  # fmt: skip
"""Unit of a size -> its bytes."""


_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?")


_DAY = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:[T_](.*))?")


class Key(NamedTuple):
    """One key."""

    what: str
    """What it asks, for help and completion."""
    example: str
    values: tuple[str, ...]
    """All values that it may have; empty where there is no end of them."""
    make: Callable[[Token, float], Node]
    """The question; gets the moment that relative times count from."""
    compared: bool = False
    """Whether `>` and the like may stand before the value."""


def value_error(token: Token, message: str, known: tuple[str, ...] = ()) -> QueryError:
    """The value of a token is wrong."""
    hint = nearest(token.value, known) if known else ""
    return QueryError(message, token.at, token.end, hint=hint or (f"There are: {', '.join(known)}." if known else ""))


def regex_of(token: Token) -> Regex:
    """The regex that a token is."""
    return Regex(token.value, token.flags.lower(), token.at + 1)


def _test(token: Token) -> TextTest:
    if token.form == "regex":
        return regex_of(token)
    return Whole(frozenset({token.value.casefold()})) if token.form == "quoted" else name_test(token.value)


def _name(column: str, *methods: str) -> Callable[[Token, float], Node]:
    def make(token: Token, now: float) -> Node:
        asked = Name(column, _test(token))  # type: ignore[arg-type]
        return All((Name("method", Whole(frozenset(methods))), asked)) if methods else asked

    return make


def _one_of(token: Token, what: str, known: tuple[str, ...]) -> str:
    wanted = token.value.casefold()
    if wanted not in known or token.form == "regex":
        raise value_error(token, f"There is no {what} `{token.value}`.", known)
    return wanted


def _kind(token: Token, now: float) -> Node:
    kind = _one_of(token, "kind", (*KINDS, *_ANSWERS))
    return Kind(frozenset(_ANSWERS.get(kind, (kind,))))


def _direction(token: Token, now: float) -> Node:
    return Kind(frozenset(KINDS), frozenset({_one_of(token, "direction", DIRECTIONS)}))


def _status(token: Token, now: float) -> Node:
    text = token.value.casefold().replace("-", " ").replace("_", " ")
    code = text.replace("*", "xx") if len(text) == 2 else text
    if len(code) == 3 and code[0].isdecimal() and code.isascii() and all(c.isdecimal() or c == "x" for c in code):
        return All((Kind(frozenset({"http"}), frozenset({"in"})), Name("method", Status(code))))
    if text in ("error", "failed"):
        return FAILED
    if text not in _OUTCOMES:
        raise value_error(token, f"There is no status `{token.value}`.", (*STATUSES, "404", "5xx"))
    return Outcome(frozenset({text}))


def _compared(column: str, units: dict[str, float], bare: str, example: str) -> Callable[[Token, float], Node]:
    def make(token: Token, now: float) -> Node:
        limit = None if token.form == "regex" else amount(token.value, units, bare)
        if limit is None:
            what = f"`{token.value}` is no amount" if token.value else "An amount is missing"
            raise value_error(token, f"{what}: such as {example}.")
        return Compare(column, token.compare or ">=", limit)  # type: ignore[arg-type]

    return make


def compare_of(token: Token) -> Node:
    """`>500ms` or `>1MB` without a key: the unit says what it is."""
    ms, size = amount(token.value, MS), amount(token.value, BYTES)
    if ms is None and size is None:
        hint = 'Units are us, ms, s, m, h and B, kB, MB, GB. Put quotes around text: "<b>".'
        raise QueryError(f"`{token.compare}{token.value}` is no time and no size.", token.start, token.end, hint=hint)
    if ms is not None:
        return Compare("ms", token.compare, ms)
    return Compare("size", token.compare, size or 0.0)


def _moment(sign: str) -> Callable[[Token, float], Node]:
    def make(token: Token, now: float) -> Node:
        found = moment(token.value, now)
        if found is None:
            raise value_error(token, f"`{token.value}` is no time: write 10m, 12:01, 2026-11-20 or 2026-11-20T12:01.")
        return Compare("time", sign, found)

    return make


def _finding(token: Token, now: float) -> Node:
    return Severe(LEVELS[_one_of(token, "severity", tuple(LEVELS))])


def _flag(token: Token, now: float) -> Node:
    flag = _one_of(token, "such property", IS)
    return Flag(FLAGS[flag]) if flag in FLAGS else SIGN_IN


def _purpose(token: Token, now: float) -> Node:
    return All((SIGN_IN, Name("target", _test(token))))


def _comment(token: Token, now: float) -> Node:
    return Comment(_test(token) if token.form == "regex" else name_test(token.value))


def _text(token: Token, now: float) -> Node:
    return Text(regex_of(token) if token.form == "regex" else Needle(token.value), False)


KEYS: dict[str, Key] = {
    "server": Key("the server's name", "server:github", (), _name("server")),
    "method": Key("the method of a message, of an answer that of its request", "method:tools/*", (), _name("method")),
    "tool": Key("the tool of a call", "tool:read_file", (), _name("target", "tools/call")),
    "prompt": Key("the prompt that is got", "prompt:review", (), _name("target", "prompts/get")),
    "resource": Key(
        "the address of a resource", "resource:file://*", (),
        _name("target", "resources/read", "resources/subscribe", "resources/unsubscribe"),
    ),
    "target": Key("tool, prompt or address that a message is about", "target:report", (), _name("target")),
    "kind": Key("what an entry is", "kind:request", (*KINDS, "response"), _kind),
    "direction": Key("which way it went", "direction:in", DIRECTIONS, _direction),
    "status": Key("what came of a request; of HTTP answers the number", "status:error", STATUSES, _status),
    "id": Key("the id of a request or answer", "id:17", (), lambda token, now: Id(token.value)),
    "ms": Key("milliseconds from request to answer", "ms:>500", (), _compared("ms", MS, "ms", "ms:>500, ms:<2s"), True),
    "size": Key("bytes on the wire", "size:>1MB", (), _compared("size", BYTES, "b", "size:>1MB, size:<200"), True),
    "since": Key("at this time or later", "since:10m", (), _moment(">=")),
    "until": Key("at this time or earlier", "until:12:30", (), _moment("<=")),
    "finding": Key("the lint found something at least so bad", "finding:error", tuple(LEVELS), _finding),
    "purpose": Key("what a request of signing in is for", "purpose:token", (), _purpose),
    "is": Key("marked, commented, part of finding the era, of signing in, or written by hand", "is:marked", IS, _flag),
    "comment": Key("a person's comment on it", "comment:odd", (), _comment),
    "text": Key("the body alone", 'text:"not found"', (), _text),
}  # fmt: skip
"""By their names, in the order of the help."""


ALIASES = {"dir": "direction", "duration": "ms", "took": "ms", "uri": "resource"}
"""Other names."""


SIGNS = {"~s": "server", "~m": "method", "~t": "target"}
"""Short signs with a value after a space."""


def amount(text: str, units: dict[str, float], bare: str = "") -> float | None:
    """A number with a unit, in the smallest of these; None for anything else.

    Args:
        bare: the unit of a number without one; empty where it needs one.
    """
    found = _NUMBER.fullmatch(text)
    if found is None or len(text) > 30:
        return None
    factor = units.get(found[2].lower() or bare)
    return None if factor is None else float(found[1]) * factor


def moment(text: str, now: float) -> float | None:
    """`10m`, `12:01`, `12:01:30`, `2026-11-20`, `2026-11-20T12:01` as seconds since the epoch; None for anything else.

    A duration counts back from `now`; a time of day is the last such time before `now`.
    """
    ago = amount(text, MS)
    if ago is not None:
        return now - ago / 1000
    try:
        return _keys_written(text, now)
    except (ValueError, OverflowError, OSError):
        return None


def _keys_written(text: str, now: float) -> float | None:
    day = _DAY.fullmatch(text)
    clock = _CLOCK.fullmatch((day[4] or "0:00") if day else text)
    if clock is None:
        return None
    seconds = float(clock[3] or 0)
    at = int(clock[1]), int(clock[2]), int(seconds), int(seconds % 1 * 1_000_000)
    if day:
        return datetime(int(day[1]), int(day[2]), int(day[3]), *at).timestamp()
    today = time.localtime(now)
    found = datetime(today.tm_year, today.tm_mon, today.tm_mday, *at)
    return (found if found.timestamp() <= now else found - timedelta(days=1)).timestamp()


_ALONE: dict[str, Node] = {"error": FAILED, "~e": FAILED, "marked": Flag(MARKED), "~w": Severe(1)}
"""Words that are no text."""
