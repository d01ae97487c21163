"""One line above a list: a hint, and after `/` an input that filters as one types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from textual.content import Content
from textual.events import Click, Key
from textual.geometry import Size
from textual.message import Message
from textual.reactive import Reactive
from textual.widget import Widget
from textual.widgets import Input


def typing_keys(focused: Widget | None) -> Sequence[tuple[str, str]]:
    """Keys of the line around the input that has the focus; none where nothing is sought or filtered."""
    node = focused
    while isinstance(focused, Input) and node is not None:
        if keys := cast("Sequence[tuple[str, str]]", getattr(node, "typing_keys", ())):
            return keys
        node = node.parent if isinstance(node.parent, Widget) else None
    return ()


class _Typed(Input):
    """It is as wide as it is: nothing has to be laid out anew for a letter."""

    virtual_size: Reactive[Size] = Reactive(Size(0, 0))


class FilterLine(Widget):
    """Becomes an input when opened; posts every change of its text."""

    class Changed(Message):
        """The text is another one."""

        def __init__(self, line: FilterLine, text: str) -> None:
            super().__init__()
            self.line = line
            self.text = text

    class Left(Message):
        """The person is done typing: `how` is `enter`, `down` or `escape`."""

        def __init__(self, line: FilterLine, how: str) -> None:
            super().__init__()
            self.line = line
            self.how = how

    def __init__(self, hint: str = "filter", *typing_keys: tuple[str, str]) -> None:
        super().__init__(classes="filter-line")
        self._hint = hint
        self.typing_keys = typing_keys or (("enter", "To the list"), ("escape", "End filter"))
        """Keys that act while it is typed in, with what the footer calls them."""
        self._input: Input | None = None
        self.text = ""

    def render(self) -> Content:
        """The hint, while there is no input."""
        return Content.assemble(("/ ", "$quiet"), (self._hint, "$quiet"))

    async def open(self) -> None:
        """Show the input and focus it; its text is kept from before, and what is typed replaces it."""
        if self._input is None:
            self._input = _Typed(self.text, compact=True, select_on_focus=False, placeholder=self._hint)
            await self.mount(self._input)
        if not self._input.has_focus:
            self._input.select_all()
        # Not `focus()`, which waits in a queue: the next key may be there already.
        self.screen.set_focus(self._input)

    async def put(self, text: str) -> None:
        """Put a text in the place of what is typed."""
        await self.open()
        if self._input is not None:
            self._input.value = text

    async def clear(self) -> None:
        """Empty the text and show the hint again."""
        had, self.text = self.text, ""
        if self._input is not None:
            field, self._input = self._input, None
            await field.remove()
        if had:
            self.post_message(self.Changed(self, ""))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Pass the text on."""
        event.stop()
        if event.value != self.text:
            self.text = event.value
            self.post_message(self.Changed(self, self.text))

    async def on_key(self, event: Key) -> None:
        """Leave the input by enter, down or escape."""
        if event.key in ("enter", "down", "escape"):
            event.stop()
            event.prevent_default()
            # The input's own message of its newest character may still be on its way.
            if self._input is not None and self._input.value != self.text:
                self.text = self._input.value
                self.post_message(self.Changed(self, self.text))
            if event.key == "escape":
                await self.clear()
            self.post_message(self.Left(self, event.key))

    async def on_click(self, event: Click) -> None:
        """A click on the hint opens the input."""
        await self.open()
