"""The texts in the rows of a form. Text from a server passes through `safe` here."""

from __future__ import annotations

import re

from mcp_studio.jsontext import Json, mapping
from mcp_studio.redact import is_reference
from mcp_studio.safetext import safe
from mcp_studio.schema.field import Choice, Choices, Field, Flag, List, Map, Object, Text, Union, inner, is_secret
from mcp_studio.schema.place import Path
from mcp_studio.schema.text import to_text
from mcp_studio.schema.unions import label as label_of
from mcp_studio.schema.unions import span
from mcp_studio.tui.form.model import FormModel
from mcp_studio.tui.form.rows import Row, Settle
from mcp_studio.tui.views.rows import glyphs

_BLANK = re.compile("[ \t\r\n]+")
_SUMMARY_DEPTH = 3


def label(row: Row) -> str:
    """The label before a value."""
    if row.kind == "inner":
        return glyphs().follows
    if row.kind == "item":
        at = int(row.path[-1])
        titled = isinstance(row.parent, List) and at < len(row.parent.first())
        return (safe(row.given.title, 30) if titled else "") or str(at + 1)
    return (safe(str(row.path[-1]), 60) or '""') if row.path else safe(row.given.title, 40) or "value"


def options(field: Field) -> tuple[str, ...]:
    """The labels of the options of a field."""
    if isinstance(field, (Choice, Choices)):
        return tuple(option.label for option in field.options)
    return tuple(variant.label for variant in field.variants) if isinstance(field, Union) else ()


def placeholder(model: FormModel, row: Row) -> str:
    """The dimmed text of a place without text: null, empty text, or a hint."""
    if not model.has(row.path):
        return hint(row)
    return "null" if model.get(row.path) is None else '"" (empty text)'


def hint(row: Row) -> str:
    """The dimmed text of an empty place: the default, or else the shape, and whether the value is optional."""
    known = row.given
    if known.has_default:
        return f"{default(known)} (default)"
    shape = "" if isinstance(row.field, Flag) else safe(known.hint, 60) or "text"
    if isinstance(row.field, Union):
        shape = safe(" | ".join(options(row.field)), 100)
    return ", ".join(filter(None, (shape, optional(row))))


def optional(row: Row) -> str:
    """The word for a value that may be absent; empty for any other."""
    return "" if row.given.required or row.stays else "optional"


def default(known: Field) -> str:
    """The default of a field as people read it."""
    value: Json = known.default
    if value == "" or value is None:
        return '""' if value == "" else "null"
    composite = isinstance(known, (Object, Map, List, Union))
    return safe(label_of(value) if composite else to_text(known, value), 60)


def opened(model: FormModel, row: Row) -> str:
    """The text at an open part: the size of a list or map, the heading of an item, or that nothing is there yet."""
    value, field = model.get(row.path), row.field
    some = len(value) if isinstance(value, (dict, list)) else 0
    absent = "" if model.has(row.path) else "nothing in it yet" if row.given.required else "not sent"
    if isinstance(field, (List, Map)):
        is_list = isinstance(field, List)
        one, many = ("item", "items") if is_list else ("entry", "entries")
        low, high = (field.min_items, field.max_items) if is_list else (field.min_entries, field.max_entries)
        bounds = span(low or None, high, unit=many)
        counted = f"{some:,} {one if some == 1 else many}" if some else absent or f"no {many}"
        return f"{counted} {glyphs().dot} {bounds}" if bounds else counted
    if absent or not some or not isinstance(field, Object):
        return absent or "{} (empty object)" * (not some)
    members, known = mapping(value), field.fields()
    texts = ((one, members.get(one.name)) for one in known if isinstance(one, Text) and not one.secret)
    heading = next((text for _, text in texts if isinstance(text, str) and text), "")
    if heading and row.kind in ("item", "entry"):
        return safe(heading, 60)
    filled = sum(one.name in members for one in known)
    return f"{filled} of {len(known)} filled in" if filled else ""


def help_text(row: Row, *, current: bool, filled: bool, seen: bool) -> str:
    """The help of a field: title and description, warnings, and the shape if a value covers the hint.

    Args:
        filled: whether a value covers the hint of the place.
        seen: whether the row shows all possible values anyway.
    """
    known = row.given
    if row.kind == "other":
        return "The schema does not describe this value; it is sent too." if current else ""
    title = "" if row.kind == "item" or _letters(known.title) == _letters(known.name) else plain(known.title)
    shape = current and not seen and filled
    meaning = ": ".join(part for part in (title, plain(known.description)) if part)
    if _letters(meaning) == _letters(known.hint) and (shape or not filled):
        meaning = ""  # The server says what the schema says.
    parts = ["deprecated" * known.deprecated, "read only" * known.read_only, safe(known.hint, 100) * shape, meaning]
    if current:
        examples = ", ".join(filter(None, (safe(label_of(one), 40) for one in known.examples[:4])))
        parts += [safe(known.remark, 200), f"e.g. {examples}" if examples else ""]
    return f" {glyphs().dot} ".join(part for part in parts if part)


def masked(field: Field, text: str) -> bool:
    """Whether a text must be hidden on the screen; a reference to a stored secret need not be."""
    return is_secret(field) and not is_reference(text)


def plain(text: str) -> str:
    """Foreign text as one paragraph."""
    return safe(_BLANK.sub(" ", text[:4_000]).strip()) if text else ""


def _letters(text: str) -> str:
    """The letters alone, for which `shoe_size` and `Shoe Size` are the same."""
    return "".join(filter(str.isalnum, text)).casefold()


def summary(model: FormModel, row: Row, room: int) -> str:
    """A folded value on about `room` characters, secrets masked: `{product: Laptop}`."""
    return safe(_summary(row.given, model.get(row.path), row.path, model.settle, room, _SUMMARY_DEPTH), room + 1)


def _summary(field: Field | None, value: Json, path: Path, settle: Settle, room: int, depth: int) -> str:
    if field is not None:
        field = settle(path, field, value)
    if not isinstance(value, (dict, list)):
        text = "•••" if value and is_secret(field) and not is_reference(str(value)) else label_of(value)
        return text if len(text) <= room else f"{text[:room]}…"
    made, end = ("[", "]") if isinstance(value, list) else ("{", "}")
    if depth == 0 and value:
        return f"{made}…{end}"
    for at, (key, item) in enumerate(enumerate(value) if isinstance(value, list) else value.items()):
        if len(made) > room:
            break
        made += ", " * (at > 0) + (f"{key}: " if isinstance(key, str) else "")
        known = inner(field, key) if field is not None else None
        made += _summary(known, item, (*path, key), settle, max(0, room - len(made)), depth - 1)
    return made + end
