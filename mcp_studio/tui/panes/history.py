"""The tab History of pane 3: saved and earlier calls of the shown entry, and the actions on saved calls."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import getters, work

from mcp_studio.call.history import Past
from mcp_studio.call.saved import Folders, SavedCall, fill, folders
from mcp_studio.catalog.listing import Entry, Ref
from mcp_studio.jsontext import Json, printable
from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.schema.field import errors
from mcp_studio.schema.form import build
from mcp_studio.threads import beside
from mcp_studio.tui.actions import bindings
from mcp_studio.tui.app import StudioApp
from mcp_studio.tui.call_draft import CallDraft, draft_of
from mcp_studio.tui.external import edit_file
from mcp_studio.tui.views.rows import Line, Piece, VirtualList, cut, glyphs, spread

if TYPE_CHECKING:
    from mcp_studio.tui.panes.call import CallPane

_LOOKS = {"ok": ("ok", "ok"), "task": ("half", "warn"), "cancelled": ("off", "dim"), "not sent": ("off", "dim")}
_SUMMARY = 2_000


class HistoryList(VirtualList[SavedCall | Past]):
    """The calls of an entry; enter fills the form with the row under the cursor."""

    app = getters.app(StudioApp)
    BINDINGS = bindings("history")

    def __init__(self, ref: Ref, saved: SavedCalls) -> None:
        key = saved.app.key_of("save_call")
        empty = f"No calls yet. All are listed here, also those of the command line; {key} saves one under a name."
        super().__init__(self._draw_call, key=lambda row: row.id if isinstance(row, Past) else row.file, empty=empty)
        self._ref, self._saved = ref, saved

    def on_mount(self) -> None:
        self.reload()
        self._saved.tell_marks()

    @work(group="history", exclusive=True)
    async def reload(self) -> None:
        past = await self.app.studio.memory.history.of(self._ref)
        calls = (await asyncio.to_thread(self._saved.places.load)).calls
        self.show([*(one for one in calls if one.ref == self._ref), *past])

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

    def action_edit(self) -> None:
        self._change(self._saved.rename)

    def action_open_outside(self) -> None:
        """Open the file of the saved call in the editor."""
        self._change(lambda saved: edit_file(self.app, str(saved.file)))

    def action_mark(self) -> None:
        """Mark the call as a step of a workflow, or no longer."""
        if self.row is not None:
            self._saved.mark(self.row)
            self.refresh()

    def action_save(self) -> None:
        """Save what is marked as a workflow."""
        self._then_reload(self._saved.save_workflow(self.row))

    def action_delete(self) -> None:
        """Delete it, after asking where it is a saved call."""
        if isinstance(self.row, Past):
            self._then_reload(self.app.studio.memory.history.forget(self.row))
        else:
            self._change(self._saved.delete)

    def _draw_call(self, row: SavedCall | Past, width: int, selected: bool) -> Line:
        """One call; of a marked one also its number in the workflow that is being made."""
        signs, marked = glyphs(), self._saved.marked
        what = safe(printable(row.arguments, indent=None)[:_SUMMARY], _SUMMARY) if row.arguments else "no arguments"
        if isinstance(row, SavedCall):
            name = cut(safe(row.name, 80), max(8, width // 2))
            head: list[Piece] = [(f"{signs.mark} ", "accent"), (name, "")]
            end, look = f" {'pinned, ' * row.pinned}{row.where}", "dim"
            what = safe(row.description, 200) or what
        else:
            sign, look = _LOOKS.get(row.kind, ("bad", "bad"))
            head = [(f"{getattr(signs, sign)} ", look), (moment(row.at), "dim")]
            head += [(f"  {row.kind}", look)] if row.kind != "ok" else []
            end, look = f" {units.duration(row.ms)}" if row.ms else "", ""
            what = f"{safe(row.said, 200)}  {'too large to be kept' if row.large else what}".lstrip()
            what += "  (a secret is left out)" if row.left_out else ""
        head.append((f"  {what}", look))
        mark = f" {signs.marked} step {marked.index(row) + 1}" if row in marked else ""
        return spread(head, [(end, "dim"), (mark, "accent")], width)

    def _change(self, work: Callable[[SavedCall], Coroutine[Any, Any, None]]) -> None:
        if isinstance(self.row, SavedCall):
            self._then_reload(work(self.row))
        else:
            self.app.say("This is not a saved call.", "warning")

    @work(group="saved", exclusive=True)
    async def _then_reload(self, work: Coroutine[Any, Any, None]) -> None:
        await work
        self.reload()


class SavedCalls:
    """The call pane's actions on saved calls. Its coroutines run in workers, because they may open dialogs."""

    def __init__(self, pane: CallPane) -> None:
        self.pane = pane
        self.app = pane.app
        self._filled: dict[Ref, SavedCall] = {}
        """The saved call with which the form of an entry was filled."""
        self.marked: list[SavedCall | Past] = []
        """Calls of any tools that become the steps of a workflow, in the order in which they were marked."""

    @property
    def places(self) -> Folders:
        """The folders where they are; reading and writing belongs into a thread."""
        studio = self.app.studio
        return folders(studio.paths, Path.cwd(), studio.config.settings.calls)

    async def commands(self) -> list[tuple[str, Callable[[], object]]]:
        """For the palette: names of saved calls, and what fills the form with each."""
        loaded = await asyncio.to_thread(self.places.load)
        return [(one.name, partial(self.take, one, run=False)) for one in loaded.calls]

    async def choose(self) -> None:
        """Choose one of all that are saved, and fill the form with it."""
        from mcp_studio.tui.screens.dialog import Choose, Item

        calls, failed = await asyncio.to_thread(self.places.load)
        options: list[Item[SavedCall | str]] = [
            *(Item(one.name, one, f"{one.ref}   {one.description or one.where}") for one in calls),
            *(Item(Path(one.file).name, one.file, one.message) for one in failed),
        ]
        if not options:
            self.app.say(f"No saved calls yet. {self.app.key_of('save_call')} saves the call that is shown.")
        elif chosen := await self.app.push_screen_wait(Choose("Saved calls", options)):
            await (edit_file(self.app, chosen) if isinstance(chosen, str) else self._use(chosen, run=False))

    def take(self, row: SavedCall | Past, *, run: bool) -> None:
        """Fill the form with a saved or an earlier call, or run that."""
        if isinstance(row, SavedCall):
            self.pane.run_worker(self._use(row, run=run), group="saved", exclusive=True)
            return
        if not row.large:
            self.pane.fill({} if row.arguments is None else row.arguments)
            self.pane.screen.set_focus(self.pane.entry_point())
        if row.loss:
            self.app.say(row.loss, "warning")
        elif run:
            self.pane.action_submit()

    async def _use(self, saved: SavedCall, *, run: bool) -> None:
        """Fill the form with a saved call, or run it with its secrets, which the form never shows."""
        manager, ref = self.app.studio.manager, saved.ref
        if ref.server in manager.names():
            await manager.settle(ref.server)
            await manager.listed(ref.server)
        found = self.app.studio.catalog.find(ref)
        if not found:
            self.app.say(f"{saved.name} is for {ref}, which no server lists.", "warning")
            return
        if run and not await self._may_use_secrets(saved):
            return
        shown = fill(saved, secrets=False)
        self.pane.fill(shown.arguments, found[0])
        self.pane.screen.set_focus(self.pane.entry_point())
        self._filled[ref] = saved
        if run:
            await self._run(saved, found[0])
        elif shown.hidden:
            names = ", ".join(place.lstrip("/") for place in sorted(shown.hidden))
            self.app.say(f"{names}: is secret, and not in the form. Running the saved call sends it.", "warning")

    async def _run(self, saved: SavedCall, entry: Entry) -> None:
        filled = await beside(fill, saved)
        for secret in filled.secrets:
            self.app.studio.manager.redactor.learn(secret)
        if not filled.hidden:
            self.pane.action_submit()
            return
        whole = draft_of(entry)
        whole.value = filled.arguments
        if wrong := errors(await whole.check(self.app.studio)):
            self.app.say(f"Not sent: {wrong[0].sentence}", "warning")
        else:
            self.pane.start(whole, hidden=filled.hidden)

    async def _may_use_secrets(self, saved: SavedCall) -> bool:
        """Whether it may send secrets of this computer; a file of the project is asked about once."""
        from mcp_studio.tui.screens.dialog import Confirm

        places = self.places
        if places.agreed(saved):
            return True
        names, what = ", ".join(saved.references), printable(saved.arguments)
        text = f"{saved.file}\nis of the project, and sends to {saved.ref}:\n  {names}\n\n{what}"
        dialog = Confirm("A saved call uses your secrets", text, "Allow it as it is now")
        if agreed := bool(await self.app.push_screen_wait(dialog)):
            await asyncio.to_thread(places.agree, saved)
        return agreed

    async def save(self, draft: CallDraft) -> None:
        """Save the shown call."""
        from mcp_studio.tui.screens.save_call import SaveCall

        earlier = self._filled.get(draft.entry.ref)
        # A call must not get secrets that nobody has allowed by being saved under another name.
        if earlier is not None and not await self._may_use_secrets(earlier):
            earlier = None
        if saved := await self.app.push_screen_wait(SaveCall(draft, earlier, self.places)):
            self._filled[draft.entry.ref] = saved
            self.app.say(f"Saved as {saved.file}.")

    def mark(self, row: SavedCall | Past) -> None:
        """Make a call a step of the workflow that `export` writes, or no longer."""
        if row.ref.kind != "tool":
            self.app.say("A workflow calls tools only.", "warning")
        elif row in self.marked:
            self.marked.remove(row)
        else:
            self.marked.append(row)
            if isinstance(row, Past) and row.loss:
                self.app.say(row.loss, "warning")
        self.tell_marks()

    def tell_marks(self) -> None:
        """Say in the border how many calls are marked, of this and of other tools."""
        count = units.plural(len(self.marked), "marked call")
        self.pane.show_note(f"{count} · {self.app.key_of('save')} saves a workflow of them" if self.marked else "")

    async def save_workflow(self, row: SavedCall | Past | None) -> None:
        """Save the marked calls, else the one under the cursor, as a workflow."""
        from mcp_studio.tui.screens.workflow import save_workflow

        if not self.marked and row is not None:
            self.mark(row)
        rows = ((one, fill(one, secrets=False) if isinstance(one, SavedCall) else one) for one in self.marked)
        if await save_workflow(self.app, [(one.ref.server, one.ref.name, call.arguments, None) for one, call in rows]):
            self.marked.clear()
            self.tell_marks()

    async def rename(self, saved: SavedCall) -> None:
        """Ask for a new name, and rename the saved call."""
        from mcp_studio.tui.screens.save_call import FillIn

        schema: Json = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        form = FillIn(f"Rename {saved.name}", str(saved.file), build(schema, strict=True), {"name": saved.name})
        if value := await self.app.push_screen_wait(form):
            await asyncio.to_thread(self.places.rename, saved, str(value["name"]).strip())

    async def delete(self, saved: SavedCall) -> None:
        """Delete the file, after asking."""
        from mcp_studio.tui.screens.dialog import Confirm

        title, text = f"Delete the saved call {saved.name}?", f"The file is deleted:\n{saved.file}"
        if await self.app.push_screen_wait(Confirm(title, text, "Delete", destroys=True)):
            await asyncio.to_thread(self.places.delete, saved)


def moment(at: float) -> str:
    """A past time: the time of day if it is today, else the date."""
    date, _, clock = units.date_time(at).partition(" ")
    return clock if date == units.date_time(time.time())[:10] else date
