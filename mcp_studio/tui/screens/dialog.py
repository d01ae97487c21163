"""The base of every dialog: a box with a title, a scrolling body, and buttons below; and the dialogs that only ask:
yes or no, or which of some options.
"""

import time
from collections.abc import Awaitable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from textual import events, getters, on
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import ActiveBinding, Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Button, Input, OptionList, Static
from textual.widgets.button import ButtonVariant
from textual.widgets.option_list import Option
from textual.worker import Worker

from mcp_studio.errors import StudioError
from mcp_studio.safetext import safe
from mcp_studio.tui.actions import KEYS, bindings
from mcp_studio.tui.app import SHEETS, StudioApp, failure_text
from mcp_studio.tui.views.lines import KeyBar, TabLine
from mcp_studio.tui.views.rows import SearchView, glyphs

_SHEET = SHEETS[0].with_name("dialogs.tcss")
_SEARCHED = 12
"""Options from which on the list has a search."""
T = TypeVar("T")
Part = str | tuple[str, str]
Parts = list[Part]
"""Pieces of a `Content`: safe text, with or without a style."""
Widgets = Iterable[Widget]
"""What the body of a dialog is made of."""

_DIFF_LINES = 400
"""Lines of a difference that are shown."""
_SCROLLS = {
    "cursor_up": "scroll_up", "cursor_down": "scroll_down", "page_up": "scroll_page_up",
    "page_down": "scroll_page_down", "first": "scroll_home", "last": "scroll_end",
}  # fmt: skip
"""What actions of lists do to the body while a button has the focus."""
_LISTS = {key: action for action in _SCROLLS for key in KEYS[action].keys.split(",")}
"""The same by keys; those of more than a letter move the cursor of what is found while a field has the focus."""
_INITIALS = "accept add cancel decline delete deny discard drop edit reconnect refresh save".split()
_LETTERS = {word: word[0] for word in _INITIALS} | {"close": "l", "copy": "y", "copy as…": "c", "later": "l"}
"""The letters of buttons by their labels or the first words of these, so that a letter means the same everywhere."""


class Choice(NamedTuple):
    """A button of a dialog, which runs `action_<action>`, or closes the dialog with its answer."""

    action: str
    label: str
    variant: ButtonVariant = "default"
    answer: Any = None


