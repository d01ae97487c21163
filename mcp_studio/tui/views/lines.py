"""Lines with parts that the mouse presses: the header, the keys at the bottom, tabs; and checkboxes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import ClassVar

from rich.cells import cell_len
from textual.binding import ActiveBinding, Binding, BindingType
from textual.content import Content
from textual.events import MouseMove
from textual.geometry import Size
from textual.message import Message
from textual.reactive import Reactive, reactive
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Checkbox, Input, RadioButton


class PartLine(Widget):
    """One line of parts. A widget for each part is styled and laid out by itself, and again with each new text."""

    ALLOW_SELECT = False
    auto_links = Reactive(False)
    pointed = reactive("")
    """The action of the part under the mouse."""

    def part(self, text: Content, action: str, pointed: str) -> Content:
        """A part whose click runs an action; `pointed` is its look under the mouse."""
        return text.stylize(Style.from_meta({"@click": action})).stylize(pointed if action == self.pointed else "")

    def on_mouse_move(self, event: MouseMove) -> None:
        self.pointed = event.style.meta.get("@click", "")

    def on_leave(self) -> None:
        self.pointed = ""


class KeyBar(PartLine):
    """The keys that do something now, as many as fit whole: the line at the bottom.

    Textual's `Footer` has a widget for each key, and makes them anew whenever the focus moves. That was half of the
    time until what such a key did was seen.
    """

    def __init__(self, label: Callable[[ActiveBinding], str | None]) -> None:
        """`label` gives a binding another name than its own; None hides it."""
        super().__init__()
        self._label = label

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, lambda screen: self.refresh())

    def render(self) -> Content:
        line, seen, keys = Content(), set[str](), dict[str, Binding]()
        for bound in self.screen.active_bindings.values():
            binding = bound.binding
            if binding.show and binding.action not in seen and (label := self._label(bound)) is not None:
                seen.add(binding.action)
                # Of two keys that close a dialog, the later one, esc, does so everywhere.
                keys[label or binding.description] = binding
        for label, binding in keys.items():
            name = (f" {self.app.get_key_display(binding)} ", "bold $footer-key-foreground")
            key = Content.assemble(name, (f"{label} ", "$footer-description-foreground"))
            if line.cell_length + key.cell_length <= self.size.width + 1:  # the last blank may be cut
                line += self.part(key, f"app.simulate_key({binding.key!r})", "on $block-hover-background")
        return line

    def watch_pointed(self, action: str) -> None:
        found = (one.tooltip for one in self.screen.active_bindings.values() if repr(one.binding.key) in action)
        self.tooltip = next(found, None)


class TabLine(PartLine, can_focus=True):
    """Tabs by their names. Textual's `Tabs` has five widgets, and one more for each tab."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "next_tab(-1)", show=False), Binding("right", "next_tab", show=False),
    ]  # fmt: skip
    active: reactive[str] = reactive("", init=False)

    class Activated(Message):
        """Another tab is active."""

    def __init__(self, labels: Mapping[str, str]) -> None:
        super().__init__()
        self.labels = labels
        """The label of each tab by its name."""
        self.set_reactive(TabLine.active, next(iter(labels)))

    def show(self, labels: Mapping[str, str]) -> None:
        """Show other tabs or labels; if the active tab is gone, the one after it is active."""
        if labels != self.labels:
            before, self.labels = [*self.labels], labels
            self.active = next(name for name in (*before[before.index(self.active) :], *labels) if name in labels)
            self.refresh()

    @property
    def places(self) -> Mapping[str, int]:
        """The column of each tab on screen; without room, the first ones leave theirs to the active one."""
        cells = [cell_len(label) + 1 for label in self.labels.values()]
        wider = sum(cells) + len(cells) <= self.size.width + 1
        ends = [*accumulate((width + wider for width in cells), initial=0)]
        over = ends[[*self.labels].index(self.active) + 1] - 1 - self.size.width  # the last blank may be cut
        first = next(end for end in ends if end >= over)
        return {name: end - first for name, end in zip(self.labels, ends, strict=False) if end >= first}

    def render(self) -> Content:
        line = Content()
        for name, place in self.places.items():
            look = "bold underline $foreground" if name == self.active else ""
            ground = "on $pane-focus 30%" if self.has_focus and name == self.active else ""
            text = Content.assemble((self.labels[name], look), " ").stylize(ground)
            line = line.pad_right(place - line.cell_length) + self.part(text, f"open({name!r})", "$foreground")
        return line

    def watch_active(self) -> None:
        self.post_message(self.Activated())

    def action_open(self, name: str) -> None:
        self.active = name

    def action_next_tab(self, step: int = 1) -> None:
        names = [*self.labels]
        self.active = names[(names.index(self.active) + step) % len(names)]


class FilterInput(Input):
    """A line for a filter: typing does not lay out the whole screen, as each letter does in Textual's."""

    virtual_size = Reactive(Size(0, 0), repaint=False)


class Tick(Checkbox):
    """A checkbox that looks like those of forms: Textual's shows by colour alone whether it is ticked."""

    def render(self) -> Content:
        return signed(self, "[x]" if self.value else "[ ]")


def signed(button: Checkbox | RadioButton, sign: str) -> Content:
    """The label of a button behind its sign."""
    return Content.assemble(sign, button.label.pad(1, 1).stylize_before(button.get_visual_style("toggle--label")))
