"""The application: theme, keys, walls, clipboard, messages to the person. Screens do the rest."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.events import Event, InputEvent, Key, Paste
from textual.filter import LineFilter, Monochrome
from textual.theme import Theme

from mcp_studio.errors import ConfigError
from mcp_studio.safetext import safe
from mcp_studio.tui import actions, clipboard, late, late_auth, mistakes, themes
from mcp_studio.tui.bindings import bindings
from mcp_studio.tui.gate import Gate
from mcp_studio.tui.key_order import KeyOrder, waits_for
from mcp_studio.tui.saying import SayingApp
from mcp_studio.tui.screens.main import MainScreen
from mcp_studio.tui.views.glyphs import choose
from mcp_studio.tui.walls import WALL
from mcp_studio.vault import keyring

if TYPE_CHECKING:
    from textual.dom import DOMNode
    from textual.driver import Driver
    from textual.screen import Screen

    from mcp_studio.studio import Studio
    from mcp_studio.vault.base import AskPassphrase

_TYPING = 2.0
"""Seconds after a letter during which more are expected to come."""


class StudioApp(SayingApp):
    """The studio's screen over a running engine, which surrounds it: `run.py` opens both."""

    TITLE = "mcp-studio"
    CSS_PATH = Path(__file__).with_name("screens") / "main.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings("app")
    ENABLE_COMMAND_PALETTE = False
    COMMANDS = set()  # noqa: RUF012

    def __init__(self, studio: Studio, driver: type[Driver] | None = None) -> None:
        self.studio = studio
        settings = studio.config.settings
        theme = themes.COLOURLESS if (no_color := bool(os.environ.get("NO_COLOR"))) else settings.theme
        self._first_theme, self._bad_themes = themes.load_one(theme, studio.paths.themes)
        # Before App makes its style sheet, which it would make twice otherwise.
        self._reactive_theme = self._first_theme.name
        super().__init__(driver_class=driver)
        # Which would read everything again for the few rules of the first dialog; what is the same is kept here.
        self.stylesheet.reparse = self.stylesheet.parse
        self.key_order = KeyOrder(self, self._act_on)
        self.failure: Exception | None = None
        """The mistake of our own that ended the app."""
        self._letter_at = 0.0
        self.gate = Gate()
        """Through which a passphrase is asked for here; whoever starts the servers before may put one in its place."""
        self.taking_terminal: Callable[[], None] = lambda: None
        """Called before the terminal is taken."""
        self._asked_before: AskPassphrase | None = None
        self.animation_level = "none"
        choose(ascii=settings.ascii)
        self.no_color = no_color
        self._plain = late.plain_filters(settings.ascii, no_color) if settings.ascii or no_color else ()
        self.keys, self._bad_keys = actions.remap(settings.keys)
        if self.keys:
            self.set_keymap(self.keys)

    # Theme

    @property
    def available_themes(self) -> dict[str, Theme]:
        """The chosen theme is known before the registry of `App` is there, so that styles are made once."""
        return {**super().available_themes, self._first_theme.name: self._first_theme}

    def get_css_variables(self) -> dict[str, str]:
        """Textual's variables and our own names."""
        self.theme_variables = themes.complete(super().get_css_variables())
        return self.theme_variables

    def register_all_themes(self) -> tuple[list[str], tuple[themes.Failed, ...]]:
        """Read the other theme files too; returns the names of all, and what could not be used."""
        loaded, failed = themes.load_all(self.studio.paths.themes)
        for theme in loaded:
            self.register_theme(theme)
        return sorted(theme.name for theme in loaded), failed

    # Walls

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Nothing live reaches the terminal, whatever drew it; where it is wanted no drawing signs and no colours."""
        general = [each for each in super().get_line_filters() if not isinstance(each, Monochrome)]
        return [*general, WALL, *(each for each in self._plain if each.enabled)]

    def _handle_exception(self, error: Exception) -> None:
        if mistakes.of_the_gone(error):
            return
        if (told := mistakes.to_be_told(error)) is not None:
            self.fail(told)
            return
        # Textual would print a traceback with local variables, tokens among them; `crash.py` writes a redacted one.
        self.failure = self.failure or error
        self._return_code = 1
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
        self._close_messages_no_wait()

    # Keys

    async def on_event(self, event: Event) -> None:
        """See every key, paste and click before anything acts on it, in their order."""
        if isinstance(event, InputEvent | Paste) and not event.is_forwarded:
            leaves = isinstance(event, Key) and event.key in self.keys.get("quit", "ctrl+q").split(",")
            if leaves or not self.screen.has_class("-tiny"):  # what is not seen is not acted on
                await self.key_order.take(event)
        else:
            await super().on_event(event)

    async def _act_on(self, event: Event) -> None:
        if not waits_for(event):
            await super().on_event(event)
            return
        if isinstance(event, Key):
            if "alt+" in event.key:
                # Many terminals send it as Esc and the letter, and then an input would take the letter as text.
                event.character = None
            self._letter_at = time.monotonic() if event.is_printable else 0.0
        # Where it goes: an action of its own may move the focus.
        target = self.key_order.target(event)
        try:
            await super().on_event(event)
        finally:
            self.key_order.follow(target)

    @property
    def typing(self) -> bool:
        """Whether the person is likely to go on typing: the last key was text, a moment ago."""
        return time.monotonic() - self._letter_at < _TYPING

    # Screen

    def get_default_screen(self) -> Screen[None]:
        """The main screen is there from the start."""
        return MainScreen(self.studio)

    @property
    def main(self) -> MainScreen:
        """The main screen."""
        screen = self.screen_stack[0]
        assert isinstance(screen, MainScreen)
        return screen

    def on_load(self) -> None:
        """The terminal is about to be taken."""
        self.taking_terminal()

    def on_mount(self) -> None:
        """Say what of the person's own files could not be used, and once that nothing is recorded any more."""
        self.studio.trace.troubled.connect(lambda why: self.say(why, "warning"))
        self._asked_before = keyring.passphrase()
        self.gate.open(late_auth.asking_passphrase(self))
        keyring.ask_with(self.gate.ask)
        for sentence in (*(f"{bad.file.name}: {bad.reason}" for bad in self._bad_themes), *self._bad_keys):
            self.say(sentence, "warning")

    def on_unmount(self) -> None:
        """Nobody can be asked here any more."""
        self.gate.open(None)
        keyring.ask_with(self._asked_before)

    # Telling the person

    def copy(self, text: str, *, name: bool = False) -> None:
        """Put text on the person's clipboard and say so; of a `name` which one it is."""
        self._clipboard = text
        self.say(clipboard.copy(text, super().copy_to_clipboard, safe(text, 100) if name else ""))

    def copy_secret(self, text: str) -> None:
        """The same for a secret: it is not kept for pasting it here."""
        before = self._clipboard
        told = clipboard.copy(text, super().copy_to_clipboard)
        self._clipboard = before
        self.say(told)

    def copy_to_clipboard(self, text: str) -> None:
        """What inputs and text areas copy goes the same way."""
        self.copy(text)

    # Actions

    def action_help(self) -> None:
        """Keys of the focused pane."""
        if self.screen is self.main:
            pane = self.main.focused_pane
            name = pane.id or "" if pane else ""
            tasks = pane is self.main.catalog and self.main.catalog.on_tasks
            self.push_screen(late.help_for("tasks" if tasks else name, self.keys))

    def action_commands(self) -> None:
        """Everything that can be done, with its key."""
        if self.screen is self.main:
            self.push_screen(late.palette(self.keys), self._perform)
        else:
            self.say(f"Commands are for the main screen; this dialog has keys of its own: {self.spell('help')}.")

    async def _perform(self, action: actions.Action | None) -> None:
        if action is None:
            return
        where: DOMNode = self if action.scope == "app" else self.main
        if action.scope in actions.PANES:
            where = self.main.pane(action.scope)
            self.main.go_to(self.main.pane(action.scope))
        await self.run_action(action.method, where)

    def action_questions(self) -> None:
        """Open the question that waits, or the board where it is not exactly one."""
        if self.screen is self.main:
            self.main.asking.reopen()

    def action_board(self) -> None:
        """What runs, and what waits."""
        if self.screen is self.main:
            self.main.asking.open_board()

    def action_copy_as(self) -> None:
        """Copy the open call as something else."""
        if self.screen is self.main:
            self.main.calling.copying.wanted("as")

    def action_paste_call(self) -> None:
        """Fill in a pasted call."""
        if self.screen is self.main:
            self.main.calling.copying.wanted("paste")

    def action_make_rule(self) -> None:
        """A rule of the answer that was just given."""
        self.main.asking.make_rule()

    def action_logs(self) -> None:
        """Log messages of all servers."""
        if self.screen is self.main:
            self.push_screen(late.log_view(self.studio, ""))

    def action_statistics(self) -> None:
        """Statistics of the trace."""
        if self.screen is self.main:
            self.main.looking.usage.open()

    def action_search(self) -> None:
        """Search everything."""
        if self.screen is self.main:
            self.main.looking.searching.open()

    def action_load(self) -> None:
        """Run what is open many times."""
        if self.screen is self.main:
            self.main.looking.usage.load()

    def action_about(self) -> None:
        """What is running, and on which files."""
        if self.screen is self.main:
            self.push_screen(late.about(self.studio))

    def action_theme(self) -> None:
        """Choose a theme; moving over the list shows it."""
        if self.no_color:
            self.say("NO_COLOR is set: no theme has colours.")
        elif self.screen is self.main:
            self.push_screen(late.theme_picker(self.theme, *self.register_all_themes()), self._keep_theme)

    async def _keep_theme(self, name: str | None) -> None:
        if not name:
            return
        try:
            await late.server_files().keep_theme(self.studio, name)
        except ConfigError as problem:
            self.fail(problem)

    def action_help_quit(self) -> None:
        """What ctrl+c says when there is nothing to copy."""
        self.say(f"Nothing is selected to copy. {self.spell('quit')} quits.")

    def key_of(self, action: str) -> str:
        """The first key of an action, with the person's own changes."""
        return self.keys.get(action, actions.BY_ID[action].keys).split(",")[0]

    def spell(self, action: str) -> str:
        """The first key of an action as people write it."""
        return actions.spell(self.key_of(action))
