"""What a person does with earlier calls: fill the form, run, copy, delete; and the tab that lists them."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from mcp_studio.call.history import Past
from mcp_studio.catalog.listing import Entry, Ref
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, printable
from mcp_studio.tui import late, late_copy
from mcp_studio.tui.panels.history import Row
from mcp_studio.tui.panels.pane import Pane
from mcp_studio.tui.screens.copying import show
from mcp_studio.tui.screens.saved_calls import SavedCalls

if TYPE_CHECKING:
    from mcp_studio.tui.opened import Opened
    from mcp_studio.tui.screens.main import MainScreen

_BEFORE = 5
"""Values that a form had, and that can be had back, of one entry."""


class Remembering:
    """The tab History, saved calls, and the dialogs about them."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self._studio = screen.studio
        self._before: dict[str, list[Json]] = {}
        self._saved = SavedCalls(screen, self)

    # The tab

    def show(self) -> None:
        """Show what is remembered of the open entry."""
        if self._screen.calling.opened is not None:
            self._screen.run_worker(self._show(self._screen.calling.opened), group="history", exclusive=True)

    def changed(self, refs: frozenset[Ref]) -> None:
        """There are other calls of these entries than before."""
        opened = self._screen.calling.opened
        if opened is not None and opened.entry.ref in refs and self._screen.call.tab == "history":
            self.show()

    async def _show(self, opened: Opened) -> None:
        ref = opened.entry.ref
        past = await self._studio.memory.history.of(ref)
        loaded = await self._saved.load()
        view = self._screen.call.body.history if self._screen.call.body else None
        if view is None or opened is not self._screen.calling.opened:
            return
        saved = [Row("saved", saved=one) for one in loaded.calls if one.ref == ref]
        keeper = self._studio.memory.keeper
        before = [
            Row("draft", str(number), value=value, shown=keeper.without(value, opened.secrets)[0])
            for number, value in enumerate(reversed(self._before.get(opened.key, [])))
        ]
        rows = [Row("past", past=one) for one in past]
        if saved or before:
            rows = [
                *([Row("heading", "Saved"), *saved] if saved else []),
                *([Row("heading", "What the form held"), *before] if before else []),
                *([Row("heading", "Earlier calls"), *rows] if rows else []),
            ]
        view.show(rows, self._screen.studio_app.spell("save-call"))

    def wanted(self, what: str, row: Row) -> None:
        """Do what the list asks for."""
        opened, app = self._screen.calling.opened, self._screen.studio_app
        if opened is None:
            return
        if row.saved is not None:
            self._saved.wanted(what, row.saved)
        elif what == "fill":
            self.work(self._refill(opened.entry, row.past, row.value))
        elif what == "copy":
            app.copy(printable(row.past.arguments if row.past else row.shown))
        elif what in ("command", "as"):
            value = row.past.arguments if row.past else row.shown
            self._copy_as(opened.entry, value, choose=what == "as")
        elif what == "run":
            self.work(self._run_again(opened.entry, row.past, row.value))
        elif what == "delete" and row.past is not None:
            self.work(self._forget(row.past))
        elif what == "delete":
            self._before.pop(opened.key, None)
            self.show()
        else:
            app.say("This is no saved call.", "warning")

    async def _refill(self, entry: Entry, past: Past | None, value: Json) -> None:
        """Put earlier arguments into the form; what it held can be had back."""
        app = self._screen.studio_app
        if past is not None and past.large:
            app.say(past.loss, "warning")
            return
        await self.put(entry, past.arguments if past is not None else value)
        if past is not None and past.left_out:
            app.say(f"{past.loss} Type it again.", "warning")
        else:
            app.say("The form is filled. What it held stands on the tab History.")

    async def put(self, entry: Entry, value: Json) -> None:
        """Fill the form with a value."""
        drafts = self._studio.memory.drafts
        opened = late.open_entry(entry)
        now = self._screen.calling.opened
        held = now.value if now is not None and now.key == opened.key else drafts.get(opened.key)
        if held not in (None, {}, value):
            kept = self._before.setdefault(opened.key, [])
            kept[:] = [*(one for one in kept if one != held), held][-_BEFORE:]
        opened.value = {} if value is None else value
        self._saved.forget(opened.key)
        call = self._screen.call
        if now is None or now.key != opened.key or call.body is None:
            drafts.put(opened.key, opened.value, hidden=opened.secrets)
            drafts.put(f"text:{opened.key}", None)
            await self._screen.calling.open(entry, go=True)
            return
        now.value = opened.value
        call.body.fill(opened.value)  # the form can undo it
        self._screen.go_to(call)
        whole = opened.form.whole or not isinstance(opened.value, dict)
        call.post_message(Pane.TabChosen(call, "json" if whole else "form"))

    async def _run_again(self, entry: Entry, past: Past | None, value: Json) -> None:
        await self._refill(entry, past, value)
        if past is None or not (past.left_out or past.large):
            self._screen.calling.run()

    async def _forget(self, past: Past) -> None:
        try:
            await self._studio.memory.history.forget(past)
        except StudioError as error:
            self._screen.studio_app.fail(error)

    def _copy_as(self, entry: Entry, value: Json, *, choose: bool) -> None:
        """Copy an earlier call as a command line, or in the form that the person chooses."""
        app, ref = self._screen.studio_app, entry.ref
        opened = late.open_entry(entry)
        opened.value = {} if value is None else value
        try:
            uri = opened.uri() if ref.kind in ("resource", "template") else ""
        except ValueError as problem:
            app.say(f"The URI cannot be made: {problem}.", "warning")
            return
        given: Json = opened.words() if ref.kind == "prompt" else opened.value
        show(app, late_copy.subject_of(self._studio, ref, given, uri), choose=choose)

    def again(self) -> None:
        """What is saved is another thing now."""
        if self._screen.call.tab == "history":
            self.show()

    def work(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something that may ask."""
        self._screen.app.run_worker(work, group="remembering")

    # Saved calls

    def choose(self) -> None:
        """Choose one of all that are saved."""
        self.work(self._saved.choose())

    def save(self) -> None:
        """Save the call that is open."""
        self._saved.save()
