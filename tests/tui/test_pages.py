"""Pages that servers want opened: shown whole, opened on consent alone, and what follows."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp_studio.tui.screens.page import Page

from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import ServerConfig
from mcp_studio.present import browser
from mcp_studio.session.inbox import Answer, InputRequest
from tests.studio_support import stdio, text
from tests.support import python_server
from tests.tui.stage import Stage, on_stage


def asks() -> ServerConfig:
    return stdio(python_server("raw_asks"), "bank", era="legacy")


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """A browser that writes down how many arguments it was started with, and which."""
    script, log = tmp_path / "browser", tmp_path / "opened"
    script.write_text(f'#!/bin/sh\nprintf "%s\\n" "$#" "$@" >> {log}\n')
    script.chmod(script.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("BROWSER", str(script))
    return lambda: log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"):
        monkeypatch.delenv(name, raising=False)


async def called(stage: Stage, tool: str, **arguments: Any) -> Any:
    """Call a tool as the person does, and wait for the page's dialog."""
    call = stage.studio.call_tool(Ref("tool", "bank", tool), arguments, approved=True)
    await stage.until(lambda: isinstance(stage.app.screen, Page), "page")
    return call


async def asked(stage: Stage, url: str, **more: Any) -> asyncio.Task[Answer]:
    request = InputRequest("url", "bank", "Please", url=url, **more)
    task = asyncio.create_task(stage.studio.inbox.ask(request))
    await stage.until(lambda: isinstance(stage.app.screen, Page), "page")
    return task


async def test_opening_answers_and_the_server_says_later_that_it_is_done(opened: Callable[[], list[str]]) -> None:
    async with on_stage(asks()) as stage:
        call = await called(stage, "page", url="https://bank.example/a?b=c;d&$(e)")
        await stage.shows("bank asks you to open a page", "bank.example", "https://bank.example/a?b=c;d&$(e)")
        assert opened() == []
        await stage.press("o")
        await stage.until(opened, "a browser")
        assert '"action": "accept"' in text(await call.wait())
        await stage.until(lambda: stage.app.screen is stage.main, "main screen")
        await stage.until(lambda: any("says that the page is done" in toast for toast in stage.toasts), "toast")
        assert opened() == ["1", "https://bank.example/a?b=c;d&$(e)"]
        assert stage.studio.inbox.pages == ()


async def test_a_call_that_needs_a_page_is_sent_again_when_the_person_says_so(opened: Callable[[], list[str]]) -> None:
    async with on_stage(asks()) as stage:
        call = await called(stage, "locked")
        await stage.press("ctrl+j")
        await stage.shows("Open the page first (o)")
        await stage.press("o")
        await stage.shows("waiting for the server's word", "It is done: send the call again")
        assert isinstance(stage.app.screen, Page) and call.outcome is None
        await stage.press("ctrl+j")
        assert text(await call.wait()) == '"open"'
        assert call.sendings == 2


@pytest.mark.usefixtures("no_browser")
async def test_without_a_browser_the_address_is_copied_and_that_is_consent() -> None:
    async with on_stage(asks()) as stage:
        call = await called(stage, "page")
        await stage.press("o")
        await stage.shows("There is no browser here. y copies the address")
        assert call.outcome is None
        await stage.press("y")
        assert '"action": "accept"' in text(await call.wait())
        assert stage.app._clipboard == "https://bank.example/authorize?id=7"


REFUSED = {
    "http://bank.example/": "Only https pages are opened",
    "https://good.example@evil.example/": "carries a user name",
    "javascript:alert(1)": "names no host",
    "https://bank.example/\x1b[31m\u202ex": "control characters",
}


async def test_what_must_not_be_opened_is_not_opened(opened: Callable[[], list[str]]) -> None:
    async with on_stage(asks()) as stage:
        for url, reason in REFUSED.items():
            task = await asked(stage, url)
            await stage.shows(reason)
            assert "\x1b" not in stage.screen_text() and "\u202e" not in stage.screen_text()
            await stage.press("o")
            await stage.shows("Not opened.")
            await stage.press("y")
            await stage.shows("The question is still open")
            assert not task.done() and opened() == []
            await stage.press("d")
            assert await task == Answer("decline")
            await stage.until(lambda: stage.app.screen is stage.main, "main screen")
            stage.app._letter_at = 0.0  # the next one does not open while somebody types


async def test_a_host_of_other_letters_is_shown_in_both_forms() -> None:
    async with on_stage(asks()) as stage:
        task = await asked(stage, "https://b\u0430nk.example/")
        await stage.shows("b\u0430nk.example", "xn--bnk-6cd.example", "mixes letters of several scripts")
        await stage.press("d")
        await task


def test_a_browser_that_draws_on_the_terminal_is_none(tmp_path: Path) -> None:
    assert browser.command("https://a.example", {"PATH": "/usr/bin", "TERM": "xterm"}) is None
    script = tmp_path / "mine"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    assert browser.command("https://a.example/$(x)", {"BROWSER": f"{script} --new %s &"}) == [
        str(script), "--new", "https://a.example/$(x)",
    ]  # fmt: skip


def test_the_browser_that_is_named_goes_first_and_none_is_none(tmp_path: Path) -> None:
    script = tmp_path / "mine"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    desktop = {"DISPLAY": ":0", "BROWSER": str(script)}
    assert browser.command("https://a.example", desktop, f"{script} --named") == [
        str(script), "--named", "https://a.example",
    ]  # fmt: skip
    assert browser.command("https://a.example", desktop, "none") is None
    assert browser.is_there({"BROWSER": str(script)}) and not browser.is_there(desktop, "none")
    assert not browser.is_there({"DISPLAY": "localhost:10.0", "SSH_CONNECTION": "a 1 b 2"}), "a screen over SSH"
    assert browser.is_there({"SSH_CONNECTION": "a 1 b 2"}, str(script))
