"""Reading a query."""

import fnmatch
import operator
import re
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from mcp_studio.errors import UsageError, nearest
from mcp_studio.schema.patterns import PatternError
from mcp_studio.trace.message import BY_HAND, COMMENTED, DIRECTIONS, KINDS, MARKED, OUTCOMES, PROBE, SEVERITY, Columns
from mcp_studio.trace.query import terms
from mcp_studio.trace.query.terms import Query, Sought, Term, TextTest
from mcp_studio.trace.tree import parent_of

LONGEST = 2_000
"""Characters of the longest query."""
_DEEPEST = 50
_MOST = 200
_TOKEN = re.compile(
    r"""
    (?P<bracket>[()]) | (?P<minus>-)(?=[^\s)-]) |
    (?: (?P<key>[A-Za-z][A-Za-z_-]*) : (?!//) )?
    (?: "(?P<quoted>(?:[^"\\]|\\.)*)" |
        /(?P<regex>(?:[^/\\\n]|\\.)+)/(?P<flags>[ism]{0,3})(?=[\s()]|$) |
        (?P<compare>[<>]=?)\s*(?P<limit>[^\s()<>]*) |
        (?P<bare>[^\s()]*) )
    """,
    re.S | re.X,
)
_PATH = re.compile(r"/[\w./~%:-]*")
_ESCAPED = re.compile(r"\\(.)", re.S)
_WORDS: tuple[Literal["and", "or", "not"], ...] = ("and", "or", "not")


