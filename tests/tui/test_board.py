"""The board, rules made of answers, many questions at once, and roots."""

from __future__ import annotations

import asyncio
import json
import tomllib
from typing import Any

from mcp_studio.tui.screens.board import Board
from mcp_studio.tui.screens.confirm import Confirm
from mcp_studio.tui.screens.page import Page
from mcp_studio.tui.screens.question import Question
from mcp_studio.tui.screens.roots_dialog import RootsDialog
from mcp_studio.tui.screens.rule_dialog import RuleDialog
from mcp_studio.tui.server_files import keep_roots

from mcp_studio.catalog.listing import Ref
from mcp_studio.config.load import load
from mcp_studio.config.model import Root, ServerConfig, Source
from mcp_studio.config.save import put_server
from mcp_studio.paths import Paths
from mcp_studio.session.inbox import Answer, InputRequest
from tests.studio_support import stdio, text
from tests.support import python_server
from tests.tui.stage import Stage, on_stage, raw, run

FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def asks(name: str = "s", **more: Any) -> ServerConfig:
    return stdio(python_server("raw_asks"), name, era="legacy", **more)


def form(message: str, server: str = "raw") -> InputRequest:
    return InputRequest("elicitation", server, message, FORM, subject=f"{server}.order")


async def shown(stage: Stage, kind: type) -> Any:
    await stage.until(lambda: isinstance(stage.app.screen, kind), kind.__name__)
    return stage.app.screen


async def home(stage: Stage) -> None:
    await stage.until(lambda: stage.app.screen is stage.main, "main screen")


# The board


async def test_running_calls_stand_on_the_board_with_progress_and_are_stopped_from_it() -> None:
    async with on_stage(raw(), size=(80, 24)) as stage:
        arguments = {"steps": 4, "pause": 0.01}
        done = stage.studio.call_tool(Ref("tool", "raw", "count"), arguments, approved=True)
        await done.wait()
        call = stage.studio.call_tool(Ref("tool", "raw", "wait"), {"seconds": 60}, approved=True)
        call.on_progress(4_465.25, 17_861, "first \u202estep")
        await stage.press("f7")
        await stage.shows("Running  1", "raw.wait", "▓▓░", "25% 4,465.25 of 17,861 first ⟦U+202E⟧step")
        await stage.press("x")
        assert type(await call.wait()).__name__ == "Cancelled"
        await stage.shows("Nothing runs")


async def test_what_runs_besides_calls_stands_there_too_and_a_subscription_is_not_stopped_by_chance() -> None:
    async with on_stage(raw("raw", "--modern")) as stage:
        await stage.press("f7")
        await stage.shows("Running  1", "raw subscriptions/listen", "listens for changes")
        await stage.press("x")
        await stage.until(lambda: any("Nothing runs here" in toast for toast in stage.toasts), "toast")
        assert len(stage.studio.manager.running) == 1


async def test_questions_of_all_servers_are_answered_from_the_board_one_after_another() -> None:
    async with on_stage(raw(), raw("other"), size=(80, 24)) as stage:
        await stage.press("f7")
        await shown(stage, Board)
        page = InputRequest("url", "other", "See", url="https://a.example/x")
        requests = [form("First?"), form("Second?", "other"), page]
        tasks = [asyncio.create_task(stage.studio.inbox.ask(request)) for request in requests]
        await stage.shows("Waiting for you  3", "First?", "Second?", "a.example", "left")
        assert isinstance(stage.app.screen, Board)
        await stage.press("enter")
        await shown(stage, Question)
        await stage.press(*"Ada", "ctrl+j")
        assert (await tasks[0]).content == {"name": "Ada"}
        await shown(stage, Board)
        await stage.shows("Waiting for you  2", "alt+r Rule")
        await stage.press("d")
        assert await tasks[1] == Answer("decline")
        await stage.shows("Waiting for you  1")
        await stage.press("enter")
        await shown(stage, Page)
        await stage.press("c")
        assert await tasks[2] == Answer("cancel")
        await home(stage)


# Rules


