"""Pane 4: what came back, in three ways, and how the operation ended in one line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import AwaitMount, Widget
from textual.widgets import Static

from mcp_studio.call.call import Call, CallOutcome, Lost, Rejected, Succeeded, ToolFailed
from mcp_studio.present import connections, outcomes
from mcp_studio.protocol.views import ToolView, app_of
from mcp_studio.safetext import safe
from mcp_studio.tui import late, late_trace, task_words
from mcp_studio.tui.bindings import key_for
from mcp_studio.tui.panels.pane import Pane, Tab
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.messages import Copied

if TYPE_CHECKING:
    from mcp_studio.call.drafts import Drafts
    from mcp_studio.present.blocks import Block
    from mcp_studio.tui.opened import Opened
    from mcp_studio.tui.views.content_view import ContentView

_TABS = ("text", "structured", "raw", "markdown")
_PROBLEMS = 3
_LOOKS = {"ok": "$state-ready", "busy": "$state-busy", "bad": "b $state-failed", "off": "$quiet"}
_SIGNS = {"ok": "ok", "busy": "half", "bad": "bad", "off": "off"}


class ResultPanel(Pane, scope="result"):
    """The newest result of the open entry."""

    number = 4

    class Wanted(Message):
        """The person wants something done: `save again cancel command watch legacy`."""

        def __init__(self, what: str) -> None:
            super().__init__()
            self.what = what

    class BlockWanted(Message):
        """The person wants something done with one content block: `read enlarge open`."""

        def __init__(self, what: str, block: Block) -> None:
            super().__init__()
            self.what = what
            self.block = block

    def __init__(self) -> None:
        super().__init__(id="result")
        self._head = Static(classes="head")
        self._body = Vertical(classes="body")
        self._views: dict[str, Widget] = {}
        self._filled: dict[str, object] = {}
        self._call: Call | None = None
        self._opened: Opened | None = None
        self._key = ""
        self.mounting: AwaitMount | None = None
        """The newest viewer, until it is there."""
        self.news: Callable[[], str] = str
        self.drafts: Drafts
        """Keeps whether results of an entry are rendered as Markdown; None where nobody has said so."""
        """What is to be said of changes since the result came, or an empty string."""
        self.ending: Callable[[Call], Sequence[str | tuple[str, str]] | None] = lambda call: None
        """What is known of how the connection ended that a call was lost with."""
        self.advice: Callable[[Call], str] = lambda call: ""
        """What mends a call that failed, or an empty string."""

    def compose(self) -> ComposeResult:
        """A line on how it ended, above the body."""
        yield self._head
        yield self._body

    def on_mount(self) -> None:
        """Nothing has been run yet."""
        self._head.can_focus = True
        self.show_tabs([], "text")
        self.show(None, None)

    def show(self, opened: Opened | None, call: Call | None) -> None:
        """Show the call of what is open: nothing yet, running, or ended."""
        if not self._body.is_attached:
            return  # a call may end while the app is being left
        if opened is not None and opened.key != self._key:
            self._key, self.tab = opened.key, "text"
        self._opened, self._call = opened, call
        outcome = call.outcome if call else None
        has_tabs = isinstance(outcome, (Succeeded, ToolFailed, Rejected))
        text = isinstance(outcome, (Succeeded, ToolFailed)) and late.result_views().can_render(outcome)
        if self.tab in ("text", "markdown"):
            chosen = self.drafts.get(f"markdown:{self._key}") if text else False
            renders = late.result_views().is_markdown(outcome) if text and chosen is None else chosen
            self.tab = "markdown" if renders else "text"
        name = f"Result  {safe(call.subject, 60)}" if call else "Result"
        self.show_title(Content("" if has_tabs else name))
        tabs = [Tab("text", "Text"), Tab("structured", "Structured", "Struct"), Tab("raw", "Raw")]
        if text:
            tabs.append(Tab("markdown", "Markdown", "Md"))
        self.show_tabs(tabs if has_tabs else [], self.tab)
        self.tick()
        card = self._card(call, outcome) if call is not None and isinstance(outcome, Lost) else None
        self._body.display = has_tabs or card is not None
        self._head.can_focus = not self._body.display
        if self.screen.focused is self._head and not self._head.can_focus:
            self.screen.set_focus(None)  # the screen gives the keys to the result, as soon as it is there
        if has_tabs:
            self._fill(outcome)
        elif card is not None:
            self._show_view("ending", late_trace.mortem_card).put(card)

    def _card(self, call: Call, outcome: Lost) -> Sequence[str | tuple[str, str]] | None:
        """Why it was lost: what HTTP answered instead of a result, and how the connection ended."""
        ending = self.ending(call)
        if outcome.error.http is None:
            return ending
        why = connections.hint(outcome.error, key_for(self, "server-sign-in")) if outcome.sent else None
        parts = late.http_card(outcome.error, why=why)
        return [*parts, "\n", *ending] if ending else parts

    def tick(self) -> None:
        """Draw the first line and the border: time and progress move on while it runs."""
        call = self._call
        tone: connections.Tone = "off"
        if call is None:
            self._head.update(Content.assemble(self._teach(), *self._changes()))
            self.show_note(None)
        elif call.outcome is None:
            tone = "busy"
            task = call.as_task
            leave = key_for(self, "background")
            if task and not call.progress and not call.asking:
                parts = task_words.running(task, call.seconds, leave)
            else:
                parts = _running(call, key_for(self, "questions"))
            self._head.update(Content.assemble(*parts))
            self.show_note(Content(_progress(call, short=True)))
        else:
            tone, line = outcomes.outcome_line(
                call.outcome, told=self._body.display, key=key_for(self, "server-sign-in")
            )
            self._head.update(
                Content.assemble(*_ended(call.outcome, tone, line), *self._kept(call, call.outcome), *self._changes())
            )
            self.show_note(Content(outcomes.outcome_note(call.outcome)))
        self.set_class(tone == "bad", "-bad")
        self.set_class(tone == "busy", "-busy")

    # Tabs

    async def on_pane_tab_chosen(self, event: Pane.TabChosen) -> None:
        """Another way to look at it."""
        event.stop()
        had_focus = self.has_focus_within
        self.tab = event.tab
        if event.tab in ("text", "markdown"):
            self.drafts.put(f"markdown:{self._key}", event.tab == "markdown")
        self.show(self._opened, self._call)
        if had_focus:
            if self.mounting is not None:
                await self.mounting  # a viewer that is not there yet takes no focus
            self.screen.set_focus(self.entry_point())

    def _fill(self, outcome: CallOutcome) -> None:
        views = late.result_views()
        app = self._app(outcome)
        kind = views.kind_for(self.tab if self.tab in _TABS else "text", outcome, app)
        view = self._show_view(kind, lambda: views.make(kind))
        wanted = self.drafts.get(f"markdown:{self._key}") is True
        if self._filled.get(kind) != (stamp := (id(self._call), id(views.raw_of(outcome)), wanted)):
            self._filled[kind] = stamp
            views.put(view, kind, outcome, app, wanted)

    def _show_view(self, kind: str, make: Callable[[], Any]) -> Any:
        if kind not in self._views:
            self._views[kind] = make()
            self.mounting = self._body.mount(self._views[kind])
        for name, view in self._views.items():
            view.display = name == kind
        return self._views[kind]

    def _app(self, outcome: CallOutcome) -> str:
        """The page of the tool that was called, where it has one."""
        view = self._opened.entry.view if self._opened else None
        return app_of(view.raw) if isinstance(view, ToolView) and isinstance(outcome, Succeeded) else ""

    def _changes(self) -> list[tuple[str, str]]:
        text = self.news()
        return [(f"\n{glyphs().watched} {text}", "$text-accent")] if text else []

    def _kept(self, call: Call, outcome: CallOutcome) -> list[tuple[str, str]]:
        """What mends a failure; how old a result is that was not asked for now, or for how long it is fresh."""
        if not (text := outcomes.kept(outcome)):
            return [(self.advice(call), "$text-accent")]
        cached = isinstance(outcome, Succeeded) and outcome.cached is not None
        again = f" {glyphs().dot} {key_for(self, 'result-again')} here asks the server" if cached else ""
        return [(f"\n{text}{again}", "$state-busy" if again else "$quiet")]

    def _teach(self) -> str:
        how = f" Press {key_for(self, 'call')} to {self._opened.verb} it." if self._opened else ""
        return f"No result yet.{how}"

    # Actions

    def on_content_view_chosen(self, event: ContentView.Chosen) -> None:
        """Read a link, enlarge a picture."""
        event.stop()
        if (block := self._block(event.index)) is not None and block.kind in ("link", "image"):
            self.post_message(self.BlockWanted("read" if block.kind == "link" else "enlarge", block))

    def action_turn_block(self, step: int) -> None:
        """Go to the next block of the content, or to the one before."""
        view = self._views.get("content")
        if view is not None and view.display and self._body.display:
            cast("ContentView", view).turn_block(step)

    def action_open_block(self) -> None:
        """Open the file, page or link under the cursor with the system's program."""
        view = self._views.get("content")
        if view is not None and view.display and self._body.display:
            if (block := self._block(cast("ContentView", view).index)) is not None:
                self.post_message(self.BlockWanted("open", block))

    def _block(self, index: int) -> Block | None:
        outcome = self._call.outcome if self._call else None
        if outcome is None:
            return None
        found = late.result_views().shown_blocks(outcome, self._app(outcome))
        return found[index] if index < len(found) else None

    def action_want(self, what: str) -> None:
        """Have something done with it: saved, run again, stopped, watched, copied."""
        self.post_message(self.Wanted(what))

    def on_copied(self, event: Copied) -> None:
        """Put it on the clipboard."""
        event.stop()
        self.app.copy_to_clipboard(event.text)

    def action_copy(self) -> None:
        """Copy what is shown: the value under the cursor, else all of it."""
        for view in self._views.values():
            if view.display and self._body.display:
                late.result_views().copy(view)
                return
        self.app.copy_to_clipboard(str(self._head.visual))


