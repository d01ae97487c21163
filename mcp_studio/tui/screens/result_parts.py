"""Actions on the parts of a result: enlarging an image, saving to files, opening in another program."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from textual import on, work
from textual.content import Content
from textual.widgets import Input, Static

from mcp_studio.errors import UsageError
from mcp_studio.jsontext import Json, mapping, pieces, text_pieces
from mcp_studio.present import blocks
from mcp_studio.present.browser import open_page
from mcp_studio.protocol.views import held_page, reach_lines, reach_of
from mcp_studio.safetext import safe
from mcp_studio.tui.app import StudioApp
from mcp_studio.tui.screens.dialog import Choice, Confirm, Dialog, Widgets, section
from mcp_studio.tui.views.image import ImageView
from mcp_studio.urls import judge

_AROUND = 9
"""Rows of the screen that an enlarged image leaves for its dialog."""
_ADDRESS = 8_192
"""Characters of an address that can be opened."""
_QUESTION = "Open this page in the browser?"
_OPENED = 20
"""Opened files that are kept, for programs that read them late."""
_ENDINGS = {
    "image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp", "image/svg+xml": "svg",
    "audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/ogg": "ogg", "application/pdf": "pdf",
    "text/markdown": "md", "text/html": "html", "text/csv": "csv", "application/json": "json", "text/plain": "txt",
}  # fmt: skip


class Picture(Dialog[None]):
    """Shows a whole image, as large as the terminal allows."""

    DEFAULT_CLASSES = "-large"

    def __init__(self, block: blocks.Block) -> None:
        super().__init__(blocks.headline(block))
        self._block = block

    def body(self) -> Widgets:
        rows = max(_AROUND, self.app.size.height - _AROUND)
        yield ImageView(partial(blocks.decode, self._block), rows_most=rows, larger=True)


# Saving


class SaveFiles(Dialog[list[Path]]):
    """Asks for a folder, and shows which files are made in it; answers those that were."""

    choices = (Choice("submit", "Save", "primary"), Choice("back", "Cancel"))

    def __init__(self, title: str, parts: Iterable[Part]) -> None:
        super().__init__(title)
        self._parts = list(parts)

    def body(self) -> Widgets:
        yield Static("Folder", classes="label")
        yield Input(str(Path.cwd()), compact=True)
        yield Static(Content.assemble(*section("Files", (f"{part.name}  {part.what}" for part in self._parts))))

    @on(Input.Submitted)
    @work(exclusive=True)
    async def action_submit(self) -> None:
        folder = self.query_one(Input).value.strip() or "."
        try:
            with self.noting():
                written = await asyncio.to_thread(lambda: write(self._parts, Path(folder).expanduser()))
                self.app.say(f"Saved {', '.join(file.name for file in written)} in {folder}.")
                self.dismiss(written)
        except ValueError as problem:
            self.note(f"Not saved: {problem}", "bad")


class Part(NamedTuple):
    """One file to write."""

    name: str
    what: str
    content: Callable[[], Iterable[bytes]]
    """Returns the data in pieces; may raise ValueError if the data cannot be decoded."""


def parts_of(result: Json, stem: str) -> Iterator[Part]:
    """The files of a result: its text, each image, sound and file, and the whole result as JSON.

    Each content is made only when its file is written; `write` runs in a thread.
    """
    found = blocks.blocks_of(result)
    texts = [block for block in found if block.kind == "text"]
    if texts:
        ending = _ENDINGS.get(texts[0].mime, "txt")
        yield Part(f"{stem}.{ending}", "the text", lambda: _encoded(_apart(texts)))
    for number, block in enumerate((block for block in found if block.data), 1):
        ending = _ENDINGS.get(block.mime.lower(), "bin")
        yield Part(f"{stem}-{number}.{ending}", blocks.headline(block), partial(_decoded, block))
    yield Part(f"{stem}.result.json", "the whole result as JSON", lambda: _encoded(pieces(result)))


def _apart(texts: Iterable[blocks.Block]) -> Iterator[str]:
    for place, block in enumerate(texts):
        yield "\n\n" * bool(place)
        yield from text_pieces(block.text)


def _encoded(texts: Iterable[str]) -> Iterator[bytes]:
    return (text.encode("utf-8", "backslashreplace") for text in texts)


def _decoded(block: blocks.Block) -> Iterable[bytes]:
    return [blocks.decode(block)]


def write(parts: Iterable[Part], folder: Path) -> list[Path]:
    """Write the files. An existing file stays, and the new file gets a number.

    Raises:
        UsageError: more than the last folder of the path is missing.
        OSError: the folder is not writable.
        ValueError: the data of a part cannot be decoded; the message names the part.
    """
    if not folder.parent.is_dir():
        raise UsageError(f"There is no folder {folder.parent}.")
    folder.mkdir(exist_ok=True)
    written: list[Path] = []
    for part in parts:
        try:
            content = part.content()
        except ValueError as problem:
            raise ValueError(f"{part.name}: {problem}") from None
        written.append(_write_new(folder, part.name, content))
    return written


def _write_new(folder: Path, name: str, content: Iterable[bytes]) -> Path:
    stem, dot, ending = name.partition(".")
    for number in range(1, 10_000):
        file = folder / (name if number == 1 else f"{stem}-{number}{dot}{ending}")
        try:
            handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError:
            continue
        with os.fdopen(handle, "wb") as stream:
            stream.writelines(content)
        return file
    raise FileExistsError(f"there are too many files called {name}")


# Opening outside


async def open_outside(app: StudioApp, block: blocks.Block) -> None:
    """Open an app's page, a link, an image or audio, or say why it cannot be opened. Runs in a worker."""
    if block.kind == "app":
        await _open_app(app, block)
    elif block.kind == "link" and block.uri.startswith(("http://", "https://")):
        await _open_link(app, block.uri)
    elif block.kind in ("image", "audio"):
        await _open_file(app, block)
    elif block.kind == "link":
        app.say("Enter reads it from the server; only http and https pages are opened in the browser.")
    else:
        app.say(f"Nothing opens this here; {app.key_of('save')} saves it.")