class Dialog(ModalScreen[T]):
    """A modal question or view.

    A subclass gives a title, `body` and `choices`; `submit` presses the first choice, the default. The underlined
    letter of a button presses it while no field has the focus. Esc runs `action_back`, which destroys nothing.
    """

    app = getters.app(StudioApp)
    BINDINGS = bindings("dialog")
    choices: tuple[Choice, ...] = (Choice("back", "Close"),)
    listed = ""
    """Selector of a list that the arrow keys move while a field has the focus."""
    every = 0.0
    """Seconds between two refreshes; 0 if only the person changes what the dialog shows."""
    opens_requests = False
    """Whether pending requests open over this dialog by themselves, because its calls may wait for them."""
    deaf_until = 0.0
    """The monotonic time until which no key or button answers: a dialog came by itself, keys may be on their way."""

    @property
    def default(self) -> str:
        """The first button that is shown, but never the one that cancels."""
        return next((choice.action for choice in self._offered if choice.action != "cancel"), "back")

    @property
    def _offered(self) -> list[Choice]:
        """The choices whose buttons are shown."""
        return [one for one in self.choices if all(button.display for button in self.query(f"#{one.action}"))]

    def __init__(self, title: str = "") -> None:
        """`title` replaces `TITLE` in the top border; it may be foreign text."""
        super().__init__()
        self.title = title or self.TITLE

    def body(self) -> Widgets:
        """The widgets of the dialog; facts, unless a subclass has others."""
        yield Static(id="facts", markup=False)

    def compose(self) -> ComposeResult:
        # Not before the first dialog: a third of all rules would be looked through whenever anything is styled.
        self.app.stylesheet.add_source(_SHEET.read_text("utf-8"), (str(_SHEET), ""))
        self.app.fit(self)
        self.app.stylesheet.apply(self)
        with Vertical(id="box") as box:
            box.border_title = Content(safe(self.title or "", 200))
            inside = [*self.body()]
            yield VerticalScroll(*inside, id="body", can_focus=False)
            with Vertical(id="foot"):
                if all(widget.id != "note" for widget in inside):
                    yield Static(id="note", markup=False)
                with Horizontal(id="buttons"):
                    for choice, letter in zip(self.choices, letters(self.choices), strict=True):
                        yield Button(underlined(choice.label, letter), id=choice.action, variant=choice.variant)
        yield KeyBar(self._label)

    def _label(self, bound: ActiveBinding) -> str:
        """The labels of the keys for the default button and for leaving: those of the buttons."""
        button = {"submit": self.default, "back": "back"}.get(bound.binding.action)
        return next((choice.label for choice in self._offered if choice.action == button), "")

    def look(self) -> object:
        """Show the present state."""

    def put(self, place: str, *parts: Part | Content) -> None:
        """Show pieces of text in the `Static` with this id."""
        self.query_one(f"#{place}", Static).update(Content.assemble(*parts))

    def show_buttons(self, **shown: bool) -> None:
        """Show or hide buttons by their actions. Only those that are shown have letters."""
        before = self._offered
        for action, there in shown.items():
            self.query_one(f"#{action}").display = there
        if before != (now := self._offered):
            for choice, letter in zip(now, letters(now), strict=True):
                button = self.query_one(f"#{choice.action}", Button)
                button.label = ""  # contents are equal for Textual if only their looks differ
                button.label = underlined(choice.label, letter)
            if isinstance(self.focused, Button) and not self.focused.display:
                self.set_focus(self.query_one(f"#{now[-1].action}"))  # at once: a subclass may know better
            self.refresh_bindings()

    def end(self, why: str) -> None:
        """Say why there is nothing left to do, and leave only the way out."""
        self.choices = tuple(one._replace(label="Close") if one.action == "back" else one for one in self.choices)
        self.show_buttons(**{one.action: one.action == "back" for one in self.choices})
        self.note(why, "bad")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """No key does what its button does while that is hidden."""
        if action in KEYS and any(choice.action == action for choice in self.choices):
            return all(button.display for button in self.query(f"#{action}"))
        return bool(self.query(TabLine)) if action in ("next_tab", "previous_tab") else True

    @on(events.ScreenResume)
    def keep_styles(self, event: events.ScreenResume) -> None:
        """Prevent that Textual finds all styles a second time."""
        event.refresh_styles = False

    def on_mount(self) -> None:
        self.app.clear_notifications()  # old messages are about the screen below
        self.app.screen_stack[-2].query("ToastHolder").remove()  # clearing changes only the screen on top
        self.look()
        if self.every:
            self.set_interval(self.every, self.look)

    async def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if time.monotonic() >= self.deaf_until:
            answers = {choice.action: choice.answer for choice in self.choices}
            if (answer := answers.get(event.button.id or "")) is not None:
                self.dismiss(answer)
            else:
                await self.run_action(event.button.id or "back")

    async def on_key(self, event: events.Key) -> None:
        """Let a letter that no widget took press its button; let arrow keys scroll or move the list."""
        choice = dict(zip(letters(self._offered), self._offered, strict=True)).get(event.key)
        bound = self.active_bindings.get(event.key)
        if choice is not None and (bound is None or bound.node is not self.focused):
            event.stop()
            self.query_one(f"#{choice.action}", Button).press()
        elif event.key in f"{KEYS['palette'].keys},{KEYS['search'].keys}".split(","):
            self.app.say("Close this dialog first.")
        elif isinstance(self.focused, Button) and event.key in _LISTS:
            getattr(self.query_one("#body"), _SCROLLS[_LISTS[event.key]])(animate=False)
        elif isinstance(self.focused, OptionList) and event.key in _LISTS and event.key == event.character:
            await self.focused.run_action(_LISTS[event.key])
        elif self.listed and isinstance(self.focused, Input) and len(event.key) > 1 and event.key in _LISTS:
            event.stop()
            await self.query_one(self.listed).run_action(_LISTS[event.key])

    def dismiss(self, result: T | None = None) -> AwaitComplete:
        """Close the dialog once: a second press of a button changes nothing."""
        return super().dismiss(result) if self.is_active else AwaitComplete.nothing()

    def action_submit(self) -> object:
        """Press the first button."""
        self.app.after_typing(self.query_one(f"#{self.default}", Button).press)

    def action_back(self) -> None:
        """Close the dialog without an answer, and its messages, too."""
        self.app.clear_notifications()
        self.dismiss(None)

    async def action_help(self) -> None:
        """Let the main screen open the help, because the help is a dialog, too."""
        await self.app.screen_stack[0].run_action("help")

    def action_copy(self) -> object:
        """Copy what the viewer shows, else all the facts."""
        if (view := next(iter(self.query(SearchView)), None)) is not None:
            view.copy()
        else:
            self.app.copy(str(self.query_one("#facts", Static).content))

    def action_next_tab(self) -> None:
        self.query_one(TabLine).action_next_tab()

    def action_previous_tab(self) -> None:
        self.query_one(TabLine).action_next_tab(-1)

    def note(self, text: str, look: str = "") -> None:
        """Say something, plain, `quiet`, or with the sign of `ok`, `bad` or `warn`.

        It stands where the body has `#note`, else between body and buttons.
        """
        sign = {"ok": f"{glyphs().ok} ", "bad": f"{glyphs().bad} ", "warn": f"{glyphs().warning} "}.get(look, "")
        for place in self.query("#note").results(Static):  # gone, where what runs ends after the dialog
            place.set_classes(look).set_class(bool(text.strip()), "-said")
            place.update(Content(sign + safe(text.strip(), 3_000, lines=True)))
            if look == "bad":
                self.call_after_refresh(place.scroll_visible, animate=False)

    @contextmanager
    def noting(self) -> Generator[None]:
        """What a server, the person or the disk can make fail; a failure is noted."""
        try:
            yield
        except (StudioError, OSError) as error:
            self.note(failure_text(error), "bad")

    def retitle(self, title: str) -> None:
        """Change what stands in the top border."""
        self.query_one("#box").border_title = Content(safe(title, 200))


