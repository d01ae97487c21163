"""Pane 3: the form of what is open, the same value as JSON, and how the server described it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.jsontext import Json, dumps
from mcp_studio.protocol.views import ResourceView, ToolView
from mcp_studio.safetext import safe
from mcp_studio.schema.problem import SchemaProblem
from mcp_studio.session.state import Status
from mcp_studio.tui import describe
from mcp_studio.tui.form.editors import Complete
from mcp_studio.tui.form.form_view import FormView
from mcp_studio.tui.form.json_editor import JsonEditor
from mcp_studio.tui.opened import Opened
from mcp_studio.tui.panels.catalog import RISKS
from mcp_studio.tui.panels.pane import Pane, Tab
from mcp_studio.tui.views.findable import Findable
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.json_view import JsonView
from mcp_studio.tui.views.messages import Copied

TabName = Literal["form", "json", "schema"]
EMPTY = (
    "Nothing is open.\n\nChoose a tool, resource or prompt in pane 2 and press enter; "
    "fill in its form here, and run it with ^j."
)
_RISK_WORDS = {"read": "reads", "write": "writes", "destructive": "destructive"}
_DESCRIPTION = 700


class CallPanel(Pane, scope="call"):
    """The open entry: what it is, its form, its JSON, its definition."""

    number = 3
    tabs_at_bottom = True

    class Edited(Message):
        """The value is another one; `pending` is text by field that is no JSON and so is not in it."""

        def __init__(self, value: Json, pending: Mapping[str, str]) -> None:
            super().__init__()
            self.value = value
            self.pending = pending

    class Wanted(Message):
        """The person wants something done: `cancel command clear`."""

        def __init__(self, what: str) -> None:
            super().__init__()
            self.what = what

    def __init__(self) -> None:
        super().__init__(id="call")
        self._about = Static(Content(EMPTY), classes="about")
        self._notice = Static(classes="notice")
        self._body = Vertical(classes="body")
        self._form: FormView | None = None
        self._json: JsonEditor | None = None
        self._schema: Findable[JsonView] | None = None
        self._opened: Opened | None = None
        self._problems: tuple[SchemaProblem, ...] = ()

    def compose(self) -> ComposeResult:
        """What it is, what is to be known about it, and the body."""
        yield self._about
        yield self._notice
        yield self._body

    def on_mount(self) -> None:
        """Nothing is open yet."""
        self._about.can_focus = True
        self._notice.display = self._body.display = False
        self.tab = "form"
        self.show_title(Content("Call"))

    async def show(self, opened: Opened, pending: Mapping[str, str], complete: Complete | None) -> None:
        """Show an entry, its form filled with its value."""
        self._opened = opened
        self._problems = ()
        self._about.can_focus = False
        self._about.update(Content.assemble(*_about(opened)))
        self.show_title(Content.assemble(*_title(opened)))
        if self._form is None:
            self._form = FormView(empty="Nothing has to be filled in.")
            await self._body.mount(self._form)
        self._form.complete = complete
        self._form.show(opened.form, opened.value, pending)
        if self._json is not None:
            self._json.show(opened.value, fresh=True)
        self._body.display = True
        self.tab = "json" if opened.form.whole or not isinstance(opened.value, dict) else "form"
        await self._show_tab()

    def show_state(self, status: Status | None, listed: bool) -> None:
        """Say what keeps the entry from being run, or should be known about it."""
        opened, lines = self._opened, list[str]()
        if opened is None:
            return
        if status is None:
            lines.append("Its server is not configured any more.")
        elif status.state != "ready":
            lines.append(describe.state_words(status))
        elif not listed:
            lines.append("The server does not list it any more.")
        elif opened.entry.remembered:
            lines.append("It is remembered from an earlier run; the server has not confirmed it yet.")
        if opened.entry.problem:
            lines.append(f"Malformed: {safe(opened.entry.problem, 300)}")
        lines += [safe(problem, 300) for problem in opened.form.problems[:3]]
        self._notice.display = bool(lines)
        self._notice.update(Content("\n".join(f"{glyphs().warning} {line}" for line in lines)))

    # Problems

    def unreadable(self) -> tuple[SchemaProblem, ...]:
        """What is typed, but no JSON: it cannot be sent."""
        written = self._json.unreadable if self._json else ()
        return written or (self._form.unreadable if self._form else ())

    def show_problems(self, problems: Iterable[SchemaProblem]) -> None:
        """Tell what is wrong at the fields that it is about."""
        self._problems = tuple(problems)
        if self._form is not None:
            self._form.show_problems(self._problems)
        if self._json is not None:
            self._json.show_problems(self._problems)
        self._draw_note()

    def focus_problem(self, problem: SchemaProblem) -> None:
        """Go to the field that it is about."""
        if self._json is not None and self._json.unreadable and self.tab != "json":
            self.post_message(self.TabChosen(self, "json"))
        elif self.tab == "json" and self._json is not None:
            self._json.focus_problem()
        elif self.tab != "form" or self._form is None:
            self.post_message(self.TabChosen(self, "form"))
        elif not self._form.focus_first_problem():
            self._form.focus_field(problem.pointer)

    # Tabs and editing

    async def on_pane_tab_chosen(self, event: Pane.TabChosen) -> None:
        """Another view on the value: none of what is typed is lost."""
        event.stop()
        had_focus = self.has_focus_within
        self.tab = event.tab
        await self._show_tab()
        if had_focus:
            self.entry_point().focus()

    async def _show_tab(self) -> None:
        opened = self._opened
        if opened is None or self._form is None:
            return
        if self.tab == "json":
            if self._json is None:
                self._json = JsonEditor(opened.value)
                await self._body.mount(self._json)
            self._json.show(opened.value)
        elif self.tab == "schema":
            if self._schema is None:
                self._schema = Findable(JsonView())
                await self._body.mount(self._schema)
            self._schema.view.set_json(dumps(opened.entry.view.raw))
        else:
            self._form.set_value(opened.value)
        for tab, view in (("form", self._form), ("json", self._json), ("schema", self._schema)):
            if view is not None:
                view.display = tab == self.tab
        self._draw_note()

    def entry_point(self) -> Widget:
        """The form, the editor or the definition: what is shown."""
        for view in (self._form, self._json, self._schema):
            if view is not None and view.display and self._body.display:
                return next((inner for inner in view.query("*") if inner.focusable and inner.display), view)
        return self._about

    def on_form_view_changed(self, event: FormView.Changed) -> None:
        """Something was typed into the form."""
        event.stop()
        self._edited(event.value, event.form.pending)

    def on_json_editor_changed(self, event: JsonEditor.Changed) -> None:
        """Something was typed into the JSON editor that is JSON."""
        event.stop()
        self._edited(event.value, {})

    def _edited(self, value: Json, pending: Mapping[str, str]) -> None:
        if self._opened is not None:
            self._opened.value = value
            self._problems = self._opened.problems()
            self.post_message(self.Edited(value, pending))
            self._draw_note()

    def _draw_note(self) -> None:
        tabs = [Tab("form", "Form"), Tab("schema", "Schema")]
        if self._opened is not None and not isinstance(self._opened.entry.view, ResourceView):
            tabs.insert(1, Tab("json", "JSON"))
        errors = sum(problem.severity == "error" for problem in self._problems)
        warnings = len(self._problems) - errors
        note = [(describe.plural(errors, "error"), "$state-failed")] if errors else []
        note += [(describe.plural(warnings, "warning"), "$state-busy")] if warnings else []
        self._note = Content.assemble(*note) if note else None
        self.show_tabs(tabs, self.tab)

    # Actions

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Letters belong to the form while it has the focus."""
        if action in ("cancel", "edit", "copy_command", "clear", "copy"):
            return not any(view is not None and view.has_focus_within for view in (self._form, self._json))
        return True

    def on_copied(self, event: Copied) -> None:
        """Put it on the clipboard."""
        event.stop()
        self.app.copy_to_clipboard(event.text)

    def action_copy(self) -> None:
        """Copy the value under the cursor of the definition."""
        if self._schema is not None and self._schema.display:
            self._schema.view.action_copy()

    def action_edit(self) -> None:
        """Edit the arguments as JSON."""
        self.post_message(self.TabChosen(self, "json"))

    def action_cancel(self) -> None:
        """Stop what is running."""
        self.post_message(self.Wanted("cancel"))

    def action_copy_command(self) -> None:
        """Copy the command line that does the same."""
        self.post_message(self.Wanted("command"))

    def action_clear(self) -> None:
        """Forget what was typed."""
        self.post_message(self.Wanted("clear"))


