"""The tab History of pane 3: saved and earlier calls of the shown entry; and what is done with saved calls."""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import getters

from mcp_studio.call.history import Past
from mcp_studio.call.saved import Folders, Loaded, SavedCall, check_name, folders, schema_of
from mcp_studio.call.saved_arguments import fill
from mcp_studio.catalog.listing import Entry, Ref
from mcp_studio.config.model import Problem
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, printable
from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.schema.field import errors
from mcp_studio.tui.actions import bindings
from mcp_studio.tui.app import StudioApp
from mcp_studio.tui.call_draft import CallDraft, draft_of
from mcp_studio.tui.external import edit_file
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Line, Piece, cut, spread, width_of
from mcp_studio.tui.views.virtual_list import VirtualList
from mcp_studio.vault.base import beside

if TYPE_CHECKING:
    from mcp_studio.tui.panes.call import CallPane

_LOOKS = {"ok": ("ok", "ok"), "task": ("half", "warn"), "stopped": ("off", "dim"), "not sent": ("off", "dim")}
_ROOM = 8
"""Cells from which on a summary is worth showing."""
_SUMMARY = 2_000
_LONG_AGO = 300 * 86_400.0


class HistoryList(VirtualList[SavedCall | Past]):
    """Enter fills the form with the row under the cursor."""

    app = getters.app(StudioApp)
    BINDINGS = bindings("history")

    def __init__(self, ref: Ref, saved: SavedCalls) -> None:
        key = saved.app.key_of("save_call")
        empty = f"No calls yet. All are listed here, also those of the command line; {key} saves one under a name."
        super().__init__(_line, key=lambda row: row.file if isinstance(row, SavedCall) else row.id, empty=empty)
        self._ref = ref
        self._saved = saved

    def on_mount(self) -> None:
        self.reload()

    def reload(self) -> None:
        """Read it again."""
        self.run_worker(self._load(), group="history", exclusive=True)

    async def _load(self) -> None:
        past = await self.app.studio.memory.history.of(self._ref)
        saved = [one for one in (await self._saved.load()).calls if one.ref == self._ref]
        self.show([*saved, *past])

    def row_chosen(self, index: int) -> None:
        self.action_open()

    def action_open(self) -> None:
        if self.row is not None:
            self._saved.take(self.row, run=False)

    def action_repeat(self) -> None:
        if self.row is not None:
            self._saved.take(self.row, run=True)

    def action_copy(self) -> None:
        if self.row is not None:
            self.app.copy(printable(self.row.arguments), "its arguments")

    def action_copy_as(self) -> None:
        if isinstance(self.row, SavedCall):
            self.app.copy(f"mcp-studio call --saved {shlex.quote(self.row.name)}")
        elif self.row is not None:
            self._saved.take(self.row, run=False)
            self._saved.pane.action_copy_as()

    def action_edit(self) -> None:
        """Rename the saved call."""
        self._change(self._saved.rename)

    def action_open_outside(self) -> None:
        """Open the file of the saved call in the editor."""
        self._change(lambda saved: edit_file(self.app, str(saved.file)))

    def action_delete(self) -> None:
        """Delete it, after asking where it is a saved call."""
        if isinstance(self.row, Past):
            self.app.attempt(self, self._then_reload(self.app.studio.memory.history.forget(self.row)), "saved")
        else:
            self._change(self._saved.delete)

    def _change(self, work: Callable[[SavedCall], Coroutine[Any, Any, None]]) -> None:
        if isinstance(self.row, SavedCall):
            self.app.attempt(self, self._then_reload(work(self.row)), "saved")
        else:
            self.app.say("This is not a saved call.", "warning")

    async def _then_reload(self, work: Coroutine[Any, Any, None]) -> None:
        await work
        self.reload()


