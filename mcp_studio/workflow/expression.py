"""Expressions over inputs, results and variables: parsed with `ast`, evaluated by us within bounds, never by Python."""

from __future__ import annotations

import ast
import keyword
import math
import operator
import re
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

from mcp_studio.call.query import query
from mcp_studio.catalog.catalog import suggestion
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, JsonProblem, dumps, items_of, loads, mapping
from mcp_studio.limits import DEFAULT, MB
from mcp_studio.record import record

LONGEST = 4_000
"""The most characters of an expression."""
_DEEPEST = 60
_STEPS = 1_000_000
"""The most nodes that one evaluation may visit; a comprehension counts its nodes for each item."""
_TEXT = 8 * MB
_VALUES = DEFAULT.values
_BITS = 4_096
"""The most bits of an integer."""
_RANGE = 100_000


class ExpressionError(StudioError):
    """An expression that cannot be parsed, or has no value; `column` counts from 1."""

    def __init__(self, message: str, column: int = 1) -> None:
        super().__init__(message)
        self.column = column


class _Missing(ExpressionError):
    """The expression names something that does not exist."""


_FACTS = ("result", "raw", "text", "state", "error")


@record(eq=False)
class StepResult:
    """A finished step in an expression: its value, and some facts besides."""

    result: Json = None
    """The structured content, else the value of text that is JSON, else the text."""
    raw: Json = None
    """The tool's result, unchanged."""
    state: str = "done"
    error: str | None = None

    @property
    def text(self) -> str:
        """The texts of the tool's result."""
        blocks = (mapping(block).get("text") for block in items_of(mapping(self.raw).get("content")))
        return "\n".join(one for one in blocks if isinstance(one, str))


class Name(NamedTuple):
    """A name in an expression with its members, as in `input.city.name`."""

    path: tuple[str, ...]
    column: int


_SYNTAX = {*"and or not in is if else for lambda await async yield True False None".split()}
"""The keywords of Python that can stand in an expression."""
_WORD, _NAME = "|".join(keyword.kwlist), "|".join(word for word in keyword.kwlist if word not in _SYNTAX)
_WRITTEN = re.compile(
    rf"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|\$(?=[A-Za-z_])|((?<=[.$])(?:{_WORD})\b|\b(?:{_NAME})\b)""", re.S
)


def _prepared(found: re.Match[str]) -> str:
    """Replace `$name` by `name` and escape names that are Python keywords, at the same length, so that columns stay.

    The escape is a mathematical letter, which Python reads as the plain one (PEP 3131) but never as part of a keyword.
    """
    if word := found[2]:
        return "".join(chr(0x1D41A + ord(char) - 97) if "a" <= char <= "z" else char for char in word)
    return found[1] or " "


