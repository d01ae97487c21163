"""Small tools for rules about the shape of values: every function adds what is wrong to a list and goes on."""

from __future__ import annotations

from typing import cast

from mcp_studio.jsontext import Json
from mcp_studio.protocol.large import hint_at
from mcp_studio.trace.lint.finding import Spot
from mcp_studio.trace.lint.words import kind_of

_TYPES: dict[str, type | tuple[type, ...]] = {
    "a string": str,
    "an object": dict,
    "an array": list,
    "a number": (int, float),
    "an integer": int,
    "true or false": bool,
}


class Look:
    """Looks at one object; `where` is its pointer, `name` what it is called, `section` where it is specified."""

    def __init__(self, raw: dict[str, Json], where: str, name: str, section: str, spots: list[Spot]) -> None:
        self.raw = raw
        self.where = where
        self.name = name
        self.section = section
        self.spots = spots

    def needs(self, key: str, kind: str = "a string") -> bool:
        """Whether a required member is there and of its type."""
        if key not in self.raw:
            self.say("missing-field", f"{self.name} has no {key}.", key)
            return False
        return self.may(key, kind)

    def may(self, key: str, kind: str = "a string") -> bool:
        """Whether a member is there and of its type."""
        if key not in self.raw:
            return False
        value = hint_at(self.raw, key)
        wanted = _TYPES[kind]
        if isinstance(value, wanted) and (kind == "true or false" or not isinstance(value, bool)):
            return True
        self.say("wrong-type", f'"{key}" of {self.name} is {kind_of(value)}; it must be {kind}.', key)
        return False

    def items(self, key: str, required: bool = True) -> list[Json]:
        """The items of an array, empty where there is none."""
        good = self.needs(key, "an array") if required else self.may(key, "an array")
        return cast("list[Json]", self.raw[key]) if good else []

    def inner(self, key: str, name: str, required: bool = False) -> Look | None:
        """A look at an object inside."""
        good = self.needs(key, "an object") if required else self.may(key, "an object")
        if not good:
            return None
        return Look(cast("dict[str, Json]", self.raw[key]), f"{self.where}/{key}", name, self.section, self.spots)

    def item(self, key: str, index: int, value: Json, name: str) -> Look | None:
        """A look at one item of an array."""
        where = f"{self.where}/{key}/{index}"
        if isinstance(value, dict):
            return Look(cast("dict[str, Json]", value), where, name, self.section, self.spots)
        text = f"{name} is {kind_of(value)}; it must be an object."
        self.spots.append(Spot("wrong-type", text, where, self.section))
        return None

    def say(self, rule: str, text: str, key: str = "", section: str = "") -> None:
        """Add what is wrong."""
        where = f"{self.where}/{key}" if key else self.where
        self.spots.append(Spot(rule, text, where, section or self.section))
