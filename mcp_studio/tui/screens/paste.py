"""Pasting into a field, or editing it as JSON: what the text would be there is shown before it is taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from textual import on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import OptionList, Static, TextArea

from mcp_studio.call.copying.paste import unfenced
from mcp_studio.config.table import loads_lenient
from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, loads, printable
from mcp_studio.present.units import plural
from mcp_studio.record import record
from mcp_studio.safetext import hidden_in, safe
from mcp_studio.schema.check import equal, is_any_type
from mcp_studio.schema.field import Choices, Field, JsonField, List, Map, Number, Object, Text, Union, json_types
from mcp_studio.schema.text import from_text
from mcp_studio.tui.form.editors import AreaEditor
from mcp_studio.tui.screens.dialog import Choice, Dialog
from mcp_studio.tui.views.glyphs import glyphs


@record(frozen=True)
class Reading:
    """One meaning of pasted text."""

    words: str
    value: Json
    fits: bool = True
    """It is of a type that the field takes."""


class Paste(Dialog[Reading]):
    """Answers the meaning of the text that was taken.

    Args:
        name: of the field.
        text: what is pasted already; a text too long to be edited is only told.
        verb: what is done, for the title.
    """

    DEFAULT_CSS = """
    Paste {
        & AreaEditor { height: 10; }
        &.-short AreaEditor { height: 6; }
        & OptionList { height: auto; max-height: 5; margin: 1 0; border: none; background: $panel; }
        & #note { height: auto; }
    }
    """
    choices = (Choice("submit", "Insert", "primary"), Choice("back", "Cancel"))

    def __init__(self, name: str, field: Field, text: str = "", *, verb: str = "Paste into") -> None:
        super().__init__()
        self._field_name = name
        self._field = field
        self._verb = verb
        self._long = ""
        self._readings: tuple[Reading, ...] = ()
        self._area = AreaEditor(text)
        self._list = OptionList(compact=True)
        self._note = Static(id="note", classes="quiet")

    def heading(self) -> str:
        return f"{self._verb} {safe(self._field_name, 60)}"

    def body(self) -> Iterable[Widget]:
        return self._area, self._list, self._note

    def on_mount(self) -> None:
        self._area.focus()
        self._area.select_all()  # what is pasted or typed now comes instead of it
        self._read(self._area.text)

    @on(TextArea.Changed)
    def changed(self, event: TextArea.Changed) -> None:
        event.stop()
        if self._area.text or not self._long:
            self._long = ""
            self._read(self._area.text)

    @on(AreaEditor.TooLong)
    def keep(self, event: AreaEditor.TooLong) -> None:
        """What is too long for an editor is kept beside it."""
        event.stop()
        self._long = event.text
        self._area.text = ""
        self._read(event.text)

    def _read(self, text: str) -> None:
        self._readings = readings(self._field, text)
        self._list.clear_options()
        self._list.add_options(Content(f"{about(one.value)}, read as {one.words}") for one in self._readings)
        self._list.display = bool(self._readings)
        self._list.action_first()
        notes: list[str] = []
        if not self._readings:
            notes.append("Paste the text here, with the key by which your terminal pastes.")
        elif problem := json_problem(text, self._field):
            notes.append(f"{glyphs().bad} {safe(problem, 200)}")
        elif not self._readings[0].fits:
            notes.append(f"{glyphs().warning} The field is for another type.")
        if hidden_in(text):
            notes.append(f"{glyphs().warning} It has invisible or control characters.")
        self._note.set_class(bool(self._readings), "warn")
        self._note.update(Content("\n".join(notes)))

    def action_submit(self) -> None:
        if self._readings:
            self.dismiss(self._readings[self._list.highlighted or 0])


LARGEST = 8_000_000
"""Characters that are read."""


def readings(field: Field, text: str) -> tuple[Reading, ...]:
    """The meanings of a text in a field, the best first; equal values once. Empty for empty text."""
    bare = unfenced(text[:LARGEST].strip()).strip()
    found: list[Reading] = []
    for reading in _all(field, text[:LARGEST], bare) if bare else ():
        if not any(type(reading.value) is type(one.value) and equal(reading.value, one.value) for one in found):
            found.append(reading)
    found.sort(key=lambda reading: not reading.fits)
    return tuple(found)


def _all(field: Field, text: str, bare: str) -> Iterator[Reading]:
    parsed = list(_parsed(bare))
    if isinstance(field, Text):
        yield from (Reading("the text of a JSON string", one) for one in parsed if isinstance(one, str))
        one_line = "\n" not in text.rstrip("\r\n")
        yield Reading("text", text.rstrip("\r\n") if one_line else text)
    elif not isinstance(field, (List, Map, Object, Union)):
        grouped = bare.replace(",", "").replace("_", "") if isinstance(field, Number) else bare
        try:
            yield Reading("typed", from_text(field, grouped))
        except ValueError:
            pass
    for value in parsed:
        yield Reading("JSON", value, takes(field, value))
    if isinstance(field, (List, Choices)):
        yield from _lines(field, bare)
    if not isinstance(field, Text):
        yield Reading("text", text, takes(field, text))


def _parsed(bare: str) -> Iterator[Json]:
    """The text as JSON, strict or with comments and trailing commas."""
    lenient = bare[0] in '{["' or bare.startswith(("//", "/*"))
    for read in (lambda: loads(bare, exact=True), lambda: loads_lenient(bare, exact=True))[: 1 + lenient]:
        try:
            yield read()
            return
        except (JsonProblem, LimitExceeded):
            continue


def _lines(field: List | Choices, bare: str) -> Iterator[Reading]:
    """Each line an item, or each part between commas."""
    lines = [line.strip() for line in bare.splitlines() if line.strip()]
    parts = [part.strip() for part in bare.split(",") if part.strip()] if len(lines) == 1 else []
    for words, texts in (("parts between commas", parts), ("lines", lines)):
        if len(texts) > 1 or words == "lines":
            known = [
                (field.item(at) if isinstance(field, List) else Text("")) or JsonField("") for at in range(len(texts))
            ]
            try:
                values, fits = [from_text(item, text) for item, text in zip(known, texts, strict=True)], True
            except ValueError:
                values, fits = list[Json](texts), False
            yield Reading(f"{len(texts)} {words}" if len(texts) > 1 else "one item", values, fits)


def takes(field: Field, value: Json) -> bool:
    """Whether the field is for values of this type; what is in it is for the check."""
    if value is None:
        return field.nullable or (isinstance(field, JsonField) and not field.types)
    kinds = json_types(field)
    return not kinds or is_any_type(kinds, value)


def json_problem(text: str, field: Field) -> str:
    """Why a text that is meant as JSON is none; empty where it is, or can be something else."""
    bare = text.strip()
    if isinstance(field, Text) or bare[:1] not in ("{", "["):
        return ""
    try:
        loads_lenient(unfenced(bare))
    except (JsonProblem, LimitExceeded) as problem:
        return f"invalid JSON: {problem}"
    return ""


def about(value: Json) -> str:
    """A value in a few words."""
    if isinstance(value, (dict, list)):
        size = len(value)  # pyright: ignore[reportUnknownArgumentType]
        return f"Object with {plural(size, 'member')}" if isinstance(value, dict) else f"List of {plural(size, 'item')}"
    if isinstance(value, str):
        return f"Text of {plural(len(value), 'character')}"
    return "Null" if value is None else safe(printable(value), 60)