async def test_one_key_makes_a_rule_of_the_answer_just_given_and_the_next_question_is_answered_by_it() -> None:
    async with on_stage(asks(), size=(80, 40)) as stage:
        first = stage.studio.call_tool(Ref("tool", "s", "form"), {}, approved=True)
        await shown(stage, Question)
        await stage.press(*"Ada", "tab", "space", "space", "tab", *"hunter22", "ctrl+j")
        await first.wait()
        await stage.shows("alt+r makes a rule")
        await stage.press("alt+r")
        await shown(stage, RuleDialog)
        await stage.shows("[[answer]]", 'name = "Ada"', "this schema", "password: left out")
        assert "hunter22" not in stage.screen_text()
        await stage.press("tab", "tab", "end", "backspace", *"0.01", "tab")
        await stage.shows("values    ▸ {name: Ada, approve: true}")
        await stage.press("space", "tab", *" L.", "ctrl+j")
        await stage.until(lambda: len(list(stage.studio.rules)) == 1, "a rule")
        second = await stage.studio.call_tool(Ref("tool", "s", "form"), {}, approved=True).wait()
        assert json.loads(text(second))["result"] == {
            "action": "accept",
            "content": {"name": "Ada L.", "approve": True},
        }
        written = tomllib.loads(Paths.default().answers_file.read_text())["answer"]
        assert [(rule["server"], rule["wait"], rule["content"]) for rule in written] == [
            ("s", 0.01, {"name": "Ada L.", "approve": True})
        ]
        assert load(Paths.default(), Paths.default().config).settings.answers[0].action == "accept"
        assert any(b"answered by answers.toml" in entry.body for entry in stage.studio.trace)


# Many at once


async def test_a_server_that_asks_too_often_opens_no_more_dialogs_and_is_told_of_once() -> None:
    async with on_stage(raw()) as stage:
        for number in range(10):
            task = asyncio.create_task(stage.studio.inbox.ask(form(f"Loud {number}")))
            await shown(stage, Question)
            await stage.press("alt+d")
            await task
            await home(stage)
        tasks = [asyncio.create_task(stage.studio.inbox.ask(form(f"Quiet {number}"))) for number in range(3)]
        await stage.until(lambda: len(stage.studio.inbox.pending) == 3, "three")
        await stage.until(lambda: any("asks too often" in toast for toast in stage.toasts), "toast")
        assert sum("asks too often" in toast for toast in stage.toasts) == 1
        assert stage.app.screen is stage.main
        stage.studio.inbox.decline_all("raw")
        await asyncio.gather(*tasks)


async def test_all_of_a_server_is_declined_from_its_dialog_after_asking() -> None:
    async with on_stage(raw()) as stage:
        tasks = [asyncio.create_task(stage.studio.inbox.ask(form(f"{number}"))) for number in range(8)]
        await shown(stage, Question)
        await stage.press("alt+a")
        await shown(stage, Confirm)
        await stage.shows("Decline 8 questions of raw?")
        await stage.press("n")
        await shown(stage, Question)
        await stage.press("alt+a", "y")
        assert {answer.action for answer in await asyncio.gather(*tasks)} == {"decline"}
        await home(stage)


# Roots


async def test_roots_are_saved_and_the_server_is_told(tmp_path: Any) -> None:
    file = Paths.default().config_file
    file.parent.mkdir(parents=True, exist_ok=True)
    put_server(file, asks())

    config = load(Paths.default(), tmp_path)
    async with on_stage(config=config, size=(80, 24)) as stage:
        await stage.press("1", "f")
        await shown(stage, RootsDialog)
        await stage.shows("Roots of s", "told of no root")
        await stage.press(*str(tmp_path), "tab", *"Work", "alt+n", *"http://x.example/")
        await stage.shows(tmp_path.as_uri()[:60], "knows file:// roots only")
        await stage.press("ctrl+j")
        await home(stage)
        answer = await stage.studio.call_tool(Ref("tool", "s", "roots"), {}, approved=True).wait()
        got = json.loads(text(answer))
        assert got["changed"] == 1
        assert got["answer"]["result"]["roots"] == [
            {"uri": tmp_path.as_uri(), "name": "Work"}, {"uri": "http://x.example/"},
        ]  # fmt: skip
        saved = load(Paths.default(), tmp_path).servers["s"]
        assert saved.roots == (Root(tmp_path.as_uri(), "Work"), Root("http://x.example/"))
        await stage.press("f")
        await shown(stage, RootsDialog)
        await stage.press("alt+x", "ctrl+j")
        await home(stage)
        assert [root.uri for root in stage.studio.manager.config("s").roots] == ["http://x.example/"]


def test_a_file_of_another_program_is_not_written_for_roots(tmp_path: Any) -> None:
    file = tmp_path / "mcp.json"
    file.write_text("{}")

    async def main() -> None:
        async with on_stage(asks(source=Source("file", str(file)))) as stage:
            said = await keep_roots(stage.studio, "s", (Root(str(tmp_path)),))
            assert "until you quit" in said
            assert stage.studio.manager.config("s").roots == (Root(tmp_path.as_uri()),)

    run(main())
    assert file.read_text() == "{}"
