"""What passes between an agent's client and the servers behind the gateway, in both eras."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import mcp_types as types
import pytest
from mcp.client import ClientRequestContext
from mcp.shared.exceptions import MCPError

from mcp_studio.protocol.versions import META_LOG_LEVEL
from tests.gateway.kit import ERAS, argv, configured, on_http, on_stdio, raw, text, to_http
from tests.studio_support import call, opened, stdio
from tests.support import wait_until
from tests.support_servers import demo_http

ALL = 'mode = "all"'
BOOK = {"id": "slow-trains-north"}


@pytest.mark.parametrize("era", ERAS)
async def test_everything_of_a_server_is_there_under_its_name(era: str) -> None:
    async with on_stdio(configured(ALL), era=era) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert {"mcp__demo__list_books", "mcp__demo__order_book"} <= tools
        found = await client.call_tool("mcp__demo__find_books", {"text": "star"})
        assert "Salt and Starlight" in text(found)
        uris = {str(resource.uri) for resource in (await client.list_resources()).resources}
        assert "shop://welcome" in uris
        assert "Lantern" in (await client.read_resource("shop://welcome")).contents[0].text  # type: ignore[union-attr]
        templates = {one.uri_template for one in (await client.list_resource_templates()).resource_templates}
        assert "shop://books/{id}" in templates
        prompt = await client.get_prompt("mcp__demo__gift", {"author": "Ines Hale", "title": "Rain"})
        assert "Rain" in prompt.messages[0].content.text  # type: ignore[union-attr]
        reference = types.PromptReference(name="mcp__demo__recommend")
        values = await client.complete(reference, {"name": "genre", "value": ""})
        assert values.completion.values


@pytest.mark.parametrize("era", ERAS)
async def test_refusals_come_through_as_what_they_are(era: str) -> None:
    async with on_stdio(configured(ALL), era=era) as client:
        failed = await client.call_tool("mcp__demo__fail_as_tool", {})
        assert failed.is_error
        with pytest.raises(MCPError):
            await client.call_tool("mcp__demo__fail_as_request", {})
        with pytest.raises(MCPError, match="Unknown tool"):
            await client.call_tool("mcp__demo__nothing", {})
        with pytest.raises(MCPError, match="no such resource"):
            await client.read_resource("file:///etc/passwd")


@pytest.mark.parametrize("era", ERAS)
async def test_progress_and_log_messages_come_through(era: str) -> None:
    steps, logged = list[float](), list[Any]()

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        steps.append(progress)

    async def on_log(params: types.LoggingMessageNotificationParams) -> None:
        logged.append((params.logger, params.level))

    async with on_stdio(configured(ALL), era=era, logging_callback=on_log) as client:
        await client.call_tool("mcp__demo__take_stock", {}, progress_callback=on_progress)
        assert steps == sorted(steps) and steps
        if era == "legacy":
            level = types.SetLevelRequest(params=types.SetLevelRequestParams(level="warning"))
            await client.session.send_request(level, types.EmptyResult)
            await client.call_tool("mcp__demo__log_every_level", {})
            assert {level for _, level in logged} >= {"warning", "error"}
            assert all(name.startswith("demo") for name, _ in logged)


async def test_log_messages_come_through_while_the_result_before_is_still_checked() -> None:
    logged = list[str]()

    async def on_log(params: types.LoggingMessageNotificationParams) -> None:
        logged.append(params.level)

    wanted: Any = {META_LOG_LEVEL: "info"}
    async with on_stdio(configured(ALL), era="auto", logging_callback=on_log) as client:
        await client.call_tool("mcp__demo__find_books", {"text": "salt"}, meta=wanted)
        await client.call_tool("mcp__demo__log_every_level", {}, meta=wanted)
        await wait_until(lambda: "emergency" in logged)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("upstream", ["demo", "raw"])
async def test_a_server_asks_the_client_that_called_it(era: str, upstream: str) -> None:
    asked = list[str]()

    async def elicit(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"name": "Ada", "copies": 1, "gift": False})

    servers: dict[str, Any] = {} if upstream == "demo" else {"raw": raw("raw_asks")}
    async with on_stdio(configured(ALL, **servers), era=era, elicitation_callback=elicit) as client:
        if upstream == "demo":
            result = await client.call_tool("mcp__demo__ask_twice", {})
            assert len(asked) == 2
        else:
            result = await client.call_tool("mcp__raw__form", {})
            assert len(asked) == 1
            assert "Ada" in text(result)
        assert all(one.startswith(f"{upstream} asks: ") for one in asked)


@pytest.mark.parametrize("era", ERAS)
async def test_an_answer_is_for_the_question_that_was_asked_and_not_for_its_key(era: str) -> None:
    asked = list[str]()

    async def elicit(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"name": "Ada", "color": f"answer {len(asked)}"})

    behind = configured(ALL, raw=raw("raw_conformance"))
    async with on_stdio(behind, era=era, elicitation_callback=elicit) as client:
        result = await client.call_tool("mcp__raw__test_one_key_for_two_questions", {})
        assert [one.rpartition(": ")[2] for one in asked] == ["What is your name?", "Which color?"]
        assert "answer 2" in text(result)


@pytest.mark.parametrize("era", ERAS)
async def test_a_server_has_the_client_answer_for_a_model(era: str) -> None:
    async def sample(context: ClientRequestContext, params: types.CreateMessageRequestParams) -> Any:
        content = types.TextContent(type="text", text="four")
        return types.CreateMessageResult(role="assistant", content=content, model="m")

    async with on_stdio(configured(ALL), era=era, sampling_callback=sample) as client:
        assert "four" in text(await client.call_tool("mcp__demo__ask_model", {"id": "slow-trains-north"}))


def folder(name: str) -> Any:
    """Tells one root."""

    async def roots(context: ClientRequestContext) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=f"file:///srv/{name}", name=name)])  # type: ignore[arg-type]

    return roots


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("upstream", ["demo", "raw"])
@pytest.mark.parametrize("way", ["stdio", "http"])
async def test_a_server_knows_the_roots_of_the_client_that_called_it(era: str, upstream: str, way: str) -> None:
    tool = {"demo": "mcp__demo__ask_roots", "raw": "mcp__raw__roots"}[upstream]
    servers: dict[str, Any] = {} if upstream == "demo" else {"raw": raw("raw_asks")}
    file = configured(ALL, **servers)
    if way == "stdio":
        async with on_stdio(file, era=era, list_roots_callback=folder("books")) as client:
            assert "file:///srv/books" in text(await client.call_tool(tool, {}))
        return
    with on_http(file) as served:
        async with (
            to_http(served, era, list_roots_callback=folder("books")) as one,
            to_http(served, era, list_roots_callback=folder("maps")) as other,
        ):
            for client, name in ((one, "books"), (other, "maps"), (one, "books")):
                assert f"file:///srv/{name}" in text(await client.call_tool(tool, {}))


async def test_roots_are_known_outside_of_calls_where_there_is_one_client_alone() -> None:
    table = '[gateway.clients.ann]\ntoken = "that-of-ann"'
    for more, changed in (("", 1), (table, 0)):  # another client's call must not open the folders of this one
        with on_http(configured(ALL, more, raw=raw("raw_asks")), MCP_STUDIO_GATEWAY_TOKEN="t" * 20) as served:
            async with to_http(served, "legacy", list_roots_callback=folder("books")) as client:
                await client.list_tools()
                assert f'"changed": {changed}' in text(await client.call_tool("mcp__raw__roots", {}))


async def test_a_server_that_says_for_which_call_it_asks_may_have_many_clients() -> None:
    """Over Streamable HTTP it says so by the stream that it asks on."""
    all_ask = asyncio.Barrier(3)

    def answerer(name: str) -> Any:
        async def elicit(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
            await all_ask.wait()
            return types.ElicitResult(action="accept", content={"name": name, "copies": 1, "gift": False})

        return elicit

    with demo_http() as url:
        web = f'[servers.web]\nurl = "{url}"\nera = "legacy"\ntrust = true'
        with on_http(configured(ALL, web)) as served:
            async with AsyncExitStack() as stack:
                names, clients = ("Ada", "Bob", "Cid"), list[Any]()
                for name in names:
                    clients += [await stack.enter_async_context(to_http(served, elicitation_callback=answerer(name)))]
                    await clients[-1].list_tools()
                results = await asyncio.gather(*(one.call_tool("mcp__web__order_book", BOOK) for one in clients))
    for name, result in zip(names, results, strict=True):
        assert name in text(result)


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_client_of_our_own_sees_lists_and_resources_change(era: Any) -> None:
    """Our own client, on a gateway that is a server for it like any other."""
    words = argv(configured(ALL))
    async with opened(stdio(words, era=era, inherit_env=("PYTHONPATH", "MCP_STUDIO_HOME"))) as studio:
        names = lambda: {one.ref.name for one in studio.catalog.entries("tool")}  # noqa: E731
        await wait_until(lambda: "mcp__demo__invite_guest" in names())
        before = len(names())
        heard = list[str]()
        studio.manager.notified.connect(lambda one: heard.append(one[1]))
        await call(studio, "mcp__demo__invite_guest")
        await wait_until(lambda: len(names()) > before, what="the tools of the guest")

        uri = "shop://till"
        watched = studio.subscriptions.watch("s", uri)
        await wait_until(lambda: watched.state == "active", what="the subscription")
        await call(studio, "mcp__demo__sell_book", id="slow-trains-north")
        await wait_until(lambda: watched.updates > 0, what="the change of the till")
        studio.subscriptions.unwatch("s", uri)


async def test_what_is_not_there_cannot_be_watched() -> None:
    async with on_stdio(configured(ALL), era="legacy") as client:
        await client.list_resources()
        params = types.SubscribeRequestParams(uri="file:///etc/passwd")
        with pytest.raises(MCPError, match="no such resource"):
            await client.session.send_request(types.SubscribeRequest(params=params), types.EmptyResult)
