"""The application: theme, keys, clipboard, messages to the person. It opens no screens; it is given the main screen."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from textual.await_complete import AwaitComplete
from textual.binding import BindingType
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widget import Widget

from mcp_studio.config.save import set_value
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json
from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.tui import actions, themes
from mcp_studio.tui.actions import bindings
from mcp_studio.tui.external import copied
from mcp_studio.tui.framework import GuardedApp
from mcp_studio.tui.views.rows import choose

if TYPE_CHECKING:
    from mcp_studio.studio import Studio

SHEETS = tuple(Path(__file__).with_name(name) for name in ("views.tcss", "studio.tcss"))
"""The style sheets of the main screen; that of the dialogs is read with the first of them."""
_WIDTHS = [(0, "-tiny"), (40, "-slim"), (72, "-narrow"), (110, "-wide"), (160, "-huge")]
_HEIGHTS = [(0, "-flat"), (10, "-short"), (30, "-middle"), (36, "-tall")]
Severity = Literal["information", "warning", "error"]


class StudioApp(GuardedApp):
    """The app on a running engine; `run.py` opens both."""

    TITLE = "mcp-studio"
    BINDINGS: ClassVar[list[BindingType]] = bindings("app")
    ALLOW_IN_MAXIMIZED_VIEW = "KeyBar"
    ENABLE_COMMAND_PALETTE = False  # the action `palette` opens Textual's palette with our providers
    HORIZONTAL_BREAKPOINTS = _WIDTHS
    VERTICAL_BREAKPOINTS = _HEIGHTS

    def __init__(self, studio: Studio, main: Callable[[], Screen[Any]]) -> None:
        if not os.environ.get("NO_COLOR"):  # no-color.org ignores an empty NO_COLOR, but Textual does not
            os.environ.pop("NO_COLOR", None)
        super().__init__()
        self.studio, self._main = studio, main
        settings = studio.config.settings
        choose(ascii=settings.ascii)
        self.set_class(settings.ascii, "-ascii")
        self.animation_level = "none"
        self.piped: Sequence[Json] = ()
        """The newest result of a query, for the fields of forms; empty until there is one."""
        self.queries: dict[str, str] = {}
        """The newest expression of each query dialog, by its title."""
        self.keys, bad_keys = actions.remap(settings.keys)
        """The person's own keys, by the id of the action."""
        self.own_themes: tuple[str, ...] = ()
        """The names of the studio's themes and of the person's own."""
        self._theme_files: list[int] | None = None
        """The modification times of the person's theme files at the last check."""
        self._load_themes()
        wanted = themes.COLOURLESS if self.no_color else settings.theme
        self.theme = wanted if wanted in self.available_themes else themes.DEFAULT
        bad_theme = themes.missing(wanted, studio.paths.config / "themes") if self.theme != wanted else ""
        for sentence in filter(None, (*bad_keys, bad_theme)):
            self.say(sentence, "warning")
        if self.keys:
            self.set_keymap(self.keys)

    def get_default_screen(self) -> Screen[Any]:
        """The main screen, and its style sheets: before it, they would be parsed for Textual's theme as well."""
        self.stylesheet.read_all(SHEETS)
        return self._main()

    def fit(self, screen: Screen[Any]) -> None:
        """Give a screen that is being composed the classes of the terminal's size.

        Textual gives them after the first layout, and then finds the styles of everything in the screen once more.
        """
        for cells, points in zip(self.size, (_WIDTHS, _HEIGHTS), strict=True):
            screen.add_class(max(point for point in points if point[0] <= cells)[1], update=False)

    def update_styles(self, node: DOMNode, animate: bool = True) -> None:
        """Not before a widget is mounted: each class that it is made with would find all its styles in vain."""
        if node.is_attached:
            super().update_styles(node, animate)

    def get_css_variables(self) -> dict[str, str]:
        return themes.complete(super().get_css_variables())

    # Themes

    def _load_themes(self) -> None:
        loaded, bad = themes.load_all(self.studio.paths.config / "themes")
        for theme in loaded:
            self.register_theme(theme)
        self.own_themes = tuple(theme.name for theme in loaded)
        for file, reason in bad:
            self.say(f"{file.name}: {reason}", "warning")

    def reload_themes(self) -> None:
        """Apply the person's changes to theme files."""
        with suppress(OSError):  # a file may vanish meanwhile; the next check comes in a second
            written = [file.stat().st_mtime_ns for file in sorted((self.studio.paths.config / "themes").glob("*.toml"))]
            before, self._theme_files = self._theme_files, written
            if before not in (None, written):
                self._load_themes()
                self.mutate_reactive(StudioApp.theme)

    def pop_screen(self) -> AwaitComplete:
        """Close a dialog. The main screen stays, even if two quick keys close the same dialog."""
        return super().pop_screen() if len(self.screen_stack) > 1 else AwaitComplete.nothing()

    def keep_theme(self, name: str) -> None:
        """Use a theme from now on, also after the next start."""
        self.theme = name
        self.run_worker(asyncio.to_thread(set_value, self.studio.paths.config_file, ("theme",), name))

    async def action_quit(self) -> None:
        """The main screen leaves, and asks first where calls run."""
        await self.screen_stack[0].run_action("quit")

    # Messages to the person

    def say(self, text: str, severity: Severity = "information") -> None:
        """A short message at the corner of the screen; foreign text in it does no harm."""
        self.notify(safe(text, 600), severity=severity, timeout=4 if severity == "information" else 8, markup=False)

    def fail(self, error: StudioError | OSError) -> None:
        """Say what went wrong, and what to try."""
        self.say(failure_text(error), "error")

    def is_told(self, error: BaseException) -> bool:
        """What a server, the person or the disk makes fail in a worker is told, and ends nothing."""
        if isinstance(error, (StudioError, OSError)):
            self.fail(error)
        return isinstance(error, (StudioError, OSError))

    @contextmanager
    def failing(self) -> Generator[None]:
        """What a server or the disk can make fail; a failure is told."""
        try:
            yield
        except (StudioError, OSError) as error:
            self.fail(error)

    def forget(self, server: str = "", uri: str = "") -> None:
        """Drop cached reads: all of them, those of a server, or those of one resource."""
        self.say(f"{units.plural(self.studio.caller.reads.forget(server, uri), 'cached result')} forgotten.")

    def copy(self, text: str, name: str = "") -> None:
        """Copy a text to the person's clipboard, and say so; `name` says what the text is."""
        self.say(copied(text, super().copy_to_clipboard, safe(name, 100)))

    def copy_to_clipboard(self, text: str) -> None:
        """Copy text of inputs and text areas in the same way."""
        self.copy(text)

    # Keys

    def after_typing(self, work: Callable[[], object]) -> None:
        """Do something after all text that was typed or pasted before has arrived.

        Keys with ctrl act in the app, ahead of keys that still wait for the field and its listeners.
        """
        focused = self.screen.focused
        work = partial(self.call_later, work)  # keys of lists come back to the app, which has their bindings
        for node in reversed(focused.ancestors_with_self if focused is not None else ()):
            if isinstance(node, Widget):
                work = partial(node.call_later, work)
        work()

    def key_of(self, action: str) -> str:
        """The first key of an action as people write it, with the person's own changes: `^j`."""
        return actions.spell(self.keys.get(action, actions.KEYS[action].keys).split(",")[0])


def failure_text(error: StudioError | OSError) -> str:
    """What went wrong, and what to try."""
    plain = str(error).removeprefix(f"[Errno {error.errno}] ") if isinstance(error, OSError) else error.message
    return f"{plain} {error.hint if isinstance(error, StudioError) else ''}".strip()