async def _open_link(app: StudioApp, uri: str) -> None:
    page = judge(uri)
    if page.refusal:
        app.say(page.refusal, "warning")
        return
    both = [f"The network knows it as {safe(page.ascii_host, 300)}."] if page.ascii_host != page.host else []
    lines = (f"The link leads to {safe(page.host, 300)}.", *both, *page.warnings, "", safe(uri, _ADDRESS))
    if await app.push_screen_wait(Confirm(_QUESTION, "\n".join(lines), "Open")):
        await _open(app, page.url, "The page")


async def _open_app(app: StudioApp, block: blocks.Block) -> None:
    """Open a page of MCP Apps, restricted to what it declares, and only with the person's consent."""
    reach = reach_of(mapping(block.raw))
    lines = (
        f"{safe(block.uri, 500)} is a page that the server wrote.",
        "In the browser it runs its own scripts, without the studio: it shows, but gets no data.",
        "The page may reach only what it declares:", *(f"  {safe(line, 500)}" for line in reach_lines(reach)),
    )  # fmt: skip
    if await app.push_screen_wait(Confirm(_QUESTION, "\n".join(lines), "Open")):
        await _hand_over(app, "app.html", _encoded([held_page(str(block.text), reach)]), "The page")


async def _open_file(app: StudioApp, block: blocks.Block) -> None:
    """Open images and audio of known types only, because the programs for these types are safe to start."""
    ending = _ENDINGS.get(block.mime.lower(), "")
    if not block.mime.lower().startswith(("image/", "audio/")) or ending in ("", "svg"):
        kind = block.mime or "of an unknown type"
        app.say(f"What is {kind} is not opened; {app.key_of('save')} saves it.", "warning")
        return
    try:
        data = _decoded(block)
    except ValueError as problem:
        app.say(f"The block cannot be opened: {problem}.", "warning")
        return
    await _hand_over(app, f"{block.kind}.{ending}", data, "The file")


async def _hand_over(app: StudioApp, name: str, data: Iterable[bytes], what: str) -> None:
    """Write data to the cache folder, readable only by the person, and open it from there."""

    def keep() -> Path:
        folder = app.studio.paths.cache / "opened"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for old in sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime)[:-_OPENED]:
            old.unlink(missing_ok=True)
        return _write_new(folder, name, data)

    file = await asyncio.to_thread(keep)
    await _open(app, file.as_uri(), what)


async def _open(app: StudioApp, address: str, what: str) -> None:
    if await open_page(address, app.studio.config.settings.browser):
        app.say(f"{what} is handed to the system's program.")
    else:
        app.say(f"There is no program to open it with; {app.key_of('save')} saves the result.", "warning")
