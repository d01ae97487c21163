"""A value against a whole schema, by jsonschema. Runs in the checking process only: it may take for ever."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Context, Decimal, InvalidOperation, setcontext
from itertools import islice
from typing import Any

from mcp_studio.jsontext import ExactFloat, Json
from mcp_studio.schema import wording
from mcp_studio.schema.ecma import Patterns, translate

MOST = 100
"""Problems reported for one value."""
_MESSAGE = 500
_POINTER = 2_000
_SAID = {
    "uniqueItems": wording.TWICE,
    "contains": "has no item, or not as many, of the kind that the schema asks for",
    "not": "is a value that the schema excludes",
    "propertyNames": "has a property with a name that the schema does not allow",
    "unevaluatedProperties": "has properties that the schema does not allow",
    "unevaluatedItems": "has items that the schema does not allow",
    "additionalItems": wording.TOO_MANY,
    "items": wording.TOO_MANY,
}

Finding = tuple[str, str, str]
"""JSON pointer, message, severity."""


class Checked:
    """One schema, made ready once; numbers are expected as int and Decimal, so that nothing is rounded."""

    def __init__(self, schema: Json) -> None:
        from jsonschema.exceptions import SchemaError
        from jsonschema_specifications import REGISTRY

        setcontext(Context(prec=1_000, traps=[]))
        self.flaw = ""
        self._patterns = Patterns()
        if not isinstance(schema, (dict, bool)):
            self.flaw = f"the schema is {wording.noun(schema)}, not an object"
            return
        kind = _validator(schema)
        translated, self._patterns = translate(schema)
        try:
            # Formats are annotations here, also that of a pattern inside the schema.
            kind.check_schema(translated, format_checker=None)
        except SchemaError as problem:
            place = _pointer(problem.absolute_path)
            self.flaw = f"the schema is invalid{f' at {place}' if place else ''}: {_sentence(problem)}"
            return
        # A registry without a way to retrieve: nothing that a schema names is ever fetched.
        self._validator = kind(translated, registry=REGISTRY)

    def findings(self, value: Json) -> list[Finding]:
        """What is wrong with a value, at most `MOST`; what could not be checked is a warning."""
        from referencing.exceptions import Unresolvable

        if self.flaw:
            return [("", _cut(f"unchecked: {self.flaw}"), "warning")]
        found: list[Finding] = [
            ("", _cut(f"unchecked: the pattern {pattern} is none that Python can check"), "warning")
            for pattern in self._patterns.lost[:5]
        ]
        try:
            for finding in islice(self._errors(value), MOST):
                if finding not in found and len(finding[0]) < _POINTER:
                    found.append(finding)
        except Unresolvable as problem:
            found.append(("", _cut(f"unchecked: $ref {problem.ref} names nothing in this schema"), "warning"))
        except RecursionError:
            found.append(("", "unchecked: the schema refers to itself without end", "warning"))
        except (re.error, TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as problem:
            # A schema may be valid and yet be more than the library can work with.
            found.append(("", _cut(f"unchecked: the schema cannot be applied ({problem})"), "warning"))
        return found

    def _errors(self, value: Json) -> Iterator[Finding]:
        for error in self._validator.iter_errors(value):
            for pointer, message in self._told(error, ""):
                yield pointer, _cut(message), "error"

    def _told(self, error: Any, base: str) -> Iterator[tuple[str, str]]:
        """One error of jsonschema as places and sentences; of alternatives, only those of the one that was meant."""
        place = base + _pointer(error.relative_path)
        keyword, wanted, value = error.validator, error.validator_value, error.instance
        if keyword == "required" and isinstance(value, dict):
            yield from ((place + _pointer([name]), wording.REQUIRED) for name in wanted if name not in value)
        elif keyword == "additionalProperties" and wanted is False:
            extra = [name for name in value if not _described(name, error.schema)]
            yield from ((place + _pointer([name]), wording.NOT_ALLOWED) for name in extra[:MOST])
        elif keyword in ("anyOf", "oneOf") and error.context:
            meant = _meant(error.context)
            if meant:
                for inner in meant:
                    yield from self._told(inner, place)
            else:
                yield place, f"{wording.NO_KIND}, got {wording.got(_plain(value))}"
        elif keyword == "pattern":
            yield (
                place,
                f"must match the pattern {self._patterns.written.get(wanted, wanted)}, got {wording.got(value)}",
            )
        else:
            yield place, _sentence(error)


def _validator(schema: Any) -> Any:
    """The validator class of the schema's draft (2020-12 by default, as MCP has it)."""
    from jsonschema.validators import Draft202012Validator, extend, validator_for

    stated = schema.get("$schema") if isinstance(schema, dict) else None
    kind = validator_for(schema, default=Draft202012Validator) if isinstance(stated, str) else Draft202012Validator
    if "prefixItems" in kind.VALIDATORS or "const" in kind.VALIDATORS:
        return extend(kind, type_checker=kind.TYPE_CHECKER.redefine("integer", _is_integer))
    return kind


def _is_integer(_: object, value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        return False
    return isinstance(value, int) or value == value.to_integral_value()


def number(text: str) -> Decimal | float:
    """A JSON number that is no integer, exactly."""
    try:
        return Decimal(text)
    except InvalidOperation:
        return float(text)


def _meant(context: list[Any]) -> list[Any]:
    """The errors of the only alternative that has the value's type; empty when there is none or several."""
    branches: dict[Any, list[Any]] = {}
    for error in context:
        branches.setdefault(error.schema_path[0], []).append(error)
    fitting = [
        errors
        for errors in branches.values()
        if not any(error.validator in ("type", "const", "enum") and not error.relative_path for error in errors)
    ]
    return fitting[0] if len(fitting) == 1 else []


def _sentence(error: Any) -> str:
    keyword, wanted, value = error.validator, _plain(error.validator_value), _plain(error.instance)
    if keyword is None:
        return "is not allowed"
    if keyword == "type":
        return wording.wrong_type(wanted, value)
    if keyword in ("enum", "const"):
        return wording.not_among(wanted if keyword == "enum" else [wanted], value)
    if keyword in wording.LIMITS:
        return wording.limit(keyword, wanted, value)
    if keyword == "oneOf":
        return "fits more than one of the kinds of which it must be one"
    if keyword == "anyOf":
        return wording.NO_KIND
    return _SAID.get(str(keyword)) or _cut(str(error.message))


def _described(name: str, schema: dict[str, Any]) -> bool:
    patterns = schema.get("patternProperties", {})
    return name in schema.get("properties", {}) or any(re.search(pattern, name) for pattern in patterns)


def _plain(value: Any) -> Json:
    """Decimals as numbers that know how they were written."""
    if isinstance(value, Decimal):
        return ExactFloat(str(value))
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _pointer(path: Any) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def _cut(text: str) -> str:
    return text if len(text) <= _MESSAGE else text[: _MESSAGE - 1] + "…"
