"""Checks a value against a whole schema with jsonschema; runs in the checking process, because it may never end."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from decimal import Context, Decimal, InvalidOperation, setcontext
from itertools import islice
from typing import Any, BinaryIO

from mcp_studio.jsontext import ExactFloat, Json
from mcp_studio.schema import keywords as wording
from mcp_studio.schema.patterns import Pattern, PatternError, TooSlow, to_python
from mcp_studio.schema.place import pointer


def plain(value: Any) -> Json:
    """Turn decimals into numbers that keep their spelling."""
    if isinstance(value, Decimal):
        return ExactFloat(str(value))
    return [plain(item) for item in value] if isinstance(value, list) else value


MOST = 100
"""The most problems that are reported for one value."""
_MESSAGE = 500
_POINTER = 2_000
_PATIENCE = 0.5
"""Seconds that a search for a pattern may take."""
_SAID = {
    "uniqueItems": wording.TWICE,
    "contains": "has no item, or not as many, of the kind that the schema asks for",
    "not": "is a value that the schema excludes",
    "unevaluatedProperties": "has properties that the schema does not allow",
    "unevaluatedItems": "has items that the schema does not allow",
    "additionalItems": wording.TOO_MANY,
    "items": wording.TOO_MANY,
}

Finding = tuple[str, str, str]
"""JSON pointer, message, severity."""


class Validator:
    """One schema, prepared once; expects numbers as int and Decimal, so that nothing is rounded."""

    def __init__(self, schema: Json) -> None:
        from jsonschema.exceptions import SchemaError
        from jsonschema_specifications import REGISTRY

        setcontext(Context(prec=1_000, traps=[]))
        self.flaw = ""
        if not isinstance(schema, (dict, bool)):
            self.flaw = f"the schema is {wording.noun(schema)}, not an object"
            return
        self._patterns = Patterns()
        kind = _validator(schema, self._patterns)
        try:
            # Formats are annotations here, also the format of a pattern inside the schema.
            kind.check_schema(schema, format_checker=None)
        except SchemaError as problem:
            place = pointer(*problem.absolute_path)
            self.flaw = f"the schema is invalid{f' at {place}' if place else ''}: {_sentence(problem)}"
            return
        # The registry cannot retrieve anything, so no reference is ever fetched.
        self._validator = kind(schema, registry=REGISTRY)

    def findings(self, value: Json) -> list[Finding]:
        """The problems of a value, at most `MOST`; what could not be checked is a warning."""
        import regex
        from referencing.exceptions import Unresolvable

        if self.flaw:
            return [_unchecked(self.flaw)]
        self._patterns.unusable.clear()
        found: list[Finding] = []
        try:
            for finding in islice(self._errors(value), MOST):
                if finding not in found and len(finding[0]) < _POINTER:
                    found.append(finding)
        except Unresolvable as problem:
            found.append(_unchecked(f"$ref {problem.ref} names nothing in this schema"))
        except RecursionError:
            found.append(_unchecked("the schema refers to itself without end"))
        except (re.error, regex.error, TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as problem:
            # A valid schema may still be more than the library can handle.
            found.append(_unchecked(f"the schema cannot be applied ({problem})"))
        for pattern in sorted(self._patterns.unusable)[:5]:
            found.append(_unchecked(f"the pattern {pattern} is none that Python can check in time"))
        return found

    def _errors(self, value: Json) -> Iterator[Finding]:
        for error in self._validator.iter_errors(value):
            for place, message in _places(error, ""):
                yield place, _shorten(message), "error"


def _unchecked(why: str) -> Finding:
    return "", _shorten(f"unchecked: {why}"), "warning"


class Patterns:
    """Keywords with patterns: `regex` knows `\\p{L}`, and gives up a search that takes too long."""

    def __init__(self) -> None:
        self.unusable: set[str] = set()
        """Patterns that are none in Python, or too slow."""
        self._compiled: dict[str, Pattern | None] = {}

    def finds(self, pattern: str, text: str) -> bool | None:
        """Whether a pattern of a schema matches in a text; None where the pattern cannot be used."""
        if pattern not in self._compiled:
            try:
                self._compiled[pattern] = Pattern(to_python(pattern))
            except (PatternError, ValueError):
                self._compiled[pattern] = None
        try:
            if (compiled := self._compiled[pattern]) is not None:
                return compiled.find(text, time.thread_time() + _PATIENCE) is not None
        except TooSlow:
            self._compiled[pattern] = None
        self.unusable.add(pattern)
        return None

    def pattern(self, validator: Any, wanted: str, value: Any, schema: object) -> Iterator[Any]:
        from jsonschema.exceptions import ValidationError

        if isinstance(value, str) and self.finds(wanted, value) is False:
            yield ValidationError(f"must match the pattern {wanted}, got {wording.got(value)}")

    def properties(self, validator: Any, patterns: dict[str, Any], value: Any, schema: object) -> Iterator[Any]:
        for name in value if isinstance(value, dict) else ():
            for pattern, inner in patterns.items():
                if self.finds(pattern, name):
                    yield from validator.descend(value[name], inner, path=name, schema_path=pattern)

    def additional(self, validator: Any, rest: Any, value: Any, schema: dict[str, Any]) -> Iterator[Any]:
        from jsonschema.exceptions import ValidationError

        for name in value if isinstance(value, dict) else ():
            matches = (self.finds(pattern, name) for pattern in schema.get("patternProperties", ()))
            if name in schema.get("properties", ()) or any(match is not False for match in matches):
                continue
            if rest is False:
                yield ValidationError(wording.NOT_ALLOWED, path=(name,))
            else:
                yield from validator.descend(value[name], rest, path=name)


def _validator(schema: Any, patterns: Patterns) -> Any:
    """The validator class of the schema's draft (2020-12 by default, as in MCP)."""
    from jsonschema.validators import Draft202012Validator, extend, validator_for

    stated = schema.get("$schema") if isinstance(schema, dict) else None
    kind = validator_for(schema, default=Draft202012Validator) if isinstance(stated, str) else Draft202012Validator
    checker = kind.TYPE_CHECKER
    if "prefixItems" in kind.VALIDATORS or "const" in kind.VALIDATORS:
        checker = checker.redefine("integer", _is_integer)
    keywords = {
        "pattern": patterns.pattern,
        "patternProperties": patterns.properties,
        "additionalProperties": patterns.additional,
    }
    return extend(kind, keywords, type_checker=checker)