def _title(opened: Opened) -> list[str | tuple[str, str]]:
    ref, view = opened.entry.ref, opened.entry.view
    name = view.title or view.name or ref.name if isinstance(view, ResourceView) else ref.name
    parts: list[str | tuple[str, str]] = [f"{safe(ref.server, 40)}.{safe(name, 80)}"]
    if isinstance(view, ToolView):
        sign, colour = RISKS[view.risk]
        parts += [("  ", ""), (f"{sign} {_RISK_WORDS[view.risk]}", f"${colour}")]
    return parts


def _about(opened: Opened) -> list[str | tuple[str, str]]:
    view, ref = opened.entry.view, opened.entry.ref
    parts: list[str | tuple[str, str]] = []
    if view.title and view.title != ref.name:
        parts += [(safe(view.title, 200), "b"), "\n"]
    text = safe(view.description, _DESCRIPTION, lines=True).strip()
    parts.append(text or ("It has no description.", "$quiet"))
    if isinstance(view, ResourceView):
        size = "" if view.size is None else describe.size(view.size)
        facts = " · ".join(filter(None, (safe(view.mime_type, 100), size)))
        parts += [("\n", ""), (safe(ref.name, 500), "$primary"), (f"  {facts}", "$quiet")]
    elif ref.kind == "template":
        parts += [("\n", ""), (safe(ref.name, 500), "$primary")]
    return parts