class SavedCalls:
    """What the call pane does with saved calls. Coroutines run in workers, as they may ask."""

    def __init__(self, pane: CallPane) -> None:
        self.pane = pane
        self._filled: dict[str, SavedCall] = {}
        """The saved call with which a form was filled, by draft key."""

    @property
    def app(self) -> StudioApp:
        """The app."""
        return self.pane.app

    @property
    def _folders(self) -> Folders:
        studio = self.app.studio
        return folders(studio.paths, Path.cwd(), studio.config.settings.calls)

    async def load(self) -> Loaded:
        """All of them, and files that cannot be used. Reads in a thread."""
        return await asyncio.to_thread(self._folders.load)

    async def commands(self) -> list[tuple[str, Callable[[], object]]]:
        """For the palette: names of saved calls, and what fills the form with each."""
        return [(one.name, partial(self.take, one, run=False)) for one in (await self.load()).calls]

    async def choose(self) -> None:
        """Choose one of all that are saved, and fill the form with it."""
        from mcp_studio.tui.screens.choose import Choose

        loaded = await self.load()
        rows: list[SavedCall | Problem] = [*loaded.calls, *loaded.failed]
        if not rows:
            self.app.say(f"No saved calls yet. {self.app.key_of('save_call')} saves the call that is shown.")
            return
        options = [(str(place), _label(row)) for place, row in enumerate(rows)]
        if chosen := await self.app.push_screen_wait(Choose("Saved calls", options)):
            row = rows[int(chosen)]
            await (edit_file(self.app, row.file) if isinstance(row, Problem) else self._use(row, run=False))

    def take(self, row: SavedCall | Past, *, run: bool) -> None:
        """Fill the form with a saved or an earlier call, or run that."""
        if isinstance(row, SavedCall):
            self.app.attempt(self.pane, self._use(row, run=run), "saved")
            return
        whole = not (row.large or row.left_out)
        if not row.large:
            self.pane.fill({} if row.arguments is None else row.arguments)
            self.pane.entry_point().focus()
        if not whole:
            self.app.say(row.loss, "warning")
        elif run:
            self.pane.action_submit()

    async def _use(self, saved: SavedCall, *, run: bool) -> None:
        """Fill the form with a saved call, or run it with its secrets, which the form never shows."""
        entry = await self._entry(saved)
        values = await self._variables(saved, secrets=run) if entry is not None else None
        if entry is None or values is None or (run and not await self._may_use_secrets(saved)):
            return
        shown = fill(saved, values, secrets=False)
        self.pane.fill(shown.arguments, entry)
        self.pane.entry_point().focus()
        draft = self.pane.draft
        if draft is None:
            return
        self._filled[draft.key] = saved
        if run:
            await self._run(saved, draft, values)
        elif shown.hidden:
            names = ", ".join(place.lstrip("/") for place in sorted(shown.hidden))
            self.app.say(f"{names}: is secret, and not in the form. Running the saved call sends it.", "warning")

    async def _entry(self, saved: SavedCall) -> Entry | None:
        """The entry that it is of; None where it is not listed, which is told."""
        manager, ref = self.app.studio.manager, saved.ref
        if ref.server not in manager.names():
            self.app.say(f"{saved.name} is for the server {ref.server}, which is not configured.", "warning")
            return None
        if manager.status(ref.server).state in ("idle", "connecting"):
            await manager.settle(ref.server)
            await manager.listed(ref.server)
        found = self.app.studio.catalog.find(ref)
        if not found:
            self.app.say(f"{ref.server} does not list {ref.name}.", "warning")
        return found[0] if found else None

    async def _variables(self, saved: SavedCall, *, secrets: bool) -> dict[str, Json] | None:
        """Ask for what it needs; None where the person does not want to."""
        from mcp_studio.tui.screens.save_call import FillIn

        asked = tuple(one for one in saved.variables if secrets or not one.secret)
        if not asked:
            return {}
        start = {one.name: one.schema["default"] for one in asked if one.has_default}
        about = saved.description or str(saved.ref)
        return await self.app.push_screen_wait(FillIn(saved.name, about, schema_of(asked), start))

    async def _run(self, saved: SavedCall, draft: CallDraft, values: dict[str, Json]) -> None:
        filled = await beside(fill, saved, values)
        for secret in filled.secrets:
            self.app.studio.manager.learn(secret)
        if not filled.hidden:
            self.pane.action_submit()
            return
        whole = draft_of(draft.entry)
        whole.value = filled.arguments
        if wrong := errors(await whole.check(self.app.studio.checker)):
            self.app.say(f"Not sent: {wrong[0].sentence}", "warning")
        else:
            self.pane.start(whole, hidden=filled.hidden)

    async def _may_use_secrets(self, saved: SavedCall) -> bool:
        """Whether it may send secrets of this computer; a file of the project is asked about once."""
        from mcp_studio.tui.screens.dialog import Confirm

        places = self._folders
        if places.agreed(saved):
            return True
        names, what = ", ".join(saved.references), printable(saved.arguments)
        text = f"{saved.file}\nis of the project, and sends to {saved.ref}:\n  {names}\n\n{what}"
        title = "A saved call uses your secrets"
        agreed = await self.app.push_screen_wait(Confirm(title, text, "Allow it as it is now"))
        if agreed:
            await asyncio.to_thread(places.agree, saved)
        return bool(agreed)

    async def save(self, draft: CallDraft) -> None:
        """Save the call that is shown."""
        from mcp_studio.tui.screens.save_call import SaveCall

        places, earlier = self._folders, self._filled.get(draft.key)
        # What nobody agreed to does not become theirs by being saved under another name.
        if earlier is not None and not await self._may_use_secrets(earlier):
            earlier = None
        written: list[SavedCall] = []

        def write(saved: SavedCall, replace: bool) -> None:
            written.append(places.write(saved, replace=replace))

        await self.app.push_screen_wait(SaveCall(draft, earlier, places, write))
        if written:
            self._filled[draft.key] = written[-1]
            self.app.say(f"Saved as {written[-1].file}.")

    async def rename(self, saved: SavedCall) -> None:
        """Ask for another name, and take it."""
        from mcp_studio.tui.screens.save_call import FillIn

        def take(value: dict[str, Json]) -> str:
            try:
                self._folders.rename(saved, check_name(str(value.get("name", "")).strip()))
            except StudioError as problem:
                return f"{problem.message} {problem.hint}"
            return ""

        schema: Json = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        title = f"Rename {saved.name}"
        await self.app.push_screen_wait(FillIn(title, str(saved.file), schema, {"name": saved.name}, take))

    async def delete(self, saved: SavedCall) -> None:
        """Delete the file, after asking."""
        from mcp_studio.tui.screens.dialog import Confirm

        title, text = f"Delete the saved call {saved.name}?", f"The file is deleted:\n{saved.file}"
        if await self.app.push_screen_wait(Confirm(title, text, "Delete", destroys=True)):
            await asyncio.to_thread(self._folders.delete, saved)