class Expression:
    """One expression.

    Raises:
        ExpressionError: the text cannot be parsed, is too long or too deep, or uses syntax that is not allowed.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.line = self.column = 0
        """The position in its file; 0 until the file's reader sets it."""
        if len(text) > LONGEST:
            raise ExpressionError(f"It has {len(text):,} characters; {LONGEST:,} are allowed.")
        source = f"({_WRITTEN.sub(_prepared, text)})"
        self._lines = [line.encode() for line in source.split("\n")]
        try:
            self._tree = ast.parse(source, mode="eval").body
        except SyntaxError as problem:
            why = (problem.msg or "it is no expression").split("(")[0].strip()
            raise ExpressionError(f"`{text}` cannot be read: {why}.", max((problem.offset or 2) - 1, 1)) from None
        except (ValueError, RecursionError, MemoryError):
            raise ExpressionError("It cannot be read.") from None
        self.names: list[Name] = []
        self._check(self._tree, 0, frozenset())

    def value(self, scope: Mapping[str, Any]) -> Json:
        """Evaluate the expression, with the values of names in `scope`.

        Raises:
            ExpressionError: the expression has no value, or exceeds a bound.
        """
        return plain(_Walk(self, scope).visit(self._tree))

    def column_of(self, node: ast.AST) -> int:
        """The column of a node in the original text, from 1; on later lines counted from their beginning."""
        line, offset = getattr(node, "lineno", 1), getattr(node, "col_offset", 1)
        return len(self._lines[line - 1][:offset].decode()) + (line > 1)

    def _check(self, node: ast.AST, depth: int, own: frozenset[str]) -> None:
        """Check that a node has only allowed parts, and collect its names but for `own`, which comprehensions bind."""
        if depth > _DEEPEST:
            raise ExpressionError(f"It is nested deeper than {_DEEPEST} levels.", self.column_of(node))
        if not isinstance(node, _ALLOWED) or (isinstance(node, ast.Constant) and type(node.value) not in _CONSTANTS):
            raise ExpressionError(f"`{ast.unparse(node)}` is no part of an expression.", self.column_of(node))
        inner: Iterator[ast.AST] = ast.iter_child_nodes(node)
        if isinstance(node, ast.Call):
            self._check_call(node)
            inner = iter(node.args)
        elif isinstance(node, ast.ListComp):
            if len(node.generators) > 1 or not isinstance(node.generators[0].target, ast.Name):
                raise ExpressionError("A comprehension has one `for`, with one name.", self.column_of(node))
            own |= {node.generators[0].target.id}
        elif isinstance(node, (ast.Name, ast.Attribute)) and (path := _path(node)):
            if path[0] not in own and path[0] not in _WORDS:
                if path == ("step",):
                    raise ExpressionError("`step` stands before the name of a step.", self.column_of(node))
                self.names.append(Name(path[1:] if path[0] == "step" else path, self.column_of(node)))
            return
        for child in inner:
            if not isinstance(child, (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)):
                self._check(child, depth + 1, own)
            elif type(child) not in (*_OPERATORS, *_COMPARE, ast.And, ast.Or, ast.Not, ast.Load, ast.Store, ast.USub):
                raise ExpressionError(f"`{ast.unparse(node)}` has an operator that is not known.", self.column_of(node))

    def _check_call(self, node: ast.Call) -> None:
        name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
        if name not in FUNCTIONS:
            raise ExpressionError(f"There is no function `{name}`.{suggestion(name, FUNCTIONS)}",
                                  self.column_of(node))  # fmt: skip
        _, least, most = FUNCTIONS[name]
        if node.keywords or not least <= len(node.args) <= most:
            takes = str(least) if least == most else f"{least} to {most}"
            raise ExpressionError(f"`{name}` takes {takes} arguments.", self.column_of(node))


def _path(node: ast.AST) -> tuple[str, ...]:
    """The names of a dotted path; empty for any other node."""
    if isinstance(node, ast.Name):
        return (node.id,)
    before = _path(node.value) if isinstance(node, ast.Attribute) else ()
    return (*before, node.attr) if before and isinstance(node, ast.Attribute) else ()


