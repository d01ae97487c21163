"""The rows of a form: a tree of fields, some parts open and some closed."""

from collections.abc import Callable, Mapping, Set
from typing import Final, Literal, NamedTuple

from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.schema.field import Choices, Const, Field, Flag, JsonField, List, Map, Number, Object, Union
from mcp_studio.schema.place import Path
from mcp_studio.schema.text import from_text

Kind = Literal["field", "item", "entry", "other", "inner", "add", "rest"]
"""A known property; an item of a list; an entry of a map; a key without a schema; the value of a chosen variant, below
its chooser; the button that adds an item or entry; the number of items that have no rows.
"""
ABSENT: Final = object()
"""Stands for a missing value, because null is a value."""
MOST_ROWS = 20_000
MOST_CHILDREN = 2_000
"""Items or entries of one list or object that have rows; the person edits the others as JSON."""
_OPEN_LEVELS = 4
"""Required parts above this level are open until the person closes them."""
_DEEPEST = 60

Settle = Callable[[Path, Field, Json], Field]
"""For a union, returns the variant that is chosen at a place or that the value matches; any other field unchanged."""


class Row(NamedTuple):
    """One row of the outline, for the value at `path`."""

    path: Path
    field: Field
    """The field that edits the value: a JSON field if the value does not fit the described field."""
    level: int
    kind: Kind
    given: Field
    """The field that the schema describes: its label, texts and rules."""
    parent: Field | None = None
    """The object, map or list around this row; None at the top."""
    fold: bool | None = None
    """Whether the part is open; None if it has no inside."""

    @property
    def key(self) -> tuple[Path, Kind]:
        """The identity of a row while other rows come and go."""
        return self.path, self.kind

    @property
    def stays(self) -> bool:
        """Whether the value cannot be absent, because the row would be gone without it."""
        return not self.path or self.kind in ("item", "entry", "other") or isinstance(self.parent, (List, Map))

    @property
    def removable(self) -> bool:
        """Whether the person can remove the row as a whole."""
        return self.kind in ("item", "entry", "other")


def fits(field: Field, value: object) -> bool:
    """Whether rows of this field can show a value; the rows inside report their own problems."""
    if value is ABSENT:
        return True
    if isinstance(field, (Object, Map, List)):
        return isinstance(value, list if isinstance(field, List) else dict) or (value is None and field.nullable)
    if isinstance(value, str):
        return not isinstance(field, (Number, Flag)) or not _reads(field, value)
    return isinstance(field, (JsonField, Choices)) or not isinstance(value, (dict, list))


def _reads(field: Field, text: str) -> bool:
    """Whether the text would look like a correct value, though it is text."""
    try:
        from_text(field, text)
    except ValueError:
        return False
    return True


def as_json(given: Field) -> JsonField:
    """The same field as JSON, for a value that does not fit the field or that the person edits as JSON."""
    names = ("name", "title", "description", "required", "has_default", "default", "nullable", "hint", "schema")
    known = {name: getattr(given, name) for name in names}
    return JsonField(**known, types=("object", "array", "number", "boolean", "null"))