class QueryError(UsageError):
    """A text is not a query.

    Attributes:
        start: the position of the wrong part; the text's length where something is missing at its end.
        end: the end of the wrong part, at least `start`.
    """

    def __init__(self, message: str, start: int, end: int, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.start = start
        self.end = end


class Token(NamedTuple):
    """A word of the query. `text[start:end]` is the word, `text[at:end]` its value."""

    kind: Literal["(", ")", "and", "or", "not", "term", "end"]
    start: int
    end: int
    key: str = ""
    """The key before the colon; empty for a text that is searched everywhere."""
    value: str = ""
    form: Literal["bare", "quoted", "regex"] = "bare"
    compare: str = ""
    """The sign before the value: `>`, `>=`, `<` or `<=`."""
    flags: str = ""
    """The letters after a regex."""
    at: int = 0


def lex(text: str) -> list[Token]:
    """Split a query into tokens; the last token is its end.

    Raises:
        QueryError: a quote or a regex has no end.
    """
    if len(text) > LONGEST:
        raise QueryError(f"A query has at most {LONGEST:,} characters.", LONGEST, len(text))
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
        elif found := _TOKEN.match(text, at):
            tokens.append(_token(found))
            at = found.end()
    return [*tokens, Token("end", len(text), len(text))]


def _token(found: re.Match[str]) -> Token:
    text, start, end = found.string, found.start(), found.end()
    if found["bracket"]:
        return Token("(" if found["bracket"] == "(" else ")", start, end)
    if found["minus"]:
        return Token("not", start, end)
    key, at = found["key"] or "", found.end("key") + 1 if found["key"] else start
    if found["quoted"] is not None:
        value = _ESCAPED.sub(lambda escaped: {"n": "\n", "t": "\t"}.get(escaped[1], escaped[1]), found["quoted"])
        return Token("term", start, end, key, value, "quoted", at=at)
    if found["regex"] is not None:
        return Token("term", start, end, key, found["regex"], "regex", flags=found["flags"], at=at)
    if found["compare"] is not None:
        return Token("term", start, end, key, found["limit"], compare=found["compare"], at=at)
    value = found["bare"]
    if value.startswith('"'):
        raise QueryError("This quote has no end.", at, len(text), hint='Write " once more.')
    if value.startswith("/") and not _PATH.fullmatch(value):
        raise QueryError("This regex has no end.", at, len(text), hint="Write / behind it, or quote the text.")
    if not key and value.casefold() in _WORDS:
        return Token(_WORDS[_WORDS.index(value.casefold())], start, end)
    return Token("term", start, end, key, value, at=at)


def quoted(value: str) -> str:
    """A value in quotes as it stands in a query, where it does not match as a part of a longer value."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def parse(text: str, now: float | None = None) -> Query:
    """Read a query.

    Args:
        text: the person's text.
        now: the moment that `since:10m` and `since:12:01` count from; None for the present.

    Raises:
        QueryError: the text is not a query; the message says what is wrong, and the error where.
    """
    parser = _Parser(text, time.time() if now is None else now)
    return Query(text, parser.all())


class _Parser:
    def __init__(self, text: str, now: float) -> None:
        self._tokens = lex(text)
        self._now = now
        self._at = 0
        if len(self._tokens) > _MOST + 1:
            raise QueryError(f"A query has at most {_MOST} parts.", self._tokens[_MOST].start, len(text))

    def all(self) -> Term | None:
        if self._took("end"):
            return None
        term = self._either(0)
        if not self._took("end"):  # only a `)` ends the term early
            raise QueryError("There is no ( before this ).", self._next.start, self._next.end)
        return term

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _took(self, kind: str) -> bool:
        """Whether the next token is of this kind; if so, move on to the next one."""
        found = self._next.kind == kind
        self._at += found
        return found

    def _either(self, depth: int) -> Term:
        parts = [self._every(depth)]
        while self._took("or"):
            parts.append(self._every(depth))
        return terms.either(parts)

    def _every(self, depth: int) -> Term:
        parts = [self._one(depth)]
        while self._took("and") or self._next.kind not in ("or", ")", "end"):
            parts.append(self._one(depth))
        return terms.every(parts)

    def _one(self, depth: int) -> Term:
        negated = False
        while self._took("not"):
            negated = not negated
        token = self._next
        if token.kind == "term":
            self._at += 1
            term = self._term(token)
        elif self._took("("):
            if depth >= _DEEPEST:
                raise QueryError("Too many ( inside each other.", token.start, token.end)
            term = self._either(depth + 1)
            if not self._took(")"):
                raise QueryError("This ( has no ).", token.start, token.end)
        else:
            hint = f'Put quotes around the word: "{token.kind}".' if token.kind in _WORDS else ""
            raise QueryError("Something is missing here.", token.start, token.end, hint=hint)
        return terms.opposite(term) if negated else term

    def _term(self, token: Token) -> Term:
        if token.key:
            return self._key_term(token)
        if token.compare:
            return _compare(token)
        known = _ALONE.get(token.value.casefold()) if token.form == "bare" else None
        return _matcher(token).anywhere() if known is None else known

    def _key_term(self, token: Token) -> Term:
        name = token.key.lower()
        key = KEYS.get(ALIASES.get(name, name))
        if key is None:
            known = nearest(name, (*KEYS, *ALIASES))
            hint = f"{known} Text with a colon needs quotes around it.".lstrip()
            raise QueryError(f"There is no key `{token.key}`.", token.start, token.start + len(token.key), hint=hint)
        if not token.value and not token.compare:
            missing = f"A value is missing after {token.key}: as in {key.example}"
            raise QueryError(missing, token.start, token.end)
        if token.compare and key.make not in (_size, _ms):
            raise QueryError(f"{token.key}: cannot be compared.", token.at, token.end, hint="ms: and size: can be.")
        return key.make(token, self._now)


# ---------------------------------------------------------------------- keys


def _outcome_is(*outcomes: str) -> Term:
    places = {place for place, outcome in enumerate(OUTCOMES, 1) if outcome in outcomes}
    return terms.byte_is("outcome", places.__contains__)


def _flag_is(bits: int) -> Term:
    return terms.byte_is("flags", lambda value: bool(value & bits))


FAILED = terms.every((
    terms.either((_outcome_is("tool error", "error", "lost"), terms.kind_is(("error", "invalid", "stray")))),
    terms.opposite(_flag_is(PROBE)),
))  # fmt: skip
"""`status:error` and `error`: any failure, except probes, which fail because the server is of the other era."""
FLAGS = {"marked": MARKED, "commented": COMMENTED, "probe": PROBE, "by-hand": BY_HAND}
_IS = (*FLAGS, "sign-in")
_SIGN_IN = terms.every((terms.kind_is(("http",)), terms.name_is("target", bool)))
"""`is:sign-in`: only the HTTP messages of a sign-in have a target."""
LEVELS = {"any": 1, "hint": 1, "note": 1, "warning": 2, "error": 3}
"""The least severity for each value of `finding:`."""
STATUSES = ("ok", "error", "tool-error", "open", "cancelled", "lost")
_ANSWERS = {name: ("result", "error") for name in ("response", "answer")}
_NUMBER = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([A-Za-zµ]*)")
_MS = {"us": 0.001, "µs": 0.001, "ms": 1.0, "s": 1_000.0, "sec": 1_000.0, "m": 60_000.0, "min": 60_000.0,
      "h": 3_600_000.0, "d": 86_400_000.0}  # fmt: skip
_BYTES = {"b": 1.0, "k": 1e3, "kb": 1e3, "m": 1e6, "mb": 1e6, "g": 1e9, "gb": 1e9, "kib": 1024.0, "mib": 1024.0**2,
         "gib": 1024.0**3}  # fmt: skip
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le,
}  # fmt: skip


def _matcher(token: Token) -> Sought:
    if token.form != "regex":
        return terms.needle(token.value)
    try:
        return terms.regex(token.value, token.flags)
    except PatternError as error:
        raise QueryError(error.message, token.at + 1 + error.at, token.at + 1 + len(token.value)) from None


def _name_test(token: Token) -> TextTest:
    """Test a name: `=name` is the whole name, `na*e` the whole name with gaps, `name` any part of it."""
    folded = token.value.casefold()
    if token.form == "quoted":
        return lambda text: text.casefold() == folded
    if token.form == "bare" and folded.startswith("="):
        return lambda text: text.casefold() == folded[1:]
    if token.form == "bare" and "*" in folded:
        pattern = re.sub(r"([?[])", r"[\1]", folded)
        return lambda text: fnmatch.fnmatchcase(text.casefold(), pattern)
    return _matcher(token).in_text


def _name(column: terms.NameColumn, *methods: str) -> Callable[[Token, float], Term]:
    def make(token: Token, now: float) -> Term:
        # `*` matches any name except none
        name = terms.name_is(column, bool if token.value == "*" else _name_test(token))
        return terms.every((terms.name_is("method", methods.__contains__), name)) if methods else name

    return make


def _one_of(token: Token, what: str, known: tuple[str, ...]) -> str:
    wanted = token.value.casefold()
    if wanted not in known or token.form == "regex":
        hint = nearest(token.value, known) or f"There are: {', '.join(known)}."
        raise QueryError(f"There is no {what} `{token.value}`.", token.at, token.end, hint=hint)
    return wanted


def _kind(token: Token, now: float) -> Term:
    kind = _one_of(token, "kind", (*KINDS, *_ANSWERS))
    return terms.kind_is(_ANSWERS.get(kind, (kind,)))


def _direction(token: Token, now: float) -> Term:
    return terms.kind_is(KINDS, (_one_of(token, "direction", DIRECTIONS),))


def _status(token: Token, now: float) -> Term:
    text = token.value.casefold().replace("-", " ").replace("_", " ")
    code = text.replace("*", "xx") if len(text) == 2 else text
    if re.fullmatch(r"[0-9][0-9x]{2}", code):
        line = re.compile(f"{code.replace('x', '[0-9]')}( |$)")
        answer = terms.kind_is(("http",), ("in",))
        return terms.every((answer, terms.name_is("method", lambda text: line.match(text) is not None)))
    if text in ("error", "failed"):
        return FAILED
    if text not in OUTCOMES:
        _one_of(token, "status", (*STATUSES, "404", "5xx"))
    return _outcome_is(text)


def _number_is(column: Literal["size", "time", "ms"], sign: str, limit: float) -> Term:
    compare = _COMPARISONS[sign]
    if column == "ms":
        return Term(lambda rows: lambda row: (ms := rows.columns.ms(row)) is not None and compare(ms, limit))
    return Term(lambda rows: lambda row: compare(getattr(rows.columns, column)[row], limit))


def _amount(token: Token, units: dict[str, float], bare: str, example: str) -> float:
    limit = None if token.form == "regex" else amount(token.value, units, bare)
    if limit is None:
        raise QueryError(f"`{token.value}` is no amount: such as {example}.", token.at, token.end)
    return limit


def _ms(token: Token, now: float) -> Term:
    return _number_is("ms", token.compare or ">=", _amount(token, _MS, "ms", "ms:>500, ms:<2s"))


def _size(token: Token, now: float) -> Term:
    return _number_is("size", token.compare or ">=", _amount(token, _BYTES, "b", "size:>1MB, size:<200"))


def _compare(token: Token) -> Term:
    """`>500ms` or `>1MB` without a key: the unit tells whether a time or a size is meant."""
    if (ms := amount(token.value, _MS)) is not None:
        return _number_is("ms", token.compare, ms)
    if (size := amount(token.value, _BYTES)) is not None:
        return _number_is("size", token.compare, size)
    hint = 'Units are us, ms, s, m, h and B, kB, MB, GB. Put quotes around text: "<b>".'
    raise QueryError(f"`{token.compare}{token.value}` is no time and no size.", token.start, token.end, hint=hint)


def _time(sign: str) -> Callable[[Token, float], Term]:
    def make(token: Token, now: float) -> Term:
        found = moment(token.value, now)
        if found is None:
            message = f"`{token.value}` is no time: write 10m, 12:01, 2026-11-20 or 2026-11-20T12:01."
            raise QueryError(message, token.at, token.end)
        return _number_is("time", sign, found)

    return make


def _finding(token: Token, now: float) -> Term:
    least = LEVELS[_one_of(token, "severity", tuple(LEVELS))]
    return terms.byte_is("flags", lambda value: value >> SEVERITY & 3 >= least)


def _is(token: Token, now: float) -> Term:
    flag = _one_of(token, "such property", _IS)
    return _flag_is(FLAGS[flag]) if flag in FLAGS else _SIGN_IN


def _comment(token: Token, now: float) -> Term:
    test = _matcher(token).in_text
    return Term(lambda rows: lambda row: bool(comment := rows.comment_on(rows.columns.first + row)) and test(comment))


def _under(token: Token, now: float) -> Term:
    top = _amount(token, {"": 1.0}, "", "under:812")

    def test(columns: Columns, row: int) -> bool:
        number = min(own := columns.first + row, columns.link[row] or own)  # an answer counts as its request
        while number > top:
            number = parent_of(columns, number)
        return number == top

    return Term(lambda rows: lambda row: test(rows.columns, row))


class Key(NamedTuple):
    """A key of the query language."""

    what: str
    """What the key asks, for help and completion."""
    example: str
    make: Callable[[Token, float], Term]
    """Makes the term; gets the moment that relative times count from."""
    values: tuple[str, ...] = ()
    """All values of the key; empty where they are not limited."""


_RESOURCE = _name("target", "resources/read", "resources/subscribe", "resources/unsubscribe")
KEYS: dict[str, Key] = {
    "server": Key("the server's name", "server:github", _name("server")),
    "method": Key("the method of a message, of an answer that of its request", "method:tools/*", _name("method")),
    "tool": Key("the tool of a call", "tool:read_file", _name("target", "tools/call")),
    "prompt": Key("the prompt that is got", "prompt:review", _name("target", "prompts/get")),
    "resource": Key("the address of a resource", "resource:file://*", _RESOURCE),
    "target": Key("tool, prompt, address or sign-in step that a message is about", "target:report", _name("target")),
    "kind": Key("what an entry is", "kind:request", _kind, (*KINDS, "response")),
    "direction": Key("which way it went", "direction:in", _direction, DIRECTIONS),
    "status": Key("what came of a request; of HTTP answers the number", "status:error", _status, STATUSES),
    "ms": Key("milliseconds from request to answer", "ms:>500", _ms),
    "size": Key("bytes on the wire", "size:>1MB", _size),
    "since": Key("at this time or later", "since:10m", _time(">=")),
    "until": Key("at this time or earlier", "until:12:30", _time("<=")),
    "finding": Key("the lint found something at least so bad", "finding:error", _finding, tuple(LEVELS)),
    "is": Key("marked, commented, part of finding the era, of signing in, or written by hand", "is:marked", _is, _IS),
    "under": Key("the request or step with a number, and what was done for it", "under:812", _under),
    "comment": Key("the comment on a message", 'comment:"look here"', _comment),
    "text": Key("the body alone", 'text:"not found"', lambda token, now: _matcher(token).term()),
}
"""Keys by name, in the order of the help."""
ALIASES = {"dir": "direction", "duration": "ms", "took": "ms", "uri": "resource"}
"""Other names of keys."""
_ALONE = {"error": FAILED, "marked": _flag_is(MARKED)}
"""Words that are terms of their own, not texts to search."""


def amount(text: str, units: dict[str, float], bare: str = "") -> float | None:
    """A number with a unit, converted to the smallest unit; None for other texts.

    Args:
        bare: the unit of a number without one; empty where a unit is required.
    """
    found = _NUMBER.fullmatch(text)
    if found is None or len(text) > 30:
        return None
    factor = units.get(found[2].lower() or bare)
    return None if factor is None else float(found[1]) * factor


def moment(text: str, now: float) -> float | None:
    """Read `10m`, `12:01`, `12:01:30`, `2026-11-20`, `2026-11-20T12:01` as seconds since the epoch; None for others.

    A duration counts back from `now`; a time of day means its last occurrence before `now`.
    """
    ago = amount(text, _MS)
    if ago is not None:
        return now - ago / 1000
    try:
        if "-" in text:
            return datetime.fromisoformat(text).timestamp()
        if ":" not in text:
            return None
        clock = datetime.fromisoformat(f"2000-01-01T{text.zfill(5)}").time()
        found = datetime.combine(datetime.fromtimestamp(now), clock)
        return (found if found.timestamp() <= now else found - timedelta(days=1)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
