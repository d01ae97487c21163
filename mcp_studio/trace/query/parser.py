"""A text as a query."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, TypeAlias

from mcp_studio.config.table import nearest
from mcp_studio.trace.message import BY_HAND, COMMENTED, DIRECTIONS, KINDS, MARKED, OUTCOMES, PROBE, SEVERITY
from mcp_studio.trace.query.needle import Glob, Needle, QueryError, Regex, TextTest, Whole

LONGEST = 10_000
"""Characters of a query; longer ones are refused."""
_DEEPEST = 50
_MOST = 200
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
    form: Literal["bare", "quoted", "regex"] = "bare"
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
    at = _end(_SPACE, text, 0)
    while at < len(text):
        tokens.append(_token(text, at))
        at = _end(_SPACE, text, tokens[-1].end)
    return tokens


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _token(text: str, at: int) -> Token:
    char = text[at]
    if char == "(" or char == ")":
        return Token(char, at, at + 1)
    if char == "-" and re.match(r"[^\s)-]", text[at + 1 : at + 2]):
        return Token("not", at, at + 1)
    if sign := _SIGN.match(text, at):
        return Token("term", at, sign.end(), "~" + sign[1].lower(), at=sign.end())
    if key := _KEY.match(text, at):
        return _value(text, key.end())._replace(start=at, key=key[1])
    found = _value(text, at)
    if found.form == "bare" and not found.compare and found.value.casefold() in _WORDS:
        return found._replace(kind=_WORDS[_WORDS.index(found.value.casefold())])
    return found


def _value(text: str, at: int) -> Token:
    """What stands at a place, without a key."""
    char = text[at : at + 1]
    if char == '"':
        quoted = _QUOTED.match(text, at)
        if quoted is None:
            raise QueryError("This quote has no end.", at, len(text), hint='Write " once more.')
        value = _ESCAPED.sub(lambda escaped: {"n": "\n", "t": "\t"}.get(escaped[1], escaped[1]), quoted[1])
        return Token("term", at, quoted.end(), value=value, form="quoted", at=at)
    if char == "/":
        regex = _REGEX.match(text, at)
        if regex:
            return Token("term", at, regex.end(), value=regex[1], form="regex", flags=regex[2], at=at)
        if not _PATH.match(text, at):
            raise QueryError("This regex has no end.", at, len(text), hint="Write / behind it, or quote the text.")
    if compare := _COMPARE.match(text, at):
        return Token("term", at, compare.end(), value=compare[3], compare=compare[1], at=at)
    end = _end(_RUN, text, at)
    return Token("term", at, end, value=text[at:end], at=at)


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


class Byte(NamedTuple):
    """A column of single bytes has one of these values."""

    column: Literal["kind", "outcome", "flags"]
    values: frozenset[int]


class Compare(NamedTuple):
    """A number is over or under a limit: bytes, milliseconds from request to answer, or seconds since the epoch."""

    column: Literal["size", "ms", "time"]
    sign: str
    """`>`, `>=`, `<` or `<=`."""
    limit: float


class Comment(NamedTuple):
    """A person's comment on it is so."""

    test: TextTest


class Id(NamedTuple):
    """It is a message with this id."""

    id: str


class Text(NamedTuple):
    """It occurs in the body, or where `anywhere` is set in server, method, target or kind."""

    sought: Needle | Regex
    anywhere: bool


Node: TypeAlias = All | Any | Not | Name | Byte | Compare | Comment | Id | Text


def kind_is(kinds: tuple[str, ...], directions: tuple[str, ...] = DIRECTIONS) -> Byte:
    """It is of one of these kinds and goes in one of these directions."""
    ways = [DIRECTIONS.index(way) << 4 for way in DIRECTIONS if way in directions]
    return Byte("kind", frozenset(way | KINDS.index(kind) for way in ways for kind in KINDS if kind in kinds))


def _outcome_is(*outcomes: str) -> Byte:
    return Byte("outcome", frozenset(place for place, one in enumerate(OUTCOMES, 1) if one in outcomes))


def _flag_is(bits: int) -> Byte:
    return Byte("flags", frozenset(value for value in range(256) if value & bits))


def _severe(least: int) -> Byte:
    return Byte("flags", frozenset(value for value in range(256) if value >> SEVERITY & 3 >= least))


def terms(node: Node) -> list[Node]:
    """All questions of a tree, without what combines them."""
    if isinstance(node, Not):
        return terms(node.part)
    if isinstance(node, (All, Any)):
        return [term for part in node.parts for term in terms(part)]
    return [node]


def _cost(node: Node) -> int:
    """How dear the answer is: 0 from the columns, 2 and 3 where bodies are read."""
    if isinstance(node, (All, Any, Not)):
        return max(map(_cost, terms(node)), default=0)
    if isinstance(node, Text):
        return 2 if isinstance(node.sought, Needle) else 3
    return 2 if isinstance(node, Id) else 0