class RunDialog(Dialog[str]):
    """A dialog that makes calls, for which approvals may be asked. Leaving would end them, so nothing offers to leave
    while they run: cancelling has a key of its own.

    A subclass has the buttons `start`, `cancel`, `pending` and `back`, and gives its work to `begin`.
    """

    BINDINGS = bindings("run")
    opens_requests = True
    every = 0.2

    def on_mount(self) -> None:
        self.offer(start=True)

    def offer(self, *, start: bool) -> None:
        """Offer to start and to leave, or else to cancel."""
        self.set_class(not start, "-running")
        self.show_buttons(start=start, back=start, cancel=not start)
        self.query_one("#box").border_subtitle = "" if start else f"{self.app.key_of('cancel')} cancels what runs"

    def look(self) -> None:
        self.show_buttons(pending=bool(self.app.studio.inbox.pending))

    def begin(self, calls: Awaitable[None]) -> None:
        """Let calls run until they have ended or the person cancels them."""
        self.offer(start=False)
        self.run_worker(calls, group="run")

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        if event.worker.group == "run" and event.worker.is_finished:
            self.look()  # the last of what ran, and below what can be done now
            self.offer(start=True)
            self.look()

    def action_cancel(self) -> None:
        self.workers.cancel_group(self, "run")

    async def action_pending(self) -> None:
        """Open the pending requests in the main screen's dialogs."""
        await self.app.screen_stack[0].run_action("pending")


class Confirm(Dialog[bool]):
    """Answers True for yes. If yes destroys something, the focus is on the other button."""

    DEFAULT_CLASSES = "-small"

    def __init__(self, title: str, text: str, yes: str, *, destroys: bool = False) -> None:
        self.choices = (Choice("yes", yes, "error" if destroys else "primary", True), Choice("back", "Cancel"))
        super().__init__(title)
        self._text, self._destroys = text, destroys

    def body(self) -> Widgets:
        yield Static(Content(safe(self._text, 8_000, lines=True)))

    def on_mount(self) -> None:
        self.query_one("#back" if self._destroys else "#yes").focus()


class Item(NamedTuple, Generic[T]):
    """One option; foreign text in it does no harm."""

    title: str
    value: T
    note: str = ""


