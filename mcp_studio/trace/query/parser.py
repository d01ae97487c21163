"""A text as a query."""

from __future__ import annotations

import time

from mcp_studio.config.nearest import nearest
from mcp_studio.trace.columns import MARKED
from mcp_studio.trace.query.keys import ALIASES, FAILED, KEYS, SIGNS, compare_of, regex_of
from mcp_studio.trace.query.lexer import QueryError, Token, lex
from mcp_studio.trace.query.needle import Needle, Regex
from mcp_studio.trace.query.nodes import All, Any, Flag, Node, Not, Severe, Text, cost, terms

_DEEPEST = 50
_MOST = 200
_ALONE: dict[str, Node] = {"error": FAILED, "~e": FAILED, "marked": Flag(MARKED), "~w": Severe(1)}
"""Words that are no text."""


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
