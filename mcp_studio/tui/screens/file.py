"""Choosing a file whose contents go into a field: a path that is typed, or found in a tree of folders."""

from __future__ import annotations

import asyncio
import base64
import mimetypes
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from rich.style import Style
from rich.text import Text as RichText
from textual import on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import DirectoryTree, Input, RadioButton, RadioSet, Static
from textual.widgets.tree import TreeNode

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import mapping
from mcp_studio.safetext import safe
from mcp_studio.schema.field import Field, Text
from mcp_studio.tui.screens.dialog import Choice, Dialog
from mcp_studio.tui.views.glyphs import glyphs

Shape = Literal["text", "base64", "base64url", "data"]
_NAMES: dict[Shape, str] = {"text": "Text", "base64": "Base64", "base64url": "Base64 for URLs", "data": "data: URI"}


class NoContents(StudioError):
    """The file cannot be taken; says why."""


class FolderTree(DirectoryTree):
    """A tree of folders whose names do no harm; hidden files are left out."""

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
    """Answers the text that goes into the field.

    Args:
        name: of the field.
        most: bytes of a file that are put into a field.
    """

    DEFAULT_CSS = """
    InsertFile {
        & FolderTree { height: 12; margin: 1 0; background: $surface; }
        &.-short FolderTree { height: 6; }
        & RadioSet { layout: horizontal; width: auto; height: 1; border: none; background: transparent; padding: 0; }
        & RadioButton { margin-right: 2; }
        & #problem { height: auto; color: $state-failed; }
    }
    """
    choices = (Choice("submit", "Insert", "primary"), Choice("back", "Cancel"))

    def __init__(self, name: str, field: Field | None, most: int) -> None:
        super().__init__()
        self._field_name = name
        self._most = most
        self._shapes = shapes(field)
        self._input = Input(placeholder="Path of a file; ~ is your home folder", compact=True)
        buttons = (RadioButton(_NAMES[shape], value=shape == self._shapes[0]) for shape in self._shapes)
        self._as = RadioSet(*buttons, compact=True)
        self._problem = Static(id="problem")

    def heading(self) -> str:
        return f"Insert a file into {safe(self._field_name, 50)}"

    def body(self) -> Iterable[Widget]:
        return self._input, FolderTree(Path.cwd()), self._as, self._problem

    def on_mount(self) -> None:
        self._input.focus()

    @on(DirectoryTree.FileSelected)
    def select(self, event: DirectoryTree.FileSelected) -> None:
        """Another click or enter on the file that is chosen already takes it."""
        event.stop()
        if self._input.value == str(event.path):
            self.action_submit()
        self._input.value = str(event.path)

    @on(Input.Submitted)
    def action_submit(self) -> None:
        file = Path(os.path.expanduser(self._input.value))
        shape = self._shapes[max(0, self._as.pressed_index)]
        self.run_worker(self._read(file, shape), group="read", exclusive=True)

    async def _read(self, file: Path, shape: Shape) -> None:
        try:
            self.dismiss(await asyncio.to_thread(contents, file, shape, self._most))
        except NoContents as problem:
            self._problem.update(Content(safe(f"{problem.message} {problem.hint}", 300).strip()))


def shapes(field: Field | None) -> tuple[Shape, ...]:
    """The shapes that make sense for a field, the one that its schema asks for first; text where it asks for none."""
    schema = mapping(field.schema if field is not None else None)
    coded = str(schema.get("contentEncoding", "")).casefold()
    format = field.format.casefold() if isinstance(field, Text) else str(schema.get("format", ""))
    if "base64url" in (coded, format):
        return ("base64url", "base64", "text")
    if coded == "base64" or format in ("byte", "binary", "base64"):
        return ("base64", "text")
    if format in ("uri", "uri-reference", "url", "data-uri", "data-url"):
        return ("data", "text", "base64")
    return ("text", "base64", "data")


def contents(file: Path, shape: Shape, most: int) -> str:
    """The text that goes into the field. Never waits for a pipe or a device.

    Raises:
        NoContents: it cannot be read, is larger than `most`, or is no text where text is wanted.
    """
    try:
        if not file.is_file():
            if file.exists():
                raise NoContents(f"That is {'a folder' if file.is_dir() else 'a pipe or a device'}, no file.")
            raise NoContents("There is no such file.")
        with file.open("rb") as stream:
            data = stream.read(most + 1)
    except OSError as problem:
        raise NoContents(f"The file cannot be read: {problem.strerror or problem}.") from None
    if len(data) > most:
        hint = "The limit is field_file in config.toml."
        raise NoContents(f"The file is larger than the {most:,} bytes that are put into a field.", hint=hint)
    if shape == "text":
        utf16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        try:
            return data.decode("utf-16" if utf16 else "utf-8-sig")
        except UnicodeDecodeError:
            raise NoContents("The file is no text in UTF-8 or UTF-16.", hint="Take it as base64.") from None
    if shape == "data":
        kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        return f"data:{kind};base64,{base64.b64encode(data).decode()}"
    return (base64.urlsafe_b64encode if shape == "base64url" else base64.b64encode)(data).decode()