def _label(row: SavedCall | Problem) -> str:
    if isinstance(row, Problem):
        return f"{Path(row.file).name}: {row.message}"
    return f"{row.name}   {row.ref}   {row.description or row.where}"


def _line(row: SavedCall | Past, width: int, selected: bool) -> Line:
    return _saved_line(row, width) if isinstance(row, SavedCall) else _past_line(row, width)


def _saved_line(saved: SavedCall, width: int) -> Line:
    end: list[Piece] = [(f" {saved.where}", "dim")]
    name = cut(safe(saved.name, 80), max(8, width // 2), more=glyphs().more)
    pieces: list[Piece] = [(f"{glyphs().mark} ", "accent"), (name, "")]
    left = width - width_of(pieces) - width_of(end) - 2
    if left >= _ROOM:
        more = safe(saved.description, 200) or _summary(saved.arguments)
        pieces.append((f"  {cut(more, left, more=glyphs().more)}", "dim"))
    return spread(pieces, end, width)


def _past_line(past: Past, width: int) -> Line:
    sign, look = _LOOKS.get(past.kind, ("bad", "bad"))
    head: list[Piece] = [(f"{getattr(glyphs(), sign)} ", look), (f"{moment(past.at)} ", "dim")]
    if past.kind != "ok":
        head.append((f" {past.kind}", look))
    facts = [units.duration(past.ms)] if past.ms else []
    facts += [units.size(past.size)] if past.size and width > 50 else []
    end: list[Piece] = [(f" {' '.join(facts)}", "dim")] if facts else []
    left = width - width_of(head) - width_of(end) - 1
    if left >= _ROOM:
        said = f"{safe(past.said, 200)}  " if past.said else ""
        what = "too large to be kept" if past.large else _summary(past.arguments)
        lost = "  (a secret is left out)" if past.left_out else ""
        head.append((f" {cut(said + what + lost, left, more=glyphs().more)}", ""))
    return spread(head, end, width)


def _summary(value: Json) -> str:
    """A value on a line."""
    return "no arguments" if value in (None, {}) else safe(printable(value, indent=None)[:_SUMMARY], _SUMMARY)


def moment(at: float) -> str:
    """A moment in the past: the time of today, else the day."""
    now, then = time.time(), time.localtime(at)
    if time.localtime(now)[:3] == then[:3]:
        return time.strftime("%H:%M:%S", then)
    return time.strftime("%d %b" if abs(now - at) < _LONG_AGO else "%Y-%m-%d", then)
