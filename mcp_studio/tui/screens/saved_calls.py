"""What a person does with saved calls: fill the form, run, save, rename, delete, open the file."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, cast

from mcp_studio.call.saved import Folders, Loaded, SavedCall, check_name, folders, schema_of
from mcp_studio.call.saved_arguments import fill
from mcp_studio.catalog.listing import Entry
from mcp_studio.config.model import Problem
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.jsontext import Json, printable
from mcp_studio.safetext import safe
from mcp_studio.schema.field import errors
from mcp_studio.schema.place import named
from mcp_studio.tui import late
from mcp_studio.tui.aids import away, external
from mcp_studio.tui.screens.ask_dialog import AskDialog
from mcp_studio.tui.screens.save_call import SaveCall, Subject
from mcp_studio.tui.screens.saved_choice import Chosen, SavedChoice
from mcp_studio.vault.base import beside

if TYPE_CHECKING:
    from mcp_studio.tui.opened import Opened
    from mcp_studio.tui.screens.main import MainScreen
    from mcp_studio.tui.screens.remembering import Remembering


class SavedCalls:
    """Saved calls of the project and of the person."""

    def __init__(self, screen: MainScreen, remembering: Remembering) -> None:
        self._screen = screen
        self._studio = screen.studio
        self._remembering = remembering
        self._filled: dict[str, SavedCall] = {}
        """The saved call with which a form was filled, by draft key."""

    def forget(self, key: str) -> None:
        """A form is filled with something else."""
        self._filled.pop(key, None)

    async def choose(self) -> None:
        """Choose one of all that are saved."""
        loaded = await self.load()
        if not loaded.calls and not loaded.failed:
            key = self._screen.studio_app.spell("save-call")
            self._screen.studio_app.say(f"Nothing is saved yet. {key} saves the call that is open.")
            return
        chosen = cast("Chosen | None", await self._screen.app.push_screen_wait(SavedChoice(loaded)))
        if chosen is None:
            return
        if isinstance(chosen.row, Problem):
            await self._edit_file(chosen.row.file)
        else:
            self.wanted(chosen.what, chosen.row)

    def wanted(self, what: str, saved: SavedCall) -> None:
        """Do what the list or the chooser asks for."""
        match what:
            case "fill" | "run":
                self._remembering.work(self._use(saved, run=what == "run"))
            case "rename":
                self._remembering.work(self._rename(saved))
            case "delete":
                self._remembering.work(self._delete(saved))
            case "open":
                self._remembering.work(self._edit_file(str(saved.file)))
            case "command" | "as":
                self._screen.studio_app.copy(f"mcp-studio call --saved {shlex.quote(saved.name)}")
            case _:
                self._screen.studio_app.copy(printable(saved.arguments))

    async def _use(self, saved: SavedCall, *, run: bool) -> None:
        """Fill the form with a saved call, or run it."""
        app, manager = self._screen.studio_app, self._studio.manager
        if saved.ref.server not in manager.names():
            app.say(f"{saved.name} is for the server {saved.ref.server}, which is not configured.", "warning")
            return
        if manager.status(saved.ref.server).state in ("idle", "connecting"):
            await manager.settle(saved.ref.server)
            await manager.listed(saved.ref.server)
        entries = self._studio.catalog.find(saved.ref)
        if not entries:
            app.say(f"{saved.ref.server} does not list {saved.ref.name}, or not yet.", "warning")
            return
        values = await self._variables(saved, secrets=run)
        if values is None:
            return
        if run:
            await self._run_saved(saved, entries[0], values)
            return
        filled = fill(saved, values, secrets=False)
        await self._remembering.put(entries[0], filled.arguments)
        self._filled[self._key] = saved
        if filled.hidden:
            names = ", ".join(place.lstrip("/") for place in sorted(filled.hidden))
            app.say(f"{names}: is secret, and not in the form. Running the saved call itself sends it.", "warning")

    @property
    def _key(self) -> str:
        opened = self._screen.calling.opened
        return opened.key if opened else ""

    async def _variables(self, saved: SavedCall, *, secrets: bool) -> dict[str, Json] | None:
        """Ask for what it needs; None where the person does not want to."""
        asked = tuple(one for one in saved.variables if secrets or not one.secret)
        if not asked:
            return {}
        start = {one.name: one.schema["default"] for one in asked if one.has_default}
        about = saved.description or f"{saved.ref.server}.{saved.ref.name}"
        dialog = AskDialog(saved.name, about, schema_of(asked), start)
        return cast("dict[str, Json] | None", await self._screen.app.push_screen_wait(dialog))

    async def _run_saved(self, saved: SavedCall, entry: Entry, values: dict[str, Json]) -> None:
        """Run it with its secrets, which the form never shows."""
        app, calling = self._screen.studio_app, self._screen.calling
        if not await self._may_use_secrets(saved):
            return
        try:
            filled = await beside(fill, saved, values)
        except StudioError as error:
            app.fail(error)
            return
        for secret in filled.secrets:
            self._studio.manager.learn(secret)
        if not filled.hidden:
            await self._remembering.put(entry, filled.arguments)
            self._filled[self._key] = saved
            calling.run()
            return
        await self._remembering.put(entry, fill(saved, values, secrets=False).arguments)
        self._filled[self._key] = saved
        whole = late.open_entry(entry)
        whole.value = filled.arguments
        if wrong := errors(await calling.problems(whole)):
            where = named(wrong[0].pointer, whole.value)
            app.say(f"Not sent: {safe(where, 80)} {safe(wrong[0].message, 300)}", "warning")
        elif calling.running:
            app.say("It is still running; esc stops it.", "warning")
        elif await calling.connected(entry.ref.server):
            calling.start(whole, hidden=filled.hidden)

    async def _may_use_secrets(self, saved: SavedCall) -> bool:
        places = self._folders
        if await asyncio.to_thread(places.agreed, saved):
            return True
        text = (
            f"{saved.file}\nis of the project, and sends to {saved.ref.server}.{saved.ref.name}:\n"
            f"  {', '.join(saved.references)}\n\n"
            f"{printable(saved.arguments)}\n\nMay it, as it is now?"
        )
        if not await self._agreed("A saved call uses your secrets", text):
            return False
        await asyncio.to_thread(places.agree, saved)
        return True

    def save(self) -> None:
        """Save the call that is open."""
        opened = self._screen.calling.opened
        if opened is None:
            self._screen.studio_app.say("Nothing is open that could be saved.", "warning")
        elif problems := self._screen.call.unreadable():
            where = safe(named(problems[0].pointer, opened.value), 80)
            self._screen.studio_app.say(f"Not saved: {where} is no JSON yet.", "warning")
        else:
            self._remembering.work(self._save(opened))

    async def _save(self, opened: Opened) -> None:
        places = self._folders
        earlier = self._filled.get(opened.key)
        # What nobody agreed to does not become theirs by being saved under another name.
        if earlier is not None and not await self._may_use_secrets(earlier):
            earlier = None
        subject = Subject(opened, earlier, self._studio.memory.keeper, places)
        written: list[SavedCall] = []

        def write(saved: SavedCall, replace: bool) -> SavedCall:
            written.append(places.write(saved, replace=replace))
            return written[-1]

        await self._screen.app.push_screen_wait(SaveCall(subject, write))
        if written:
            self._filled[opened.key] = written[-1]
            self._screen.studio_app.say(f"Saved as {written[-1].file}.")
            self._remembering.again()

    async def _rename(self, saved: SavedCall) -> None:
        places = self._folders

        def take(value: dict[str, Json]) -> str:
            try:
                places.rename(saved, check_name(str(value.get("name", "")).strip()))
            except UsageError as problem:
                return f"{problem.message} {problem.hint}"
            except StudioError as problem:
                return problem.message
            return ""

        schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        dialog = AskDialog(f"Rename {saved.name}", str(saved.file), schema, {"name": saved.name}, take)
        await self._screen.app.push_screen_wait(dialog)
        self._remembering.again()

    async def _delete(self, saved: SavedCall) -> None:
        text = f"The file is deleted:\n{saved.file}"
        if not await self._agreed(f"Delete the saved call {saved.name}?", text):
            return
        try:
            await asyncio.to_thread(self._folders.delete, saved)
        except StudioError as error:
            self._screen.studio_app.fail(error)
        self._remembering.again()

    async def _edit_file(self, file: str) -> None:
        """Open a file in the person's editor."""
        app = self._screen.studio_app
        try:
            editor = external.find_editor(self._studio.config.settings.editor)
            await away.run_away(app, (*editor.argv, file))
        except StudioError as error:
            app.say(f"{error.message} {error.hint} The file is {file}.", "warning")
        except OSError as problem:
            app.say(f"{problem.strerror or problem}. The file is {file}.", "error")
        self._remembering.again()

    async def _agreed(self, heading: str, text: str) -> bool:
        return bool(await self._screen.app.push_screen_wait(late.confirm(heading, text)))

    @property
    def _folders(self) -> Folders:
        return folders(self._studio.paths, Path.cwd(), self._studio.config.settings.calls)

    async def load(self) -> Loaded:
        return await asyncio.to_thread(lambda: self._folders.load())
