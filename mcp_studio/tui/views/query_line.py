"""The line in which a query is typed: it offers what could come next, and says what is wrong, and where."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from rich.highlighter import Highlighter
from rich.text import Text
from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from mcp_studio.safetext import safe
from mcp_studio.trace.message import Recording
from mcp_studio.trace.query.parser import QueryError
from mcp_studio.tui.query_completion import Suggestions, complete
from mcp_studio.tui.views.glyphs import glyphs

_HINT = "words, server: tool: status:error >500ms size:>1MB since:10m /regex/ not or ( )"
_LAST_WORD = re.compile(r"[^\s()]*$")
_SHOWN = 12
"""Suggestions on the line; it is cut where the screen ends."""


class QueryInput(Input):
    """Tab completes the word under the cursor, as long as there is something to complete."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("tab", "complete", "Complete", show=False)]

    def __init__(self, source: Callable[[], Recording], highlighter: Highlighter) -> None:
        super().__init__(placeholder=_HINT, compact=True, highlighter=highlighter)
        self._source = source

    @property
    def offered(self) -> Suggestions:
        """What the word under the cursor may become."""
        return complete(self.value, self.cursor_position, self._source())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "complete" or bool(self.offered.options)

    def action_complete(self) -> None:
        offered = self.offered
        text = offered.options[0].text
        if not text.endswith(":") and offered.end == len(self.value):
            text += " "
        self.value = self.value[: offered.start] + text + self.value[offered.end :]
        self.cursor_position = offered.start + len(text)


class QueryLine(Vertical):
    """A query, and a line below it. Hidden until it is opened.

    Args:
        use: puts a query in force; raises QueryError where it is none.
        source: the recording that knows the values which can be offered.
    """

    DEFAULT_CSS = """
    QueryLine {
        height: auto; display: none;
        & > Input { background: $boost; }
        & > #aid { height: 1; padding: 0 1; }
    }
    """
    field = getters.query_one(QueryInput)

    @dataclass
    class Left(Message):
        """The person is done with typing."""

    def __init__(self, use: Callable[[str], None], source: Callable[[], Recording]) -> None:
        super().__init__()
        self._use = use
        self._source = source
        self.problem: QueryError | None = None
        """What is wrong with the text."""

    def compose(self) -> ComposeResult:
        yield QueryInput(self._source, _Underline(self))
        yield Static(id="aid", markup=False)

    def open(self) -> None:
        """Show it, and type."""
        self.display = True
        self.field.focus()

    def put(self, text: str) -> None:
        """Show a query that was not typed; empty ends the filter."""
        self.display = bool(text)
        self.field.value = text
        self.field.cursor_position = len(text)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        """Put it in force. Where its last word is none yet, what is before that is; else nothing changes."""
        event.stop()
        text, self.problem = event.value, None
        try:
            self._use(text)
        except QueryError as problem:
            self.problem = problem
            if problem.end >= len(text.rstrip()):
                with contextlib.suppress(QueryError):
                    self._use(_LAST_WORD.sub("", text[: problem.start]))
        self._help()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        """A text that is wrong is not left by enter."""
        event.stop()
        if self.problem is not None:
            self._help(wrong=True)
        else:
            self.post_message(self.Left())

    def on_descendant_focus(self) -> None:
        self._help()

    def on_descendant_blur(self) -> None:
        self.call_later(self._help)

    def _help(self, wrong: bool = False) -> None:
        """Say what could come next, unless something else is wrong than the word that is being typed."""
        problem, aid = self.problem, self.query_one("#aid", Static)
        offered = self.field.offered if self.field.has_focus else None
        options = offered.options if offered is not None else ()
        text = Content()
        if problem is not None and (wrong or not options or offered is None or problem.end < offered.start):
            place = f"{glyphs().bad} at {problem.start + 1}: "
            said = (place + safe(problem.message, 200), "$text-error"), (f" {safe(problem.hint, 200)}", "$quiet")
            text = Content.assemble(*said)
        elif options:
            first, *others = options[:_SHOWN]
            about = f" {safe(first.about, 60)}" if len(options) == 1 else ""
            more = "  ".join(safe(option.text, 60) for option in others)
            text = Content.assemble(("tab ", "$quiet"), (safe(first.text, 60), "bold"), (f"{about}  {more}", "$quiet"))
        aid.display = bool(text.plain)
        aid.update(text)


class _Underline(Highlighter):
    """Underlines what is wrong with a query."""

    def __init__(self, line: QueryLine) -> None:
        self._line = line

    def highlight(self, text: Text) -> None:
        if (problem := self._line.problem) is not None:
            text.stylize("underline", problem.start, max(problem.end, problem.start + 1))
