"""What of a person's values may be written to the disk: nothing that looks like a secret, or is known as one."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple, cast

from mcp_studio.jsontext import Json
from mcp_studio.schema.place import Path, pointer
from mcp_studio.secret_names import is_secret_name


class Keeper(NamedTuple):
    """Takes secrets out of values."""

    redact: Callable[[str], str] = str
    """Takes secrets out of a text; a text that it changes is not kept at all."""
    hides: Callable[[str], bool] = is_secret_name
    """Whether values of a field of this name are secret."""

    def kept(self, value: Json, hidden: Collection[str] = ()) -> tuple[Json, tuple[str, ...]]:
        """The value without its secrets, and the pointers of the places where some were.

        Args:
            hidden: what is secret whatever its name is: members at the top by their names, any place by its pointer.
        """
        left: list[str] = []
        if self._secret(value):
            return None, ("",)
        return self._inner(value, (), hidden, left), tuple(left)

    def _inner(self, value: Json, path: Path, hidden: Collection[str], left: list[str]) -> Json:
        if isinstance(value, dict):
            members: dict[str, Json] = {}
            for key, item in cast("dict[str, Json]", value).items():
                place = (*path, key)
                named = self.hides(key) and item is not None
                if named or self._secret(item) or self._secret(key) or _hidden(place, hidden):
                    left.append(pointer(*place))
                else:
                    members[key] = self._inner(item, place, hidden, left)
            return members
        if isinstance(value, list):
            items: list[Json] = []
            for index, item in enumerate(cast("list[Json]", value)):
                place = (*path, index)
                if self._secret(item) or _hidden(place, hidden):
                    left.append(pointer(*place))
                else:
                    items.append(self._inner(item, place, hidden, left))
            return items
        return value

    def _secret(self, value: Json) -> bool:
        return isinstance(value, str) and self.redact(value) != value


def _hidden(place: Path, hidden: Collection[str]) -> bool:
    return bool(hidden) and (pointer(*place) in hidden or (len(place) == 1 and place[0] in hidden))
