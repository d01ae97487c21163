"""The line at the bottom: the keys that do something now."""

from __future__ import annotations

from collections.abc import Callable

from textual.binding import Binding
from textual.content import Content
from textual.events import Click, MouseMove
from textual.reactive import reactive
from textual.style import Style
from textual.widget import Widget


class KeyBar(Widget):
    """The keys that do something now, as many as fit whole: the line at the bottom. The mouse presses them, too.

    Textual's `Footer` has a widget for each key, and makes them anew whenever the focus moves. That was half of the
    time until what such a key did was seen.
    """

    ALLOW_SELECT = False
    pointed = reactive("")
    """The key under the mouse."""

    def __init__(self, label: Callable[[str], str] = lambda action: "") -> None:
        """`label` gives an action another name than its own, where it has one here."""
        super().__init__()
        self._label = label

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, lambda screen: self.refresh())

    def render(self) -> Content:
        line, seen, keys = Content(), set[str](), dict[str, tuple[Binding, str]]()
        for _, binding, _, tooltip in self.screen.active_bindings.values():
            if binding.show and binding.action not in seen:
                seen.add(binding.action)
                # Of two keys that close a dialog, the later one, esc, does so everywhere.
                keys[self._label(binding.action) or binding.description] = binding, tooltip
        for label, (binding, tooltip) in keys.items():
            name = (f" {self.app.get_key_display(binding)} ", "bold $footer-key-foreground")
            key = Content.assemble(name, (f"{label} ", "$footer-description-foreground"))
            if line.cell_length + key.cell_length <= self.size.width + 1:  # the last blank may be cut
                hover = " on $block-hover-background" if binding.key == self.pointed else ""
                line += key.stylize(hover).stylize(Style.from_meta({"key": (binding.key, tooltip)}))
        return line

    def on_mouse_move(self, event: MouseMove) -> None:
        self.pointed, self.tooltip = event.style.meta.get("key", ("", None))

    def on_leave(self) -> None:
        self.pointed = ""

    def on_click(self, event: Click) -> None:
        if "key" in event.style.meta:
            self.app.simulate_key(event.style.meta["key"][0])
