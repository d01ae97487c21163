"""What a form is made of, in numbers."""

from __future__ import annotations

from collections import Counter

from mcp_studio.schema.field import Field, Form, JsonField, List, Map, Object, Union

_MOST = 20_000
_WORDS = frozenset(("title", "description", "default", "examples", "example", "deprecated", "$comment", "nullable"))


def leaves(form: Form) -> Counter[str]:
    """How many places of each kind a form has by its schema.

    What only JSON can fill is under `JsonField` where the schema says something that is not drawn, and under `any`
    where it says nothing at all. Each field counts once, however often its schema comes back to it; items, entries and
    all variants count too. At most 20,000 are looked at.
    """
    found: Counter[str] = Counter()
    todo: list[Field] = [form.root] if form.root else list(form.fields)
    seen: set[int] = set()
    kept: list[Field] = []
    while todo and len(kept) < _MOST:
        field = todo.pop()
        if id(field) in seen:
            continue
        seen.add(id(field))
        kept.append(field)
        found["any" if _unsaid(field) else type(field).__name__] += 1
        todo += _inside(field)
    return found


def _inside(field: Field) -> list[Field]:
    if isinstance(field, Object):
        return [*field.fields(), *([field.rest.of("")] if field.rest else [])]
    if isinstance(field, Map):
        return [field.of("")]
    if isinstance(field, List):
        items = field.items()
        return [*field.first(), *([items] if items else [])]
    if isinstance(field, Union):
        return [variant.field() for variant in field.variants]
    return []


def _unsaid(field: Field) -> bool:
    if type(field) is not JsonField or field.remark or field.types:
        return False
    return not isinstance(field.schema, dict) or field.schema.keys() <= _WORDS


def share_of_json(counts: Counter[str]) -> float:
    """Which part of all places with nothing inside only JSON can fill."""
    inside = {kind.__name__ for kind in (Object, Map, List, Union)}
    single = sum(number for kind, number in counts.items() if kind not in inside)
    return counts[JsonField.__name__] / single if single else 0.0
