"""The board, rules made of answers, many questions at once, and roots."""

from __future__ import annotations

import asyncio
import json
import tomllib
from typing import Any

from textual.widgets import Static

from mcp_studio.catalog.listing import Ref
from mcp_studio.config.load import load
from mcp_studio.config.model import AnswerRule, Config, Root, ServerConfig, Settings, Source
from mcp_studio.config.save import put_server
from mcp_studio.paths import Paths
from mcp_studio.session.inbox import Answer, InputRequest
from mcp_studio.tui.screens.board import Board
from mcp_studio.tui.screens.confirm import Confirm
from mcp_studio.tui.screens.page import Page
from mcp_studio.tui.screens.question import Question
from mcp_studio.tui.screens.roots_dialog import RootsDialog
from mcp_studio.tui.screens.rule_dialog import RuleDialog
from mcp_studio.tui.server_files import keep_roots
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


async def test_an_empty_board_teaches() -> None:
    async with on_stage(raw(), size=(80, 24)) as stage:
        await stage.press("f4")
        await shown(stage, Board)
        await stage.shows("Nothing runs, and nobody asks you anything.", "^j starts what is open")
        await stage.press("escape")
        await home(stage)


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
        assert len(stage.studio.manager.inflight.running) == 1


async def test_enter_goes_to_the_call_that_runs() -> None:
    async with on_stage(raw()) as stage:
        call = stage.studio.call_tool(Ref("tool", "raw", "wait"), {"seconds": 60}, approved=True)
        await stage.press("f7")
        await stage.shows("raw.wait")
        await stage.press("enter")
        await home(stage)
        await stage.until(lambda: stage.main.calling.opened is not None, "the entry")
        assert stage.main.calling.opened.entry.ref.name == "wait"
        call.cancel()


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


async def test_f4_opens_the_only_question_and_the_board_for_several() -> None:
    async with on_stage(raw()) as stage:
        await stage.open("echo")
        await stage.press("a")
        first, second = (asyncio.create_task(stage.studio.inbox.ask(form(f"{n}?"))) for n in (1, 2))
        await stage.shows("⚑ 2 waiting")
        await stage.press("f4")
        await shown(stage, Board)
        await stage.press("d")
        await first
        await stage.press("escape")
        await home(stage)
        await stage.press("f4")
        await shown(stage, Question)
        await stage.press("alt+d")
        await second


async def test_pages_and_rules_stand_on_the_board() -> None:
    rules = (AnswerRule("decline", server="bank", kind="sampling", source="rule 1 of answers.toml"),)
    async with on_stage(raw(), settings=Settings(answers=rules)) as stage:
        page = InputRequest("url", "raw", "See", url="https://a.example/x", elicitation_id="e")
        task = asyncio.create_task(stage.studio.inbox.ask(page))
        await shown(stage, Page)
        await stage.press("y")
        await task
        await home(stage)
        await stage.press("f7")
        await stage.shows(
            "Pages opened  1", "a.example", "Rules that answer  1", "decline every request for a reply of bank"
        )
        stage.studio.inbox.completed("raw", "e")
        await stage.until(lambda: "Pages opened" not in stage.screen_text(), "the page is gone")
        await stage.press("G")
        await stage.shows("It stands in rule 1 of answers.toml", str(Paths.default().answers_file))


async def test_what_lies_under_a_dialog_is_drawn_once_a_second() -> None:
    async with on_stage(raw()) as stage:
        await stage.open("ask")
        await stage.press("ctrl+j")
        await shown(stage, Question)
        ticks = 0
        tick = stage.main.result.tick

        def counted() -> None:
            nonlocal ticks
            ticks += 1
            tick()

        stage.main.result.tick = counted
        for _ in range(20):
            stage.main.pulse.beat()
        assert ticks == 2
        await stage.press("alt+d")


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


async def test_a_rule_cannot_be_written_into_a_file_that_is_no_toml() -> None:
    async with on_stage(raw()) as stage:
        Paths.default().answers_file.parent.mkdir(parents=True, exist_ok=True)
        Paths.default().answers_file.write_text("[[answer")
        await stage.press("alt+r")
        await stage.until(lambda: any("Answer something first" in toast for toast in stage.toasts), "toast")
        task = asyncio.create_task(stage.studio.inbox.ask(form("Who?")))
        await shown(stage, Question)
        await stage.press("alt+d")
        await task
        await stage.press("alt+r")
        await shown(stage, RuleDialog)
        await stage.shows('action = "decline"')
        await stage.press("ctrl+j")
        # Where its words are broken into lines depends on how long the name of the file is.
        await stage.shows("TOML:", "Mend")
        told = str(stage.app.screen.query_one(".bad", Static).content)
        assert "is no valid TOML" in told and "Mend the file, then make the rule." in told
        await stage.press("escape")
        await home(stage)
        assert len(list(stage.studio.rules)) == 0
        assert Paths.default().answers_file.read_text() == "[[answer"