class Choose(Dialog[T]):
    """Answers the value of the option that was chosen. Enter on an option takes it.

    A subclass may find and draw items in other ways; an item whose value is None is a heading.
    """

    DEFAULT_CLASSES = "-small"
    choices = (Choice("submit", "Choose", "primary"), Choice("back", "Cancel"))
    listed = "OptionList"
    hint = "Search"
    """The placeholder of the search."""
    nothing = "Nothing has these words."

    def __init__(self, title: str, items: Iterable[Item[T]], now: T | None = None, text: str = "") -> None:
        """The cursor begins on what is chosen `now`. With the class `-searched`, even a short list can be searched."""
        super().__init__(title)
        self._text, self._now = text, now
        self._items = self._listed = [*items]
        self._list = OptionList(compact=True)
        self.set_class(self.has_class("-searched") or len(self._items) >= _SEARCHED, "-searched")

    def body(self) -> Widgets:
        if self._text:
            yield Static(Content(safe(self._text, 2_000, lines=True)), classes="gap")
        if self.has_class("-searched"):
            yield Input(placeholder=self.hint, id="search", compact=True)
        yield self._list

    def on_mount(self) -> None:
        self._narrow("")
        for at, item in enumerate(self._listed):
            if item.value is not None and item.value == self._now:
                self._list.highlighted = at

    def found(self, words: str) -> list[Item[T]]:
        """What has all these words; what has them in its title comes first."""
        wanted = words.casefold()
        texts = [(f"{item.title} {item.note}".casefold(), item) for item in self._items]
        found = [item for text, item in texts if all(word in text for word in wanted.split())]
        return sorted(found, key=lambda item: wanted not in item.title.casefold())

    def prompt(self, item: Item[T]) -> Content:
        """How an item is drawn."""
        return Content.assemble(safe(item.title, 200), (f"  {safe(item.note, 100)}" if item.note else "", "$quiet"))

    def _narrow(self, words: str) -> None:
        self._listed = self.found(words)
        options = [Option(self.prompt(item), disabled=item.value is None) for item in self._listed]
        self._list.set_options(options or [Option(self.nothing, disabled=True)])
        self._list.action_first()

    @on(Input.Changed)
    def search(self, event: Input.Changed) -> None:
        self._narrow(event.value)

    @on(Input.Submitted)
    @on(OptionList.OptionSelected)
    def action_submit(self) -> None:
        if (value := self.chosen) is not None:
            self.dismiss(value)

    @property
    def chosen(self) -> T | None:
        """The value under the cursor; None without one."""
        return None if (at := self._list.highlighted) is None else self._listed[at].value


class TickList(OptionList):
    """Rows that space or enter ticks and unticks. Textual's `SelectionList` marks them by colour alone."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("space", "select", show=False)]

    def on_mount(self) -> None:
        self._rows: list[tuple[Content, bool | None]] = []

    def show(self, rows: Iterable[tuple[Content, bool | None]]) -> None:
        """Show rows that are ticked or not; a row with None cannot be ticked."""
        self._rows = [*rows]
        self.set_options(Option(self._line(at), disabled=row[1] is None) for at, row in enumerate(self._rows))
        self.action_first()

    @property
    def ticked(self) -> list[int]:
        """The numbers of the ticked rows."""
        return [at for at, (_, ticked) in enumerate(self._rows) if ticked]

    def _line(self, at: int) -> Content:
        text, ticked = self._rows[at]
        return Content.assemble(f"[{glyphs().dash if ticked is None else 'x' if ticked else ' '}] ", text)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        text, ticked = self._rows[event.option_index]
        self._rows[event.option_index] = text, not ticked
        self.replace_option_prompt_at_index(event.option_index, self._line(event.option_index))


def section(title: str, lines: Iterable[Part]) -> Iterator[Part]:
    """Lines under a title; nothing if there are no lines."""
    for number, line in enumerate(lines):
        if not number:
            yield f"\n{title}\n", "bold $accent"
        yield f"  {line}\n" if isinstance(line, str) else (f"  {line[0]}\n", line[1])


def fact(label: str, text: str, look: str = "") -> Parts:
    """A line with a label; nothing where there is no text. Foreign text is made safe here."""
    return [(f"{label:<12}", "$quiet"), (safe(text, 4_000), look), "\n"] if text else []


_SIGNS = {"+": "$text-success", "-": "$text-error", "@": "$quiet"}


def diff_lines(lines: Sequence[str]) -> Iterator[Part]:
    """The lines of a unified diff without the two lines that name the files; foreign text is made safe here."""
    begin = 2 if lines and lines[0].startswith("---") else 0
    yield from ((safe(line, 400), _SIGNS.get(line[:1], "")) for line in lines[begin : begin + _DIFF_LINES])
    if (more := len(lines) - begin - _DIFF_LINES) > 0:
        yield f"and {more:,} lines more", "$quiet"


def letters(choices: Iterable[Choice]) -> list[str]:
    """A letter of the label for each choice: that of its word, else one that is free, has no meaning everywhere, and
    moves no cursor; empty if no letter is left.
    """
    labels = [choice.label.lower() for choice in choices]
    found = [_LETTERS.get(label, _LETTERS.get(label.split()[0], "")) for label in labels]
    for at, label in enumerate(labels):
        if not found[at] or found[at] in found[:at]:
            found[at] = next((char for char in label if char.isalnum() and char not in (*found, *"cdghjklx")), "")
    return found


def underlined(label: str, letter: str) -> Content:
    at = label.lower().find(letter) if letter else -1
    return Content(label) if at < 0 else Content(label).stylize("underline", at, at + 1)
