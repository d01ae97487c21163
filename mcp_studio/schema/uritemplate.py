"""URI templates, all four levels of RFC 6570."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote

from mcp_studio.jsontext import Json
from mcp_studio.record import record
from mcp_studio.schema.keywords import spell

_RESERVED = ":/?#[]@!$&'()*+,;="
# Compiled at the first use, because most starts use no template.
_PERCENT = r"(%[0-9A-Fa-f]{2})"
_EXPRESSION = r"\{([^{}]*)\}|([{}])"
# RFC 6570 allows no hyphens in names, but servers use them.
_SPEC = r"((?:[A-Za-z0-9_-]|%[0-9A-Fa-f]{2})(?:\.?(?:[A-Za-z0-9_-]|%[0-9A-Fa-f]{2}))*)(\*|:[1-9]\d{0,3})?"


class TemplateError(ValueError):
    """A template that does not follow RFC 6570, or a value that it cannot take; a sentence without a full stop."""


@record(frozen=True)
class Variable:
    """One variable of an expression."""

    name: str
    operator: str
    """One of `+ # . / ; ? &`, or empty."""
    explode: bool
    """`*`: each item of a list or object is expanded separately."""
    prefix: int
    """`:n`: only the first n characters are used; 0 for all."""


# The table of RFC 6570, appendix A.
_SEPARATORS = {"": ",", "+": ",", "#": ",", ".": ".", "/": "/", ";": ";", "?": "&", "&": "&"}
_NAMED = (";", "?", "&")
_UNQUOTED = ("+", "#")
"""Operators that leave reserved characters unquoted."""


def variables(template: str) -> tuple[Variable, ...]:
    """All variables in their order, repeated ones too.

    Raises:
        TemplateError: the template is malformed.
    """
    return tuple(variable for part in _parse(template) if isinstance(part, tuple) for variable in part)


def expand(template: str, values: Mapping[str, Json]) -> str:
    """Expand a template; a variable without a value (absent, null, empty list or object) is left out.

    Raises:
        TemplateError: the template is malformed, or a list or object is nested in a value.
    """
    return "".join(
        _quote(part, reserved=True) if isinstance(part, str) else _expression(part, values) for part in _parse(template)
    )


_FITS = {"": "[^/?#]+", "+": ".+", "#": "(#.*)?", ".": "([.][^/?#]*)?", "/": "(/[^?#]*)?", ";": "(;[^/?#]*)?",
         "?": "([?][^#]*)?", "&": "(&[^#]*)?"}  # fmt: skip
"""Patterns of the text that an expression expands to, by its operator."""


def fits(template: str, uri: str) -> bool:
    """Whether a URI may come from a template; False where the comparison takes too long."""
    import regex

    try:
        parts = (regex.escape(part) if isinstance(part, str) else _FITS[part[0].operator] for part in _parse(template))
        return regex.fullmatch("".join(parts), uri, timeout=0.01) is not None
    except (TemplateError, TimeoutError):
        return False


def _parse(template: str) -> list[str | tuple[Variable, ...]]:
    parts: list[str | tuple[Variable, ...]] = []
    end = 0
    for found in re.finditer(_EXPRESSION, template):
        if found[2]:
            raise TemplateError(f"it has a stray {found[2]} at character {found.start() + 1}")
        parts += [template[end : found.start()], _variables(found[1], found.start() + 1)]
        end = found.end()
    return [*parts, template[end:]]


def _variables(text: str, place: int) -> tuple[Variable, ...]:
    operator = text[:1] if text[:1] in _SEPARATORS else ""
    found: list[Variable] = []
    for spec in text[len(operator) :].split(","):
        match = re.fullmatch(_SPEC, spec)
        if match is None:
            raise TemplateError(f"it has no valid variable in {{{text[:40]}}} at character {place}")
        modifier = match[2] or ""
        found.append(Variable(match[1], operator, modifier == "*", int(modifier[1:] or 0)))
    return tuple(found)


def _expression(found: tuple[Variable, ...], values: Mapping[str, Json]) -> str:
    operator = found[0].operator
    pieces = [piece for variable in found for piece in _pieces(variable, values.get(variable.name))]
    first = "" if operator == "+" else operator
    return first + _SEPARATORS[operator].join(pieces) if pieces else ""


def _pieces(variable: Variable, value: Json) -> list[str]:
    """The parts that a variable expands to; the caller joins them by the expression's separator."""
    if variable.prefix and isinstance(value, (dict, list)):
        raise TemplateError(
            f"{variable.name}:{variable.prefix} takes the beginning of a text, and not of a list or object"
        )
    named = variable.operator in _NAMED
    if isinstance(value, dict):
        pairs = [(_text(variable, str(key)), _text(variable, item)) for key, item in value.items() if item is not None]
        if variable.explode:
            return [_pair(variable, *pair) if named else "=".join(pair) for pair in pairs]
        items = [text for pair in pairs for text in pair]
    elif isinstance(value, list):
        items = [_text(variable, item) for item in value if item is not None]
        if variable.explode:
            return [_pair(variable, variable.name, item) if named else item for item in items]
    else:
        items = [] if value is None else [_text(variable, value)]
    if not items:
        return []
    joined = ",".join(items)
    return [_pair(variable, variable.name, joined) if named else joined]


def _pair(variable: Variable, name: str, value: str) -> str:
    return name if variable.operator == ";" and not value else f"{name}={value}"


def _text(variable: Variable, value: Json) -> str:
    if isinstance(value, (list, dict)):
        raise TemplateError(f"the items of {variable.name} cannot be lists or objects themselves")
    text = value if isinstance(value, str) else spell(value)
    return _quote(text[: variable.prefix or None], reserved=variable.operator in _UNQUOTED)


def _quote(text: str, reserved: bool) -> str:
    if not reserved:
        return quote(text, safe="", errors="replace")
    # Where reserved characters are allowed, existing percent triplets stay.
    return "".join(
        part if index % 2 else quote(part, safe=_RESERVED, errors="replace")
        for index, part in enumerate(re.split(_PERCENT, text))
    )
