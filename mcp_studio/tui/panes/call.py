"""Pane 3: one entry of the catalog, its form, and its calls."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

from textual import getters, on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Button, Checkbox, Static

from mcp_studio.call.call import Call
from mcp_studio.catalog.listing import KINDS, Change, Entry, Ref
from mcp_studio.errors import ConnectionLost, StudioError, Unreachable
from mcp_studio.jsontext import Json, dumps, mapping
from mcp_studio.present import connections, definition, metrics, outcomes, units
from mcp_studio.protocol.views import ResourceView, ToolView
from mcp_studio.safetext import safe
from mcp_studio.schema.field import SchemaProblem, defaults, errors
from mcp_studio.schema.place import named, pointer
from mcp_studio.session.groups import MARK
from mcp_studio.session.tasks import Task
from mcp_studio.studio import Studio
from mcp_studio.tui.bridge import CallChanged, relay
from mcp_studio.tui.call_draft import CallDraft, draft_of
from mcp_studio.tui.panes.history import HistoryList, SavedCalls
from mcp_studio.tui.panes.pane import Pane, Place
from mcp_studio.tui.panes.result import COLOURS, raw_of
from mcp_studio.tui.views.json_view import JsonView
from mcp_studio.tui.views.lines import TabLine, Tick
from mcp_studio.tui.views.rows import Findable, Steady, TextView, glyphs

if TYPE_CHECKING:
    from mcp_studio.tui.form.json_editor import JsonEditor
    from mcp_studio.tui.form.view import FormView

RISKS = {"read": ("r reads", "$risk-read"), "write": ("w writes", "$risk-write"),
         "destructive": ("d destructive", "$risk-destructive")}  # fmt: skip
_TABS = {"form": "Form", "json": "JSON", "schema": "Schema", "history": "History", "about": "About"}
EMPTY = "No tool selected.\n\nThis pane shows what the cursor is on in the catalog (2)."
_INSTRUCTIONS = 3_000
"""Characters of what a server tells models about itself."""
_WHOLE = ""
"""The key of a draft's text from the JSON tab, which is stored there while it is no JSON."""
_DEEP = re.compile(r"(?<!\S)(/[^/\s]+){3,}(?=(/[^/\s]+){3}(?!\S))")
"""The part of a long path that is left out: everything between its first and its last three names."""
_PAUSE = 0.15
"""Seconds without a key after which the value is checked against its whole schema."""
_RESULTS = 64 << 20
"""Bytes of finished results that stay in memory; each result counts for at least a twentieth of them."""


class _Scroll(VerticalScroll, Steady):
    """Description and form."""


class _Text(Static, Steady):
    """The description."""