class _Walk:
    """One evaluation."""

    def __init__(self, expression: Expression, scope: Mapping[str, Any]) -> None:
        self._expression, self._scope, self._budget = expression, scope, _STEPS

    def visit(self, node: ast.AST) -> Any:
        """Evaluate a node; the value of a step's name is its `StepResult`."""
        self._budget -= 1
        if self._budget < 0:
            raise ExpressionError(f"It takes more than {_STEPS:,} steps.", self._expression.column_of(node))
        try:
            return self.visitors[type(node)](self, node)
        except ExpressionError:
            raise
        except (TypeError, ValueError, ArithmeticError, LookupError, JsonProblem, StudioError) as problem:
            why = f"`{ast.unparse(node)[:80]}` has no value: {str(problem).rstrip('.')}."
            raise ExpressionError(why, self._expression.column_of(node)) from None

    def _plain(self, node: ast.AST) -> Json:
        return plain(self.visit(node))

    def _name(self, node: ast.Name) -> Any:
        if node.id in _WORDS:
            return _WORDS[node.id]
        try:
            return self._scope if node.id == "step" else self._scope[node.id]
        except KeyError:
            hint = suggestion(node.id, [*self._scope])
            raise _Missing(f"There is no `{node.id}`.{hint}", self._expression.column_of(node)) from None

    def _member(self, node: ast.Attribute | ast.Subscript) -> Any:
        value, where = self.visit(node.value), node.attr if isinstance(node, ast.Attribute) else node.slice
        if isinstance(where, ast.Slice):
            low, high = (self._plain(one) if one else None for one in (where.lower, where.upper))
            return _is(plain(value), list, str)[low:high]
        try:
            return _member(value, where if isinstance(where, str) else self._plain(where))
        except LookupError as problem:
            why = f"`{ast.unparse(node.value)[:80]}` {problem.args[0]}"
            raise _Missing(why, self._expression.column_of(node)) from None

    def _call(self, node: ast.Call) -> Json:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "default":
            try:
                value = self._plain(node.args[0])
            except _Missing:
                value = None
            return self._plain(node.args[1]) if value is None else value
        return bounded(FUNCTIONS[name][0](*map(self._plain, node.args)))

    def _binary(self, node: ast.BinOp) -> Json:
        return bounded(_OPERATORS[type(node.op)](self._plain(node.left), self._plain(node.right)))

    def _unary(self, node: ast.UnaryOp) -> Json:
        value = self._plain(node.operand)
        return not value if isinstance(node.op, ast.Not) else -_number(value)

    def _bool(self, node: ast.BoolOp) -> Json:
        value: Json = None
        for part in node.values:
            value = self._plain(part)
            if bool(value) != isinstance(node.op, ast.And):
                break
        return value

    def _compare(self, node: ast.Compare) -> bool:
        left = self._plain(node.left)
        for sign, part in zip(node.ops, node.comparators, strict=True):
            right = self._plain(part)
            if not _COMPARE[type(sign)](left, right):
                return False
            left = right
        return True

    def _choice(self, node: ast.IfExp) -> Json:
        return self._plain(node.body if self._plain(node.test) else node.orelse)

    def _list(self, node: ast.List) -> Json:
        return bounded([self._plain(one) for one in node.elts])

    def _dict(self, node: ast.Dict) -> Json:
        keys = [_is(self._plain(key), str) if key else _refuse("`**` is not known") for key in node.keys]
        return bounded(dict(zip(keys, map(self._plain, node.values), strict=True)))

    def _comprehension(self, node: ast.ListComp) -> Json:
        part, outer, found = node.generators[0], self._scope, list[Json]()
        name = part.target.id if isinstance(part.target, ast.Name) else ""
        items = _is(self._plain(part.iter), list, dict)
        try:
            for item in items:
                self._scope = ChainMap({name: item}, outer)  # type: ignore[arg-type]  # the map is only read
                if all(self._plain(test) for test in part.ifs):
                    found.append(self._plain(node.elt))
        finally:
            self._scope = outer
        return bounded(found)

    visitors: ClassVar[dict[type[ast.AST], Callable[[_Walk, Any], Any]]] = {
        ast.Constant: lambda _, node: node.value,
        ast.Name: _name, ast.Attribute: _member, ast.Subscript: _member, ast.Call: _call, ast.BinOp: _binary,
        ast.UnaryOp: _unary, ast.BoolOp: _bool, ast.Compare: _compare, ast.IfExp: _choice, ast.List: _list,
        ast.Dict: _dict, ast.ListComp: _comprehension,
    }  # fmt: skip


def plain(value: Any) -> Json:
    """A value as JSON: a step's is its result."""
    return value.result if isinstance(value, StepResult) else value


def _member(value: Any, name: Json) -> Json:
    """A member or item of a value; a step has `result`, `raw` and so on, and the members of its result."""
    if isinstance(value, StepResult):
        return getattr(value, name) if name in _FACTS else _member(value.result, name)
    if not isinstance(name, str):
        if not -len(_is(value, list, str)) <= name < len(value):
            raise LookupError(f"has no item {name}.")
        return value[name]
    if isinstance(value, Mapping) and name in value:
        return value[name]
    if not isinstance(value, Mapping):
        raise LookupError(f"is {_kind(value)}, and has no `{name}`.")
    raise LookupError(f"has no `{name}`.{suggestion(name, map(str, value))}")


def bounded(value: Json) -> Json:
    """Return a value that is JSON of acceptable size.

    Raises:
        ValueError: the value is too large, too deep, or contains a number that is not finite.
    """
    room, values, level, depth = _TEXT, _VALUES, [value], 0
    while level:
        inner: list[Json] = []
        for item in level:
            if isinstance(item, str):
                room -= len(item)
            elif isinstance(item, (dict, list)):
                values -= len(item)
                if values < 0:  # check before visiting them: a value that repeatedly contains itself twice is huge
                    break
                inner += item if isinstance(item, list) else (*item, *item.values())
            elif isinstance(item, float) and not math.isfinite(item):
                raise ValueError("the number is infinite, or none")
            elif isinstance(item, int) and item.bit_length() > _BITS:
                raise ValueError("the number is too large")
        level, depth = inner, depth + 1
        if room < 0 or values < 0 or depth > DEFAULT.depth:
            raise ValueError("the value is too large")
    return value


