"""Signing in on screen: whatever is looked at, no token, code or verifier is on it; nor in what a crash leaves."""

from __future__ import annotations

from pathlib import Path

from mcp_studio.config.model import Settings
from mcp_studio.paths import Paths
from mcp_studio.tui.run import crash_report
from mcp_studio.tui.screens.sign_in import Exchanges, SignInDialog, show_token, sign_in
from mcp_studio.tui.screens.token_view import TokenView
from tests import leaks
from tests.servers.auth_server import AuthServer
from tests.sign_in_kit import Visitor
from tests.studio_support import http
from tests.tui.stage import Stage, on_stage


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
        text = self.stage.text
        joined = "".join(line.strip(" │▏▕|") for line in text.split("\n"))
        toasts = "\n".join(self.stage.toasts)
        self.screens += [(f"{kind} after {what}", said.encode()) for kind, said in
                         (("the screen", text), ("the joined screen", joined), ("toasts", toasts))]  # fmt: skip


async def test_no_screen_shows_a_secret_and_a_crash_leaves_none(home: Path) -> None:
    settings = Settings(secrets="memory")
    async with AuthServer(opaque=True, registered_method="client_secret_post") as world:
        async with on_stage(http(world.url), size=(100, 40), settings=settings, origin="studio", ready=False) as stage:
            camera = Camera(stage)
            stage.studio.sign_ins.accounts.browser = Visitor()
            await stage.studio.manager.settle("s")
            sign_in(stage.app, "s")
            dialog = await stage.dialog(SignInDialog)
            await camera.press("enter")
            await stage.until(lambda: stage.studio.manager.status("s").state == "ready", "a connection")
            await stage.studio.manager.listed("s")
            await stage.pilot.pause()
            camera.look("signing in")
            opened = 0
            dialog.query_one("#steps").focus()
            await camera.press("end")
            for _ in range(6):
                await camera.press("enter")
                if isinstance(stage.app.screen, Exchanges):
                    opened += 1
                    await camera.press("pagedown", "escape")
                await camera.press("up")
            assert opened >= 4
            await camera.press("escape")
            show_token(stage.app, "s")
            await stage.dialog(TokenView)
            await camera.press("end", "escape", "5")
            for _ in range(3):  # the newest entries of the trace, each with its detail
                await camera.press("enter", "pagedown", "escape", "up")
            assert len(world.secrets()) > 4
            assert leaks.found(world.secrets(), camera.screens) == []
            for secret in sorted(world.secrets()):
                failure = ValueError(f"cannot use {secret} for {world.secrets()}")
                crash_report(failure, Paths.default().state, stage.studio.redactor)
        assert list(Paths.default().state.glob("crash-*.log"))
        assert leaks.found(world.secrets(), leaks.left(home)) == []
