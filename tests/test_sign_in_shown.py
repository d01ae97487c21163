"""What authorization servers say is shown as text, on the command line and on screen, and does nothing."""

from __future__ import annotations

import io
import json
import sys
import unicodedata
from pathlib import Path

import pytest

from mcp_studio.cli import main
from mcp_studio.config.model import Settings
from mcp_studio.paths import Paths
from mcp_studio.tui.screens.sign_in import SignInDialog, show_token, sign_in
from mcp_studio.tui.screens.token_view import TokenView
from tests.servers.auth_server import AuthServer, threaded
from tests.sign_in_kit import Visitor
from tests.studio_support import http
from tests.support import python_server
from tests.tui.stage import on_stage

HOSTILE = (
    "hostile-text", "authorize-error-hostile", "token-error-hostile", "register-error", "prm-hostile", "type-hostile",
    "register-hostile", "scope-hostile", "challenge-garbage", "metadata-not-json", "token-html",
)  # fmt: skip
"""These say what a terminal, or a markup parser, would do something with."""


def live(text: str) -> list[str]:
    """Characters that do something: controls, bidi, invisible ones."""
    return [character for character in text if unicodedata.category(character) in ("Cc", "Cf") and character != "\n"]


@pytest.mark.parametrize("name", HOSTILE)
def test_the_command_line_writes_it_as_text(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with threaded(name) as world:
        file = Paths.default().config_file
        file.parent.mkdir(parents=True)
        browser = json.dumps(" ".join([*python_server("browser"), str(tmp_path)]))
        file.write_text(f'[secrets]\nstore = "memory"\n[auth]\nbrowser = {browser}\n[servers.s]\nurl = "{world.url}"\n')
        monkeypatch.setattr(sys, "stdin", io.StringIO())
        code = main.run(("auth", "login", "s"))
        found = capsys.readouterr()
        assert code in (0, 1, 3), found
        assert live(found.out + found.err) == []


async def test_the_screen_draws_it_as_text() -> None:
    async with AuthServer("hostile-text") as world:
        settings = Settings(secrets="memory")
        async with on_stage(http(world.url), size=(120, 36), settings=settings, ready=False) as stage:
            stage.studio.sign_ins.accounts.browser = Visitor()
            await stage.studio.manager.settle("s")
            await stage.pilot.pause()
            sign_in(stage.app, "s")
            dialog = await stage.dialog(SignInDialog)
            await stage.press("enter")
            await stage.until(lambda: stage.studio.sign_ins.running("s") is None, "an end")
            dialog.query_one("#steps").focus()
            for keys in ((), ("down", "enter"), ("escape",), ("escape",)):
                await stage.press(*keys)
                await stage.pilot.pause()
                assert live(stage.text) == []
            show_token(stage.app, "s")
            await stage.dialog(TokenView)
            assert live(stage.text) == []