def _kind(value: Json) -> str:
    kinds = {dict: "an object", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}
    return "nothing" if value is None else kinds.get(type(value), "a value")


def _refuse(why: str) -> Json:
    raise ValueError(why)


def _is(value: Json, *kinds: type) -> Any:
    if not isinstance(value, kinds):
        raise TypeError(f"it is {_kind(value)}, and should be {' or '.join(_kind(kind()) for kind in kinds)}")
    return value


def _number(value: Json) -> Any:
    return _refuse(f"{_kind(value)} is no number") if isinstance(value, bool) else _is(value, int, float)


def _alike(name: str, operation: Callable[[Any, Any], Json], *kinds: type) -> Callable[[Json, Json], Json]:
    """An operator for two numbers, or for two values of the same one of further types."""

    def operate(left: Json, right: Json) -> Json:
        same = type(left) is type(right) and isinstance(left, kinds)
        if not same and any(isinstance(one, bool) or not isinstance(one, (int, float)) for one in (left, right)):
            raise TypeError(f"{_kind(left)} {name} {_kind(right)}")
        return operation(left, right)

    return operate


def _equal(left: Json, right: Json) -> bool:
    return left == right and isinstance(left, bool) == isinstance(right, bool)


def _within(left: Json, right: Json) -> bool:
    return _is(left, str) in right if isinstance(right, str) else left in _is(right, list, dict)


_OPERATORS: dict[type[ast.AST], Callable[[Json, Json], Json]] = {
    ast.Add: _alike("+", operator.add, str, list), ast.Sub: _alike("-", operator.sub),
    ast.Mult: _alike("*", operator.mul), ast.Div: _alike("/", operator.truediv),
    ast.FloorDiv: _alike("//", operator.floordiv), ast.Mod: _alike("%", operator.mod),
}  # fmt: skip
_COMPARE: dict[type[ast.AST], Callable[[Json, Json], Json]] = {
    ast.Eq: _equal, ast.NotEq: lambda left, right: not _equal(left, right),
    ast.Lt: _alike("<", operator.lt, str), ast.LtE: _alike("<=", operator.le, str),
    ast.Gt: _alike(">", operator.gt, str), ast.GtE: _alike(">=", operator.ge, str),
    ast.In: _within, ast.NotIn: lambda left, right: not _within(left, right),
}  # fmt: skip
_CONSTANTS = (str, int, float, bool, type(None))
_WORDS: dict[str, Json] = {"true": True, "false": False, "null": None}


def as_text(value: Json) -> str:
    """A value as part of a text: a text unchanged, everything else as JSON."""
    return value if isinstance(value, str) else dumps(value).decode()


def _sorted(items: Json, key: Json = None) -> Json:
    return sorted(_is(items, list), key=(lambda one: _member(one, key)) if isinstance(key, str) else None)


def _unique(items: Json) -> Json:
    return list({dumps(one): one for one in _is(items, list)}.values())


def _range(*bounds: Json) -> Json:
    numbers = range(*(_is(one, int) for one in bounds))
    return [*numbers] if len(numbers) <= _RANGE else _refuse(f"it has more than {_RANGE:,} numbers")


def _replace(text: Json, old: Json, new: Json) -> Json:
    if _is(text, str).count(_is(old, str)) * len(_is(new, str)) > _TEXT:
        raise ValueError("the text is too large")
    return text.replace(old, new)


def _join(items: Json, between: Json = "") -> Json:
    texts = [as_text(one) for one in _is(items, list)]
    if len(texts) * len(_is(between, str)) > _TEXT:
        raise ValueError("the text is too large")
    return between.join(texts)