def _is_integer(_: object, value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        return False
    return isinstance(value, int) or value == value.to_integral_value()


def _places(error: Any, base: str) -> Iterator[tuple[str, str]]:
    """One error of jsonschema as places and sentences; of alternatives only the errors of the most likely one."""
    place = base + pointer(*error.relative_path)
    keyword, wanted, value = error.validator, error.validator_value, error.instance
    if "propertyNames" in error.relative_schema_path and isinstance(value, str):
        yield place + pointer(value), f"is a name that {_sentence(error)}"
    elif keyword in ("dependentRequired", "dependencies") and isinstance(wanted, dict):
        yield from ((place + pointer(name), message) for name, message in _depending(wanted, value))
    elif keyword == "required" and isinstance(value, dict):
        yield from ((place + pointer(name), wording.REQUIRED) for name in wanted if name not in value)
    elif keyword in ("anyOf", "oneOf") and error.context:
        yield from _alternatives(error, place)
    else:
        yield place, _sentence(error)


def _alternatives(error: Any, place: str) -> Iterator[tuple[str, str]]:
    """Why no alternative accepts a value: the errors of the most likely one, else the needed types or properties."""
    here = [(inner.validator, inner.validator_value) for inner in error.context if not inner.relative_path]
    keywords = {keyword for keyword, _ in here} if len(here) == len(error.context) else set[str]()
    if keywords == {"required"}:
        groups = dict.fromkeys(" and ".join(map(str, names)) for _, names in here)
        yield place, f"needs {', or '.join(list(groups)[:8])}"
    elif keywords == {"type"}:
        kinds = [name for _, names in here for name in (names if isinstance(names, list) else [names])]
        yield place, wording.wrong_type(kinds, plain(error.instance))
    elif errors := _likely_errors(error.context):
        for inner in errors:
            yield from _places(inner, place)
    else:
        yield place, f"{wording.NO_KIND}, got {wording.got(plain(error.instance))}"


def _likely_errors(context: list[Any]) -> list[Any]:
    """The errors of the alternative that the value most likely means; empty when none or several are likely."""
    branches: dict[Any, list[Any]] = {}
    for error in context:
        branches.setdefault(error.schema_path[0], []).append(error)
    weights = sorted((sum(map(_weight, errors)), index) for index, errors in branches.items())
    least = weights[0][0]
    if least >= _OTHER_TYPE or (len(weights) > 1 and weights[1][0] == least):
        return []
    return branches[weights[0][1]]


_OTHER_TYPE = 1_000


def _weight(error: Any) -> int:
    """How strongly an error speaks against its alternative: a wrong type most, then another constant in a property."""
    if error.validator in ("type", "const", "enum"):
        return _OTHER_TYPE if not error.relative_path else 100 if error.validator != "type" else 10
    return 1


def number(text: str) -> Decimal | float:
    """An exact JSON number that is not an integer."""
    try:
        return Decimal(text)
    except InvalidOperation:
        return float(text)


def _depending(wanted: dict[str, Any], value: Any) -> Iterator[tuple[str, str]]:
    """The properties that are required because another property is present."""
    for name, others in wanted.items():
        if isinstance(others, list) and isinstance(value, dict) and name in value:
            yield from ((other, f"is required where there is {name}") for other in others if other not in value)


def _sentence(error: Any) -> str:
    keyword, wanted, value = error.validator, plain(error.validator_value), plain(error.instance)
    if keyword is None:
        return "is not allowed"
    if keyword == "type":
        return wording.wrong_type(wanted, value)
    if keyword in ("enum", "const"):
        return wording.not_among(wanted if keyword == "enum" else [wanted], value)
    if keyword in wording.LIMITS:
        return wording.limit(keyword, wanted, value)
    if keyword == "not" and isinstance(wanted, dict) and wanted.keys() == {"required"}:
        return f"must not have {' and '.join(map(str, wanted['required']))}"
    if keyword == "oneOf":
        return "fits more than one of the kinds of which it must be one"
    if keyword == "anyOf":
        return wording.NO_KIND
    return _SAID.get(str(keyword)) or _shorten(str(error.message))


def _shorten(text: str) -> str:
    return text if len(text) <= _MESSAGE else text[: _MESSAGE - 1] + "…"


OUT_OF_MEMORY = 86
"""Exit status of a process that reached its memory bound."""
_STACK = 64 * 1024 * 1024


def main(seconds: float, memory: int) -> None:
    """Serve until standard input ends; the kernel ends each check after `seconds`, and `memory` bounds the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    output = os.fdopen(os.dup(1), "wb")
    _limit_memory(memory)
    # Schemas that refer to themselves recurse deeper than the main thread's stack allows for sure.
    sys.setrecursionlimit(10_000)
    sys.set_int_max_str_digits(0)
    threading.stack_size(_STACK)
    worker = threading.Thread(target=_run_limited, args=(lambda: _serve(sys.stdin.buffer, output, seconds),))
    worker.start()
    worker.join()


def _limit_memory(memory: int) -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    for limit, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CORE, 0)):
        try:
            resource.setrlimit(limit, (most, most))
        except (ValueError, OSError):
            continue


def _run_limited(serve: Callable[[], None]) -> None:
    try:
        serve()
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except BrokenPipeError:
        os._exit(0)


def _serve(source: BinaryIO, output: BinaryIO, seconds: float) -> None:
    Validator(True).findings(None)  # performs the imports before the first check is timed
    _say(output, "ready")
    last: tuple[bytes, Validator | None] = (b"", None)
    while line := source.readline():
        schema_size, value_size = json.loads(line)
        schema, value = source.read(schema_size), source.read(value_size)
        if len(value) < value_size:
            return
        _alarm(seconds)
        checked = last[1] if last[0] == schema else None
        if checked is None:
            checked = Validator(loads(schema))
            last = (schema, checked)
        found = checked.findings(loads(value))
        _alarm(0)
        _say(output, found)


def loads(data: bytes) -> Any:
    """Read JSON with exact numbers: int and Decimal."""
    return json.loads(data, parse_float=number)


def _alarm(seconds: float) -> None:
    # No handler: Python code cannot run while a regular expression does. The default action ends the process.
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _say(output: BinaryIO, answer: object) -> None:
    output.write(json.dumps(answer).encode() + b"\n")
    output.flush()
