"""What helps with one field: every aid there is, with what it would do here, or why it does nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from mcp_studio.jsontext import Json, items_of, mapping, printable
from mcp_studio.record import record
from mcp_studio.schema.field import (
    Choice,
    Choices,
    Const,
    Field,
    Flag,
    JsonField,
    List,
    Map,
    Object,
    Text,
    Union,
    is_secret,
)
from mcp_studio.tui.aids.contents import asks_for_code
from mcp_studio.tui.aids.moment import Kind

AidName = Literal[
    "editor", "editor-whole", "file", "when", "uuid", "paste", "value", "absent", "reveal",
    "copy-value", "copy-pointer", "undo", "redo", "json",
]  # fmt: skip
_EXAMPLES = 8
_FORMATS: dict[str, Kind] = {
    "date": "date", "full-date": "date", "time": "time", "full-time": "time", "partial-time": "time",
    "date-time": "date-time", "datetime": "date-time", "timestamp": "date-time", "duration": "duration",
}  # fmt: skip
_UUIDS = ("uuid", "guid")


@record(frozen=True)
class Here:
    """The field that is to be helped with, and what is known of its surroundings."""

    field: Field
    has: bool = False
    """The value has something there."""
    value: Json = None
    pointer: str = ""
    editor: str = ""
    """The name of the person's editor."""
    no_editor: str = ""
    """Why there is none."""
    revealed: bool = False
    can_undo: bool = False
    can_redo: bool = False


@record(frozen=True)
class Aid:
    """One thing that can be done with the field."""

    name: AidName
    title: str
    note: str = ""
    refused: str = ""
    """Why it cannot be done here; empty when it can."""
    value: Json = None
    """What `value` puts into the field."""


def aids(here: Here) -> tuple[Aid, ...]:
    """All aids; first those that suit the field best, last those that are refused."""
    found = [*_suiting(here), *_values(here), *_always(here)]
    return tuple(sorted(found, key=lambda aid: bool(aid.refused)))


def suits(field: Field) -> AidName | None:
    """The aid that the schema of the field asks for: a date, a UUID, a file."""
    if isinstance(field, Text):
        if kind_of(field):
            return "when"
        if field.format.casefold() in _UUIDS:
            return "uuid"
        if asks_for_code(field):
            return "file"
    return None


def kind_of(field: Field) -> Kind | None:
    """Which of date, time, both and duration a field wants; None when its format says nothing of that."""
    return _FORMATS.get(field.format.casefold()) if isinstance(field, Text) else None


def text_like(field: Field) -> bool:
    """Whether text can stand in the field."""
    return isinstance(field, Text) or (isinstance(field, JsonField) and field.words)


def composite(field: Field, value: Json) -> bool:
    """Whether it is edited as JSON rather than as text."""
    if isinstance(field, JsonField):
        return not (isinstance(value, str) and field.words)
    return isinstance(field, (Object, Map, List, Union, Choices)) or isinstance(value, (dict, list))


def _suiting(here: Here) -> Iterator[Aid]:
    field = here.field
    best = suits(field)
    format = field.format if isinstance(field, Text) else ""
    text = "" if text_like(field) else "the field takes no text"
    other = text or (f"the format is {format}" if format and best in ("when", "uuid") else "")
    made = [
        Aid("when", "Date or time…", kind_of(field) or "calendar, or words such as `tomorrow 9am`"),
        Aid("uuid", "New UUID", "random"),
        Aid("file", "From a file…", "its contents, as text or base64"),
    ]
    made = [aid if aid.name == best else replace(aid, refused=other) for aid in made]
    yield from sorted(made, key=lambda aid: aid.name != best)


def _values(here: Here) -> Iterator[Aid]:
    field = here.field
    seen: list[str] = []
    if field.has_default:
        seen.append(_shown(field.default))
        yield Aid("value", f"Default: {seen[0]}", "of the schema", value=field.default)
    schema = mapping(field.schema)
    examples = [*items_of(schema.get("examples")), *([schema["example"]] if "example" in schema else [])]
    for example in examples[:_EXAMPLES]:
        if (shown := _shown(example)) not in seen:
            seen.append(shown)
            yield Aid("value", f"Example: {shown}", "of the schema", value=example)
    if not examples:
        yield Aid("value", "Example", refused="the schema has none")


def _always(here: Here) -> Iterator[Aid]:
    field, kind = here.field, "as JSON" if composite(here.field, here.value) else "as text"
    plain = "is chosen here" if isinstance(field, (Flag, Choice, Const)) else ""
    yield Aid("editor", f"Edit in {here.editor or 'an editor'}", kind, here.no_editor or plain)
    yield Aid(
        "editor-whole", f"Edit everything in {here.editor or 'an editor'}", "the whole value as JSON", here.no_editor
    )
    yield Aid("paste", "Paste…", "JSON or text; shows first what it becomes")
    if field.required:
        yield Aid("absent", "Not sent", refused="it is required" if not here.has else "")
    else:
        yield Aid("absent", "Not sent", refused="" if here.has else "it is not sent now")
    yield Aid("value", "null", refused="" if field.nullable else "null is no value of this field")
    if (empty := _empty(field)) is not None:
        yield Aid("value", *empty)
    yield Aid("reveal", "Hide it" if here.revealed else "Show it", "", "" if is_secret(field) else "it is no secret")
    nothing = "" if here.has else "there is none"
    yield Aid("copy-value", "Copy the value", "", nothing)
    yield Aid("copy-pointer", "Copy its place", here.pointer or "the whole value")
    yield Aid("undo", "Undo", "", "" if here.can_undo else "nothing was done")
    yield Aid("redo", "Redo", "", "" if here.can_redo else "nothing was undone")


def _empty(field: Field) -> tuple[str, str, str, Json] | None:
    for classes, title, value in (
        ((Text,), "Empty text", ""),
        ((List, Choices), "Empty list", []),
        ((Object, Map), "Empty object", {}),
    ):
        if isinstance(field, classes):
            return (title, "", "", value)
    return None


def _shown(value: Json) -> str:
    return printable(value, indent=None)[:200]