# Many at once


async def test_hundreds_of_questions_at_once_are_all_answered_once_while_keys_work() -> None:
    async with on_stage(asks(), raw(), size=(80, 24)) as stage:
        call = stage.studio.call_tool(Ref("tool", "s", "storm"), {"count": 200}, approved=True)
        await stage.until(lambda: stage.studio.inbox.waiting("s") == 400, "all of them")
        await shown(stage, Question)
        await stage.shows("request 1 of 400", "⚑ 400 waiting")
        for number, name in enumerate(("Ada", "Eve", "Bob")):
            await stage.shows(f"request {number + 1} of 400", f"{number}?")
            await stage.press(*name, "ctrl+j")
        await stage.shows("request 4 of 400")
        assert stage.studio.inbox.waiting("s") == 397
        await stage.press("alt+d")
        await stage.until(lambda: stage.studio.inbox.waiting("s") == 396, "four answers")
        await stage.press("escape")
        await home(stage)
        assert len(stage.toasts) < 8
        await stage.open("echo")
        await stage.press(*"still here")
        assert (await stage.ran()).result["content"][0]["text"] == "still here"
        await stage.press("f4")
        await shown(stage, Board)
        await stage.shows("more wait their turn")
        await stage.press("D")
        await shown(stage, Confirm)
        await stage.press("y")
        answered = json.loads(text(await call.wait()))
        assert answered == {"answered": 400, "twice": 0, "accepted": 200}  # a refused sampling request is an error
        await stage.until(lambda: stage.studio.inbox.pending == (), "nothing waits")


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


async def test_roots_of_a_server_that_is_in_no_file_hold_for_this_run() -> None:
    async with on_stage(asks(roots=(Root("file:///a"),))) as stage:
        await stage.press("1", "f")
        await shown(stage, RootsDialog)
        await stage.shows("file:///a", "is not there")
        await stage.press("tab", *"Name", "ctrl+j")
        await stage.until(lambda: any("until you quit" in toast for toast in stage.toasts), "toast")
        assert stage.studio.manager.config("s").roots == (Root("file:///a", "Name"),)


async def test_a_root_that_cannot_be_used_is_not_taken() -> None:
    async with on_stage(config=Config(servers={"s": asks()})) as stage:
        await stage.press("1", "f")
        await shown(stage, RootsDialog)
        await stage.press(*"${NO_SUCH_VARIABLE_HERE}", "ctrl+j")
        await stage.shows("NO_SUCH_VARIABLE_HERE is not set")
        assert isinstance(stage.app.screen, RootsDialog)
        assert stage.studio.manager.config("s").roots == ()


async def test_a_question_that_goes_under_another_dialog_is_gone_when_that_one_is() -> None:
    async with on_stage(raw()) as stage:
        task = asyncio.create_task(stage.studio.inbox.ask(form("Who?")))
        await shown(stage, Question)
        await stage.press("alt+a")
        await shown(stage, Confirm)
        task.cancel()
        await stage.until(lambda: not stage.studio.inbox.pending, "withdrawn")
        await stage.press("n")
        await home(stage)
        again = asyncio.create_task(stage.studio.inbox.ask(form("Again?")))
        await stage.shows("Again?")
        await stage.press("alt+d")
        assert await again == Answer("decline")


async def test_what_a_server_says_does_no_harm_on_the_board() -> None:
    async with on_stage(raw(), size=(80, 24)) as stage:
        await stage.press("f7")
        await shown(stage, Board)
        nasty = "[@click=app.quit]x[/] \x1b[31m\u202e"
        tasks = [
            asyncio.create_task(stage.studio.inbox.ask(request))
            for request in (form(nasty), InputRequest("url", "raw", nasty, url=nasty))
        ]
        await stage.shows("Waiting for you  2", "[@click=app.quit]x[/] ␛[31m⟦U+202E⟧")
        stage.studio.inbox.decline_all("raw")
        await asyncio.gather(*tasks)


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