class Query:
    """What a text asks for; an empty one asks for everything. Two of the same text and moment are equal."""

    def __init__(self, text: str, root: Node) -> None:
        self.text = text
        self.root = root
        self.reads_bodies = _cost(root) > 0

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
            self._operator(token)
            parts.append(self._all(depth))
        return parts[0] if len(parts) == 1 else Any(tuple(sorted(parts, key=_cost)))

    def _all(self, depth: int) -> Node:
        parts = [self._not(depth)]
        while (token := self._next()) and token.kind not in ("or", ")"):
            if token.kind == "and":
                self._operator(token)
            parts.append(self._not(depth))
        return parts[0] if len(parts) == 1 else All(tuple(sorted(parts, key=_cost)))

    def _not(self, depth: int) -> Node:
        negated = False
        while (token := self._next()) and token.kind == "not":
            negated = not negated
            self._operator(token)
        node = self._one(depth)
        return Not(node) if negated else node

    def _operator(self, token: Token) -> None:
        """Pass an operator; something has to follow."""
        self._at += 1
        following = self._next()
        if following is None or following.kind in (")", "or", "and"):
            word = {"not": "`-` or `not`"}.get(token.kind, f"`{token.kind}`")
            raise QueryError(f"Something is missing after {word}.", token.start, token.end)

    def _one(self, depth: int) -> Node:
        token = self._tokens[self._at]
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
            return _compare(token)
        known = _ALONE.get(token.value.casefold()) if token.form == "bare" else None
        return Text(_sought(token), True) if known is None else known

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
        if token.compare and key.make not in (_size, _ms):
            raise QueryError(f"{token.key}: cannot be compared.", token.at, token.end, hint="ms: and size: can be.")
        return key.make(token, self._now)


FAILED = All((
    Any((_outcome_is("tool error", "error", "lost"), kind_is(("error", "invalid", "stray")))), Not(_flag_is(PROBE)),
))  # fmt: skip
"""`status:error`, `error`: what went wrong, in whatever way; that a server is of the other era is nothing wrong."""
FLAGS = {"marked": MARKED, "commented": COMMENTED, "probe": PROBE, "by-hand": BY_HAND}
_IS = (*FLAGS, "sign-in")
_SIGN_IN = All((kind_is(("http",)), Not(Name("target", Whole("")))))
"""`is:sign-in`: of all HTTP messages only those of signing in say what they are for."""
LEVELS = {"any": 1, "hint": 1, "note": 1, "warning": 2, "error": 3}
"""`finding:` -> the least severity."""
STATUSES = ("ok", "error", "tool-error", "open", "cancelled", "lost")
_ANSWER = ("result", "error")
_ANSWERS = {"response": _ANSWER, "answer": _ANSWER}
_NUMBER = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([A-Za-zµ]*)")
_MS = {"us": 0.001, "µs": 0.001, "ms": 1.0, "s": 1_000.0, "sec": 1_000.0, "m": 60_000.0, "min": 60_000.0,
      "h": 3_600_000.0, "d": 86_400_000.0}  # fmt: skip
_BYTES = {"b": 1.0, "k": 1e3, "kb": 1e3, "m": 1e6, "mb": 1e6, "g": 1e9, "gb": 1e9, "kib": 1024.0, "mib": 1024.0**2,
         "gib": 1024.0**3}  # fmt: skip
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?")
_DAY = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:[T_](.*))?")


def _sought(token: Token) -> Needle | Regex:
    if token.form == "regex":
        return Regex(token.value, token.flags.lower(), token.at + 1)
    return Needle(token.value)


def _test(token: Token) -> TextTest:
    """`=name` is all of a name, `na*e` all of it with gaps, `name` occurs in it."""
    folded = token.value.casefold()
    if token.form == "quoted":
        return Whole(folded)
    if token.form == "regex":
        return _sought(token)
    if folded.startswith("="):
        return Whole(folded[1:])
    return Glob(folded) if "*" in folded else Needle(folded)


def _name(column: Literal["server", "method", "target"], *methods: str) -> Callable[[Token, float], Node]:
    def make(token: Token, now: float) -> Node:
        # `*` is any name, but there is one.
        name = Not(Name(column, Whole(""))) if token.value == "*" else Name(column, _test(token))
        if not methods:
            return name
        return All((Any(tuple(Name("method", Whole(method)) for method in methods)), name))

    return make


def _one_of(token: Token, what: str, known: tuple[str, ...]) -> str:
    wanted = token.value.casefold()
    if wanted not in known or token.form == "regex":
        hint = nearest(token.value, known) or f"There are: {', '.join(known)}."
        raise QueryError(f"There is no {what} `{token.value}`.", token.at, token.end, hint=hint)
    return wanted


def _kind(token: Token, now: float) -> Node:
    kind = _one_of(token, "kind", (*KINDS, *_ANSWERS))
    return kind_is(_ANSWERS.get(kind, (kind,)))


def _direction(token: Token, now: float) -> Node:
    return kind_is(KINDS, (_one_of(token, "direction", DIRECTIONS),))


