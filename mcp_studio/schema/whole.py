"""A value against a whole schema, by jsonschema. Runs in the checking process only: it may take for ever."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Context, Decimal, InvalidOperation, setcontext
from itertools import islice
from typing import Any

from mcp_studio.jsontext import Json
from mcp_studio.schema import wording
from mcp_studio.schema.alternatives import meant, needed, of_no_kind, plain, told_apart
from mcp_studio.schema.ecma import Patterns, translate
from mcp_studio.schema.place import pointer

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
            place = pointer(*problem.absolute_path)
            self.flaw = f"the schema is invalid{f' at {place}' if place else ''}: {_sentence(problem)}"
            return
        # A registry without a way to retrieve: nothing that a schema names is ever fetched.
        self._validator = kind(translated, registry=REGISTRY)

    def findings(self, value: Json) -> list[Finding]:
        """What is wrong with a value, at most `MOST`; what could not be checked is a warning."""
        import regex
        from referencing.exceptions import Unresolvable

        if self.flaw:
            return [("", _cut(f"unchecked: {self.flaw}"), "warning")]
        found: list[Finding] = [
            ("", _cut(f"unchecked: the pattern {pattern} is none that Python can check"), "warning")
            for pattern in self._patterns.lost[:5]
        ]
        found += [
            ("", _cut(f"the schema has the type {word}, which JSON Schema does not know: read as {kind}"), "warning")
            for word, kind in list(self._patterns.types.items())[:5]
        ]
        try:
            for finding in islice(self._errors(value), MOST):
                if finding not in found and len(finding[0]) < _POINTER:
                    found.append(finding)
        except Unresolvable as problem:
            found.append(("", _cut(f"unchecked: $ref {problem.ref} names nothing in this schema"), "warning"))
        except RecursionError:
            found.append(("", "unchecked: the schema refers to itself without end", "warning"))
        except (re.error, regex.error, TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as problem:
            # A schema may be valid and yet be more than the library can work with.
            found.append(("", _cut(f"unchecked: the schema cannot be applied ({problem})"), "warning"))
        return found

    def _errors(self, value: Json) -> Iterator[Finding]:
        for error in self._validator.iter_errors(value):
            for place, message in self._told(error, ""):
                yield place, _cut(message), "error"

    def _told(self, error: Any, base: str) -> Iterator[tuple[str, str]]:
        """One error of jsonschema as places and sentences; of alternatives, only those of the one that was meant."""
        place = base + pointer(*error.relative_path)
        keyword, wanted, value = error.validator, error.validator_value, error.instance
        if _of_a_name(error):
            yield place + pointer(value), f"is a name that {self._sentence(error)}"
        elif keyword in ("dependentRequired", "dependencies") and isinstance(wanted, dict):
            yield from ((place + pointer(name), message) for name, message in _depending(wanted, value))
        elif keyword == "required" and isinstance(value, dict):
            yield from ((place + pointer(name), wording.REQUIRED) for name in wanted if name not in value)
        elif keyword == "additionalProperties" and wanted is False:
            extra = [name for name in value if not _described(name, error.schema)]
            yield from ((place + pointer(name), wording.NOT_ALLOWED) for name in extra[:MOST])
        elif keyword in ("anyOf", "oneOf") and error.context:
            yield from self._alternatives(error, place)
        else:
            yield place, self._sentence(error)

    def _alternatives(self, error: Any, place: str) -> Iterator[tuple[str, str]]:
        if lacking := needed(error):
            yield place, lacking
        elif told := told_apart(error):
            yield place + pointer(*told[0]), told[1]
        elif errors := meant(error.context):
            for inner in errors:
                yield from self._told(inner, place)
        else:
            yield place, of_no_kind(error)

    def _sentence(self, error: Any) -> str:
        if error.validator == "pattern":
            written = self._patterns.written.get(error.validator_value, error.validator_value)
            return f"must match the pattern {written}, got {wording.got(error.instance)}"
        return _sentence(error)


def _validator(schema: Any) -> Any:
    """The validator class of the schema's draft (2020-12 by default, as MCP has it)."""
    from jsonschema.validators import Draft202012Validator, extend, validator_for

    stated = schema.get("$schema") if isinstance(schema, dict) else None
    kind = validator_for(schema, default=Draft202012Validator) if isinstance(stated, str) else Draft202012Validator
    checker = kind.TYPE_CHECKER
    if "prefixItems" in kind.VALIDATORS or "const" in kind.VALIDATORS:
        checker = checker.redefine("integer", _is_integer)
    return extend(kind, {"pattern": _pattern}, type_checker=checker)


def _pattern(validator: Any, wanted: str, value: Any, schema: object) -> Iterator[Any]:
    """The keyword `pattern`, by `regex`: it knows `\\p{L}`, and what is endless for `re` seldom is for it."""
    import regex
    from jsonschema.exceptions import ValidationError

    if isinstance(value, str) and not regex.search(wanted, value):
        yield ValidationError(f"must match {wanted}")


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


def _of_a_name(error: Any) -> bool:
    """Whether an error is about the name of a property, which jsonschema reports at the object."""
    steps = iter(error.relative_schema_path)
    for step in steps:
        if step == "propertyNames":
            return isinstance(error.instance, str)
        if step in _NAMED:
            next(steps, None)
    return False


_NAMED = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"))
"""After these comes a name in the path of a schema, not a keyword."""


def _depending(wanted: dict[str, Any], value: Any) -> Iterator[tuple[str, str]]:
    """The properties that must be there because another one is."""
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
    return _SAID.get(str(keyword)) or _cut(str(error.message))


def _described(name: str, schema: dict[str, Any]) -> bool:
    patterns = schema.get("patternProperties", {})
    return name in schema.get("properties", {}) or any(re.search(pattern, name) for pattern in patterns)


def _cut(text: str) -> str:
    return text if len(text) <= _MESSAGE else text[: _MESSAGE - 1] + "…"
