"""Choosing a file whose contents go into a field: a path that is typed, or found in a tree of folders."""

from __future__ import annotations

import asyncio
import base64
import mimetypes
import os
import stat
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

Shape = Literal["text", "base64", "base64url", "data"]
_NAMES: dict[Shape, str] = {"text": "Text", "base64": "Base64", "base64url": "Base64 for URLs", "data": "data: URI"}


class NoContents(StudioError):
    """The file cannot be taken; says why."""


class FolderTree(DirectoryTree):
    """A tree of folders whose names do no harm; hidden files are left out."""

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
        & #problem { height: auto; color: $state-failed; }
    }
    """
    choices = (Choice("submit", "Insert", "primary"), Choice("back", "Cancel"))

    def __init__(self, name: str, field: Field | None, most: int, folder: Path | None = None) -> None:
        super().__init__()
        self._field_name = name
        self._most = most
        self._shapes = shapes(field)
        self._input = Input(placeholder="Path of a file; ~ is your home folder")
        self._tree = FolderTree(folder or Path.cwd())
        buttons = (RadioButton(_NAMES[shape], value=shape == self._shapes[0]) for shape in self._shapes)
        self._as = RadioSet(*buttons, compact=True)
        self._problem = Static(id="problem")

    def heading(self) -> str:
        return f"Insert a file into {safe(self._field_name, 50)}"

    def body(self) -> Iterable[Widget]:
        return self._input, self._tree, self._as, self._problem

    def on_mount(self) -> None:
        self._tree.focus()

    @on(DirectoryTree.FileSelected)
    def _select(self, event: DirectoryTree.FileSelected) -> None:
        """Another click or enter on the file that is chosen already takes it."""
        event.stop()
        if self._input.value == str(event.path):
            self._insert()
        self._input.value = str(event.path)

    @on(Input.Submitted)
    def _insert(self) -> None:
        file = Path(os.path.expanduser(self._input.value))
        shape = self._shapes[max(0, self._as.pressed_index)]
        self.run_worker(self._read(file, shape), group="read", exclusive=True)

    async def action_submit(self) -> None:
        self._insert()

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
    data = _read(file, most)
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


def _read(file: Path, most: int) -> bytes:
    try:
        # Opening a pipe would wait for its writer.
        handle = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(handle, "rb") as stream:
            mode = os.fstat(handle).st_mode
            if not stat.S_ISREG(mode):
                raise NoContents(f"That is {'a folder' if stat.S_ISDIR(mode) else 'a pipe or a device'}, no file.")
            data = stream.read(most + 1)
    except FileNotFoundError:
        raise NoContents("There is no such file.") from None
    except IsADirectoryError:
        raise NoContents("That is a folder, no file.") from None
    except (OSError, ValueError) as problem:
        words = problem.strerror if isinstance(problem, OSError) else ""
        raise NoContents(f"It cannot be read: {words or problem}.") from None
    if len(data) > most:
        hint = "The limit is field_file in config.toml."
        raise NoContents(f"The file is larger than the {most:,} bytes that are put into a field.", hint=hint)
    return data
