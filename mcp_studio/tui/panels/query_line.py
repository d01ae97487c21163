"""The filter line of the trace: it offers what could come next, and says what is wrong, and where."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from rich.text import Text
from textual.content import Content
from textual.events import DescendantBlur, DescendantFocus, Key
from textual.widget import Widget
from textual.widgets import Input

from mcp_studio.errors import UsageError
from mcp_studio.safetext import safe
from mcp_studio.trace.message import Recording
from mcp_studio.tui import late_trace
from mcp_studio.tui.panels.filter_line import FilterLine
from mcp_studio.tui.views.glyphs import glyphs

if TYPE_CHECKING:
    from mcp_studio.trace.query.parser import QueryError
    from mcp_studio.tui.query_completion import Suggestions

HINT = "filter: words, server: tool: status:error >500ms size:>1MB since:10m /regex/ not or ( )"
_LAST_WORD = re.compile(r"[^\s()]*$")
_SHOWN = 12
"""Suggestions on the line; it is cut where the screen ends."""


class QueryAid(Widget):
    """One line under the filter: what tab would write and what else there is, or what is wrong."""

    DEFAULT_CSS = "QueryAid { height: 1; display: none; }"

    def __init__(self) -> None:
        super().__init__()
        self._text = Content()

    def render(self) -> Content:
        """What was said last."""
        return self._text

    def say(self, text: Content) -> None:
        """Say this; nothing hides it."""
        self._text = text
        self.display = bool(text.plain)
        self.refresh()


class QueryLine(FilterLine):
    """A filter line for queries; `aid` belongs under it.

    Args:
        hint: what is said while nothing is typed.
        source: the recording that knows the values which can be offered.
    """

    def __init__(self, hint: str, source: Callable[[], Recording]) -> None:
        super().__init__(hint, ("tab", "Complete"), ("enter", "To the list"), ("escape", "End filter"))
        self._source = source
        self.aid = QueryAid()
        self._problem: QueryError | None = None

    @property
    def problem(self) -> QueryError | None:
        """What is wrong with the text; None when nothing is."""
        return self._problem

    def apply(self, use: Callable[[str], None]) -> None:
        """Put the text in force. Where its last word is none yet, what is before that is; else nothing changes.

        Args:
            use: takes a query; raises UsageError where it is none.
        """
        try:
            use(self.text)
        except UsageError as error:
            problem = self._problem = cast("QueryError", error)
            if problem.end >= len(self.text.rstrip()):
                with contextlib.suppress(UsageError):
                    use(_LAST_WORD.sub("", self.text[: problem.start]))
        else:
            self._problem = None
        self._help()

    async def open(self) -> None:
        """Show the input and focus it; offer something at once."""
        await super().open()
        if self._input is not None:
            self._input.highlighter = self._mark  # type: ignore[assignment]
        self._help()

    async def clear(self) -> None:
        """Empty the text; nothing is wrong with that."""
        self._problem = None
        await super().clear()
        self.aid.say(Content())

    def on_input_changed(self, event: Input.Changed) -> None:
        """Pass the text on, and offer what could come next."""
        super().on_input_changed(event)
        self._help()

    async def on_key(self, event: Key) -> None:
        """Tab takes what is offered first; enter does not leave a text that is wrong."""
        field = self._input
        if event.key == "tab" and field is not None and field.has_focus:
            offered = late_trace.suggestions(field.value, field.cursor_position, self._source())
            if offered.options:
                event.stop()
                event.prevent_default()
                self._take(field, offered)
        elif event.key == "enter" and self._problem is not None and field is not None and field.value == self.text:
            event.stop()
            event.prevent_default()
            self._help(wrong=True)
        else:
            await super().on_key(event)

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Offer something while it is typed in."""
        self._help()

    def on_descendant_blur(self, event: DescendantBlur) -> None:
        """Nothing is offered any more; what is wrong stays."""
        self.call_later(self._help)

    def _take(self, field: Input, offered: Suggestions) -> None:
        text = offered.options[0].text
        if not text.endswith(":") and offered.end == len(field.value):
            text += " "
        field.value = field.value[: offered.start] + text + field.value[offered.end :]
        field.cursor_position = offered.start + len(text)

    def _help(self, wrong: bool = False) -> None:
        """Say what could come next, unless something else is wrong than the word that is being typed."""
        field, problem = self._input, self._problem
        offered: Suggestions | None = None
        if field is not None and field.has_focus:
            offered = late_trace.suggestions(field.value, field.cursor_position, self._source())
            if not offered.options:
                offered = None
        if problem is not None and (wrong or offered is None or problem.end < offered.start):
            self.aid.say(_said(problem))
        elif offered is not None:
            self.aid.say(_offers(offered))
        else:
            self.aid.say(Content())

    def _mark(self, text: Text) -> Text:
        """Underline what is wrong."""
        if self._problem is not None and text.plain == self.text:
            text.stylize("underline", self._problem.start, max(self._problem.end, self._problem.start + 1))
        return text


def _said(problem: QueryError) -> Content:
    place = f"{glyphs().bad} at {problem.start + 1}: "
    return Content.assemble((place + safe(problem.message, 200), "$error"), (" " + safe(problem.hint, 200), "$quiet"))


def _offers(offered: Suggestions) -> Content:
    first, *others = offered.options[:_SHOWN]
    more = "  ".join(safe(option.text, 60) for option in others)
    about = f" {safe(first.about, 60)}" if first.about and len(offered.options) == 1 else ""
    return Content.assemble(("tab ", "$quiet"), (safe(first.text, 60), "bold"), (f"{about}  {more}", "$quiet"))