def _status(token: Token, now: float) -> Node:
    text = token.value.casefold().replace("-", " ").replace("_", " ")
    code = text.replace("*", "xx") if len(text) == 2 else text
    if re.fullmatch(r"[0-9][0-9x]{2}", code):
        line = Regex(f"^{code.replace('x', '[0-9]')}( |$)")
        return All((kind_is(("http",), ("in",)), Name("method", line)))
    if text in ("error", "failed"):
        return FAILED
    if text not in OUTCOMES:
        _one_of(token, "status", (*STATUSES, "404", "5xx"))
    return _outcome_is(text)


def _amount(token: Token, units: dict[str, float], bare: str, example: str) -> float:
    limit = None if token.form == "regex" else amount(token.value, units, bare)
    if limit is None:
        what = f"`{token.value}` is no amount" if token.value else "An amount is missing"
        raise QueryError(f"{what}: such as {example}.", token.at, token.end)
    return limit


def _ms(token: Token, now: float) -> Node:
    return Compare("ms", token.compare or ">=", _amount(token, _MS, "ms", "ms:>500, ms:<2s"))


def _size(token: Token, now: float) -> Node:
    return Compare("size", token.compare or ">=", _amount(token, _BYTES, "b", "size:>1MB, size:<200"))


def _compare(token: Token) -> Node:
    """`>500ms` or `>1MB` without a key: the unit says what it is."""
    if (ms := amount(token.value, _MS)) is not None:
        return Compare("ms", token.compare, ms)
    if (size := amount(token.value, _BYTES)) is not None:
        return Compare("size", token.compare, size)
    hint = 'Units are us, ms, s, m, h and B, kB, MB, GB. Put quotes around text: "<b>".'
    raise QueryError(f"`{token.compare}{token.value}` is no time and no size.", token.start, token.end, hint=hint)


def _time(token: Token, now: float, sign: str) -> Node:
    found = moment(token.value, now)
    if found is None:
        message = f"`{token.value}` is no time: write 10m, 12:01, 2026-11-20 or 2026-11-20T12:01."
        raise QueryError(message, token.at, token.end)
    return Compare("time", sign, found)


def _is(token: Token, now: float) -> Node:
    flag = _one_of(token, "such property", _IS)
    return _flag_is(FLAGS[flag]) if flag in FLAGS else _SIGN_IN


def _comment(token: Token, now: float) -> Node:
    return Comment(_test(token._replace(form="bare") if token.form == "quoted" else token))


class Key(NamedTuple):
    """One key."""

    what: str
    """What it asks, for help and completion."""
    example: str
    values: tuple[str, ...]
    """All values that it may have; empty where there is no end of them."""
    make: Callable[[Token, float], Node]
    """The question; gets the moment that relative times count from."""


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
    "id": Key("the id of a request or answer", "id:17", (), lambda token, now: All((_WITH_ID, Id(token.value)))),
    "ms": Key("milliseconds from request to answer", "ms:>500", (), _ms),
    "size": Key("bytes on the wire", "size:>1MB", (), _size),
    "since": Key("at this time or later", "since:10m", (), lambda token, now: _time(token, now, ">=")),
    "until": Key("at this time or earlier", "until:12:30", (), lambda token, now: _time(token, now, "<=")),
    "finding": Key(
        "the lint found something at least so bad", "finding:error", tuple(LEVELS),
        lambda token, now: _severe(LEVELS[_one_of(token, "severity", tuple(LEVELS))]),
    ),
    "purpose": Key(
        "what a request of signing in is for", "purpose:token", (),
        lambda token, now: All((_SIGN_IN, Name("target", _test(token)))),
    ),
    "is": Key("marked, commented, part of finding the era, of signing in, or written by hand", "is:marked", _IS, _is),
    "comment": Key("a person's comment on it", "comment:odd", (), _comment),
    "text": Key("the body alone", 'text:"not found"', (), lambda token, now: Text(_sought(token), False)),
}  # fmt: skip
"""By their names, in the order of the help."""
_WITH_ID = kind_is(("request", "result", "error"))
ALIASES = {"dir": "direction", "duration": "ms", "took": "ms", "uri": "resource"}
"""Other names."""
SIGNS = {"~s": "server", "~m": "method", "~t": "target"}
"""Short signs with a value after a space."""
_ALONE: dict[str, Node] = {"error": FAILED, "~e": FAILED, "marked": _flag_is(MARKED), "~w": _severe(1)}
"""Words that are no text."""


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
    ago = amount(text, _MS)
    if ago is not None:
        return now - ago / 1000
    day = _DAY.fullmatch(text)
    clock = _CLOCK.fullmatch((day[4] or "0:00") if day else text)
    if clock is None:
        return None
    seconds = float(clock[3] or 0)
    at = int(clock[1]), int(clock[2]), int(seconds), int(seconds % 1 * 1_000_000)
    try:
        if day:
            return datetime(int(day[1]), int(day[2]), int(day[3]), *at).timestamp()
        today = datetime.fromtimestamp(now)
        found = datetime(today.year, today.month, today.day, *at)
        return (found if found.timestamp() <= now else found - timedelta(days=1)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