def _running(call: Call, answer: str) -> list[str | tuple[str, str]]:
    if call.asking:
        return [(f"{glyphs().waiting} ", "b $accent"), f"It waits for your answer: {answer} opens the question."]
    parts: list[str | tuple[str, str]] = [(f"{glyphs().half} running ", "$state-busy"), f"{call.seconds:.1f} s"]
    if call.progress:
        parts += [f" {glyphs().dot} ", _progress(call)]
    return [*parts, (f" {glyphs().dot} esc stops it", "$quiet")]


def _progress(call: Call, *, short: bool = False) -> str:
    if call.progress is None:
        return f"{call.seconds:.0f} s" if short else ""
    return task_words.progress(call.progress.done, call.progress.total, "" if short else call.progress.message)


def _ended(outcome: CallOutcome, tone: connections.Tone, line: str) -> list[str | tuple[str, str]]:
    sign = getattr(glyphs(), _SIGNS[tone])
    parts: list[str | tuple[str, str]] = [(f"{sign} {line}", _LOOKS[tone])]
    if outcome.request_id is not None:
        parts.append((f" {glyphs().dot} request {safe(outcome.request_id, 40)}", "$quiet"))
    for note in outcome.notes[:_PROBLEMS]:
        parts.append((f"\n{glyphs().dot} {safe(note, 300)}", "$quiet"))
    for problem in outcome.problems[:_PROBLEMS]:
        parts.append((f"\n{glyphs().warning} {safe(problem, 300)}", "$state-busy"))
    if len(outcome.problems) > _PROBLEMS:
        parts.append((f"\n  and {len(outcome.problems) - _PROBLEMS} more problems", "$state-busy"))
    return parts
