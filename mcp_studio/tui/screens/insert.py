"""Dialogs that insert something into a field: pasted text or JSON, the content of a file, a date or a time."""

from __future__ import annotations

import asyncio
import base64
import mimetypes
import re
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Literal

from rich.style import Style
from rich.text import Text as RichText
from textual import on, work
from textual.widgets import DirectoryTree, Input
from textual.widgets.tree import TreeNode

from mcp_studio.call.copying.paste import unfenced
from mcp_studio.config.table import loads_lenient
from mcp_studio.errors import LimitExceeded, StudioError
from mcp_studio.jsontext import Json, mapping
from mcp_studio.record import record
from mcp_studio.safetext import hidden_in, safe
from mcp_studio.schema.field import Field, JsonField, List, Number, Text
from mcp_studio.schema.keywords import got
from mcp_studio.schema.text import from_text
from mcp_studio.tui.form.model import takes
from mcp_studio.tui.screens.dialog import Choice, Dialog, Widgets
from mcp_studio.tui.screens.paste_call import PasteDialog
from mcp_studio.tui.views.rows import glyphs

# Text


@record(frozen=True)
class Meaning:
    """The value that a text becomes in a field."""

    value: Json
    problem: str = ""
    """Why the value does not fit the field; the person can insert it anyway."""


class Paste(PasteDialog[Meaning]):
    """Answers the value of the text in the field."""

    choices = (Choice("submit", "Insert", "primary"), Choice("back", "Cancel"))

    def __init__(self, title: str, field: Field, text: str = "") -> None:
        super().__init__(title, text)
        self._field = field
        self._found: Meaning | None = None

    def read(self, text: str) -> None:
        if not text.strip():
            self._found = None
            self.note("Paste the text here, with the key by which your terminal pastes.", "quiet")
            return
        self._found = found = meaning(self._field, text)
        problem = found.problem + " It has invisible or control characters." * hidden_in(text)
        self.note(f"It becomes {got(found.value)}. {problem}", "warn" if problem else "")

    def action_submit(self) -> None:
        if self._found is not None:
            self.dismiss(self._found)


def meaning(field: Field, text: str) -> Meaning:
    """The value of a text in a field: the text itself; else the value if typed, as JSON, or as a list of its parts."""
    if isinstance(field, Text):
        return Meaning(text.rstrip("\r\n") if len(text.splitlines()) == 1 else text)
    bare = unfenced(text.strip()).strip()
    typed = re.sub("[,_]", "", bare) if isinstance(field, Number) else bare
    ways: list[Callable[[], Json]] = [partial(from_text, field, typed), partial(loads_lenient, bare, exact=True)]
    json_like = bare[:1] in ("{", "[")
    if isinstance(field, List) and not json_like:
        ways.append(partial(_items, field, bare))
    last, problem = text, "It does not fit the field."
    for way in ways:
        try:
            value = way()
        except (ValueError, LimitExceeded) as why:
            problem = f"Invalid JSON: {why}." if json_like else problem
        else:
            if takes(field, value):
                return Meaning(value)
            last = value
    return Meaning(last, "" if takes(field, last) else problem)


def _items(field: List, bare: str) -> Json:
    """One item per line; if there is only one line, one item per part between commas."""
    lines = bare.splitlines()
    parts = [part.strip() for part in (lines if len(lines) > 1 else bare.split(",")) if part.strip()]
    return [from_text(field.item(at) or JsonField(""), part) for at, part in enumerate(parts)]


# Files


Shape = Literal["text", "base64", "base64url", "data"]


class NoContents(StudioError):
    """The file cannot be used; the message says why."""


class FolderTree(DirectoryTree):
    """A tree of folders with safe names; hidden files are left out."""

    ICON_NODE = f"{glyphs().folded} "
    ICON_NODE_EXPANDED = f"{glyphs().unfolded} "
    ICON_FILE = "  "

    def render_label(self, node: TreeNode, base_style: Style, style: Style) -> RichText:  # pyright: ignore[reportMissingTypeArgument, reportUnknownParameterType]
        label = super().render_label(node, base_style, style)
        label.plain = safe(label.plain, 200)
        return label

    def filter_paths(self, paths: Iterable[Path]) -> Iterable[Path]:
        return [path for path in paths if not path.name.startswith(".")]