FUNCTIONS: dict[str, tuple[Callable[..., Json], int, int]] = {
    "len": (lambda value: len(_is(value, str, list, dict)), 1, 1),
    "str": (as_text, 1, 1),
    "int": (lambda value: int(_is(value, str, int, float)), 1, 1),
    "float": (lambda value: float(_is(value, str, int, float)), 1, 1),
    "json": (lambda text: loads(_is(text, str)), 1, 1),
    "default": (lambda value, other: value, 2, 2),
    "abs": (lambda value: abs(_number(value)), 1, 1),
    "round": (lambda value, digits=0: round(_number(value), _is(digits, int)) if digits else round(value), 1, 2),
    "min": (lambda items: min(_is(items, list)), 1, 1),
    "max": (lambda items: max(_is(items, list)), 1, 1),
    "sum": (lambda items: sum(map(_number, _is(items, list))), 1, 1),
    "all": (lambda items: all(_is(items, list)), 1, 1),
    "any": (lambda items: any(_is(items, list)), 1, 1),
    "sorted": (_sorted, 1, 2),
    "unique": (_unique, 1, 1),
    "flatten": (lambda items: [one for some in _is(items, list) for one in _is(some, list)], 1, 1),
    "range": (_range, 1, 2),
    "keys": (lambda value: [*_is(value, dict)], 1, 1),
    "values": (lambda value: [*_is(value, dict).values()], 1, 1),
    "join": (_join, 1, 2),
    "split": (lambda text, by=None: _is(text, str).split(by), 1, 2),
    "lines": (lambda text: _is(text, str).splitlines(), 1, 1),
    "strip": (lambda text: _is(text, str).strip(), 1, 1),
    "lower": (lambda text: _is(text, str).lower(), 1, 1),
    "upper": (lambda text: _is(text, str).upper(), 1, 1),
    "replace": (_replace, 3, 3),
    "query": (lambda value, expression: query(value, _is(expression, str)), 2, 2),
    "startswith": (lambda text, start: _is(text, str).startswith(_is(start, str)), 2, 2),
    "endswith": (lambda text, end: _is(text, str).endswith(_is(end, str)), 2, 2),
}
"""By name: the function, and the least and most arguments that it takes."""
_ALLOWED = (*_Walk.visitors, ast.Slice, ast.comprehension)


# Values that contain expressions

_HOLE = re.compile(r"\$\{([^{}]*)\}")
_SIGIL = re.compile(r"\$[A-Za-z_]")


class Template:
    """A JSON value whose texts contain expressions: `$input.city` alone is a value, `${input.city}` is part of a text.

    A text that begins with a dollar sign is written with two of them.

    Raises:
        ExpressionError: an expression cannot be parsed; the error's detail has the `text`, and `within` which text it
            is.
    """

    def __init__(self, raw: Json) -> None:
        self.raw = raw
        self.expressions: list[tuple[Expression, str]] = []
        """Each expression with the text that contains it."""
        self._tree = self._compiled(raw)

    def value(self, scope: Mapping[str, Any], *, partial: bool = False) -> Json:
        """The value with its expressions evaluated; `partial` leaves those that have no value as they are written.

        Raises:
            ExpressionError: an expression has no value.
        """
        return _filled(self._tree, scope, partial)

    def _compiled(self, raw: Json) -> Any:
        if isinstance(raw, dict):
            return {key: self._compiled(value) for key, value in raw.items()}
        if isinstance(raw, list):
            return [self._compiled(value) for value in raw]
        if not isinstance(raw, str) or "$" not in raw:
            return raw
        if raw.startswith("$$"):
            return raw[1:]
        if _SIGIL.match(raw):
            return self._expression(raw, raw)
        parts = [self._expression(part, raw) if at % 2 else part for at, part in enumerate(_HOLE.split(raw))]
        return parts[1] if len(parts) == 3 and not parts[0] and not parts[2] else _Text(parts)

    def _expression(self, text: str, within: str) -> Expression:
        try:
            expression = Expression(text)
        except ExpressionError as error:
            error.detail |= {"within": within, "text": text}
            if text is within:
                error.hint = "Text that begins with a dollar sign is written with two: `$$`."
            raise
        self.expressions.append((expression, within))
        return expression


class _Text(NamedTuple):
    """A text that contains expressions."""

    parts: list[str | Expression]


def _filled(tree: Any, scope: Mapping[str, Any], partial: bool) -> Json:
    if isinstance(tree, Expression):
        try:
            return tree.value(scope)
        except ExpressionError:
            if partial:
                return f"${{{tree.text.lstrip('$')}}}"
            raise
    if isinstance(tree, _Text):
        return bounded("".join(as_text(_filled(part, scope, partial)) for part in tree.parts))
    if isinstance(tree, dict):
        return {key: _filled(value, scope, partial) for key, value in tree.items()}
    return [_filled(value, scope, partial) for value in tree] if isinstance(tree, list) else tree
