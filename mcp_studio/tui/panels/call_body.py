"""The inside of the call pane: a form, its value as JSON, earlier calls, and how the server described the entry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, cast

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.events import Paste
from textual.message import Message
from textual.widget import Widget

from mcp_studio.catalog.listing import diff
from mcp_studio.jsontext import Json, dumps
from mcp_studio.present.definition import about
from mcp_studio.schema.field import SchemaProblem
from mcp_studio.tui import late_copy
from mcp_studio.tui.form.form_view import FormView
from mcp_studio.tui.form.json_editor import JsonEditor
from mcp_studio.tui.form.offer import Complete
from mcp_studio.tui.opened import Opened
from mcp_studio.tui.panels.history import HistoryList
from mcp_studio.tui.panels.pane import first_focusable
from mcp_studio.tui.views.findable import Findable
from mcp_studio.tui.views.json_view import JsonView
from mcp_studio.tui.views.text_view import TextView

if TYPE_CHECKING:
    from mcp_studio.tui.app import StudioApp

WHOLE = ""
"""Under this name the text of the JSON tab waits while it is no JSON; places have theirs under their JSON pointers."""


class CallBody(Vertical):
    """Views on one value, one of them seen: `form`, `json`, `schema`, and as text `about` and `changes`."""

    class Edited(Message):
        """The value is another one; `pending` is text by place that is no JSON and so is not in it.

        `problems` is what the fields know to be wrong; None where nobody has looked yet.
        """

        def __init__(
            self, value: Json, pending: Mapping[str, str], problems: tuple[SchemaProblem, ...] | None = None
        ) -> None:
            super().__init__()
            self.value = value
            self.pending = pending
            self.problems = problems

    def __init__(self) -> None:
        super().__init__(classes="body")
        self.form = FormView(empty="Nothing has to be filled in.")
        self.json: JsonEditor | None = None
        self.schema: Findable[JsonView] | None = None
        self.text: Findable[TextView] | None = None
        self.history: HistoryList | None = None
        self._opened: Opened | None = None

    def compose(self) -> ComposeResult:
        """The form; other views come when they are first wanted."""
        yield self.form

    async def show(
        self, opened: Opened, pending: Mapping[str, str], complete: Complete | None, *, again: bool = False
    ) -> str:
        """Show an entry; gives the tab on which it was left, or on which its value can be seen.

        Args:
            again: it is the same entry, and only defined in another way: row, cursor and all text stay.
        """
        text = pending.get(WHOLE, "")
        tab = "json" if text or opened.form.whole or not isinstance(opened.value, dict) else "form"
        if self.json is not None:
            self.json.show(opened.value, fresh=not again, text=text)
        elif tab == "json":
            self.json = JsonEditor(opened.value, text=text)
            await self._add(self.json)
        self._opened = opened
        self.form.show(opened.form, opened.value, pending, complete, again=again)
        return tab

    async def show_tab(self, tab: str) -> None:
        """Show another view; none of what is typed is lost."""
        opened = self._opened
        if opened is None:
            return
        if tab == "json":
            if self.json is None:
                self.json = JsonEditor(opened.value)
                await self._add(self.json)
            self.json.show(opened.value)
        elif tab == "schema":
            if self.schema is None:
                self.schema = Findable(JsonView())
                await self._add(self.schema)
            self.schema.view.set_json(dumps(opened.entry.view.raw))
        elif tab == "history":
            if self.history is None:
                self.history = HistoryList()
                await self._add(self.history)
        elif tab in ("about", "changes"):
            if self.text is None:
                self.text = Findable(TextView())
                await self._add(self.text)
            self.text.view.set_text(_changes(opened) if tab == "changes" else _about(opened))
        else:
            self.form.set_value(opened.value)
        shown = "text" if tab in ("about", "changes") else tab
        for name, view in self._views():
            view.display = name == shown

    async def _add(self, view: Widget) -> None:
        """Mount a view unseen: what is seen has the focus, or keys typed at once would be lost."""
        view.display = False
        await self.mount(view)

    def _views(self) -> list[tuple[str, Widget]]:
        views = (
            ("form", self.form), ("json", self.json), ("schema", self.schema), ("history", self.history),
            ("text", self.text),
        )  # fmt: skip
        return [(name, view) for name, view in views if view is not None]

    def fill(self, value: Json) -> None:
        """Take another value, as if it had been typed; the form can undo it."""
        self.form.set_value(value)
        if self.json is not None:
            self.json.show(value)
        self.post_message(self.Edited(value, {}))

    def on_paste(self, event: Paste) -> None:
        """A whole call that was pasted as JSON or long text could fill the form: that is offered."""
        late_copy.offer_call(cast("StudioApp", self.app), event.text)

    def entry_point(self) -> Widget | None:
        """The widget inside that takes the keys."""
        for _, view in self._views():
            if view is self.history and view.display:
                return view
            if view.display:
                return first_focusable(view)
        return None

    @property
    def pending(self) -> Mapping[str, str]:
        """Text by place that is no JSON, and so is not in the value."""
        whole = {WHOLE: self.json.text} if self.json is not None and self.json.unreadable else {}
        return {**self.form.pending, **whole}

    @property
    def typing(self) -> bool:
        """Whether the form or the JSON editor has the focus, so that letters are theirs."""
        return self.form.has_focus_within or (self.json is not None and self.json.has_focus_within)

    def unreadable(self) -> tuple[SchemaProblem, ...]:
        """What is typed, but no JSON: it cannot be sent."""
        return (self.json.unreadable if self.json else ()) or self.form.unreadable

    def show_problems(self, problems: Iterable[SchemaProblem]) -> None:
        """Tell what is wrong at the fields that it is about."""
        told = tuple(problems)
        self.form.show_problems(told)
        if self.json is not None:
            self.json.show_problems(told)

    def focus_problem(self, problem: SchemaProblem) -> str:
        """Go to what is wrong; gives the tab that has to be shown first, or an empty string."""
        if self.json is not None and self.json.display:
            self.json.focus_problem()
            return ""
        if self.json is not None and self.json.unreadable:
            return "json"
        if not self.form.display:
            return "form"
        if not self.form.focus_first_problem():
            self.form.focus_field(problem.pointer)
        return ""

    def copy(self) -> bool:
        """Copy the value under the cursor of the definition, or what is said about it; False when none is seen."""
        for shown in (self.schema, self.text):
            if shown is not None and shown.display:
                shown.view.action_copy()
                return True
        return False

    def on_form_view_changed(self, event: FormView.Changed) -> None:
        """Something was typed into the form."""
        event.stop()
        self.post_message(self.Edited(event.value, event.form.pending, event.problems))

    def on_json_editor_unread(self, event: JsonEditor.Unread) -> None:
        """What stands in the JSON editor is no JSON yet: it is kept beside the value."""
        event.stop()
        if self._opened is not None:
            self.post_message(self.Edited(self._opened.value, {**self.form.pending, WHOLE: event.text}))

    def on_json_editor_changed(self, event: JsonEditor.Changed) -> None:
        """Something was typed into the JSON editor that is JSON."""
        event.stop()
        self.post_message(self.Edited(event.value, {}))


def _about(opened: Opened) -> str:
    return about(opened.entry, opened.value, opened.mirrors)


def _changes(opened: Opened) -> str:
    """What is different since the last look, line by line."""
    if opened.change is None or opened.change.before is None:
        return "Nothing has changed since you last looked."
    return "\n".join(diff(opened.change.before, opened.entry.view.raw))