class InsertFile(Dialog[str]):
    """Answers the content of a file as text, in the shape that the field's schema asks for.

    Args:
        most: the largest file in bytes.
    """

    choices = (Choice("submit", "Insert", "primary"), Choice("back", "Cancel"))

    def __init__(self, name: str, field: Field, most: int) -> None:
        super().__init__(f"Insert a file into {safe(name, 50)}")
        self._shape: Shape = shape(field)
        self._most = most
        self._input = Input(placeholder="Path of a file; ~ is your home folder", compact=True)

    def body(self) -> Widgets:
        return self._input, FolderTree(Path.cwd())

    def on_mount(self) -> None:
        words = "as text, or as base64 where it is none" if self._shape == "text" else f"as {self._shape}"
        self.note(f"It goes in {words}.", "quiet")

    @on(DirectoryTree.FileSelected)
    def select(self, event: DirectoryTree.FileSelected) -> None:
        """A second click or enter on the same file inserts it."""
        if self._input.value == str(event.path):
            self.action_submit()
        self._input.value = str(event.path)

    @on(Input.Submitted)
    @work(exclusive=True)
    async def action_submit(self) -> None:
        file = Path(self._input.value)
        with self.noting():
            self.dismiss(await asyncio.to_thread(lambda: contents(file.expanduser(), self._shape, self._most)))


def shape(field: Field) -> Shape:
    """The shape that the schema of a field asks for; text if it asks for none."""
    schema = mapping(field.schema)
    encoding = str(schema.get("contentEncoding", "")).casefold()
    format = field.format.casefold() if isinstance(field, Text) else str(schema.get("format", ""))
    if "base64url" in (encoding, format):
        return "base64url"
    if encoding == "base64" or format in ("byte", "binary", "base64"):
        return "base64"
    return "data" if format in ("uri", "uri-reference", "url", "data-uri", "data-url") else "text"


def contents(file: Path, shape: Shape, most: int) -> str:
    """The content of a file as text; base64 if it is no text. Never waits for a pipe or a device.

    Raises:
        NoContents: the file cannot be read, or is larger than `most`.
    """
    try:
        if not file.is_file():
            what = "a folder" if file.is_dir() else "a pipe or a device"
            raise NoContents(f"That is {what}, no file." if file.exists() else "There is no such file.")
        with file.open("rb") as stream:
            data = stream.read(most + 1)
    except OSError as problem:
        raise NoContents(f"The file cannot be read: {problem.strerror or problem}.") from None
    if len(data) > most:
        hint = "The limit is field_file in config.toml."
        raise NoContents(f"The file is larger than the {most:,} bytes that are put into a field.", hint=hint)
    if shape == "text":
        try:
            return data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
        except UnicodeDecodeError:
            pass
    code = base64.urlsafe_b64encode if shape == "base64url" else base64.b64encode
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    return (f"data:{kind};base64," if shape == "data" else "") + code(data).decode()


# Dates and times


Kind = Literal["date", "time", "date-time"]
_HOURS = {"in an hour": 1, "an hour ago": -1}
_DAYS = {"tomorrow": 24, "in a week": 7 * 24, "in 30 days": 30 * 24, "yesterday": -24, "a week ago": -7 * 24}


def moments(kind: Kind) -> dict[str, str]:
    """Texts in a format by their names; dates differ from now by days, times by hours."""
    hours = {"now": 0} | (_HOURS if kind != "date" else {}) | (_DAYS if kind != "time" else {})
    return {name: written(kind, datetime.now() + timedelta(hours=count)) for name, count in hours.items()}


def kind_of(format: str) -> Kind | None:
    """Whether a format is a date, a time or both; None if it is neither."""
    name = format.casefold().removeprefix("full-").removeprefix("partial-")
    known: dict[str, Kind] = {"date": "date", "time": "time"}
    return "date-time" if name in ("date-time", "datetime", "timestamp") else known.get(name)


def written(kind: Kind, at: datetime) -> str:
    """A local time in a format: a date, a time with its zone, or both (RFC 3339, 5.6)."""
    if kind == "date":
        return at.date().isoformat()
    text = at.astimezone().isoformat(timespec="seconds").replace("+00:00", "Z")
    return text if kind == "date-time" else text.split("T")[1]
