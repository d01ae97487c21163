"""Pane 3: what is open, and around its form what is to be known about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.catalog.listing import Ref
from mcp_studio.jsontext import Json
from mcp_studio.present import connections, units
from mcp_studio.protocol.views import ResourceView
from mcp_studio.safetext import safe
from mcp_studio.schema.field import SchemaProblem
from mcp_studio.session.state import Status
from mcp_studio.tui import late, task_words
from mcp_studio.tui.bindings import key_for, refuse
from mcp_studio.tui.panels.call_about import about_of, title_of
from mcp_studio.tui.panels.pane import Pane, Tab
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.messages import Copied

if TYPE_CHECKING:
    from mcp_studio.schema.examples import Example
    from mcp_studio.tui.app import StudioApp
    from mcp_studio.tui.form.form_view import FormView
    from mcp_studio.tui.form.offer import Complete
    from mcp_studio.tui.opened import Opened
    from mcp_studio.tui.panels.call_body import CallBody
    from mcp_studio.tui.screens.main import MainScreen

EMPTY = (
    "Nothing is open.\n\nChoose a tool, resource or prompt in pane 2 and press enter; "
    "fill in its form here, and run it with {run}."
)


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
        """The person wants something done: `cancel command as paste clear watch history`."""

        def __init__(self, what: str) -> None:
            super().__init__()
            self.what = what

    def __init__(self) -> None:
        super().__init__(id="call")
        self._about = Static(classes="about")
        self._notice = Static(classes="notice")
        self._as_task = Static(classes="as-task")
        self.body: CallBody | None = None
        self.use: Callable[[Ref], Sequence[tuple[str, str]]] = lambda ref: ()
        self._opened: Opened | None = None
        self._problems: tuple[SchemaProblem, ...] = ()

    def compose(self) -> ComposeResult:
        """What it is, and what is to be known about it; the body comes with the first entry."""
        yield self._about
        yield self._as_task
        yield self._notice

    def on_mount(self) -> None:
        """Nothing is open yet."""
        self._about.update(Content(EMPTY.format(run=key_for(self, "call"))))
        self._about.can_focus = True
        self._about.add_class("-teach")
        self._notice.display = self._as_task.display = False
        self.tab = "form"
        self.show_title(Content("Call"))

    async def show(
        self, opened: Opened, pending: Mapping[str, str], complete: Complete | None, *, again: bool = False
    ) -> None:
        """Show an entry, its form filled with its value.

        Nothing of it is seen before all of it can have the focus.

        Args:
            again: it is the same entry, and only defined in another way: tab, row, cursor and all text stay.
        """
        if self.body is None:
            self.body = late.call_body()
            self.body.display = False
            await self.mount(self.body)
        tab = await self.body.show(opened, pending, complete, again=again)
        self._opened = opened
        self._problems = ()
        self._about.can_focus = False
        self._about.remove_class("-teach")
        self._about.update(Content.assemble(*about_of(opened)))
        self.show_use()
        self.tab = self.tab if again else tab
        await self.body.show_tab(self.tab)
        self.body.display = True
        self._draw_note()

    def show_use(self) -> None:
        """Say in the heading how the entry did when it was used."""
        if (opened := self._opened) is not None:
            self.show_title(Content.assemble(*title_of(opened), *self.use(opened.entry.ref)))

    def show_state(self, status: Status | None, listed: bool, waits: bool) -> None:
        """Say what keeps the entry from being run, or should be known about it."""
        opened, lines = self._opened, list[str]()
        if opened is None:
            return
        if status is None:
            lines.append("Its server is not configured any more.")
        elif status.state != "ready":
            lines.append(connections.state_words(status))
        elif not listed:
            lines.append("The server does not list it any more.")
        elif opened.entry.remembered:
            lines.append("It is remembered from an earlier run; the server has not confirmed it yet.")
        if waits:
            lines.insert(0, f"It waits for your answer: {key_for(self, 'questions')} opens the question.")
        if opened.change is not None:
            how = f" {glyphs().dot} tab Changes shows how" if opened.change.kind == "changed" else ""
            lines.append(f"Since you last looked: {safe(opened.change.words, 200)}{how}")
        if opened.entry.problem:
            lines.append(f"Malformed: {safe(opened.entry.problem, 300)}")
        lines += [safe(problem, 300) for problem in opened.form.problems[:3]]
        line = task_words.switch_line(opened.support, opened.as_task, key_for(self, "as-task"))
        self._as_task.display = bool(line)
        on = opened.as_task or opened.support == "required"
        self._as_task.update(Content(f"{glyphs().on if on else glyphs().off} {line}"))
        self._notice.display = bool(lines)
        self._notice.update(Content("\n".join(f"{glyphs().warning} {line}" for line in lines)))

    # Problems

    @property
    def pending(self) -> Mapping[str, str]:
        """Text by place that is no JSON, and so is not in the value."""
        return self.body.pending if self.body else {}

    def unreadable(self) -> tuple[SchemaProblem, ...]:
        """What is typed, but no JSON: it cannot be sent."""
        return self.body.unreadable() if self.body else ()

    def show_problems(self, problems: Iterable[SchemaProblem]) -> None:
        """Tell what is wrong at the fields that it is about."""
        found = tuple(problems)
        self._problems = found
        if self.body is not None:
            self.body.show_problems(found)
            doubts = (one for one in self.body.form.problems if one.severity == "warning")  # of formats
            self._problems = tuple(dict.fromkeys((*found, *doubts)))
        self._draw_note()

    def focus_problem(self, problem: SchemaProblem) -> None:
        """Go to what is wrong."""
        if self.body is not None and (tab := self.body.focus_problem(problem)):
            self.post_message(self.TabChosen(self, tab))

    # Tabs and editing

    async def on_pane_tab_chosen(self, event: Pane.TabChosen) -> None:
        """Another view on the value."""
        event.stop()
        if self.body is None:
            return
        had_focus = self.has_focus_within
        self.tab = event.tab
        await self.body.show_tab(self.tab)
        self._draw_note()
        if self.tab == "history":
            self.post_message(self.Wanted("history"))
        if had_focus:
            self.screen.set_focus(self.entry_point())

    def entry_point(self) -> Widget:
        """The form, the editor or the definition: what is shown."""
        return (self.body.entry_point() if self.body else None) or self._about

    @property
    def acts(self) -> tuple[str, ...]:
        """The ids of the actions worth knowing on the row of the form that has the cursor."""
        form = self.body.form if self.body is not None else None
        return form.acts if form is not None and form.has_focus_within else ()

    def on_form_view_row_changed(self, event: FormView.RowChanged) -> None:
        """Other keys act on another row."""
        event.stop()
        if not self._problems and self.body is not None and "form-problem" in self.acts:
            self._problems = self.body.form.problems  # told in the form before anything was typed
            self._draw_note()
        cast("MainScreen", self.screen).arranging.show_keys()

    def on_call_body_edited(self, event: CallBody.Edited) -> None:
        """Something was typed."""
        event.stop()
        if self._opened is not None:
            self._opened.value = event.value
            known = event.problems if self._opened.entry.ref.kind != "template" else None
            self._problems = self._opened.problems() if known is None else known
            self.post_message(self.Edited(event.value, event.pending))
            self._draw_note()

    def _draw_note(self) -> None:
        tabs = [Tab("form", "Form"), Tab("schema", "Schema"), Tab("history", "History", "Hist"), Tab("about", "About")]
        if self._opened is not None and not isinstance(self._opened.entry.view, ResourceView):
            tabs.insert(1, Tab("json", "JSON"))
        if self._opened is not None and self._opened.change is not None and self._opened.change.kind == "changed":
            tabs.append(Tab("changes", "Changes"))
        errors = sum(problem.severity == "error" for problem in self._problems)
        warnings = len(self._problems) - errors
        note = [(units.plural(errors, "error"), "$state-failed")] if errors else []
        note += [(", ", "$quiet")] if errors and warnings else []
        note += [(units.plural(warnings, "warning"), "$state-busy")] if warnings else []
        self._note = Content.assemble(*note) if note else None
        self.show_tabs(tabs, self.tab)

    # Actions

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Letters belong to the form while it has the focus."""
        letters = action in ("cancel", "edit", "copy_command", "copy_as", "paste_call", "clear", "copy")
        if action == "watch":  # a resource has no fields into which one could type
            letters = self._opened is not None and not isinstance(self._opened.entry.view, ResourceView)
        return not (letters and self.body is not None and self.body.typing)

    def on_copied(self, event: Copied) -> None:
        """Put it on the clipboard."""
        event.stop()
        self.app.copy_to_clipboard(event.text)

    def action_copy(self) -> None:
        """Copy the value under the cursor of the definition."""
        if self.body is None or not self.body.copy():
            refuse(self, "Here only the definition can be copied, on the tabs Schema and About.")

    def action_edit(self) -> None:
        """Edit the arguments as JSON."""
        self.post_message(self.TabChosen(self, "json"))

    def action_cancel(self) -> None:
        """Stop what is running."""
        self.post_message(self.Wanted("cancel"))

    def action_copy_command(self) -> None:
        """Copy the command line that does the same."""
        self.post_message(self.Wanted("command"))

    def action_copy_as(self) -> None:
        """Copy it as something else."""
        self.post_message(self.Wanted("as"))

    def action_paste_call(self) -> None:
        """Fill it from what was pasted."""
        self.post_message(self.Wanted("paste"))

    def action_example(self) -> None:
        """Fill the form with an example."""
        if self._opened is None or isinstance(self._opened.entry.view, ResourceView):
            refuse(self, "Nothing that could be filled in is open here.")
        else:
            self.app.push_screen(late.examples(cast("StudioApp", self.app).studio, self._opened), self._filled)

    def _filled(self, example: Example | None) -> None:
        if example is not None and self.body is not None:
            self.body.fill(example.value)

    def action_watch(self) -> None:
        """Watch the resource, or no longer."""
        self.post_message(self.Wanted("watch"))

    def action_deadline(self) -> None:
        """Choose how long calls of this entry are waited for."""
        self.post_message(self.Wanted("deadline"))

    def action_clear(self) -> None:
        """Forget what was typed."""
        self.post_message(self.Wanted("clear"))
