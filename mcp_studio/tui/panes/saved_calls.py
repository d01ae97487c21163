"""Saved calls of the project and of the person: fill the form with one, run, save, rename, delete, open its file."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_studio.call.saved import Folders, Loaded, SavedCall, check_name, folders, schema_of
from mcp_studio.call.saved_arguments import fill
from mcp_studio.catalog.listing import Entry
from mcp_studio.config.model import Problem
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.jsontext import Json, printable
from mcp_studio.schema.field import errors
from mcp_studio.tui.app import StudioApp
from mcp_studio.tui.external import edit_file
from mcp_studio.tui.opened import Opened, open_entry
from mcp_studio.tui.screens.choose import Choose
from mcp_studio.tui.screens.dialog import Confirm
from mcp_studio.tui.screens.fill_in import FillIn, Value
from mcp_studio.tui.screens.save_call import Draft, SaveCall
from mcp_studio.vault.base import beside

if TYPE_CHECKING:
    from mcp_studio.tui.panes.call import CallPane


class SavedCalls:
    """What the call pane does with them. Coroutines run in workers, as they may ask."""

    def __init__(self, app: StudioApp, pane: CallPane) -> None:
        self._app = app
        self._studio = app.studio
        self._pane = pane
        self._filled: dict[str, SavedCall] = {}
        """The saved call with which a form was filled, by draft key."""

    @property
    def _folders(self) -> Folders:
        return folders(self._studio.paths, Path.cwd(), self._studio.config.settings.calls)

    async def load(self) -> Loaded:
        """All of them, and files that cannot be used. Reads in a thread."""
        return await asyncio.to_thread(self._folders.load)

    async def choose(self) -> None:
        """Choose one of all that are saved, and fill the form with it."""
        loaded = await self.load()
        if not loaded.calls and not loaded.failed:
            key = self._app.key_of("save_call")
            self._app.say(f"No saved calls yet. {key} saves the call that is shown.")
            return
        rows: list[SavedCall | Problem] = [*loaded.calls, *loaded.failed]
        options = [(str(place), _line(row)) for place, row in enumerate(rows)]
        chosen = await self._app.push_screen_wait(Choose("Saved calls", options))
        if chosen:
            row = rows[int(chosen)]
            await (self.open_file(row.file) if isinstance(row, Problem) else self.use(row, run=False))

    async def use(self, saved: SavedCall, *, run: bool) -> None:
        """Fill the form with a saved call, or run it with its secrets, which the form never shows."""
        entry = await self._entry(saved)
        values = await self._variables(saved, secrets=run) if entry is not None else None
        if entry is None or values is None or (run and not await self._may_use_secrets(saved)):
            return
        shown = fill(saved, values, secrets=False)
        self._pane.preview(entry)
        self._pane.fill(shown.arguments)
        opened = self._pane.opened
        if opened is None:
            return
        self._filled[opened.key] = saved
        if run:
            await self._run(saved, opened, values)
        elif shown.hidden:
            names = ", ".join(place.lstrip("/") for place in sorted(shown.hidden))
            self._app.say(f"{names}: is secret, and not in the form. Running the saved call sends it.", "warning")

    async def _entry(self, saved: SavedCall) -> Entry | None:
        """The entry that it is of; None where it is not listed, which is told."""
        manager, ref = self._studio.manager, saved.ref
        if ref.server not in manager.names():
            self._app.say(f"{saved.name} is for the server {ref.server}, which is not configured.", "warning")
            return None
        if manager.status(ref.server).state in ("idle", "connecting"):
            await manager.settle(ref.server)
            await manager.listed(ref.server)
        found = self._studio.catalog.find(ref)
        if not found:
            self._app.say(f"{ref.server} does not list {ref.name}.", "warning")
        return found[0] if found else None

    async def _variables(self, saved: SavedCall, *, secrets: bool) -> Value | None:
        """Ask for what it needs; None where the person does not want to."""
        asked = tuple(one for one in saved.variables if secrets or not one.secret)
        if not asked:
            return {}
        start = {one.name: one.schema["default"] for one in asked if one.has_default}
        return await self._app.push_screen_wait(
            FillIn(saved.name, saved.description or str(saved.ref), schema_of(asked), start)
        )

    async def _run(self, saved: SavedCall, opened: Opened, values: Value) -> None:
        filled = await beside(fill, saved, values)
        for secret in filled.secrets:
            self._studio.manager.learn(secret)
        if not filled.hidden:
            self._pane.action_submit()
            return
        whole = open_entry(opened.entry)
        whole.value = filled.arguments
        if wrong := errors(await self._pane.problems(whole)):
            self._app.say(f"Not sent: {wrong[0].sentence}", "warning")
        else:
            self._pane.start(whole, hidden=filled.hidden)

    async def _may_use_secrets(self, saved: SavedCall) -> bool:
        places = self._folders
        if await asyncio.to_thread(places.agreed, saved):
            return True
        names, what = ", ".join(saved.references), printable(saved.arguments)
        text = f"{saved.file}\nis of the project, and sends to {saved.ref}:\n  {names}\n\n{what}"
        if not await self._app.push_screen_wait(
            Confirm("A saved call uses your secrets", text, "Allow it as it is now")
        ):
            return False
        await asyncio.to_thread(places.agree, saved)
        return True

    async def save(self, opened: Opened) -> None:
        """Save the call that is shown."""
        places, earlier = self._folders, self._filled.get(opened.key)
        # What nobody agreed to does not become theirs by being saved under another name.
        if earlier is not None and not await self._may_use_secrets(earlier):
            earlier = None
        written: list[SavedCall] = []

        def write(saved: SavedCall, replace: bool) -> SavedCall:
            written.append(places.write(saved, replace=replace))
            return written[-1]

        await self._app.push_screen_wait(SaveCall(Draft(opened, earlier, self._studio.memory.keeper, places), write))
        if written:
            self._filled[opened.key] = written[-1]
            self._app.say(f"Saved as {written[-1].file}.")

    async def rename(self, saved: SavedCall) -> None:
        """Ask for another name, and take it."""
        places = self._folders

        def take(value: dict[str, Json]) -> str:
            try:
                places.rename(saved, check_name(str(value.get("name", "")).strip()))
            except UsageError as problem:
                return f"{problem.message} {problem.hint}"
            except StudioError as problem:
                return problem.message
            return ""

        schema: Json = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        await self._app.push_screen_wait(
            FillIn(f"Rename {saved.name}", str(saved.file), schema, {"name": saved.name}, take)
        )

    async def delete(self, saved: SavedCall) -> None:
        """Delete the file, after asking."""
        text = f"The file is deleted:\n{saved.file}"
        title = f"Delete the saved call {saved.name}?"
        if await self._app.push_screen_wait(Confirm(title, text, "Delete", destroys=True)):
            await asyncio.to_thread(self._folders.delete, saved)

    async def open_file(self, file: str) -> None:
        """Open a file in the person's editor."""
        await edit_file(self._app, file)


def _line(row: SavedCall | Problem) -> str:
    return str(row) if isinstance(row, Problem) else f"{row.name}   {row.ref}   {row.description or row.where}"
