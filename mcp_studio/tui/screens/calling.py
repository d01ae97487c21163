"""What is done with the entry that is open: keeping what is typed, checking, running, showing what came back."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from mcp_studio.call.call import Call, Succeeded, ToolFailed
from mcp_studio.catalog.listing import Entry
from mcp_studio.jsontext import Json
from mcp_studio.present import outcomes, units
from mcp_studio.protocol.tasks import support_of
from mcp_studio.protocol.views import ToolView
from mcp_studio.safetext import safe
from mcp_studio.schema.field import SchemaProblem, errors
from mcp_studio.schema.place import named
from mcp_studio.tui import late, task_words
from mcp_studio.tui.kept import Kept
from mcp_studio.tui.panels.pane import Pane
from mcp_studio.tui.screens.completing import Completing
from mcp_studio.tui.screens.copying import Copying
from mcp_studio.tui.screens.live_check import LiveCheck
from mcp_studio.tui.screens.patience import Patience

if TYPE_CHECKING:
    from mcp_studio.catalog.listing import Change
    from mcp_studio.tui.opened import Opened
    from mcp_studio.tui.screens.main import MainScreen
    from mcp_studio.tui.screens.remembering import Remembering


class Calling:
    """The open entry and its calls."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self._studio = screen.studio
        self.opened: Opened | None = None
        self._patience = Patience(screen)
        self._live = LiveCheck(screen)
        self._calls = Kept()
        self._refused: Json = None
        self._changes: dict[str, Change] = {}
        """What has changed, by draft key: still shown when the person comes back to it."""
        self._completing = Completing(screen)
        self._tasked: set[str] = set()  # what is to be run as a task, by draft key
        self.home: Pane = screen.catalog
        screen.result.drafts = self._studio.memory.drafts
        self.copying = Copying(screen)

    @cached_property
    def remembering(self) -> Remembering:
        """Earlier calls, and saved ones."""
        return late.remembering(self._screen)

    # The open entry

    async def open(self, entry: Entry, *, go: bool, fresh: bool = False) -> None:
        """Show an entry in the call pane, with what was typed into it before unless it is to be `fresh`."""
        drafts = self._studio.memory.drafts
        opened = self.opened = late.open_entry(entry)
        if not fresh and (draft := drafts.get(opened.key)) is not None:
            opened.value = draft
        self._refused = None
        self._look(opened)
        await self._screen.call.show(
            opened, {} if fresh else drafts.get(f"text:{opened.key}") or {}, self._completing.of(opened)
        )
        self._show_result()
        self.state_changed()
        if go:
            self.home = self._screen.call
            self._screen.go_to(self._screen.call)

    async def show_ended(self, entry: Entry, call: Call) -> None:
        """Show an entry and what came of an earlier call of it."""
        await self.open(entry, go=False)
        if self.opened is not None:
            self._calls.put(self.opened.key, call)
            self._show_result()
            if self._screen.result.mounting is not None:
                await self._screen.result.mounting  # a viewer that is not there yet takes no focus
            self._screen.go_to(self._screen.result)

    def switch_task(self) -> None:
        """Run the open tool as a task, or not, where it leaves that to us."""
        opened = self.opened
        if opened is None or opened.support != "optional":
            self._screen.studio_app.say(task_words.why_no_switch(opened.support if opened else ""), "warning")
            return
        opened.as_task = not opened.as_task
        (self._tasked.add if opened.as_task else self._tasked.discard)(opened.key)
        self.state_changed()

    def leave(self) -> None:
        """Let the task that runs here go on without anybody who waits for it."""
        if self.call is None or not self.call.leave():
            self._screen.studio_app.say("No task is running here.", "warning")

    def edited(self, value: Json, pending: Mapping[str, str]) -> None:
        """The value is another one; it is kept at once, and so is text that is no JSON yet."""
        if self.opened is not None:
            self.opened.value = value
            self._refused = None
            self._studio.memory.drafts.put(self.opened.key, value, hidden=self.opened.secrets)
            unread = frozenset(pending) if self.opened.hides else frozenset[str]()
            self._studio.memory.drafts.put(f"text:{self.opened.key}", dict(pending) or None, hidden=unread)
            self._live.later(self.opened)

    def _look(self, opened: Opened) -> None:
        """The person sees the entry as it is now: it is marked no more, but what has changed is still told."""
        ref = opened.entry.ref
        if opened.change is not None and opened.change.kind == "changed":
            self._changes[opened.key] = opened.change
        opened.change = opened.change or self._changes.get(opened.key)
        if ref.server in self._studio.manager.names():
            modern = self._studio.manager.status(ref.server).modern
            opened.mirrors = modern and self._studio.manager.config(ref.server).kind == "http"
            self._studio.manager.look(ref.server, ref.kind)
        self._studio.catalog.acknowledge(ref)

    def state_changed(self) -> None:
        """The server of the open entry may be in another state, or describe the entry in another way."""
        if self.opened is None:
            return
        manager, name = self._studio.manager, self.opened.entry.ref.server
        status = manager.status(name) if name in manager.names() else None
        found = self._studio.catalog.find(self.opened.entry.ref)
        same = next((entry for entry in found if entry.view.raw == self.opened.entry.view.raw), None)
        if same is not None:
            self.opened.entry = same
        elif found:
            self._screen.run_worker(self._redefined(found[0]), group="open", exclusive=True)
        view = self.opened.entry.view
        if status is not None and status.version and isinstance(view, ToolView):
            self.opened.support = support_of(view.raw, status.version, status.capabilities)
            self.opened.as_task = self.opened.support == "optional" and self.opened.key in self._tasked
        self._screen.call.show_state(status, bool(found), self.running and not self.cancellable)

    async def _redefined(self, entry: Entry) -> None:
        """The server has changed the open entry: the form is made anew, what was typed stays."""
        if self.opened is None or self.opened.entry.ref != entry.ref:
            return
        value, self.opened = self.opened.value, late.open_entry(entry)
        self.opened.value = value
        self._look(self.opened)
        panel = self._screen.call
        await panel.show(self.opened, panel.pending, self._completing.of(self.opened), again=True)
        self._screen.studio_app.say(f"{safe(entry.ref)} has another definition now.", "warning")

    # Running

    @property
    def call(self) -> Call | None:
        """The newest call of the open entry."""
        return self._calls.get(self.opened.key) if self.opened else None

    @property
    def running(self) -> bool:
        """Whether the open entry is being run."""
        return self.call is not None and self.call.outcome is None

    @property
    def cancellable(self) -> bool:
        """Whether Esc stops it: never a call that waits for the person's answer."""
        return (call := self.call) is not None and call.outcome is None and not call.asking

    def run(self, *, fresh: bool = False) -> None:
        """Run what is open, once it has been checked; `fresh` asks the server even if a kept answer would do."""
        app = self._screen.studio_app
        if self.opened is None:
            app.say("Nothing is open yet. Choose something in the catalog (2) and press enter.", "warning")
        elif self.running:
            app.say("It is still running: pane 4 says what it waits for, and how it is stopped.", "warning")
        elif self.opened.entry.excluded:
            app.say(f"It must not be used: {safe(self.opened.entry.problem)}", "warning")
        else:
            self._screen.run_worker(self._check_and_run(self.opened, fresh), group="call", exclusive=True)

    async def _check_and_run(self, opened: Opened, fresh: bool) -> None:
        problems = self._screen.call.unreadable() or await self.problems(opened)
        wrong = errors(problems)
        if wrong and (self._refused != (opened.value,) or self._screen.call.unreadable()):
            self._refuse(opened, wrong)
            return
        self._screen.call.show_problems(problems)
        if await self.connected(opened.entry.ref.server):
            self.start(opened, fresh)

    async def problems(self, opened: Opened) -> tuple[SchemaProblem, ...]:
        """What the fields know to be wrong with a value, and what only its whole schema knows."""
        known = opened.problems()
        whole = await self._studio.checker.check(opened.schema, opened.value) if opened.schema is not None else ()
        return (*known, *(problem for problem in whole if problem.pointer not in {one.pointer for one in known}))

    async def connected(self, name: str) -> bool:
        """Wait for a server that is on its way; False when the person has gone on meanwhile."""
        manager, opened = self._studio.manager, self.opened
        if name in manager.names() and manager.status(name).state in ("idle", "connecting"):
            self._screen.studio_app.say(f"It is sent as soon as {safe(name, 60)} is connected.")
            await manager.settle(name)
        return opened is self.opened

    def _refuse(self, opened: Opened, errors: list[SchemaProblem]) -> None:
        self._screen.call.show_problems(errors)
        self._screen.call.focus_problem(errors[0])
        first = errors[0]
        what = f"{safe(named(first.pointer, opened.value), 80)} {safe(first.message, 300)}".strip().rstrip(".")
        more = f" and {units.plural(len(errors) - 1, 'more error')}" if len(errors) > 1 else ""
        again = "" if self._screen.call.unreadable() else " The same key again sends it all the same."
        self._screen.studio_app.say(f"Not sent: {what}{more}.{again}", "warning")
        self._refused = (opened.value,)

    def start(self, opened: Opened, fresh: bool = False, hidden: frozenset[str] = frozenset()) -> None:
        """Run an entry as it is; a value with secrets of which the form knows nothing (`hidden`) becomes no draft."""
        value = None if opened.entry.ref.kind == "resource" else opened.value
        self.follow(opened, self._patience.start(opened, fresh), value, opened.secrets | hidden)
        if not hidden:
            self._studio.memory.drafts.put(opened.key, opened.value, hidden=opened.secrets)

    def follow(self, opened: Opened, call: Call, value: Json, secret: frozenset[str]) -> None:
        """Show a call of an entry from its beginning on, and remember it with the value that it was begun with."""
        self._calls.put(opened.key, call)
        call.changed.connect(self._call_changed)
        self._studio.memory.history.follow(call, opened.entry.ref, value, origin="studio", hidden=secret)
        if opened.entry.ref.kind == "template":  # the studio knows of the address that came of it only
            self._studio.usage.ran(opened.entry.ref)
        self._show_result()

    @property
    def kept(self) -> tuple[Call, ...]:
        """The newest call of each entry, newest first."""
        return self._calls.newest_first

    def begin(self, opened: Opened) -> Call:
        """Start one of many calls of an entry, allowed already; nothing is kept or shown of it."""
        return self._patience.start(opened, fresh=True, approved=True)

    def wanted(self, what: str) -> None:
        """Do what the call or the result pane asks for."""
        match what:
            case "again":
                if not self._screen.serving.ending.again(self.call):
                    self.run(fresh=True)
            case "cancel":
                self.cancel()
            case "command" | "as" | "paste":
                self.copying.wanted(what)
            case "deadline":
                self._patience.choose()
            case "clear":
                self.clear()
            case "watch":
                self._screen.watching.switch_open()
            case "legacy":
                self._screen.serving.offer_legacy(self.call)
            case "history":
                self.remembering.show()
            case _:
                self.save()

    def clear(self) -> None:
        """Forget what was typed."""
        if self.opened is not None:
            self._studio.memory.drafts.put(self.opened.key, None)
            self._studio.memory.drafts.put(f"text:{self.opened.key}", None)
            self._screen.run_worker(self.open(self.opened.entry, go=False, fresh=True), group="open", exclusive=True)

    def save(self) -> None:
        """Write the result to files."""
        if (call := self.call) is not None and isinstance(call.outcome, (Succeeded, ToolFailed)):
            self._screen.app.push_screen(late.save_dialog(call.ref, call.outcome.result))
        else:
            self._screen.studio_app.say("There is no result to save.", "warning")

    def cancel(self) -> None:
        """Stop what is running."""
        if self.running and self.call is not None:
            self.call.cancel()
        else:
            self._screen.studio_app.say("Nothing is running here.")

    def _call_changed(self, call: Call) -> None:
        if call is self.call:
            self._screen.call_later(self._show_result)
        elif call.outcome is not None and call.checked:
            key = self._screen.studio_app.spell("server-sign-in")
            self._screen.studio_app.say(f"{call.subject}: {outcomes.outcome_line(call.outcome, key=key)[1]}")

    def _show_result(self) -> None:
        self._screen.result.show(self.opened, self.call)
        self._screen.arranging.show_keys()
        self.state_changed()
        if self.running:
            self._screen.pulse.resume()

    def tick(self) -> bool:
        """Elapsed time and progress move on; False when nothing runs."""
        if self.running:
            self._screen.result.tick()
        return self.running