class CallPane(Pane, scope="call"):
    """The entry under the catalog's cursor: its description, its form, its value as JSON, its schema, its history."""

    button = getters.query_one("#submit", Button)
    task_switch = getters.query_one("#as-task", Checkbox)
    place = getters.query_one("#call-view", Vertical)

    @dataclass
    class Shown(Message):
        """The pane shows another entry, or the entry's newest call has changed."""

        draft: CallDraft | None
        call: Call | None
        elsewhere: bool = False
        """Whether the catalog's cursor is on another entry."""
        started: bool = False
        """Whether the person has just begun the call."""

    def __init__(self) -> None:
        super().__init__()
        self.draft: CallDraft | None = None
        self.server = ""
        """The server that the pane shows instead of an entry; empty if it shows an entry."""
        self.calls: dict[str, Call] = {}
        """The newest call of each draft by its key: running calls, and finished ones as long as there is room."""
        self.saved = SavedCalls(self)
        self.json: JsonEditor | None = None
        """The editor while its tab is shown."""
        self._changes: dict[str, Change] = {}
        """The change of each entry since the person last looked at it, by draft key."""
        self._task_choices: dict[str, bool] = {}
        """The person's choice of running as a task, by draft key."""
        self._refused: tuple[Json, ...] = ()
        """The value that was not sent, in a tuple; submitting the same value again sends it anyway."""
        self._failed_completion = ""
        self._counted: tuple[tuple[Entry, ...], str] = ((), "")
        """Tools of a server, and what their tokens are in words; empty while they are being counted."""

    @cached_property
    def form(self) -> FormView:
        """Mounted with the first entry: until then, the studio starts without importing forms."""
        from mcp_studio.tui.form.view import FormView

        form = FormView(empty="No arguments.")
        self.query_one("#call-form").mount(form)
        return form

    @cached_property
    def editor(self) -> JsonEditor:
        """Mounted with its first use, and then only hidden: Textual may draw a text area that is being removed."""
        from mcp_studio.tui.form.json_editor import JsonEditor

        editor = JsonEditor()
        self.place.mount(editor)
        return editor

    def compose(self) -> ComposeResult:
        with Horizontal(id="call-head"):
            yield TabLine(_TABS)
            yield Static(id="call-badge", markup=False)
        with _Scroll(id="call-form", can_focus=False):
            yield _Text(id="description", markup=False)
            yield Static(id="notice", markup=False)
        yield Place(id="call-view")
        with Horizontal(id="server-actions"):
            for name, label in (("repeat", "Reconnect"), ("edit", "Edit"), ("open", "Details")):
                yield Button(label, id=f"server-{name}", compact=True, action=f"screen.server('{name}')")
        with Horizontal(id="call-actions"):
            yield Tick("Run as a task", id="as-task", compact=True)
            yield Button("Call", id="submit", variant="primary", compact=True, action="screen.submit")

    def on_mount(self) -> None:
        self._arrange(False)

    def _describe(self) -> None:
        """Describe the entry: on a short screen on three rows, so that the form is seen. The tab About has the rest."""
        if self.draft is not None:
            short = self.draft.form.fields and self.screen.has_class("-short")
            parts = self.draft.description(3 * self.content_size.width) if short else self.draft.description()
            self.show_text("description", Content.assemble(*parts))

    on_resize = _describe

    def entry_point(self) -> Widget:
        if self.tab != "form":
            shown = (view for view in self.place.children if view.display)
            inside = (widget for view in shown for widget in view.walk_children(Widget, with_self=True))
            return next((widget for widget in inside if widget.focusable), self.tabs_line)
        if self.server:
            return self.query_one("#server-repeat")
        return self.form.entry_point() if self.draft is not None and self.draft.form.fields else self.button

    @property
    def call(self) -> Call | None:
        """The newest call of the shown entry."""
        return self.calls.get(self.draft.key) if self.draft else None

    @property
    def running(self) -> bool:
        """Whether a call of the shown entry runs."""
        return self.call is not None and self.call.outcome is None

    def stops(self) -> Sequence[Widget]:
        """The form, the switch, and the buttons of the entry or of the server."""
        form = [self.form.entry_point()] if self.tab == "form" and self.draft and self.draft.form.fields else []
        return [*form, *self.query("#call-actions *, #server-actions *")]

    # Showing a server

    def show_server(self, server: str) -> None:
        """Show the facts about a server; without a server, show how to select an entry."""
        if server != self.server or self.draft is not None or not server:
            self.on_json_editor_changed()
            self.server, self.draft = server, None
            self.go_to_tab("form")
            self.query_one("#call-form").scroll_home(animate=False)
            self._arrange(server in self.app.studio.manager.names())
            self.show_title(server or "Call")
            self.show_note("")
            self._draw_server()
            self.tell_result()

    def _arrange(self, server: bool) -> None:
        """Show what belongs to an entry, or to a server. Classes would restyle everything in the pane."""
        for part in self.query("#call-head, #call-actions, #notice, FormView"):
            part.display = self.draft is not None
        self.mark("-server", server)
        self.query_one("#server-actions").display = server

    def _draw_server(self) -> None:
        """Show state, error and offers of the server; the first button offers the remedy."""
        studio, server = self.app.studio, self.server
        if server not in studio.manager.names():
            text = "\n".join(_members(studio, server.removeprefix(MARK))) if server else EMPTY
            self.show_text("description", Content(text))
            return
        tone, tools = connections.tone(studio.manager.status(server)), studio.catalog.listing(server, "tool").entries
        if tools is not self._counted[0]:
            self._counted = tools, ""
            self.run_worker(self._count(tools), group="tokens", exclusive=True)
        title, *rest = _summary(studio, server, self._counted[1])
        text = Content.assemble((title, f"bold {COLOURS[tone]}"), *(f"\n{line}" for line in rest))
        self.show_text("description", text)
        needs, button = studio.manager.status(server).state == "needs_auth", self.query_one("#server-repeat", Button)
        button.label = "Sign in" if needs else "Reconnect" if tone == "ok" else "Connect"
        button.action = f"screen.server('{'sign_in' if needs else 'repeat'}')"

    async def _count(self, tools: tuple[Entry, ...]) -> None:
        await asyncio.sleep(_PAUSE)
        if self.draft is not None:  # counting takes long, and the page has only passed by, as at the start
            self._counted = (), ""
            return
        from mcp_studio.toolset.tokens import account

        found = await asyncio.to_thread(account, tools)
        words = f"a model reads {found.total:,} tokens of definitions, with a search tool {found.search:,}"
        self._counted = tools, words
        self.refresh_entry()

    # Showing an entry

    def preview(self, entry: Entry | None, *, elsewhere: bool = False) -> None:
        """Show an entry with the text that was typed into its form before; the focus stays where it is.

        Args:
            elsewhere: whether the catalog's cursor is on another entry and should move.
        """
        if entry is not None and (self.draft is None or self.draft.entry is not entry):
            self._show(entry, elsewhere=elsewhere)

    def open(self, entry: Entry, *, submit: bool = False) -> None:
        """Go to the first field of an entry, or to the button; with `submit`, call the entry, too."""
        self.preview(entry)
        self.go_to_tab("form")
        if self.draft is not None and self.draft.form.fields:
            self.form.begin()
        else:
            self.screen.set_focus(self.button)
            submit = submit or entry.ref.kind in ("resource", "prompt")
        if submit:
            self.action_submit()

    def fill(self, value: Json, entry: Entry | None = None) -> None:
        """Put another value into the form, as if it had been typed, of the shown entry or of another one."""
        self.preview(entry, elsewhere=True)
        if self.draft is not None:
            self.draft.texts.pop(_WHOLE, None)
            self.go_to_tab("form")
            self.form.set_value(value)
            self._edited(value)

    def read_link(self, server: str, uri: str, title: str) -> None:
        """Read a resource that a result links to, listed or not."""
        ref = Ref("resource", server, uri)
        found = self.app.studio.catalog.find(ref)
        entry = found[0] if found else Entry(ref, ResourceView({"uri": uri, "name": title or uri}))
        self.preview(entry, elsewhere=bool(found))
        self.action_submit()

    def _show(self, entry: Entry, *, again: bool = False, elsewhere: bool = False) -> None:
        """Show an entry; `again`: it is the shown entry with another definition, and typed text stays."""
        self.on_json_editor_changed()
        self.json = self.json if again else None
        before, drafts = self.draft, self.app.studio.memory.drafts
        draft, self.server = draft_of(entry), ""
        self.draft = draft
        draft.change = entry.change or self._changes.get(draft.key)
        if draft.change is not None and draft.change.kind == "changed":  # shown even after a look
            self._changes[draft.key] = draft.change
        if again and before is not None:
            draft.value, draft.texts = before.value, before.texts
        else:
            draft.texts = dict(mapping(drafts.get(f"text:{draft.key}")))
            draft.value = draft.value if (typed := drafts.get(draft.key)) is None else typed
        self._forget_refusal()
        draft.look(self.app.studio)
        complete = partial(self._complete, draft) if entry.ref.kind in ("prompt", "template") else None
        pending = {pointer: str(text) for pointer, text in draft.texts.items() if pointer != _WHOLE}
        self.form.show(draft.form, draft.value, pending, complete, again=again)
        if not again:
            self.query_one("#call-form").scroll_home(animate=False)
            self._drop_scrollbar()
        self._draw(draft)
        if before is None:
            self._arrange(False)
        self.refresh_entry()
        if not (again and self.json is not None):
            self._show_tab()
        self.tell_result(elsewhere=elsewhere)

    def _drop_scrollbar(self) -> None:
        """Let the next layout find out whether the form needs a scroll bar.

        With one, texts take more rows than the pane's height is computed for, so that it would stay.
        """
        self.query_one("#call-form").show_vertical_scrollbar = False

    async def _complete(self, draft: CallDraft, argument: str, value: str) -> tuple[Sequence[str], str]:
        """Ask the server for completions; say only once why there are none."""
        try:
            return await draft.complete(self.app.studio, argument, value)
        except StudioError as error:
            if not isinstance(error, Unreachable) and self._failed_completion != error.message:
                self._failed_completion = error.message
                self.app.say(f"No completions from {safe(draft.entry.ref.server, 60)}: {error.message}")
            return (), ""

    def _draw(self, draft: CallDraft) -> None:
        """Show title, badge, description and button of the entry."""
        ref, view = draft.entry.ref, draft.entry.view
        name = view.title or view.name or ref.name if isinstance(view, ResourceView) else ref.name
        self.show_title(f"{ref.server} › {name}")
        text, colour = RISKS[view.risk] if isinstance(view, ToolView) else (ref.kind, "$quiet")
        self.show_text("call-badge", Content.styled(text, colour))
        self._describe()
        risky = isinstance(view, ToolView) and view.risk == "destructive"
        label = Content(f"{draft.verb.capitalize()}{' (destructive)' * risky}  {self.app.key_of('submit')}")
        if label != self.button.label:
            self.button.label, self.button.variant = label, "error" if risky else "primary"
            self.button.refresh(layout=True)
        self.tabs_line.show({tab: _TABS[tab] for tab in _TABS if tab != "json" or not isinstance(view, ResourceView)})

    def tell_result(self, *, elsewhere: bool = False, started: bool = False) -> None:
        """Let the result pane show the newest call, for which the form leaves more room, most for an answer."""
        self.mark("-called", self.call is not None)
        outcome = self.call.outcome if self.call is not None else None
        unanswered = outcome is not None and raw_of(outcome) is None
        if unanswered and not self.has_class("-unanswered"):
            self._drop_scrollbar()
        self.mark("-unanswered", unanswered)
        self.post_message(self.Shown(self.draft, self.call, elsewhere, started))

    # What changed in the stores

    def refresh_entry(self) -> None:
        """Follow the server of the shown entry, whose state or definition may have changed."""
        draft, studio = self.draft, self.app.studio
        if draft is None:
            if self.server:
                self._draw_server()
            return
        found = studio.catalog.find(draft.entry.ref)
        same = next((entry for entry in found if entry.view.raw == draft.entry.view.raw), None)
        if same is None and found:
            self._show(found[0], again=True)
            self.app.say(f"{safe(found[0].ref)} has another definition now.", "warning")
            return
        draft.entry = same or draft.entry
        draft.negotiate(studio, wants_task=self._task_choices.get(draft.key, False))
        self.task_switch.display = draft.support in ("optional", "required")
        self.task_switch.disabled = draft.support == "required"
        with self.prevent(Checkbox.Changed):
            self.task_switch.value = draft.as_task
        self._show_notices(draft)

    def _show_notices(self, draft: CallDraft) -> None:
        lines = draft.notices(self.app.studio, listed=bool(self.app.studio.catalog.find(draft.entry.ref)))
        lines += ["The JSON is invalid; the form shows the last valid value."] * bool(draft.texts.get(_WHOLE))
        self.query_one("#notice").display = bool(lines)
        self.show_text("notice", Content("\n".join(f"{glyphs().warning} {safe(line, 300)}" for line in lines)))

    # Tabs

    def go_to_tab(self, tab: str) -> None:
        if tab != self.tab:
            with self.prevent(TabLine.Activated):
                self.tabs_line.active = tab
            self._show_tab()

    @on(TabLine.Activated)
    def _show_tab(self) -> None:
        """Show the form, or the view of another tab in its place; the focus stays in the pane."""
        self.on_json_editor_changed()
        draft, tab, views = self.draft, self.tab, list[Widget]()
        self.set_class(tab != "form", "-view")
        self.json = None
        self.show_note("")
        if draft is None:
            return
        match tab:
            case "json":
                self.json = self.editor
                self.json.show(draft.value, text=str(draft.texts.get(_WHOLE, "")))
            case "history":
                views.append(HistoryList(draft.entry.ref, self.saved))
            case "schema":
                views.append(Findable(JsonView(dumps(draft.entry.view.raw))))
            case "about":
                changes = definition.changes(draft.change, draft.entry)
                views.append(Findable(TextView(definition.about(draft.entry, draft.value, draft.mirrors) + changes)))
            case _:
                self.form.set_value(draft.value)
                self._show_notices(draft)
        for editor in self.place.query("JsonEditor"):
            editor.display = editor is self.json
        self.put(self.place, views, "Findable, HistoryList")

    def step_back(self) -> bool:
        """Show the form again; the focus leaves the pane, because in a field the next key would be a letter."""
        self.screen.set_focus(None)  # else the form would take it
        self.go_to_tab("form")
        return False

    # Editing

    def on_form_view_changed(self, event: FormView.Changed) -> None:
        self._edited(event.value)

    def on_json_editor_changed(self) -> None:
        """Take what was typed into the JSON tab. The tab is left only after that: its message may come too late."""
        if (editor := self.json) is not None and self.draft is not None:
            editor.read()
            text, before = editor.area.text if editor.unreadable else "", self.draft.texts.get(_WHOLE, "")
            if text != before or editor.value is not self.draft.value:
                self.draft.texts[_WHOLE] = text
                self._edited(editor.value)

    def _edited(self, value: Json) -> None:
        """Store the value, and text that is no JSON yet, at once; check the value after a pause."""
        draft, drafts = self.draft, self.app.studio.memory.drafts
        if draft is None:
            return
        whole = {_WHOLE: text} if (text := draft.texts.get(_WHOLE)) else {}
        draft.value, draft.texts = value, {**self.form.pending, **whole}
        self._forget_refusal()
        drafts.put(draft.key, value, hidden=draft.secrets)
        unread = frozenset(draft.texts) if draft.hides else frozenset[str]()
        drafts.put(f"text:{draft.key}", draft.texts or None, hidden=unread)
        self.run_worker(partial(self._check_soon, draft, value), group="check", exclusive=True)

    async def _check_soon(self, draft: CallDraft, value: Json) -> None:
        """Show the problems that only the whole schema can find at their fields."""
        await asyncio.sleep(_PAUSE)
        problems = await draft.check(self.app.studio)
        if self.draft is draft and draft.value is value and not self.unreadable and self.form.is_attached:
            self._show_problems(problems)

    @property
    def unreadable(self) -> tuple[SchemaProblem, ...]:
        """The problems of typed text that is no JSON, which prevent sending."""
        return (self.json.unreadable if self.json is not None else ()) or self.form.unreadable

    def _show_problems(self, problems: tuple[SchemaProblem, ...]) -> None:
        if self.json is None:
            self.form.show_problems(problems)
        elif not self.json.unreadable:  # the editor shows its own problem
            self.json.show_problems(problems)
        count = len(errors(problems))
        self.show_note(Content.styled(units.plural(count, "problem"), "$state-failed") if count else "")

    # Calling

    def action_load_test(self) -> None:
        from mcp_studio.tui.screens.load_test import LoadTest

        self.action_submit(lambda draft: self.app.push_screen(LoadTest(draft)), again="")

    def action_submit(self, then: Callable[[CallDraft], object] | None = None, again: str = "send anyway") -> None:
        """Check what is shown and wait for its server; then call, read or get it, or do something else with it."""
        draft, then = self.draft, then or self.start
        if draft is None:
            self.app.say("No tool selected. Move the cursor in the catalog (2).", "warning")
        elif self.running:
            shown = "The result pane (4) shows what becomes of it."  # true also once the call has ended
            self.app.say(f"Not sent again: the first call was still running. {shown}", "warning")
        elif draft.entry.excluded:
            self.app.say(f"This call is not allowed: {draft.entry.problem}", "warning")
        else:
            work = partial(self._check_then, draft, then, again)  # its `repr` would write out the whole schema
            self.run_worker(work, description="check and call", group="call", exclusive=True)

    async def _check_then(self, draft: CallDraft, then: Callable[[CallDraft], object], again: str) -> None:
        studio, name = self.app.studio, draft.entry.ref.server
        if draft.texts.get(_WHOLE):  # also behind the form, which could send only an older value
            self.go_to_tab("json")
        problems = self.unreadable or await draft.check(studio)
        if draft is not self.draft:  # the person went on to another entry
            return
        self._show_problems(problems)
        wrong = errors(problems)
        if wrong and (self._refused != (draft.value,) or self.unreadable or not again):
            self._refuse(draft, wrong, again)
            return
        if name in studio.manager.names() and studio.manager.status(name).state in ("idle", "connecting"):
            self.app.say(f"The call is sent as soon as {safe(name, 60)} is connected.")
            await studio.manager.settle(name)
        if draft is self.draft:
            then(draft)

    def _refuse(self, draft: CallDraft, wrong: list[SchemaProblem], again: str) -> None:
        """Say why the value is not sent, and go to the problem."""
        if self.json is not None:
            self.json.focus_problem()
        elif not self.form.focus_first_problem():
            self.form.focus_field(wrong[0].pointer)
        here = pointer(*self.form.row.path) if self.form.row is not None and self.json is None else ""
        first = next((one for one in wrong if one.pointer == here), wrong[0])
        what = f"{named(first.pointer, draft.value)[:80]} {first.message[:300]}".strip().rstrip(".")
        more = f"; {units.plural(len(wrong) - 1, 'more problem')}" if len(wrong) > 1 else ""
        hint = f" Press {self.app.key_of('submit')} again to {again}." if again and not self.unreadable else ""
        self.app.say(f"Not sent: {what}{more}.{hint}", "warning")
        self._refused = (draft.value,)

    def _forget_refusal(self) -> None:
        """The reason why a value was not sent goes with the value."""
        if self._refused:
            self._refused = ()
            self.app.clear_notifications()

    def start(self, draft: CallDraft, *, fresh: bool = False, hidden: frozenset[str] = frozenset()) -> None:
        """Start a call of an entry as it is, add it to the history, and show it.

        Args:
            hidden: places of secrets that the form does not know; a value with such places is not stored as a draft.
        """
        self.app.clear_notifications()  # old messages are about earlier calls
        studio, ref = self.app.studio, draft.entry.ref
        call = draft.begin(studio, fresh=fresh)
        if not hidden and (draft.value or studio.memory.drafts.get(draft.key)):
            studio.memory.drafts.put(draft.key, draft.value, hidden=draft.secrets)
        studio.memory.history.follow(call, ref, draft.sent, origin="studio", hidden=draft.secrets | hidden)
        if ref.kind == "template":  # the studio itself knows only the URI made from the template
            studio.usage.ran(ref)
        self._follow(draft, call, started=True)

    def _follow(self, draft: CallDraft, call: Call, *, started: bool = False) -> None:
        self.calls = {draft.key: call} | {key: one for key, one in self.calls.items() if key != draft.key}
        room = _RESULTS
        for key, one in tuple(self.calls.items()):  # the newest first
            room -= max(one.outcome.size, _RESULTS // 20) if one.outcome is not None else 0
            if one.outcome is not None and room < 0:
                del self.calls[key]
        relay(call.changed, self, lambda one: CallChanged(one, one.over.is_set()))
        self.tell_result(started=started)

    def show_task(self, task: Task, entry: Entry) -> None:
        """Show the result of a task of this tool, as if its call had just ended."""
        params: dict[str, Json] = {"name": entry.ref.name, "arguments": task.arguments or {}}
        call = Call(entry.ref, "tools/call", params, as_task=task, outcome=self.app.studio.caller.outcome_of_task(task))
        self.preview(entry)
        if self.draft is not None:
            self._follow(self.draft, call)

    def on_call_changed(self, event: CallChanged) -> None:
        if event.call is self.call:
            self.tell_result()
        elif event.ended and event.call.outcome is not None and event.call in self.calls.values():
            tone, line = outcomes.outcome_line(event.call.outcome)
            self.app.say(f"{event.call.ref}: {line}", "error" if tone == "bad" else "information")

    # Other actions

    def action_cancel(self) -> None:
        if self.call is not None and self.running:
            self.call.cancel()
            self.app.clear_notifications()  # a message may say that its request is pending
        else:
            self.app.say("Nothing is running here.")

    def action_edit(self) -> None:
        if self.draft is not None and not isinstance(self.draft.entry.view, ResourceView):
            self.go_to_tab("json")

    def action_delete(self) -> None:
        """Clear the form, as an edit that can be undone."""
        if self.draft is not None:
            self.fill(defaults(self.draft.form))

    def action_follow(self) -> None:
        """Subscribe to the resource, or unsubscribe."""
        if self.draft is not None:
            self.app.say(self.draft.switch_subscription(self.app.studio))

    @on(Checkbox.Changed, "#as-task")
    def task_switched(self, event: Checkbox.Changed) -> None:
        if self.draft is not None:
            self.draft.as_task = self._task_choices[self.draft.key] = event.value

    def action_background(self) -> None:
        """Let the task that runs here go on without anybody who waits for it."""
        if self.call is None or not self.call.leave():
            self.app.say("No task is running here.", "warning")

    @work(group="saved", exclusive=True)
    async def action_saved_calls(self) -> None:
        await self.saved.choose()

    @work(group="saved", exclusive=True)
    async def action_save_call(self) -> None:
        if self.draft is None:
            self.app.say("No tool selected, so there is no call to save.", "warning")
        elif self.unreadable:
            self.app.say("Not saved: what is typed is invalid JSON.", "warning")
        else:
            await self.saved.save(self.draft)

    @work
    async def action_copy_as(self) -> None:
        """Copy the call as a command line, curl, Python, JSON …"""
        if self.draft is None:
            self.app.say("No tool selected. Move the cursor in the catalog (2).", "warning")
            return
        from mcp_studio.tui.screens.copy_as import CopyAs

        try:
            self.app.push_screen(CopyAs(await self.draft.subject(self.app.studio, self.call)))
        except ValueError as problem:
            self.app.say(f"The URI cannot be made: {problem}.", "warning")

    def action_paste_call(self) -> None:
        from mcp_studio.tui.screens.paste_call import PasteCall

        dialog = PasteCall(self.draft.entry if self.draft else None)
        self.app.push_screen(dialog, lambda found: self.fill(found[1], found[0]) if found else None)

    def action_example(self) -> None:
        if self.draft is None or not self.draft.form.fields:
            self.app.say("There are no arguments to fill in.", "warning")
            return
        from mcp_studio.tui.screens.field_menu import choose_example

        choose_example(self.app, self.draft.form, self.fill)


def _members(studio: Studio, group: str) -> Iterator[str]:
    """The members of a group, a line each."""
    yield f"{MARK}{safe(group, 60)} is a group: its members stand in for one another.\n"
    for name in studio.manager.names():
        if studio.groups.of(name) == group:
            state, config = studio.manager.status(name).state, studio.manager.config(name)
            facts = (safe(name, 60), state, f"priority {config.priority}", studio.groups.by_hand(name))
            yield " · ".join(filter(None, facts))
    yield "\nA call of the group goes to the best one that is ready. Prefer, drain or release one in the servers (1)."


def _summary(studio: Studio, name: str, tokens: str) -> Iterator[str]:
    """The facts about a server on a few lines: state, remedy, address, version, offers, metrics, instructions."""
    config, status = studio.manager.config(name), studio.manager.status(name)
    written, clean = config.written or config, studio.redactor
    ends = studio.manager.supervisor(name).mortems[-1:] if isinstance(status.error, ConnectionLost) else ()
    printed = [f"printed: {safe(line, 200)}" for end in ends for line in (*end.stray, *end.stderr)[-5:]]
    state = connections.state_words(status)
    yield f"{state.partition('; it said last:')[0].rstrip('.')}." if printed else state  # not the same lines twice
    if status.error is not None and status.state != "needs_auth" and (help := connections.hint(status.error)):
        yield help  # a sign-in has its button below
    yield from printed
    target = clean.url(written.url) if written.url else clean.text(units.command_line((written.command, *written.args)))
    yield f"\n{_DEEP.sub('…', safe(target, 1_000))}"
    if status.state == "ready":
        info, listing = mapping(status.server_info), studio.catalog.listing
        title = safe(f"{info.get('title') or info.get('name') or ''} {info.get('version') or ''}".strip(), 200)
        yield " · ".join(filter(None, (title, f"protocol {safe(status.version)}")))
        counts = {kind: len(listing(name, kind).entries) for kind in KINDS}
        offers = [units.plural(count, kind) for kind, count in counts.items() if count]
        yield " · ".join(filter(None, (f"offers {', '.join(offers) or 'nothing'}", tokens if counts["tool"] else "")))
    for one in metrics.metrics_of(studio.numbers, studio.caller.prices(name), {}):
        if one.of.server == name and not one.of.method:
            times = (("p50", one.tally.p50), ("p95", one.tally.p95))
            facts = [units.plural(one.tally.count, "request"), f"{one.tally.errors:,} failed" * bool(one.tally.errors)]
            facts += [f"{name} {units.duration(ms)}" for name, ms in times if ms is not None]
            facts += metrics.server_facts(one, time.time() * (status.state == "ready"))
            yield "\n" + " · ".join(filter(None, facts))
    if status.instructions:
        yield f"\n{units.unwrapped(safe(status.instructions, _INSTRUCTIONS, lines=True))}"
