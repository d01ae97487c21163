"""Pane 3: one entry of the catalog, its form, and its calls."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Button, Checkbox, Static, Tab, Tabs

from mcp_studio.call.call import Call
from mcp_studio.call.copying.subject import Subject, subject_of
from mcp_studio.call.replay.plan import number_of
from mcp_studio.call.saved import SavedCall
from mcp_studio.call.sending import outcome_of_task
from mcp_studio.catalog.listing import Change, Entry, Ref
from mcp_studio.config.model import Timeouts
from mcp_studio.errors import StudioError, Unreachable
from mcp_studio.jsontext import Json, dumps
from mcp_studio.present import connections, definition, outcomes, units
from mcp_studio.protocol.tasks import support_of
from mcp_studio.protocol.views import ResourceView, ToolView
from mcp_studio.safetext import safe
from mcp_studio.schema.field import SchemaProblem, errors
from mcp_studio.schema.place import named
from mcp_studio.session.tasks import Task
from mcp_studio.trace.message import Recording
from mcp_studio.tui.form.choices import Complete, Offer
from mcp_studio.tui.form.json_editor import JsonEditor
from mcp_studio.tui.form.view import FormView
from mcp_studio.tui.opened import Opened, open_entry
from mcp_studio.tui.panes.history import HistoryList
from mcp_studio.tui.panes.pane import Pane
from mcp_studio.tui.panes.saved_calls import SavedCalls
from mcp_studio.tui.views.find import Findable
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.json_view import JsonView
from mcp_studio.tui.views.text_view import TextView

if TYPE_CHECKING:
    from mcp_studio.schema.examples import Example

RISKS = {"read": ("r reads", "$risk-read"), "write": ("w writes", "$risk-write"),
         "destructive": ("! destructive", "$risk-destructive")}  # fmt: skip
VERBS = {"tool": "Call", "resource": "Read", "template": "Read", "prompt": "Get"}
EMPTY = "No tool selected.\n\nMove the cursor in the catalog (2): what it is on is shown here."
WHOLE = ""
"""Under this name the text of the JSON tab is kept while it is no JSON."""
_PAUSE = 0.15
"""Seconds without a key after which the value is checked against its whole schema."""
_KEPT = 20
"""Finished calls whose results stay at hand."""
_KEPT_BYTES = 64 << 20
_DESCRIPTION = 700
_DEADLINES = (1, 5, 15, 60, 300, 1_800)
"""Seconds."""


class Calls:
    """The newest call of each entry: those that run, and of the finished ones as many as there is room for."""

    def __init__(self) -> None:
        self._calls: OrderedDict[str, Call] = OrderedDict()

    def get(self, key: str) -> Call | None:
        """The newest call of an entry, by its draft key."""
        return self._calls.get(key)

    @property
    def newest_first(self) -> tuple[Call, ...]:
        """All that are kept."""
        return tuple(reversed(self._calls.values()))

    def put(self, key: str, call: Call) -> None:
        """Keep a call in the place of an older one; results that nobody has looked at for long go."""
        self._calls.pop(key, None)
        self._calls[key] = call
        done = [known for known, one in self._calls.items() if one.outcome is not None]
        size = sum(one.outcome.size for one in self._calls.values() if one.outcome)
        while done and (len(done) > _KEPT or size > _KEPT_BYTES):
            outcome = self._calls.pop(done.pop(0)).outcome
            size -= outcome.size if outcome else 0


class CallPane(Pane, scope="call"):
    """What the catalog's cursor is on: what it is, its form, its value as JSON, its schema, its history."""

    number = 3
    form = getters.query_one(FormView)
    button = getters.query_one("#submit", Button)

    @dataclass
    class Shown(Message):
        """Another entry is shown, or its newest call has changed."""

        opened: Opened | None
        call: Call | None

    @dataclass
    class Finished(Message):
        """The newest call of the shown entry has an outcome."""

        call: Call

    def __init__(self) -> None:
        super().__init__()
        self.opened: Opened | None = None
        self.calls = Calls()
        self.json: JsonEditor | None = None
        self._changes: dict[str, Change] = {}
        """What has changed since the last look, by draft key."""
        self._as_tasks: set[str] = set()
        self._seconds: dict[str, float] = {}
        """Deadlines that the person chose, by draft key."""
        self._refused: Json = None
        """The value that was not sent, in a tuple: submitting it again sends it all the same."""
        self._check: Timer | None = None
        self._failed_completion = ""

    @cached_property
    def saved(self) -> SavedCalls:
        """Saved calls."""
        return SavedCalls(self.app, self)

    def compose(self) -> ComposeResult:
        with Horizontal(id="call-head"):
            yield Tabs(Tab("Form", id="form"), Tab("JSON", id="json"), Tab("Schema", id="schema"),
                       Tab("History", id="history"), Tab("About", id="about"))  # fmt: skip
            yield Static(id="call-badge", markup=False)
        with VerticalScroll(id="call-form", can_focus=False):
            yield Static(id="description", markup=False)
            yield Static(id="notice", markup=False)
            yield FormView(empty="No arguments.")
            with Horizontal(id="call-actions"):
                yield Checkbox("Run as a task", id="as-task", compact=True)
                yield Button("Call", id="submit", variant="primary", compact=True)
        yield Vertical(id="call-view")

    def on_mount(self) -> None:
        self.query_one("#call-view").display = False
        self._draw()

    def entry_point(self) -> Widget:
        if self.tab != "form":
            view = self.query_one("#call-view")
            return next((widget for widget in view.walk_children(Widget) if widget.focusable), view)
        return self.form if self.opened is not None and self.opened.form.fields else self.button

    @property
    def tab(self) -> str:
        """The tab that is shown."""
        return self.query_one(Tabs).active or "form"

    @property
    def call(self) -> Call | None:
        """The newest call of the shown entry."""
        return self.calls.get(self.opened.key) if self.opened else None

    @property
    def running(self) -> bool:
        """Whether the shown entry is being called."""
        return self.call is not None and self.call.outcome is None

    # Showing an entry

    def preview(self, entry: Entry | None) -> None:
        """Show an entry with what was typed into its form before; the focus stays where it is."""
        if entry is not None and (self.opened is None or self.opened.entry is not entry):
            self._show(entry)

    def open(self, entry: Entry, *, submit: bool = False) -> None:
        """Work with an entry: go to its first field, or to the button; with `submit`, call it, too."""
        self.preview(entry)
        self.query_one(Tabs).active = "form"
        opened = self.opened
        if opened is not None and opened.form.fields:
            self.screen.set_focus(self.form)
            self.form.begin()
        else:
            self.screen.set_focus(self.button)
            submit = submit or entry.ref.kind in ("resource", "prompt")
        if submit:
            self.action_submit()

    def fill(self, value: Json) -> None:
        """Take another value, as if it had been typed."""
        if self.opened is not None:
            self.query_one(Tabs).active = "form"
            self.form.set_value(value)
            self._edited(value)

    def read_link(self, server: str, uri: str, title: str) -> None:
        """Read a resource that a result links to, listed or not."""
        ref = Ref("resource", server, uri)
        found = self.app.studio.catalog.find(ref)
        raw: dict[str, Json] = {"uri": uri, "name": title or uri}
        self.preview(found[0] if found else Entry(ref, ResourceView(raw)))
        self.action_submit()

    def _show(self, entry: Entry, *, fresh: bool = False, again: bool = False) -> None:
        """Show an entry.

        Args:
            fresh: without what was typed before.
            again: it is the same entry with another definition: what is typed now stays.
        """
        before, drafts = self.opened, self.app.studio.memory.drafts
        opened = self.opened = open_entry(entry)
        if again and before is not None:
            opened.value = before.value
        elif not fresh and (draft := drafts.get(opened.key)) is not None:
            opened.value = draft
        texts = drafts.get(f"text:{opened.key}")
        pending = {str(key): str(text) for key, text in texts.items()} if isinstance(texts, dict) and not fresh else {}
        self._refused = None
        self._acknowledge(opened)
        complete: Complete | None = None
        if entry.ref.kind in ("prompt", "template"):
            complete = partial(self._complete, opened)
        self.form.show(opened.form, opened.value, pending, complete, again=again)
        if self.json is not None:
            self.json.show(opened.value, text=pending.get(WHOLE, ""))
        self._draw()
        self.refresh_entry()
        if self.tab not in ("form", "json"):
            self._show_view(self.tab)
        self.post_message(self.Shown(opened, self.call))

    def _acknowledge(self, opened: Opened) -> None:
        """The person sees the entry as it is now: it is marked no more, but what has changed is still told."""
        studio, ref = self.app.studio, opened.entry.ref
        if opened.change is not None and opened.change.kind == "changed":
            self._changes[opened.key] = opened.change
        opened.change = opened.change or self._changes.get(opened.key)
        if ref.server in studio.manager.names():
            modern = studio.manager.status(ref.server).modern
            opened.mirrors = modern and studio.manager.config(ref.server).kind == "http"
            studio.manager.look(ref.server, ref.kind)
        studio.catalog.acknowledge(ref)

    async def _complete(self, opened: Opened, argument: str, value: str) -> Offer:
        """Ask the server for completions; why it has none is told once."""
        studio, ref = self.app.studio, opened.entry.ref
        known = {name: text for name, text in opened.words().items() if name != argument and text}
        try:
            found = await studio.caller.complete(ref, argument, value, known)
        except Unreachable:
            return Offer()
        except StudioError as error:
            if self._failed_completion != error.message:
                self._failed_completion = error.message
                self.app.say(f"No completions from {safe(ref.server, 60)}: {safe(error.message, 200)}")
            return Offer()
        return Offer(found.values, found.count)

    # What changed in the stores

    def refresh_entry(self) -> None:
        """The server of the shown entry may be in another state, or define the entry in another way."""
        opened = self.opened
        if opened is None:
            return
        manager, name = self.app.studio.manager, opened.entry.ref.server
        status = manager.status(name) if name in manager.names() else None
        found = self.app.studio.catalog.find(opened.entry.ref)
        same = next((entry for entry in found if entry.view.raw == opened.entry.view.raw), None)
        if same is not None:
            opened.entry = same
        elif found:
            self._show(found[0], again=True)
            self.app.say(f"{safe(found[0].ref)} has another definition now.", "warning")
            return
        if status is not None and status.version and isinstance(opened.entry.view, ToolView):
            opened.support = support_of(opened.entry.view.raw, status.version, status.capabilities)
            opened.as_task = opened.support == "required" or opened.key in self._as_tasks
        box = self.query_one("#as-task", Checkbox)
        box.display = opened.support in ("optional", "required")
        box.disabled = opened.support == "required"
        with self.prevent(Checkbox.Changed):
            box.value = opened.as_task
        notice = self.query_one("#notice", Static)
        lines = self._notices(opened, bool(found))
        notice.display = bool(lines)
        notice.update(Content("\n".join(f"{glyphs().warning} {line}" for line in lines)))

    def _notices(self, opened: Opened, listed: bool) -> list[str]:
        """What keeps the entry from being called, or should be known about it."""
        manager, name = self.app.studio.manager, opened.entry.ref.server
        lines: list[str] = []
        if name not in manager.names():
            lines.append("Its server is not configured any more.")
        elif manager.status(name).state != "ready":
            lines.append(connections.state_words(manager.status(name)))
        elif not listed:
            lines.append("The server does not list it any more.")
        elif opened.entry.remembered:
            lines.append("It is remembered from an earlier run; the server has not confirmed it yet.")
        if opened.change is not None:
            how = ": the tab About shows how" if opened.change.kind == "changed" else ""
            lines.append(f"Since you last looked it is {safe(opened.change.words, 200)}{how}.")
        if opened.entry.problem:
            lines.append(f"Malformed: {safe(opened.entry.problem, 300)}")
        return [*lines, *(safe(problem, 300) for problem in opened.form.problems[:3])]

    def refresh_subscriptions(self, servers: Iterable[str]) -> None:
        """A subscribed resource has changed: the result pane says so where it is shown."""
        if self.opened is not None and self.opened.entry.ref.server in servers:
            self.post_message(self.Shown(self.opened, self.call))

    def refresh_history(self, refs: Iterable[Ref]) -> None:
        """Calls were added to the history, or deleted."""
        if self.opened is not None and self.tab == "history" and self.opened.entry.ref in refs:
            self._show_view("history")

    def _draw(self) -> None:
        """Title, badge, description and button of the shown entry."""
        opened, description = self.opened, self.query_one("#description", Static)
        badge = self.query_one("#call-badge", Static)
        shown = opened is not None
        self.query_one("#call-head").display = self.form.display = shown
        self.query_one("#call-actions").display = shown
        if opened is None:
            self.query_one("#notice").display = False
            self.show_title("Call")
            description.update(Content(EMPTY))
            return
        ref, view = opened.entry.ref, opened.entry.view
        name = view.title or view.name or ref.name if isinstance(view, ResourceView) else ref.name
        self.show_title(f"{ref.server} › {name}")
        text, colour = RISKS[view.risk] if isinstance(view, ToolView) else (ref.kind, "$quiet")
        badge.update(Content.styled(text, colour))
        description.update(Content.assemble(*_about(opened)))
        risky = isinstance(view, ToolView) and view.risk == "destructive"
        verb = f"{VERBS[ref.kind]} (destructive)" if risky else VERBS[ref.kind]
        self.button.label = Content(f"{verb}  {self.app.key_of('submit')}")
        self.button.variant = "error" if risky else "primary"
        self.query_one("#json", Tab).display = not isinstance(view, ResourceView)

    # Tabs

    @on(Tabs.TabActivated)
    def show_tab(self, event: Tabs.TabActivated) -> None:
        event.stop()
        on_form = self.tab == "form"
        self.query_one("#call-form").display = on_form
        self.query_one("#call-view").display = not on_form
        if self.opened is not None:
            if on_form:
                self.form.set_value(self.opened.value)
            else:
                self._show_view(self.tab)

    def _show_view(self, tab: str) -> None:
        """Put the view of a tab into the place of the form."""
        opened, place = self.opened, self.query_one("#call-view")
        if opened is None:
            return
        self.json = None
        view: Widget
        if tab == "json":
            view = self.json = JsonEditor(opened.value)
        elif tab == "history":
            view = HistoryList(opened, self.saved)
        elif tab == "schema":
            schema = JsonView()
            schema.show(dumps(opened.entry.view.raw))
            view = Findable(schema)
        else:
            about, changes = TextView(), definition.changes(opened.change, opened.entry)
            about.show(definition.about(opened.entry, opened.value, opened.mirrors) + changes)
            view = Findable(about)
        place.remove_children()
        place.mount(view)

    # Editing

    @on(FormView.Changed)
    def form_changed(self, event: FormView.Changed) -> None:
        event.stop()
        self._edited(event.value)

    @on(JsonEditor.Changed)
    def json_changed(self, event: JsonEditor.Changed) -> None:
        event.stop()
        self._edited(event.value)

    @on(JsonEditor.Unread)
    def json_unread(self, event: JsonEditor.Unread) -> None:
        """What stands in the JSON tab is no JSON yet: it is kept beside the value."""
        event.stop()
        self._edited(event.editor.value)

    def _edited(self, value: Json) -> None:
        """Keep the value, and text that is no JSON yet, at once; check it after a pause."""
        opened, drafts = self.opened, self.app.studio.memory.drafts
        if opened is None:
            return
        opened.value = value
        self._refused = None
        pending: dict[str, Json] = dict(self.form.pending)
        if self.json is not None and self.json.unreadable:
            pending[WHOLE] = self.json.text
        drafts.put(opened.key, value, hidden=opened.secrets)
        unread = frozenset(pending) if opened.hides else frozenset[str]()
        drafts.put(f"text:{opened.key}", pending or None, hidden=unread)
        if self._check is not None:
            self._check.stop()
        if opened.schema is not None:
            self._check = self.set_timer(_PAUSE, partial(self._start_check, opened))

    def _start_check(self, opened: Opened) -> None:
        self.run_worker(self._check_whole(opened, opened.value), group="check", exclusive=True)

    async def _check_whole(self, opened: Opened, value: Json) -> None:
        """Tell at the fields what only the whole schema knows."""
        problems = await self.app.studio.checker.check(opened.schema, value)
        if self.opened is opened and opened.value is value and not self.unreadable:
            self._show_problems(problems)

    @property
    def unreadable(self) -> tuple[SchemaProblem, ...]:
        """What is typed, but no JSON: it cannot be sent."""
        return (self.json.unreadable if self.json is not None else ()) or self.form.unreadable

    def _show_problems(self, problems: tuple[SchemaProblem, ...]) -> None:
        self.form.show_problems(problems)
        if self.json is not None:
            self.json.show_problems(problems)
        count = len(errors(problems))
        self.show_note(Content.styled(units.plural(count, "problem"), "$state-failed") if count else "")

    # Calling

    @on(Button.Pressed, "#submit")
    def submit_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.action_submit()

    def action_submit(self) -> None:
        """Call, read or get what is shown, once it has been checked."""
        self._submit(fresh=False)

    def rerun(self) -> None:
        """The same again; the server is asked even if an earlier answer would do."""
        self._submit(fresh=True)

    def _submit(self, fresh: bool) -> None:
        if self.opened is None:
            self.app.say("No tool selected. Move the cursor in the catalog (2).", "warning")
        elif self.running:
            self.app.say("It is still running; the result pane (4) shows its progress and cancels it.", "warning")
        elif self.opened.entry.excluded:
            self.app.say(f"It must not be called: {safe(self.opened.entry.problem)}", "warning")
        else:
            self.run_worker(self._check_and_start(self.opened, fresh), group="call", exclusive=True)

    async def _check_and_start(self, opened: Opened, fresh: bool) -> None:
        problems = self.unreadable or await self.problems(opened)
        self._show_problems(problems)
        wrong = errors(problems)
        if wrong and (self._refused != (opened.value,) or self.unreadable):
            self._refuse(opened, wrong)
        elif await self._connected(opened):
            self.start(opened, fresh)

    async def problems(self, opened: Opened) -> tuple[SchemaProblem, ...]:
        """What the fields know to be wrong with the value, and what only its whole schema knows."""
        known = opened.problems()
        whole = await self.app.studio.checker.check(opened.schema, opened.value) if opened.schema is not None else ()
        places = {one.pointer for one in known}
        return (*known, *(problem for problem in whole if problem.pointer not in places))

    def _refuse(self, opened: Opened, wrong: list[SchemaProblem]) -> None:
        if self.json is not None:
            self.json.focus_problem()
        elif not self.form.focus_first_problem():
            self.form.focus_field(wrong[0].pointer)
        what = f"{safe(named(wrong[0].pointer, opened.value), 80)} {safe(wrong[0].message, 300)}".strip().rstrip(".")
        more = f" and {units.plural(len(wrong) - 1, 'more problem')}" if len(wrong) > 1 else ""
        again = "" if self.unreadable else f" Press {self.app.key_of('submit')} again to send it anyway."
        self.app.say(f"Not sent: {what}{more}.{again}", "warning")
        self._refused = (opened.value,)

    async def _connected(self, opened: Opened) -> bool:
        """Wait for a server that is connecting; False when the person has gone on to another entry meanwhile."""
        manager, name = self.app.studio.manager, opened.entry.ref.server
        if name in manager.names() and manager.status(name).state in ("idle", "connecting"):
            self.app.say(f"It is sent as soon as {safe(name, 60)} is connected.")
            await manager.settle(name)
        return opened is self.opened

    def start(self, opened: Opened, fresh: bool = False, hidden: frozenset[str] = frozenset()) -> Call:
        """Start a call of an entry as it is, keep it in the history, and show it.

        Args:
            hidden: places with secrets that the form does not know: such a value becomes no draft.
        """
        call = self.begin(opened, fresh=fresh)
        value = None if opened.entry.ref.kind == "resource" else opened.value
        memory = self.app.studio.memory
        if not hidden:
            memory.drafts.put(opened.key, opened.value, hidden=opened.secrets)
        memory.history.follow(call, opened.entry.ref, value, origin="studio", hidden=opened.secrets | hidden)
        if opened.entry.ref.kind == "template":  # the studio knows of the URI that came of it only
            self.app.studio.usage.ran(opened.entry.ref)
        self._follow(opened, call)
        return call

    def begin(self, opened: Opened, *, fresh: bool = False, approved: bool = False) -> Call:
        """Start a call; nothing is kept or shown of it. Also for a load test, whose calls are approved already."""
        ref, studio, seconds = opened.entry.ref, self.app.studio, self._seconds.get(opened.key)
        timeouts = Timeouts(idle=seconds, total=seconds, option="as chosen for its calls")
        match ref.kind:
            case "tool":
                arguments = opened.value if isinstance(opened.value, dict) else {}
                return studio.call_tool(ref, arguments, approved=approved, task=opened.as_task, timeouts=timeouts)
            case "prompt":
                return studio.get_prompt(ref, opened.words(), timeouts=timeouts)
            case _:
                return studio.read_resource(ref.server, opened.uri(), fresh=fresh, timeouts=timeouts)

    def _follow(self, opened: Opened, call: Call) -> None:
        self.calls.put(opened.key, call)

        def changed(one: Call) -> None:
            self.call_later(self._call_changed, opened.key, one)

        call.changed.connect(changed)
        self.post_message(self.Shown(opened, call))

    def show_task(self, task: Task) -> None:
        """Show what came of a task, as if its call had just ended."""
        found = self.app.studio.catalog.find(task.ref) if task.ref else ()
        if task.ref is None or not found:
            self.app.say(f"{safe(task.subject)} is not listed, so it cannot be shown.", "warning")
            return
        arguments = task.arguments if isinstance(task.arguments, dict) else {}
        call = Call(task.ref, "tools/call", {"name": task.ref.name, "arguments": arguments}, as_task=task)
        call.outcome = outcome_of_task(task)
        self.preview(found[0])
        if self.opened is not None:
            self._follow(self.opened, call)

    def _call_changed(self, key: str, call: Call) -> None:
        if call is self.call:
            self.post_message(self.Shown(self.opened, call))
            if call.outcome is not None and not call.checked:
                self.post_message(self.Finished(call))
        elif call.outcome is not None and call.checked and call is self.calls.get(key):
            self.app.say(f"{call.subject}: {outcomes.outcome_line(call.outcome)[1]}")

    # Other actions

    def step_back(self) -> bool:
        """From another tab to the form."""
        if self.tab == "form":
            return False
        self.query_one(Tabs).active = "form"
        self.call_after_refresh(lambda: self.screen.set_focus(self.entry_point()))
        return True

    def action_cancel(self) -> None:
        if self.running and self.call is not None:
            self.call.cancel()
        else:
            self.app.say("Nothing is running here.")

    def action_edit(self) -> None:
        """Edit the arguments as JSON."""
        if self.opened is not None and not isinstance(self.opened.entry.view, ResourceView):
            self.query_one(Tabs).active = "json"

    def action_delete(self) -> None:
        """Clear what was typed."""
        if self.opened is not None:
            drafts = self.app.studio.memory.drafts
            drafts.put(self.opened.key, None)
            drafts.put(f"text:{self.opened.key}", None)
            self._show(self.opened.entry, fresh=True)

    def action_follow(self) -> None:
        """Subscribe to the resource, or no longer."""
        opened = self.opened
        if opened is None or opened.entry.ref.kind not in ("resource", "template"):
            self.app.say("Only resources can be subscribed to.", "warning")
        elif problems := opened.problems():
            self.app.say(f"Its URI is not complete: {safe(problems[0].message, 200)}", "warning")
        else:
            ref, uri = opened.entry.ref, opened.uri()
            on = self.app.studio.subscriptions.switch(
                ref.server, uri, template=ref.name if ref.kind == "template" else ""
            )
            self.app.say(f"{'Subscribing to' if on else 'Unsubscribed from'} {safe(uri, 200)}.")

    @on(Checkbox.Changed, "#as-task")
    def task_switched(self, event: Checkbox.Changed) -> None:
        event.stop()
        if self.opened is not None:
            self.opened.as_task = event.value
            (self._as_tasks.add if event.value else self._as_tasks.discard)(self.opened.key)

    def action_background(self) -> None:
        """Let the task that runs here go on without anybody who waits for it."""
        if self.call is None or not self.call.leave():
            self.app.say("No task is running here.", "warning")

    def action_deadline(self) -> None:
        """Choose how long calls of this entry are waited for."""
        opened = self.opened
        if opened is None:
            return
        from mcp_studio.tui.screens.choose import Choose

        def choose(seconds: str | None) -> None:
            if seconds is not None:
                self._seconds.pop(opened.key, None)
                if seconds != "0":
                    self._seconds[opened.key] = float(seconds)

        options = [
            ("0", "as the server's entry says"),
            *((str(count), units.duration(count * 1000)) for count in _DEADLINES),
        ]
        now = f"{self._seconds.get(opened.key, 0):g}"
        self.app.push_screen(Choose("How long a call is waited for", options, now), choose)

    @on(HistoryList.FillRequested)
    def fill_from_history(self, event: HistoryList.FillRequested) -> None:
        event.stop()
        self.fill({} if event.value is None else event.value)
        if event.submit:
            self.action_submit()
        else:
            self.screen.set_focus(self.entry_point())

    async def saved_commands(self) -> list[tuple[str, Callable[[], object]]]:
        """For the palette: names of saved calls, and what fills the form with each."""
        loaded = await self.saved.load()
        return [(one.name, partial(self._use_saved, one)) for one in loaded.calls]

    def _use_saved(self, saved: SavedCall) -> None:
        self.app.attempt(self, self.saved.use(saved, run=False), "saved")

    def action_saved_calls(self) -> None:
        self.app.attempt(self, self.saved.choose(), "saved")

    def action_save_call(self) -> None:
        if self.opened is None:
            self.app.say("No tool selected, so there is no call to save.", "warning")
        elif problems := self.unreadable:
            where = safe(named(problems[0].pointer, self.opened.value), 80)
            self.app.say(f"Not saved: {where} is invalid JSON.", "warning")
        else:
            self.app.attempt(self, self.saved.save(self.opened), "saved")

    def action_copy_as(self) -> None:
        """Copy the call as a command line, curl, Python, JSON …"""
        opened = self.opened
        if opened is None:
            return
        kind = opened.entry.ref.kind
        try:
            uri = opened.uri() if kind in ("resource", "template") else ""
        except ValueError as problem:
            self.app.say(f"The URI cannot be made: {problem}.", "warning")
            return
        value: Json = opened.words() if kind == "prompt" else opened.value
        subject = subject_of(
            self.app.studio.manager, self.app.studio.catalog, opened.entry.ref, value, uri=uri, task=opened.as_task
        )
        from mcp_studio.tui.screens.copy_as import CopyAs

        self.app.push_screen(CopyAs(subject, self._recorded(subject)))

    def _recorded(self, subject: Subject) -> tuple[Recording, int] | None:
        """Where the trace has this call, if the newest one was made with what stands in the form."""
        call, trace = self.call, self.app.studio.trace
        wanted = {key: part for key, part in subject.params.items() if key != "task"}
        if call is None or any((call.params.get(key) or {}) != part for key, part in wanted.items()):
            return None
        return trace, number_of(trace, call.ref.server, call.request)

    def action_paste_call(self) -> None:
        """Fill the form from a pasted call."""
        from mcp_studio.tui.screens.paste_call import PasteCall

        def fill(found: tuple[Entry, Json] | None) -> None:
            if found is not None:
                self.preview(found[0])
                self.fill(found[1])

        self.app.push_screen(PasteCall(self.opened.entry if self.opened else None), fill)

    def action_example(self) -> None:
        """Fill the form with an example made from the schema."""
        if self.opened is None or isinstance(self.opened.entry.view, ResourceView):
            self.app.say("It has no arguments that could be filled in.", "warning")
            return
        from mcp_studio.tui.screens.example import ExamplePicker

        def fill(example: Example | None) -> None:
            if example is not None:
                self.fill(example.value)

        self.app.push_screen(ExamplePicker(self.opened.form, self.opened.schema), fill)

    def action_load_test(self) -> None:
        """Call what is shown many times, some of them at once."""
        opened = self.opened
        if opened is None or opened.entry.excluded or self.running:
            self.app.say("Select a tool, prompt or resource that can be called and is not running.", "warning")
        else:
            self.run_worker(self._load_test(opened), group="call", exclusive=True)

    async def _load_test(self, opened: Opened) -> None:
        problems = self.unreadable or await self.problems(opened)
        self._show_problems(problems)
        if wrong := errors(problems):
            self._refuse(opened, wrong)
        elif await self._connected(opened):
            from mcp_studio.tui.screens.load_test import LoadTest

            begin = partial(self.begin, opened, fresh=True, approved=True)
            self.app.push_screen(LoadTest(opened.entry.ref, begin))


def _about(opened: Opened) -> list[str | tuple[str, str]]:
    """Title, description and address."""
    view, ref = opened.entry.view, opened.entry.ref
    parts: list[str | tuple[str, str]] = []
    if view.title and view.title != ref.name and not isinstance(view, ResourceView):
        parts += [(safe(view.title, 200), "bold"), "\n"]
    parts.append(safe(view.description, _DESCRIPTION, lines=True).strip() or ("No description.", "$quiet"))
    if isinstance(view, ResourceView):
        size = "" if view.size is None else units.size(view.size)
        facts = " · ".join(filter(None, (safe(view.mime_type, 100), size)))
        parts += ["\n", (safe(ref.name, 500), "$primary"), (f"  {facts}", "$quiet")]
    elif ref.kind == "template":
        parts += ["\n", (safe(ref.name, 500), "$primary")]
    return parts
