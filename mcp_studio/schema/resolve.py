"""Schemas made simple: references followed, `allOf` merged, unions with null collapsed. Bounded and total.

A server's schema may be anything: wrong types everywhere, references in circles, references that double at every step.
Nothing here raises, and every part of a form costs at most `STEPS` steps, all of it at most `TOTAL`; what lies beyond
says so under `kinds.REMARK`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from mcp_studio.jsontext import Json
from mcp_studio.schema import merging
from mcp_studio.schema.kinds import REMARK, Schema, impossible, normal, only_null, types
from mcp_studio.schema.refs import MISSING, VARIES, Document

STEPS = 20_000
"""References, parts and branches looked at for one part of a form; merging large ones counts more."""
TOTAL = 50 * STEPS
"""Steps for all the parts of one form together, however many are opened."""
_DEPTH = 120
_PARTS = 500
_BRANCHES = 1_000
_TOO_LARGE = "The schema is too large, or refers to itself too often: parts of it are not drawn."
_VARIES = "What it refers to depends on the way that leads here."
_CIRCLE = "The schema refers to itself without end."
_OLDER = tuple(f"draft-0{number}" for number in range(1, 8))
"""Until draft 7 nothing beside a reference counts."""
_WORDS = frozenset(("title", "description", "default", "examples"))
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_SPECIAL = frozenset((*_REFERENCES, "allOf", "dependencies", "exclusiveMinimum", "exclusiveMaximum"))


class Resolver:
    """Simplifies the sub-schemas of one root schema."""

    def __init__(self, root: Json) -> None:
        self._document = Document(root)
        stated = cast("Schema", root).get("$schema") if isinstance(root, dict) else None
        self._older = isinstance(stated, str) and any(draft in stated for draft in _OLDER)
        self._steps = STEPS
        self._total = TOTAL
        self._flat: dict[int, tuple[Json, Schema]] = {}
        self._open: set[int] = set()
        self._pairs: dict[tuple[int, ...], Schema] = {}
        self._members: dict[int, list[Json]] = {}

    def fresh(self) -> None:
        """Another part of the form is about to be made: it has steps of its own."""
        self._total -= STEPS - max(0, self._steps)
        self._steps = max(0, min(STEPS, self._total))

    @property
    def exhausted(self) -> bool:
        """Whether the schema was too large or too twisted to be followed to its end."""
        return self._steps <= 0

    def flat(self, schema: Json) -> Schema:
        """The schema with its references followed and its `allOf` merged; `True` and nonsense become `{}`.

        What cannot be said without `allOf` stays in it, in parts that are simple.
        """
        if not isinstance(schema, dict):
            return merging.CONTRADICTION if schema is False else {}
        plain = cast("Schema", schema)
        if _SPECIAL.isdisjoint(plain) and not isinstance(plain.get("items"), list):
            return plain
        key = id(plain)
        known = self._flat.get(key)
        if known is None:
            if key in self._open or len(self._open) > _DEPTH:
                return {REMARK: _CIRCLE if key in self._open else _TOO_LARGE}
            self._open.add(key)
            # The schema is kept, so that no other one ever has its id.
            known = self._flat[key] = (plain, self._made(plain))
            self._open.discard(key)
        return known[1]

    def merge(self, first: Schema, second: Schema) -> Schema:
        """Both at once; where only one can be said, such as a title, the first wins."""
        self._steps -= (len(first) + len(second)) // 16
        for key in ("properties", "required", "enum"):
            for one in (first, second):
                self._steps -= len(one[key]) // 16 if isinstance(one.get(key), (dict, list)) else 0
        return merging.merge(first, second, self.both)

    def both(self, one: Json, two: Json) -> Json:
        """The schema of what two sub-schemas allow both; the same two give the same one."""
        if one is two or two is True or two == {}:
            return one
        if one is True or one == {}:
            return two
        if one is False or two is False:
            return False
        parts = {id(self._target(part)): part for part in (*self._split(one), *self._split(two))}
        key = tuple(parts)
        if len(key) == 1:
            return parts[key[0]]
        pair = self._pairs.get(key)
        if pair is None:
            pair = self._pairs[key] = {"allOf": list(parts.values())}
            self._members[id(pair)] = pair["allOf"]
        return pair

    def without_null(self, schema: Schema) -> tuple[Schema, bool]:
        """The schema for values other than null, and whether null is a value too."""
        nullable = schema.get("nullable") is True  # OpenAPI
        for _ in range(_DEPTH):
            kinds = types(schema)
            if "null" in kinds:
                nullable = True
                if len(kinds) > 1:
                    schema = {**schema, "type": [kind for kind in kinds if kind != "null"]}
            inner = self._collapsed(schema)
            if inner is None:
                break
            schema, null = inner
            nullable = nullable or null
        return schema, nullable

    def _collapsed(self, schema: Schema) -> tuple[Schema, bool] | None:
        """The schema with fewer alternatives, and whether null was one; None where there are none too many."""
        for key in ("anyOf", "oneOf"):
            branches = list(self.branches(schema, key))
            possible = [branch for branch in branches if not impossible(branch)]
            others = [branch for branch in possible if not only_null(branch)]
            if not others or (len(others) == len(branches) and len(others) > 1):
                continue
            if len(others) > 1:
                return {**schema, key: others}, len(others) < len(possible)
            rest = {name: item for name, item in schema.items() if name != key}
            return self.merge(rest, others[0]), len(others) < len(possible)
        return None

    def branches(self, schema: Schema, key: str) -> Iterator[Schema]:
        """The branches of `anyOf` or `oneOf`, made flat; none when there are too many."""
        found = schema.get(key)
        if isinstance(found, list) and len(cast("list[Json]", found)) <= _BRANCHES:
            for branch in cast("list[Json]", found):
                if not self._step():
                    return
                yield self.flat(branch)

    def _made(self, schema: Schema) -> Schema:
        own = {key: item for key, item in schema.items() if key not in _REFERENCES and key != "allOf"}
        if self._older and "$ref" in schema:
            schema, own = {"$ref": schema["$ref"]}, {key: item for key, item in own.items() if key in _WORDS}
        merged = normal(own)
        parts: list[Json] = []
        for key in _REFERENCES:
            if isinstance(reference := schema.get(key), str):
                target = self._look_up(key, reference, schema)
                if target is MISSING or target is VARIES:
                    merged = {**merged, REMARK: _lost(reference) if target is MISSING else _VARIES}
                else:
                    parts.append(target)
        listed = schema.get("allOf")
        parts += cast("list[Json]", listed)[:_PARTS] if isinstance(listed, list) else []
        for part in parts:
            if not self._step():
                return {**merged, REMARK: _TOO_LARGE}
            merged = self.merge(merged, self.flat(part))
        return merged

    def _look_up(self, key: str, reference: str, holder: Schema) -> Json:
        if key == "$dynamicRef":
            return self._document.dynamic(reference, holder)
        return self._document.target(reference, holder)

    def _target(self, schema: Json) -> Json:
        """What a schema that is nothing but a reference names."""
        if isinstance(schema, dict) and len(cast("Schema", schema)) == 1:
            reference = cast("Schema", schema).get("$ref")
            if isinstance(reference, str) and (target := self._document.target(reference, schema)) is not MISSING:
                return target
        return schema

    def _split(self, schema: Json) -> list[Json]:
        return self._members.get(id(schema), [schema])

    def _step(self) -> bool:
        self._steps -= 1
        return self._steps > 0


def _lost(reference: str) -> str:
    named = reference if len(reference) <= 80 else f"{reference[:79]}…"
    if reference.startswith("#"):
        return f"It refers to {named}, which is not in the schema."
    return f"It refers to {named}, which is outside the schema and is not fetched."
