"""Signing in on screen: whatever is looked at, no token, code or verifier is on it; nor in what a crash leaves."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from mcp_studio.config.model import Settings
from mcp_studio.paths import Paths
from mcp_studio.tui import crash
from mcp_studio.tui.screens.exchanges import Exchanges
from tests import leaks
from tests.servers.auth_server import AuthServer, World
from tests.sign_in_kit import Visitor
from tests.studio_support import http
from tests.tui.stage import Stage, on_stage

MEMORY = Settings(secrets="memory")


class Camera:
    """Keeps every screen that it is pointed at."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.screens: list[leaks.Piece] = []

    async def press(self, *keys: str) -> None:
        """One key after the other, with a picture after each."""
        for key in keys:
            await self.stage.press(key)
            self.look(key)

    def look(self, what: str) -> None:
        """One picture, its lines also joined: what is long is broken over lines."""
        text = self.stage.screen_text()
        self.screens += [(f"the screen after {what}", text.encode())]
        self.screens += [
            (f"the joined screen after {what}", "".join(line.strip(" │▏▕|") for line in text.split("\n")).encode())
        ]
        self.screens += [("toasts", "\n".join(self.stage.toasts).encode())]


async def signed_in(stage: Stage, camera: Camera) -> None:
    """Sign in with the keys that a person would press, and look at every exchange."""
    stage.studio.signing.accounts.browser = Visitor()
    await camera.press("1", "a", "enter")
    await stage.until(lambda: stage.studio.manager.status("s").state == "ready", "a connection")
    await stage.studio.manager.listed("s")
    await stage.pilot.pause()
    camera.look("signing in")


async def test_no_screen_shows_a_secret(home: Path) -> None:
    async with AuthServer(opaque=True, registered_method="client_secret_post") as world:
        async with on_stage(http(world.url), size=(100, 40), settings=MEMORY, origin="studio", ready=False) as stage:
            camera = Camera(stage)
            await stage.studio.manager.settle("s")
            await stage.pilot.pause()
            await signed_in(stage, camera)
            await the_dialog(stage, camera)
            await the_trace(stage, camera)
            assert len(world.secrets()) > 4
            assert leaks.found(world.secrets(), camera.screens) == []
        assert leaks.found(world.secrets(), leaks.left(home)) == []


async def the_dialog(stage: Stage, camera: Camera) -> None:
    """Every exchange of signing in, and what is known of the token."""
    opened = 0
    await camera.press("a")
    for _ in range(6):
        await camera.press("k", "enter")
        if isinstance(stage.app.screen, Exchanges):
            opened += 1
            await camera.press("pagedown", "escape")
    await camera.press("t", "end", "escape", "escape")
    assert opened >= 4


async def the_trace(stage: Stage, camera: Camera) -> None:
    """The newest entries of the trace, each with its detail."""
    await camera.press("5")
    for _ in range(3):
        await camera.press("enter", "pagedown", "escape", "k")


def test_a_crash_leaves_no_secret(home: Path) -> None:
    async def go(world: World) -> None:
        async with on_stage(http(world.url), settings=MEMORY, origin="studio", ready=False) as stage:
            await stage.studio.manager.settle("s")
            await signed_in(stage, Camera(stage))
            for secret in sorted(world.secrets()):
                failure: Any = ValueError(f"cannot use {secret} for {world.secrets()}")
                crash.report(failure, Paths.default().state, stage.studio.redactor)

    async def main() -> None:
        async with AuthServer() as world:
            await go(world)
            assert list(Paths.default().state.glob("crash-*.log"))
            assert leaks.found(world.secrets(), leaks.left(home)) == []

    asyncio.run(main())
