"""The real app on a real studio with real child servers, driven by a pilot."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from html import unescape
from typing import Any

from textual.events import Key
from textual.message import Message
from textual.notifications import Notify
from textual.pilot import Pilot

from mcp_studio.call.call import CallOutcome
from mcp_studio.catalog.listing import EntryKind, Ref
from mcp_studio.config.model import Config, ServerConfig, Settings
from mcp_studio.paths import Paths
from mcp_studio.studio import Studio
from mcp_studio.tui.app import StudioApp
from mcp_studio.tui.main_screen import MainScreen
from tests.studio_support import PATIENT, stdio
from tests.support import python_server, wait_until

_PIECE = re.compile(r'<text [^>]*?x="([\d.]+)" y="([\d.]+)"[^>]*>(.*?)</text>')
_LOOKING = 0.05
"""Seconds between two looks at the screen, because reading it costs much CPU."""


class Stage:
    """A running app, and what a person can do with it."""

    def __init__(self, studio: Studio, app: StudioApp, pilot: Pilot[int], messages: list[Message]) -> None:
        self.studio = studio
        self.app = app
        self.pilot = pilot
        self._messages = messages

    @property
    def main(self) -> MainScreen:
        """The main screen, also under a dialog."""
        main = self.app.screen_stack[0]
        assert isinstance(main, MainScreen)
        return main

    @property
    def text(self) -> str:
        """The text on the screen, a line for each row."""
        rows: dict[float, list[tuple[float, str]]] = {}
        for x, y, piece in _PIECE.findall(self.app.export_screenshot(simplify=True)):
            rows.setdefault(float(y), []).append((float(x), unescape(piece).replace("\xa0", " ")))
        lines: list[str] = []
        for y in sorted(rows):
            line = ""
            for x, piece in sorted(rows[y]):
                line = line.ljust(round(x / 12.2)) + piece
            lines.append(line)
        return "\n".join(lines)

    @property
    def toasts(self) -> list[str]:
        """The text of all toasts so far, including those that have gone."""
        told = {id(message): message for message in self._messages if isinstance(message, Notify)}
        return [message.notification.message for message in told.values()]

    async def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        await self.pilot.press(*keys)

    async def type(self, text: str) -> None:
        """Type text into the widget that has the focus, as quickly as it comes: waiting for each letter is slow."""
        await self.burst(*text)

    async def burst(self, *keys: str) -> None:
        """Press keys so quickly that all have arrived before the app handles the first one."""
        for key in keys:
            self.app.post_message(Key({" ": "space", "/": "slash"}.get(key, key), key if len(key) == 1 else None))
        await self.pilot.pause()

    async def until(self, true: Callable[[], object], what: str = "", pause: float = 0.005) -> None:
        """Wait until `true` returns something true; if it never does, print the screen and fail."""
        try:
            await wait_until(true, 60, what, pause)
        except BaseException:
            print(self.text)
            raise
        await self.pilot.pause()

    async def shows(self, *patterns: str) -> None:
        """Wait until the screen has matched each of these patterns, at the same time or one after the other."""
        left = list(patterns)

        def seen() -> bool:
            text = self.text
            left[:] = [pattern for pattern in left if not re.search(pattern, text)]
            return not left

        await self.until(seen, f"{patterns} on the screen", _LOOKING)

    async def hides(self, pattern: str) -> None:
        """Wait until the screen no longer matches a pattern."""
        await self.until(lambda: not re.search(pattern, self.text), f"{pattern!r} gone from the screen", _LOOKING)

    async def told(self, words: str) -> None:
        """Wait until a toast contains these words."""
        await self.until(lambda: any(words in toast for toast in self.toasts), f"{words!r} in a toast")

    async def dialog(self, kind: type[Any]) -> Any:
        """Wait until a dialog of this class is on top and accepts keys, and return it."""

        def there() -> bool:
            return isinstance(self.app.screen, kind) and time.monotonic() >= getattr(self.app.screen, "deaf_until", 0)

        await self.until(there, kind.__name__)
        return self.app.screen

    async def open(self, name: str, kind: EntryKind = "tool", server: str = "") -> None:
        """Open an entry as `enter` in the catalog does: focus its first field or button, or read a resource."""
        entry = next(
            e for e in self.studio.catalog.entries(kind) if e.ref.name == name and server in ("", e.ref.server)
        )
        assert self.main.show_entry(entry.ref)
        self.main.call.open(entry)
        await self.pilot.pause()

    async def call(self) -> CallOutcome:
        """Start the call with its key, wait until it has ended, and return its outcome."""
        before = self.main.result.call
        await self.press("ctrl+j")
        await self.until(lambda: (c := self.main.result.call) and c is not before and c.outcome, "an outcome")
        call = self.main.result.call
        assert call is not None and call.outcome is not None
        return call.outcome


def ref(name: str, kind: EntryKind = "tool", server: str = "raw") -> Ref:
    """A reference to an entry of a server."""
    return Ref(kind, server, name)


def raw(name: str = "raw", *args: str, **more: Any) -> ServerConfig:
    """The configuration of the small well-behaved server of the tests."""
    return stdio(python_server("raw_server", *args), name, **more)


@asynccontextmanager
async def on_stage(
    *servers: ServerConfig,
    size: tuple[int, int] = (120, 36),
    settings: Settings | None = None,
    config: Config | None = None,
    ready: bool = True,
    origin: str = "",
) -> AsyncGenerator[Stage]:
    """Open a studio and its app.

    Args:
        config: the whole configuration, instead of `servers` and `settings`.
        ready: wait until all servers have settled and the screen shows them.
        origin: record the session, and say that it comes from there.
    """
    whole = config or Config(settings or PATIENT, {server.name: server for server in servers})
    messages: list[Message] = []
    async with Studio.open(whole, Paths.default(), can_ask=True, origin=origin, breakpoints=True) as studio:
        app = StudioApp(studio, MainScreen)
        async with app.run_test(size=size, notifications=True, message_hook=messages.append) as pilot:
            stage = Stage(studio, app, pilot, messages)
            if ready:
                for name in studio.manager.names():
                    await studio.manager.settle(name)
                    await studio.manager.listed(name)
            await pilot.pause()
            await stage.until(lambda: not (ready and stage.main.bridge.waiting), "what the servers brought")
            yield stage