class Outline:
    """Makes the rows of a value.

    Args:
        settle: resolves unions.
        folds: the parts that the person opened and closed.
        json_places: places that are edited as JSON though rows could show them.
    """

    def __init__(self, settle: Settle, folds: Mapping[Path, bool], json_places: Set[Path]) -> None:
        self._settle, self._folds, self._json_places = settle, folds, json_places
        self.rows: list[Row] = []

    def make(self, root: Field, value: Json) -> list[Row]:
        """All rows; an object at the top has rows for its members, but none for itself."""
        field = self._settle((), root, value)
        if isinstance(field, Object) and not _chooser(root) and isinstance(value, dict) and not self._as_json(()):
            self._inside((), field, value, 0)
        else:
            self._place((), root, value, 0, "field", None)
        return self.rows

    def _as_json(self, path: Path) -> bool:
        return path in self._json_places or len(path) > _DEEPEST

    def _open(self, path: Path, given: Field, level: int, kind: Kind) -> bool:
        """Whether a part is open: as the person chose, or else if it is required."""
        required = given.required and level < _OPEN_LEVELS and kind in ("field", "inner")
        return self._folds.get(path, not path or required)

    def _place(self, path: Path, given: Field, value: Json, level: int, kind: Kind, parent: Field | None) -> None:
        if _chooser(given):
            self._union(path, given, value, level, kind, parent)
            return
        field = self._settle(path, given, None if value is ABSENT else value)
        if self._as_json(path) or not fits(field, value) or isinstance(field, Union):
            field = given if isinstance(given, JsonField) else as_json(given)
        if not isinstance(field, (Object, Map, List)) or value is None:
            self.rows.append(Row(path, field, level, kind, given, parent))
            return
        fold = self._open(path, given, level, kind)
        self.rows.append(Row(path, field, level, kind, given, parent, fold))
        if fold:
            self._inside(path, field, value, level + 1)

    def _union(self, path: Path, given: Field, value: Json, level: int, kind: Kind, parent: Field | None) -> None:
        content = self._settle(path, given, None if value is ABSENT else value)
        nothing = isinstance(content, Union) and (value is ABSENT or value is None)
        as_text = self._as_json(path)
        if as_text or nothing or isinstance(content, Const) or (value is None and given.nullable):
            self.rows.append(Row(path, as_json(given) if as_text else given, level, kind, given, parent))
            return
        composite = isinstance(content, (Object, Map, List))
        fold = self._open(path, given, level, kind) if composite or path in self._folds else True
        self.rows.append(Row(path, given, level, kind, given, parent, fold))
        if not fold:
            return
        if composite and fits(content, value) and value is not None:
            self._inside(path, content, value, level + 1, variant=True)
        else:
            inner = as_json(given) if isinstance(content, Union) or not fits(content, value) else content
            self.rows.append(Row(path, inner, level + 1, "inner", inner, parent))

    def _inside(self, path: Path, field: Field, value: object, level: int, *, variant: bool = False) -> None:
        """The rows inside an object, map or list. A `variant` has no row for the constant that its chooser shows."""
        if len(self.rows) > MOST_ROWS:
            self.rows.append(Row(path, field, level, "rest", field, field))
        elif isinstance(field, Object):
            members, known = mapping(value), field.fields()
            for one in known:
                if not variant or not _shown_by_chooser(one, members.get(one.name, ABSENT)):
                    self._place((*path, one.name), one, members.get(one.name, ABSENT), level, "field", field)
            names = {one.name for one in known}
            others = [key for key in members if key not in names]
            if others or field.rest is not None:
                self._entries(path, field.rest or field, members, others, level)
        elif isinstance(field, Map):
            self._entries(path, field, mapping(value), list(mapping(value)), level)
        elif isinstance(field, List):
            self._items(path, field, items_of(value), level)

    def _entries(self, path: Path, field: Field, members: Mapping[str, Json], keys: list[str], level: int) -> None:
        """Entries of a map, or the members of an object that its schema does not describe."""
        for key in keys[:MOST_CHILDREN]:
            if isinstance(field, Map):
                self._place((*path, key), field.of(key), members[key], level, "entry", field)
            else:
                leaf = JsonField(key, hint="any JSON")
                self.rows.append(Row((*path, key), leaf, level, "other", leaf, field))
        room = isinstance(field, Map) and (field.max_entries is None or len(members) < field.max_entries)
        self._below(path, field, level, len(keys), room)

    def _below(self, path: Path, field: Field, level: int, count: int, room: bool) -> None:
        """Add the rows that stand below the items or entries."""
        kinds: tuple[tuple[Kind, bool], ...] = ("rest", count > MOST_CHILDREN), ("add", room)
        self.rows += [Row(path, field, level, kind, field, field) for kind, there in kinds if there]

    def _items(self, path: Path, field: List, items: list[Json], level: int) -> None:
        for index, item in enumerate(items[:MOST_CHILDREN]):
            described = field.item(index) or JsonField("", hint="any JSON")
            self._place((*path, index), described, item, level, "item", field)
        room = (field.max_items is None or len(items) < field.max_items) and field.item(len(items)) is not None
        self._below(path, field, level, len(items), room)


def _chooser(field: Field) -> bool:
    return isinstance(field, Union) and not field.by_value


def _shown_by_chooser(field: Field, value: object) -> bool:
    return isinstance(field, Const) and field.required and type(value) is type(field.value) and value == field.value
