"""What is asked for: forms of every kind, pages, completions of an LLM; and rules that answer from then on."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
import tomllib
from typing import Any

import pytest
from textual.widgets import Button

from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import ServerConfig
from mcp_studio.paths import Paths
from mcp_studio.schema.check import quick
from mcp_studio.schema.form import build
from mcp_studio.session.inbox import Answer, InputRequest
from mcp_studio.tui.screens import activity as activities
from mcp_studio.tui.screens.activity import Activity
from mcp_studio.tui.screens.answer_rule import AnswerRuleDialog
from mcp_studio.tui.screens.elicitation import Elicitation, UrlElicitation
from mcp_studio.tui.screens.sampling import Sampling, reply_schema, sections_of
from tests.studio_support import stdio, text
from tests.support import python_server
from tests.tui.stage import Stage, on_stage, raw

TITLED = [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]
KINDS: dict[str, tuple[dict[str, Any], list[str], Any]] = {
    "text": ({"type": "string", "minLength": 2, "maxLength": 3}, ["backspace", "backspace"], "ab"),
    "email": ({"type": "string", "format": "email"}, [*"a@b.example"], "a@b.example"),
    "date": ({"type": "string", "format": "date"}, [*"2026-02-28"], "2026-02-28"),
    "number": ({"type": "number", "minimum": 1, "maximum": 2}, [*"1.5"], 1.5),
    "flag": ({"type": "boolean"}, ["space"], True),
    "titled": ({"type": "string", "oneOf": TITLED}, ["right", "right"], "g"),
    "many": ({"type": "array", "items": {"type": "string", "enum": ["x", "y"]}}, ["space", "space", "enter"], ["x"]),
    "default": ({"type": "string", "default": "as given"}, [], "as given"),
    "a/b~c": ({"type": "string"}, ["z"], "z"),
}  # fmt: skip


def asks(name: str = "s", **more: Any) -> ServerConfig:
    """A server that asks for everything."""
    return stdio(python_server("raw_asks"), name, era="legacy", **more)


async def asked(stage: Stage, properties: dict[str, Any], **more: Any) -> asyncio.Task[Answer]:
    """A request for a form, opened by the person."""
    schema = {"type": "object", "properties": properties, "required": more.pop("required", [])}
    request = InputRequest("elicitation", more.pop("server", "raw"), more.pop("message", "Please"), schema, **more)
    task = asyncio.create_task(stage.studio.inbox.ask(request))
    await stage.until(lambda: request in stage.studio.inbox.pending)
    stage.main.inbox.open_request(request)
    await stage.dialog(Elicitation)
    return task


async def home(stage: Stage) -> None:
    await stage.until(lambda: stage.app.screen is stage.main, "the main screen")


async def test_every_kind_of_field_is_filled_in_checked_and_guarded() -> None:
    async with on_stage(raw(), size=(100, 40)) as stage:
        task = await asked(stage, {name: kind[0] for name, kind in KINDS.items()}, required=list(KINDS))
        await stage.press(*"abcd", "ctrl+j")
        await stage.shows("Not sent: ", "must have at most 3 characters")
        for _, keys, _ in KINDS.values():
            await stage.press(*keys, "tab")
        await stage.press("ctrl+j")
        assert await task == Answer("accept", {name: kind[2] for name, kind in KINDS.items()})
        await home(stage)
        # Secrets are flagged, masked, and never filled in.
        fields = {"who": {"type": "string", "default": "me"}, "api_key": {"type": "string", "default": "sk-1"}}
        task = await asked(stage, fields, message="Sign \x1b[31m[@click=app.quit]here[/]")
        await stage.shows("api_key looks like a secret", r"\[31m\[@click=app.quit\]here")
        await stage.press("tab", *"hunter22")
        await stage.shows("••••")
        assert "hunter22" not in stage.text and "sk-1" not in stage.text
        await stage.press("ctrl+j")
        assert (await task).content == {"who": "me", "api_key": "hunter22"}
        await home(stage)
        # Text that does not fit is there again after Later; and so is the age.
        task = await asked(stage, {"count": {"type": "integer"}}, message="Give me your password")
        await stage.shows("Its message mentions a secret.")
        await stage.press(*"1x", "escape", "!")
        await stage.dialog(Elicitation)
        await stage.shows("count .*1x")
        request = stage.studio.inbox.pending[0]
        request.asked, request.until = time.monotonic() - 200, time.monotonic() + 71.5
        await stage.shows("3 min ago · 01:1")
        request.answer("cancel", by="nobody: 900 s have passed (limits.answer)")
        await stage.shows("The request of raw was answered by nobody")
        await stage.press("escape")
        await home(stage)
        await stage.pilot.resize_terminal(140, 40)
        task = await asked(stage, {"untitledMultipleSelectEnum": {"type": "string"}})
        await stage.shows("untitledMultipleSelectEnum  ")
        task.cancel()


async def test_pages_are_opened_only_on_consent_and_the_rest_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    async def open_page(url: str, browser: str = "") -> bool:
        opened.append(url)
        return len(opened) > 1

    monkeypatch.setattr("mcp_studio.tui.screens.elicitation.open_page", open_page)
    async with on_stage(asks(), size=(80, 24)) as stage:
        call = stage.studio.call_tool(Ref("tool", "s", "page"), {}, approved=True)
        await stage.dialog(UrlElicitation)
        await stage.shows(
            "s requests that you open a page", "bank.example  ", "https://bank.example/authorize", "Link it"
        )
        await stage.shows("Open in browser .*Copy .*Decline .*Cancel .*Later")
        await stage.press("enter")
        await stage.shows("There is no browser here")
        await stage.press("o")
        assert json.loads(text(await call.wait()))["result"] == {"action": "accept"}
        await home(stage)
        assert opened == ["https://bank.example/authorize?id=7"] * 2
        bad = "https://user@xn--bcher-kva.example/"
        call = stage.studio.call_tool(Ref("tool", "s", "page"), {"url": bad}, approved=True)
        await stage.dialog(UrlElicitation)
        await stage.shows("carries a user name", "xn--bcher-kva.example")
        await stage.press("o", "y")
        await stage.shows("stays pending")
        await stage.press("escape", "!")
        await stage.dialog(UrlElicitation)
        stage.app.screen.query_one("#decline", Button).press()
        assert json.loads(text(await call.wait()))["result"] == {"action": "decline"}
        assert len(opened) == 2
        call = stage.studio.call_tool(Ref("tool", "s", "locked"), {}, approved=True)  # needs a page to be done first
        dialog = await stage.dialog(UrlElicitation)
        await stage.shows("The call waits for this page")
        assert dialog.query_one("#done", Button).disabled
        os.kill(stage.studio.manager.status("s").pid, signal.SIGKILL)
        await call.wait()
        await home(stage)


async def test_a_completion_is_filled_in_and_checked() -> None:
    tools = [{"name": "add", "description": "Adds.", "inputSchema": {"type": "object", "properties": {"a": {}}}}]
    async with on_stage(asks(), size=(80, 24)) as stage:

        async def sampled(**more: Any) -> Any:
            call = stage.studio.call_tool(Ref("tool", "s", "sample"), {"more": more}, approved=True)
            await stage.dialog(Sampling)
            return call

        call = await sampled()
        await stage.shows("s requests an LLM completion", "▌ Be short.", "Reply .*Decline .*Later")
        await stage.press("ctrl+j")
        await stage.shows("Not sent: content › text is required")
        await stage.press(*"4", "enter", *"yes", "ctrl+j")
        assert json.loads(text(await call.wait()))["result"] == {
            "role": "assistant", "model": "mcp-studio", "stopReason": "endTurn",
            "content": {"type": "text", "text": "4\nyes"},
        }  # fmt: skip
        call = await sampled(tools=tools)
        request = stage.studio.inbox.pending[0]
        await stage.press("N", "o")
        await stage.until(lambda: "No" in json.dumps(request.draft), "what is typed, kept")
        await stage.press("escape", "escape", "!")
        dialog = await stage.dialog(Sampling)
        await stage.shows("text .* No")
        content: list[Any] = [{"type": "text", "text": "No"}, {**USE, "name": "other"}]
        dialog.view.set_value({**GOOD, "content": content})
        await stage.press("ctrl+j")
        await stage.shows("Not sent: content › 1")
        dialog.view.set_value({**GOOD, "content": [content[0], USE]})
        await stage.press("ctrl+j")
        assert json.loads(text(await call.wait()))["result"] == {**GOOD, "content": [content[0], USE]}
        call = await sampled()
        await stage.press(*"ab", "escape", "!")
        await stage.dialog(Sampling)
        await stage.press(*"XY")
        await stage.shows("abXY")
        stage.app.screen.query_one("#decline", Button).press()
        answer = json.loads(text(await call.wait()))["error"]
        assert answer == {"code": -1, "message": "User rejected sampling request"}


GOOD: dict[str, Any] = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "x"}}
USE: dict[str, Any] = {"type": "tool_use", "id": "1", "name": "add", "input": {}}
LIST: list[Any] = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]


@pytest.mark.parametrize("change", [{}, {"content": USE}, {"content": LIST}, {"stopReason": "any"}])
def test_a_reply_of_one_block_or_several_can_be_sent(change: dict[str, Any]) -> None:
    assert not quick(build(reply_schema(["add"], lists=True), strict=True), {**GOOD, **change})


@pytest.mark.parametrize(
    "change",
    [
        {"role": "system"}, {"model": ""}, {"stopReason": 1}, {"content": []}, {"content": None},
        {"content": {"type": "video"}}, {"content": {"type": "image", "data": "x"}}, {"content": USE},
        {"content": {**USE, "input": []}}, {"content": LIST}, {"content": {"type": "text", "text": ""}},
    ],
)  # fmt: skip
def test_a_reply_that_the_specification_or_the_version_forbids_cannot(change: dict[str, Any]) -> None:
    assert quick(build(reply_schema([], lists=False), strict=True), {**GOOD, **change})


def test_a_sampling_request_is_told_whole_also_where_it_is_odd() -> None:
    result = {"type": "tool_result", "toolUseId": "1", "isError": True, "content": [{"type": "text", "text": "no"}]}
    params: dict[str, Any] = {
        "messages": [{"role": "user", "content": [USE, result]}, {"content": {"type": "image"}}, 7],
        "systemPrompt": "Be short.", "maxTokens": 100, "toolChoice": {"mode": "none"}, "stopSequences": ["a"],
        "modelPreferences": {"hints": [{"name": "small"}, 3], "costPriority": 0.9},
        "tools": [{"name": "add", "description": "Adds.", "inputSchema": {"properties": {"a": {}}}}, 5],
    }  # fmt: skip
    said = dict(sections_of(params))
    assert said["system"] == "Be short."
    assert '"name": "add"' in said["user"] and '"toolUseId": "1"' in said["user"]
    assert said["Tools that the completion may use  1"] == "add  Adds.\n  takes a"
    for words in ('"small"', '"costPriority": 0.9', '"maxTokens": 100', '"mode": "none"', '"a"'):
        assert words in said["Requested of the model"], words
    assert sections_of({"messages": "x", "tools": 3}) == []


async def test_activity_answers_everything_in_one_place_and_a_rule_answers_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    edited: list[str] = []

    async def edit_file(app: object, file: str) -> None:
        edited.append(file)

    monkeypatch.setattr(activities, "edit_file", edit_file)
    async with on_stage(asks(), raw(), size=(80, 40)) as stage:
        first = stage.studio.call_tool(Ref("tool", "s", "form"), {}, approved=True)
        await stage.dialog(Elicitation)
        await stage.press(*"Ada", "tab", "space", "space", "tab", *"hunter22", "ctrl+j")
        await first.wait()
        await stage.told('Accepted. "Answer rule" in the palette (^p) makes it automatic.')
        stage.main.action_answer_rule()
        await stage.dialog(AnswerRuleDialog)
        await stage.shows(r"\[\[answer\]\]", 'name = "Ada"', "this form", "password: left out")
        assert "hunter22" not in stage.text
        await stage.press("ctrl+j")
        await stage.until(lambda: len(list(stage.studio.rules)) == 1, "a rule")
        await stage.open("form", server="s")
        second = await stage.call()
        await stage.shows("1 request answered by a rule")
        wanted = {"name": "Ada", "approve": True}
        assert json.loads(text(second))["result"] == {"action": "accept", "content": wanted}
        written = tomllib.loads(Paths.default().answers_file.read_text())["answer"]
        assert [(rule["server"], rule["content"]) for rule in written] == [("s", wanted)]
        call = stage.studio.call_tool(Ref("tool", "raw", "wait"), {"seconds": 60}, approved=True)
        call.on_progress(4_465.25, 17_861, "first \u202estep")
        page = InputRequest("url", "other", "See", url="https://a.example/x")
        forms = [InputRequest("elicitation", server, f"Of {server}?", {}) for server in ("raw", "other", "other")]
        tasks = [asyncio.create_task(stage.studio.inbox.ask(request)) for request in (*forms, page)]
        await stage.press("!")
        activity = await stage.dialog(Activity)
        await stage.shows("Pending requests  4", "elicitation .*raw  Of raw", r"a\.example", "Running  1", "raw.wait")
        await stage.shows(
            r"25% 4,465.25 of 17,861 first ⟦U\+202E⟧step", "Answer rules  1", "accept every elicitation of s"
        )
        await stage.press("d")
        assert await tasks[0] == Answer("decline")
        await stage.shows("Pending requests  3")
        stage.app.screen.query_one("#decline_all", Button).press()
        await stage.shows("3 requests of other will be declined")
        await stage.press("enter")
        assert {answer.action for answer in await asyncio.gather(*tasks)} == {"decline"}
        await stage.hides("Pending requests|  Decline")
        activity.rows.go_to("Running")
        await stage.hides("  Open|Cancel it")
        activity.rows.go_to(("rule", 0))
        await stage.press("o")
        await stage.until(lambda: edited == [str(stage.studio.paths.answers_file)], "the file of the rule, edited")
        activity.rows.go_to(("call", id(call)))
        await stage.shows("Cancel it")
        stage.app.screen.query_one("#cancel", Button).press()
        assert type(await call.wait()).__name__ == "Cancelled"
        await stage.hides("raw.wait +first")
