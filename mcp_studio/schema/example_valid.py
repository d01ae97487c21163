"""Values that a field takes, made up: plausible ones where its name or schema says what is meant. Bounded and total."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.schema.building import Builder
from mcp_studio.schema.check import equal
from mcp_studio.schema.example_leaves import Cannot, dice, leaf, sound
from mcp_studio.schema.example_pattern import matching
from mcp_studio.schema.field import Choices, Const, Field, JsonField, List, Map, Object, Scalar, Union
from mcp_studio.schema.kinds import FORBIDDEN
from mcp_studio.schema.wording import spell

STEPS = 3_000
"""Fields looked at for one value."""
MOST_ITEMS = 200
"""Items of a list, or entries of a map, that are made up because the schema demands so many."""
_DEPTH = 40
_PATTERNS = 10
"""Patterns of keys that are tried."""
_NEVER = {"not": {}}
_KEYS = ("name", "key", "example", "one", "two", "three", "a", "id", "x-example", "X_EXAMPLE", "42")


class Maker:
    """Makes one value up.

    Args:
        rich: 0 for only what must be there, 1 for a typical value, 2 for all that can be there.
        seed: another one gives another value.
    """

    def __init__(self, rich: int, seed: int) -> None:
        self._rich = rich
        self._seed = seed
        self._steps = STEPS
        self.remarks: list[str] = []
        """What may be wrong with the value, for it is not known here, as sentences."""

    @property
    def spent(self) -> int:
        """How many fields were looked at."""
        return STEPS - self._steps

    def make(self, field: Field, place: str = "", depth: int = 0) -> Json:
        """A value for the field.

        Raises:
            Cannot: there is none, or none was found; says why.
        """
        self._steps -= 1
        if depth > _DEPTH or self._steps < -STEPS:
            raise Cannot("it contains itself without end, or is too large")
        rng = dice(f"{self._seed}{place}")
        for value in self._said(field, rng, depth):
            if sound(field, value):
                return value
        try:
            return self._allowed(field, place, depth, rng)
        except Cannot:
            if field.nullable:
                return None
            raise

    def _said(self, field: Field, rng: Random, depth: int) -> list[Json]:
        """What the schema itself offers, the likeliest first."""
        if depth == 0 or isinstance(field, Const):
            return []
        offered = [*field.examples, *([field.default] if field.has_default and field.default is not None else [])]
        # Now and then something else, where another value is wanted.
        if self._seed and rng.random() < 0.5:
            rng.shuffle(offered)
            return offered[: len(offered) - 1]
        return offered

    def _allowed(self, field: Field, place: str, depth: int, rng: Random) -> Json:
        """A value that is none of those that the schema excludes by name."""
        excluded = mapping(mapping(field.schema).get("not"))
        listed = [excluded["const"]] if "const" in excluded else items_of(excluded.get("enum"))
        value = self._made(field, place, depth, rng)
        for seed in range(1, 9):
            if not any(equal(value, one) for one in listed):
                break
            value = self._with(self._seed * 7 + seed, lambda: self._made(field, place, depth, dice(place)))
        else:
            raise Cannot("all that was found is excluded")
        return value

    def _with(self, seed: int, make: Callable[[], Json]) -> Json:
        """Something made with another seed."""
        kept, self._seed = self._seed, seed
        try:
            return make()
        finally:
            self._seed = kept

    def _made(self, field: Field, place: str, depth: int, rng: Random) -> Json:
        if field.schema == _NEVER or field.schema is False:
            raise Cannot("the schema allows no value here")
        if isinstance(field, Object):
            return self._object(field, place, depth)
        if isinstance(field, Map):
            return self._entries({}, field, place, depth, max(field.min_entries or 0, 1 if self._more(depth) else 0))
        if isinstance(field, List):
            return self._list(field, place, depth)
        if isinstance(field, Choices):
            return self._picked(field, rng)
        if isinstance(field, Union):
            return self._union(field, place, depth, rng)
        if isinstance(field, Scalar) and field.parts:
            return self.make(field.parts[rng.randrange(len(field.parts)) if self._seed else 0], place, depth + 1)
        if isinstance(field, JsonField):
            return self._anything(field)
        return leaf(field, rng, self._seed, self.remarks)

    def _more(self, depth: int) -> bool:
        """Whether what need not be there is wanted here."""
        return self._steps > 0 and depth < (0, 3, 5)[self._rich]

    def _object(self, field: Object, place: str, depth: int) -> Json:
        fields, schema = field.fields(), mapping(field.schema)
        most = field.max_entries
        chosen, avoided = self._demanded(schema)
        wanted = {one.name for one in fields if one.required} | chosen
        value: dict[str, Json] = {}
        for one in fields:
            room = self._more(depth) and (most is None or len(wanted) < most)
            if one.name in wanted or (room and one.name not in avoided and self._suits(one)):
                self._put(value, one, place, depth)
                wanted.add(one.name)
        self._depending(value, fields, schema, place, depth)
        for one in fields:
            if len(value) < (field.min_entries or 0) and one.name not in value:
                self._put(value, one, place, depth)
        self._depending(value, fields, schema, place, depth)
        if len(value) < (field.min_entries or 0):
            if field.rest is None and schema.get("additionalProperties") is False:
                raise Cannot(f"it wants {field.min_entries} properties, and has room for {len(value)}")
            value = self._entries(value, field.rest or Map(""), place, depth, field.min_entries or 0)
        return value

    def _suits(self, one: Field) -> bool:
        """Whether a property that need not be there is for people to fill in."""
        return not one.read_only and one.remark != FORBIDDEN and (not one.deprecated or self._rich > 1)

    def _demanded(self, schema: dict[str, Json]) -> tuple[set[str], set[str]]:
        """Properties that must be there by one of several alternatives; those that would fit another too."""
        chosen, avoided = set[str](), set[str]()
        for key in ("anyOf", "oneOf"):
            lists = [items_of(mapping(part).get("required")) for part in items_of(schema.get(key))]
            groups = [{name for name in names if isinstance(name, str)} for names in lists]
            if groups:
                one = groups[self._seed % len(groups)]
                chosen |= one
                avoided |= set[str]().union(*groups) - one if key == "oneOf" else set()
        return chosen, avoided

    def _put(self, value: dict[str, Json], one: Field, place: str, depth: int) -> None:
        try:
            value[one.name] = self.make(one, f"{place}/{one.name}", depth + 1)
        except Cannot as problem:
            if one.required:
                raise Cannot(f"{one.name}: {problem}") from None

    def _depending(
        self, value: dict[str, Json], fields: tuple[Field, ...], schema: dict[str, Json], place: str, depth: int
    ) -> None:
        """What must be there because something else is."""
        rules = {**mapping(schema.get("dependencies")), **mapping(schema.get("dependentRequired"))}
        known = {one.name: one for one in fields}
        for _ in range(min(len(rules), 20)):
            lacking = [
                name
                for key, names in rules.items()
                if key in value and isinstance(names, list)
                for name in names
                if isinstance(name, str) and name not in value
            ]
            for name in lacking:
                self._put(value, known.get(name) or JsonField(name), place, depth)
            if not lacking:
                return

    def _entries(self, value: dict[str, Json], field: Map, place: str, depth: int, count: int) -> dict[str, Json]:
        if count > MOST_ITEMS:
            raise Cannot(f"it wants {count} properties, which are too many")
        most = len(value) + count if field.max_entries is None else field.max_entries
        for key in self._keys(field, count, place):
            if len(value) >= min(count, most):
                break
            if key not in value and not field.wrong_key(key):
                value[key] = self.make(field.of(key), f"{place}/{key}", depth + 1)
        if len(value) < (field.min_entries or 0):
            raise Cannot("no names that it allows were found")
        return value

    def _keys(self, field: Map, count: int, place: str) -> list[str]:
        schema = mapping(field.schema)
        names = mapping(schema.get("propertyNames"))
        patterns = [*([names["pattern"]] if "pattern" in names else []), *mapping(schema.get("patternProperties"))]
        listed = names.get("enum")
        found = [key for key in listed if isinstance(key, str)] if isinstance(listed, list) else []
        for number in range(count + 1):
            for pattern in patterns[:_PATTERNS]:
                key = matching(pattern, 0, 100, dice(f"{place}{number}")) if isinstance(pattern, str) else None
                found += [key] if key else []
        return [*found, *_KEYS, *(f"key{number}" for number in range(count + 1))]

    def _list(self, field: List, place: str, depth: int) -> Json:
        first, least = field.first(), field.min_items or 0
        usual = (0, 2, 3)[self._rich] if self._more(depth) else 0
        count = max(least, len(first) if self._more(depth) else 0, usual)
        count = count if field.max_items is None else max(least, min(count, field.max_items))
        if "unevaluatedItems" in mapping(field.schema) and "items" not in mapping(field.schema):
            count = max(least, min(count, len(first)))
        if count > MOST_ITEMS:
            raise Cannot(f"it wants {count} items, which are too many")
        items = self._contained(field, place, depth)
        seen = {spell(item) for item in items}
        for index in range(count * (4 if field.unique else 1)):
            inner = field.item(len(items))
            if inner is None or len(items) >= count:
                break
            try:
                item = self._item(inner, f"{place}/{index}", depth, index)
            except Cannot:
                if len(items) >= least:
                    break
                raise
            if not field.unique or spell(item) not in seen:
                items.append(item)
                seen.add(spell(item))
        if len(items) < least:
            raise Cannot(f"it wants {least} items, and {len(items)} were found")
        return items

    def _item(self, inner: Field, place: str, depth: int, index: int) -> Json:
        """Items after the first are made with seeds of their own, so that they differ."""
        return self._with(self._seed * 7 + index, lambda: self.make(inner, place, depth + 1))

    def _contained(self, field: List, place: str, depth: int) -> list[Json]:
        """The items that a list must have among others."""
        schema = mapping(field.schema)
        least = schema.get("minContains", 1)
        if not isinstance(schema.get("contains"), dict) or field.first() or not isinstance(least, int):
            return []
        both = {"allOf": [schema["contains"], schema.get("items", True)]}
        inner = Builder({**both, "$defs": schema.get("$defs")}).field("", both)
        if "$ref" in spell(both):
            self.remarks.append(f"{field.name or 'A list'}: whether it has what the schema asks for is not known here.")
        return [self._item(inner, f"{place}/{index}", depth, index) for index in range(min(least, MOST_ITEMS))]

    def _picked(self, field: Choices, rng: Random) -> Json:
        values = [option.value for option in field.options]
        if self._seed:
            rng.shuffle(values)
        least = field.min_items or 0
        count = max(least, (0, 1, len(values))[self._rich])
        count = count if field.max_items is None else min(count, field.max_items)
        if count > max(len(values), MOST_ITEMS) or (count > len(values) and mapping(field.schema).get("uniqueItems")):
            raise Cannot(f"it wants {count} items out of {len(values)}")
        return [values[index % len(values)] for index in range(count)]

    def _union(self, field: Union, place: str, depth: int, rng: Random) -> Json:
        order = list(range(len(field.variants)))
        if self._seed and not field.by_value:
            rng.shuffle(order)
        reason, doubtful = "none of its kinds has a value that was found", list[Json]()
        for index in order[:12]:
            try:
                value = self.make(field.variants[index].field(), place, depth + 1)
            except Cannot as problem:
                reason = str(problem)
                continue
            if field.choose(value) == index:
                return value
            doubtful.append(value)
        if doubtful:
            return doubtful[0]
        raise Cannot(reason)

    def _anything(self, field: JsonField) -> Json:
        kind = field.types[0] if field.types else "string"
        if field.remark:
            self.remarks.append(f"{field.name or 'The value'}: the schema says more than is known here.")
        made: dict[str, Json] = {"object": {}, "array": [], "number": 1.5, "integer": 1, "boolean": True, "null": None}
        return made[kind] if kind in made else leaf(field, Random(self._seed), self._seed, self.remarks)
