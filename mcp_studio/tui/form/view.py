"""The form of a call, a prompt, a template or an elicitation: a view on one JSON value."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from textual import events
from textual.containers import VerticalScroll
from textual.geometry import Region
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, TextArea

from mcp_studio.jsontext import Json
from mcp_studio.schema.field import AS_JSON, Form, SchemaProblem, Text, errors
from mcp_studio.schema.place import Path, path_of, pointer
from mcp_studio.tui.actions import bindings
from mcp_studio.tui.form.choices import PAUSE, Chooser, Complete, Completions, Items
from mcp_studio.tui.form.editors import AreaEditor, Overlay
from mcp_studio.tui.form.model import FormModel
from mcp_studio.tui.form.painter import Drawn, FormCanvas, Here, Painter
from mcp_studio.tui.form.rows import Kind, Row
from mcp_studio.tui.views.rows import Piece, Steady

if TYPE_CHECKING:
    from mcp_studio.tui.screens.field_menu import FieldHelp

_LEAVING = ("tab", "shift+tab", "up", "down", "enter", "escape")
"""Keys in an editor that end typing into its field."""
_FEW = 8
"""The most rows that all show their whole help where the screen is wide and high."""
_PRESS = 0.4
"""Seconds after which a mouse button is up again."""


class FormView(VerticalScroll, Steady, can_focus=False, inherit_bindings=False):
    """Rows that edit one value: `show` a form; a `Changed` message follows every edit.

    One widget draws all rows, and one editor lies over the field of the current row, so that a thousand rows cost no
    more than three. The form is as high as its rows and its container scrolls, unless the form is given a height. Tab
    and arrows walk the rows, enter goes on or opens, space toggles, opens and folds, escape closes. The menu of a field
    has everything else.
    """

    BINDINGS = bindings("form")

    @dataclass
    class Changed(Message):
        """The person edited the value, which is a new object now."""

        value: Json

    def __init__(self, form: Form | None = None, value: Json = None, *, empty: str = "No arguments.") -> None:
        """`empty` is shown while there are no rows."""
        self._canvas = FormCanvas(self)
        super().__init__(self._canvas)
        self.model = FormModel(form or Form(), value)
        """Read-only for others: edits go through the form, which draws them."""
        self._empty = empty
        self._overlay = Overlay(self._leaves, self._lines_pasted)
        self.chooser = Chooser(self.model)
        self.items = Items(self, self._overlay)
        """Edits items of lists and entries of maps."""
        self.completions = Completions(self, self._overlay)
        self._at = 0
        self._entered = False
        """Whether the current row shows its help and problems: from the first focus on, so that blur moves nothing."""
        self._key: tuple[Path, Kind] | None = None
        self._painter = Painter(self.model, 80)
        self._above: list[list[Piece]] = []
        self._starts: Sequence[int] = (0,)
        self._room = self.size
        self._refusal = ""
        self._told = 0
        """The number of edits that others know of."""

    # The value

    def show(
        self,
        form: Form,
        value: Json,
        pending: Mapping[str, str] | None = None,
        complete: Complete | None = None,
        *,
        again: bool = False,
    ) -> None:
        """Show another form.

        Args:
            pending: text by JSON pointer that was no JSON when the person left this form.
            again: the form is the same, only its descriptions differ, so row and cursor stay.
        """
        self.completions.source = complete
        if not again:
            self._at, self._key, self._entered = 0, None, self.has_focus_within
            self._holder.scroll_home(animate=False)
        self._take(FormModel(form, value, pending))

    def set_value(self, value: Json) -> None:
        """Show another value in the same form, as after editing it as JSON; the person can undo that."""
        if value is not self.model.value:
            self.model.replace(value)
            self._take(self.model)

    def _take(self, model: FormModel) -> None:
        self.model, self._told = model, model.edits
        self.chooser = Chooser(model)
        self._overlay.close()
        if self.is_attached and self.has_focus_within:
            self.open_editor()
        self.redraw()

    @property
    def value(self) -> Json:
        return self.model.value

    @property
    def pending(self) -> Mapping[str, str]:
        """Text by JSON pointer that is no JSON, so that the value cannot hold it."""
        return {pointer(*path): text for path, text in self.model.pending.items()}

    @property
    def unreadable(self) -> tuple[SchemaProblem, ...]:
        """The problems of the text in `pending`, and of typed words that choose no option yet."""
        listed, found = self.chooser.drop_down, self.model.unreadable()
        if self.row is None or listed is None or not listed.words:
            return found
        why = "enter takes the option" if listed.options else "no option has these words"
        return *found, SchemaProblem(pointer(*self.row.path), f"is not chosen: {why}")

    @property
    def problems(self) -> tuple[SchemaProblem, ...]:
        """Every problem that the fields alone can find."""
        return self.model.problems()

    def show_problems(self, problems: Iterable[SchemaProblem]) -> None:
        """Show the problems of a check of the whole schema at their rows; problems without a row go above the rows."""
        if self.model.tell(problems):
            self.redraw()

    def put(self, path: Path, value: Json = None, text: str | None = None) -> None:
        """Set the value of a place, or type text into it, as one step that can be undone; then go there.

        Raises:
            NoPlace: the value has no such place any more.
        """
        self.model.pause()
        self.model.put(path, value) if text is None else self.model.type(self.model.row_of(path), text)
        self.go_to(path)

    # Drawing

    @property
    def row(self) -> Row | None:
        """The current row, which gets the keys."""
        rows = self.model.rows
        return rows[self._at] if self._at < len(rows) else None

    def redraw(self) -> None:
        """Draw the present value, folds and problems, and report edits."""
        if self._told != self.model.edits:
            self._told = self.model.edits
            self.post_message(self.Changed(self.model.value))
        height = self.lay_out(self._canvas.size.width or self._painter.width)
        # A layout that is asked for before the first one would hide from Textual that another height follows. A hidden
        # canvas has no size, but Textual knows its height from before.
        known = {self._canvas.size.height, self._canvas.measured}
        self._canvas.refresh(layout=bool(known - {0, height}))
        self._place_editor()

    def lay_out(self, width: int) -> int:
        """Find the line of every row; returns the number of lines."""
        rows, problems, known = self.model.rows, self.model.row_problems, self._painter.made_for
        if known[0] is not rows or known[1] is not problems or known[2] != width:
            roomy = self.is_attached and len(rows) <= _FEW and self.screen.has_class("-huge", "-tall")
            self._painter = Painter(self.model, width, roomy=roomy)
            self._find()
        heights = list(self._painter.heights)
        self._above = [*self._painter.notices(self._empty)]
        if rows and self._entered:
            heights[self._at] = len(self._draw(self._at).lines)
        self._starts = list(accumulate(heights, initial=len(self._above)))
        return max(1, self._starts[-1])

    def _find(self) -> None:
        """Keep the current row after rows have come or gone, or take the nearest row that is left."""
        rows = self.model.rows
        found = self.model.row_at(self._key[0]) if self._key is not None else None
        if found is not None:
            same = (at for at in (self._at, found, found + 1) if at < len(rows) and rows[at].key == self._key)
            self._at = next(same, found)
        self._at = max(0, min(self._at, len(rows) - 1))
        self._key = rows[self._at].key if rows else None

    def _draw(self, index: int) -> Drawn:
        here = Here(self.has_focus_within, self.chooser.drop_down, self._overlay.height)
        current = index == self._at and self._entered
        return self._painter.draw(index, self.model.rows[index], here if current else None)

    def on_mount(self) -> None:
        self.screen.screen_layout_refresh_signal.subscribe(self, self._laid_out)

    def _laid_out(self, _: Screen[object]) -> None:
        """Bring the current row back into view when the container has changed its size."""
        before, self._room = self._room, self._holder.size
        if before != self._room and self.has_focus_within:
            self._place_editor()
            self.call_after_refresh(self._reveal)

    @property
    def _holder(self) -> Widget:
        """The widget that scrolls: the form itself, or its container."""
        return self.parent if isinstance(self.parent, Widget) and not self.max_scroll_y else self

    def _row_at(self, line: int) -> int | None:
        """The number of the row on a line; None if no row is there."""
        return bisect_right(self._starts, line) - 1 if self._starts[0] <= line < self._starts[-1] else None

    def line(self, line: int) -> Sequence[Piece]:
        """The pieces of one line."""
        if self._canvas.size.width != self._painter.made_for[2]:  # the layout has last asked for another width
            self.lay_out(self._canvas.size.width)
            self.call_later(self._place_editor)
        row = self._row_at(line)
        if row is None:
            return self._above[line] if line < len(self._above) else []
        lines, at = self._draw(row).lines, line - self._starts[row]
        return lines[at] if at < len(lines) else []

    def _place_editor(self) -> None:
        row = self.row
        if row is None or self._overlay.editor is None:
            self._overlay.place(0, 0, 1)
            return
        indent, naming = self._painter.indent(row), self._overlay.naming is not None
        at, width = (indent, self._painter.width - indent) if naming else self._painter.editor_place(row)
        self._overlay.place(at, self._starts[self._at], width)

    def _reveal(self) -> None:
        """Scroll the form and its containers until the current row is in view."""
        if not self.is_attached or self._at + 1 >= len(self._starts):
            return
        first, last = self._starts[self._at], self._starts[self._at + 1]
        region = Region(0, first, self._canvas.size.width, last - first)
        node: Widget = self._canvas
        while isinstance(node.parent, Widget):
            node = node.parent
            if node.styles.overflow_y != "hidden":
                region -= node.scroll_to_region(region, animate=False, force=True, immediate=True)
            region = region.translate(node.virtual_region.offset + node.gutter.top_left)

    # Walking

    def entry_point(self) -> Widget:
        """The widget that gets the focus when the person goes to the form: the current editor, or else the rows."""
        self._canvas.can_focus = self._canvas.can_focus or self._overlay.editor is None
        return self._overlay.editor or self._canvas

    def begin(self) -> None:
        """Take the focus, on the first row that is not an open part."""
        if self.model.rows:
            self.go(next((at for at, row in enumerate(self.model.rows) if row.fold is not True), 0))

    def check(self) -> list[SchemaProblem]:
        """Find the errors of all fields, show them, and go to the first."""
        if wrong := errors((*self.unreadable, *self.problems)):
            self.show_problems(wrong)
            self.focus_first_problem()
        return wrong

    def focus_first_problem(self) -> bool:
        """Go to the first row with an error, and show missing values everywhere; False if there is no error."""
        return self._go_to_problem(-1)

    def focus_field(self, pointer: str) -> None:
        """Go to the row of this JSON pointer, or of the nearest place around it."""
        if self.model.rows:
            self.go_to(path_of(pointer, self.model.value))

    def on_descendant_focus(self) -> None:
        self._entered = True
        if self._overlay.editor is None or not self._overlay.editor.has_focus:
            self.open_editor()
        self.redraw()

    def on_descendant_blur(self) -> None:
        self.call_later(self.redraw)
        self.set_timer(_PRESS, self._blurred)

    def _blurred(self) -> None:
        """Close an open list, but only after the mouse button is up again: the press may be on something below it."""
        if not self.has_focus_within:
            self.leave()
            if self._overlay.revealed is not None:
                self._overlay.revealed = None
                self.open_editor()
            self.redraw()

    def go(self, index: int) -> None:
        """Make a row the current row, and take the focus."""
        rows, before = self.model.rows, self.row
        index = max(0, min(index, len(rows) - 1))
        wanted = rows[index].key if rows else None
        if wanted != self._key:
            self.leave()
            if before is not None:
                self.model.leave_json(before.path)
        self._at, self._key = index, wanted
        self.open_editor(take=True)
        self.show_current()

    def go_to(self, path: Path, *, inside: bool = False) -> None:
        """Open the parts around a place and go there, or with `inside` to the first row in that place."""
        self.model.open_to(path)
        index, rows = self.model.nearest(path), self.model.rows
        index = self._at if index is None else self.model.inner_at(path, index)
        below = rows[index + 1] if index + 1 < len(rows) else None
        deeper = below is not None and rows[index].fold and below.path[: len(path)] == path and below.kind != "add"
        self.go(index + 1 if inside and deeper else index)

    def leave(self) -> None:
        """End everything that belongs to the row that the person leaves."""
        self._refusal = ""
        self.chooser.drop_down = None
        self.workers.cancel_group(self, "completions")
        self.model.pause()

    def open_editor(self, *, take: bool = False) -> None:
        """Use the editor that suits the current row; `take` the focus if it is elsewhere."""
        self._find()
        self._overlay.open(self.model, self.row)
        self._hand_over(take=take)

    def reopen(self) -> None:
        """Show the current row with the editor that suits it now."""
        self.open_editor()
        self.show_current()

    def _hand_over(self, *, take: bool = False) -> None:
        """Give the form's focus to the editor of the current row, or else to the rows; `take` it if it is elsewhere."""
        wanted = self._overlay.editor or self._canvas
        self._canvas.can_focus = wanted is self._canvas
        wanted.display = True
        if not wanted.is_attached:
            self.mount(wanted)
        if (take or self.has_focus_within) and not wanted.has_focus:
            self.screen.set_focus(wanted, scroll_visible=False)

    def show_current(self) -> None:
        self._hand_over()
        self.redraw()
        self.call_after_refresh(self._reveal)

    def walk(self, by: int) -> bool:
        """Go to the next or previous row; False at either end."""
        if not 0 <= self._at + by < len(self.model.rows):
            return False
        self.go(self._at + by)
        return True

    def refuse(self, why: str) -> None:
        """Say why something cannot be done here, but only once, however many letters the person types."""
        if why != self._refusal:
            self.notify(why, severity="warning", markup=False)
        self._refusal = why

    # Keys and clicks

    def _leaves(self, key: str) -> bool:
        """Take a key that leaves an editor, but first the typed text, whose message may still be on the way."""
        if self._overlay.naming is not None:
            return self.items.press(key)
        listed = self.chooser.drop_down
        if listed is not None:
            if key == "escape" or listed.move(key):
                self.chooser.drop_down = listed if key != "escape" else None
                self.show_current()
                return True
            if key in ("enter", "tab") and listed.option is not None:
                self.completions.take(listed.labels[listed.option])
                if key == "enter":
                    return True
        if key not in _LEAVING:
            return False
        self.typed()
        return self.press(key, None)

    def press(self, key: str, character: str | None) -> bool:
        """Take a key before the keys that follow it are handled; returns whether the form took it."""
        row, editor = self.row, self._overlay.editor
        if key in ("tab", "shift+tab"):
            listed = self.chooser.drop_down
            if row is not None and editor is None and listed is not None and listed.words:
                self._press_row(row, "enter", None)
            if not self.walk(1 if key == "tab" else -1):
                (self.screen.focus_next if key == "tab" else self.screen.focus_previous)()
            return True
        if row is None:
            return False
        if editor is self._overlay.area:
            if key == "escape":  # back to the line, unless the text needs the area
                self.reopen()
            return self._overlay.editor is not editor
        if editor is None and self._press_row(row, key, character):
            return True
        if key in ("up", "down"):
            self.walk(-1 if key == "up" else 1)
        elif key in ("home", "end") and editor is None:
            self.go(0 if key == "home" else len(self.model.rows) - 1)
        elif key == "enter" and editor is not None and isinstance(row.field, AS_JSON):
            self._overlay.grow(self.model, row)
            self.show_current()
        elif key == "enter":
            if not self.walk(1):
                self.screen.focus_next()
        elif editor is None and character and character.isalpha():
            # Passed on, words meant for a field would open panes and dialogs.
            self.refuse("This field takes no text: enter or space opens it.")
        else:
            return False
        return True

    def _press_row(self, row: Row, key: str, character: str | None) -> bool:
        """Take a key on a row without an editor."""
        if row.kind == "add" and key in ("enter", "space"):
            self.items.add()
        elif row.fold is True and key == "right" and not self.chooser.chooses(row):
            self.walk(1)
        elif key == "left" and row.path and row.fold is not True and not self.chooser.chooses(row):
            above = self.model.nearest(row.path if row.kind in ("add", "inner") else row.path[:-1])
            if above is not None and above != self._at:
                self.go(above)
        elif self.chooser.press(row, key, character, inline=self._painter.inline(row)):
            self.reopen()
        else:
            return False
        return True

    def click(self, line: int, x: int) -> None:
        """Go to the clicked row; a click on an option chooses it, a click on a button presses it."""
        index = self._row_at(line)
        if index is None:
            return
        target = self._draw(index).target(line - self._starts[index], x)
        if index != self._at or not self.has_focus_within:
            self.go(index)
        row, listed = self.row, self.chooser.drop_down
        if row is None or target is None:
            return
        if listed is not None and self._overlay.editor is not None and isinstance(target, int):
            self.completions.take(listed.labels[listed.options[target]])
        elif target == "menu":
            self.action_field_menu()
        elif target in self.items.buttons:
            self.items.buttons[target]()
        elif self._overlay.editor is None and self.chooser.click(row, target, inline=self._painter.inline(row)):
            self.reopen()

    # Typing

    def on_input_changed(self, event: Input.Changed | TextArea.Changed) -> None:
        """Take the typed text, or the editor's present text if that differs by now."""
        event.stop()
        if event.control is self._overlay.editor:
            self.typed()

    on_text_area_changed = on_input_changed

    def _lines_pasted(self, text: str) -> None:
        """Continue in the area with pasted text of several lines."""
        row = self.row
        if row is not None and isinstance(row.field, (Text, *AS_JSON)) and self._overlay.naming is None:
            self._overlay.grow(self.model, row, text)
            self.show_current()
            self.typed()

    def on_area_editor_too_long(self, event: AreaEditor.TooLong) -> None:
        event.stop()
        self.refuse(f"{len(event.text):,} characters are too many to edit here. Insert a file instead.")

    def typed(self) -> None:
        """Take the text of the current row's editor."""
        row = self.row
        if row is None or self._overlay.naming is not None or self._overlay.editor is None:
            return
        text = self._overlay.text
        if text != self.model.text(row):
            self.model.type(row, text)
            self._overlay.watch(self.model, row)
            self.completions.ask(PAUSE)
            self.redraw()

    def on_paste(self, event: events.Paste) -> None:
        """Show text that is pasted on a row without an editor before it is used."""
        if self.row is not None and self._overlay.editor is None:
            event.stop()
            self._help().paste(event.text)

    # Actions

    def action_undo(self) -> None:
        self.typed()
        self._turned(self.model.undo(), "Nothing to undo.")

    def action_redo(self) -> None:
        self._turned(self.model.redo(), "Nothing to redo.")

    def _turned(self, at: Path | None, why: str) -> None:
        if at is None:
            self.refuse(why)
            return
        self.leave()
        self._overlay.close()
        self.go_to(at)

    def action_next_problem(self) -> None:
        if not self._go_to_problem(self._at):
            self.refuse("The fields have no problem.")

    def _go_to_problem(self, after: int) -> bool:
        self.model.ask()
        rows = self.model.rows
        folded = 0 <= after < len(rows) and rows[after].fold is False
        place = self.model.row_problems.next_error(after, inside=folded)
        if place is None:
            self.redraw()
        else:
            self.go_to(place)
        return place is not None

    def _help(self) -> FieldHelp:
        """The helper for the current field, which opens dialogs."""
        from mcp_studio.tui.screens.field_menu import FieldHelp

        self.typed()
        return FieldHelp(self)

    def action_field_menu(self) -> None:
        self._help().open_menu()

    def action_editor(self) -> None:
        self._help().edit()

    @property
    def revealed(self) -> bool:
        """Whether the form shows the secret of the current field in clear."""
        return self.row is not None and self._overlay.revealed == self.row.path

    def toggle_revealed(self) -> None:
        """Show or hide the secret of the current field; leaving the field hides it, too."""
        if self.row is not None:
            self.typed()
            self._overlay.revealed = None if self.revealed else self.row.path
            self.reopen()
