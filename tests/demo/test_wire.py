"""The demo server as a process: over stdio and HTTP, in both eras."""

from __future__ import annotations

import asyncio
import sys
from subprocess import run as run_process
from typing import Any

import pytest
from mcp_types import ElicitResult

from mcp_studio.protocol.message import Request
from mcp_studio.servers.demo.__main__ import Demo
from mcp_studio.servers.toolserver import ToolPeer
from tests.demo import client as sdk
from tests.demo.wire import ENVELOPE, opened
from tests.support import run

MODERN = pytest.mark.parametrize("modern", [False, True], ids=["legacy", "2026-07-28"])
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


async def _conversation(era: str, target: Any) -> None:
    steps: list[str | None] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        steps.append(message)

    asked = sdk.answering(ElicitResult(action="accept", content={"name": "Ada", "copies": 2}))
    async with sdk.connected(era, target, elicitation_callback=asked) as client:
        assert len(await sdk.all_tools(client)) >= 50
        await client.call_tool("take_stock", {"seconds_per_shelf": 0}, progress_callback=progress)
        assert len(steps) == 7
        told = sdk.words(await client.call_tool("order_book", {"id": "twelve-soups"}))
        assert told == "Ordered 2 of 'Twelve Soups' for Ada."


def test_the_sdk_client_gets_along_with_it_over_stdio(era: str) -> None:
    run(_conversation(era, sdk.process()))


def test_the_sdk_client_gets_along_with_it_over_http(era: str, url: str) -> None:
    run(_conversation(era, url))


async def test_http_clients_hear_of_a_sale(url: str) -> None:
    async with (
        sdk.connected(sdk.MODERN, url) as client,
        client.listen(resource_subscriptions=["shop://till"], tools_list_changed=True) as heard,
    ):
        await client.call_tool("sell_book", {"id": "moss-a-biography"})
        await client.call_tool("invite_guest", {"present": False})
        kinds = [type(await anext(heard)).__name__ for _ in range(2)]
        assert kinds == ["ResourceUpdated", "ToolsListChanged"]


@MODERN
async def test_a_cancelled_call_stops_at_once_and_is_never_answered(modern: bool) -> None:
    async with opened(modern) as wire:
        call = await wire.request(
            "tools/call", name="wait_for_parcel", arguments={"seconds": 600}, _meta={"progressToken": "p"}
        )
        await wire.until(method="notifications/progress")
        await wire.send({"method": "notifications/cancelled", "params": {"requestId": call}})
        await wire.stderr_until("wait_for_parcel was cancelled after")
        await wire.ask("tools/list")
        assert call not in [frame.get("id") for frame in wire.seen]


async def test_older_subscribers_hear_what_they_subscribed_to_until_they_stop() -> None:
    async with opened(modern=False) as wire:
        await wire.ask("resources/subscribe", uri="shop://till")
        sell = {"name": "sell_book", "arguments": {"id": "moss-a-biography"}}
        await wire.ask("tools/call", **sell)
        updated = [frame["params"]["uri"] for frame in wire.seen if "updated" in frame.get("method", "")]
        assert updated == ["shop://till"]
        await wire.ask("resources/unsubscribe", uri="shop://till")
        wire.seen.clear()
        await wire.ask("tools/call", **sell)
        assert [frame.get("method") for frame in wire.seen] == [None]


async def test_listen_streams_carry_their_id_and_only_what_was_asked_for() -> None:
    async with opened(modern=True) as wire:
        wanted = {"resourceSubscriptions": ["shop://till"], "promptsListChanged": True}
        stream = await wire.request("subscriptions/listen", notifications=wanted)
        await wire.until(method="notifications/subscriptions/acknowledged")
        for name, arguments in (("sell_book", {"id": "twelve-soups", "copies": 1}), ("invite_guest", {})):
            await wire.ask("tools/call", name=name, arguments=arguments)
        await wire.ask("tools/call", name="sell_book", arguments={"id": "moss-a-biography"})
        await wire.ask("tools/call", name="announce_reading", arguments={})
        heard = [frame for frame in wire.seen if "method" in frame][1:]
        assert [frame["method"] for frame in heard] == [
            "notifications/resources/updated",
            "notifications/prompts/list_changed",
        ]
        assert {frame["params"]["_meta"][SUBSCRIPTION] for frame in heard} == {stream}


@MODERN
async def test_the_clock_ticks_while_somebody_watches(modern: bool) -> None:
    async with opened(modern) as wire:
        if modern:
            await wire.request("subscriptions/listen", notifications={"resourceSubscriptions": ["shop://clock"]})
        else:
            await wire.ask("resources/subscribe", uri="shop://clock")
        await wire.until(method="notifications/resources/updated")
        read = await wire.ask("resources/read", uri="shop://clock")
        assert read["result"]["contents"][0]["text"].startswith("The clock has ticked 1 times.")


@MODERN
async def test_leaving_ends_the_process_with_its_exit_code(modern: bool) -> None:
    async with opened(modern) as wire:
        await wire.request("tools/call", name="fail_by_leaving", arguments={"exit_code": 9})
        assert await wire.process.wait() == 9


@MODERN
async def test_it_leaves_when_its_client_does(modern: bool) -> None:
    async with opened(modern) as wire:
        await wire.ask("tools/list")
        await wire.request("tools/call", name="wait_for_parcel", arguments={"seconds": 600})
        assert wire.process.stdin is not None
        wire.process.stdin.close()
        assert await wire.process.wait() == 0


async def test_noise_on_stderr_stays_off_stdout() -> None:
    async with opened(modern=True) as wire:
        await wire.ask("tools/call", name="write_to_stderr", arguments={"lines": 2, "text": "hush"})
        assert await wire.stderr_until("hush") == "1: hush\n"
        assert len(wire.seen) == 1


def test_importing_the_package_of_servers_imports_no_sdk() -> None:
    program = "import sys, mcp_studio.servers; print(sorted({'mcp', 'pydantic', 'anyio'} & set(sys.modules)))"
    done = run_process([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "[]"


def test_a_taken_port_is_a_sentence_and_exit_code_1(url: str) -> None:
    port = url.split(":")[2].split("/")[0]
    argv = [sys.executable, "-m", "mcp_studio.servers.demo", "--http", port]
    done = run_process(argv, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert done.stderr.strip() == f"Port {port} cannot be used: Address already in use."


async def test_who_does_not_read_its_stream_holds_up_nobody_else() -> None:
    server, heard = Demo().server, asyncio.Queue[dict[str, Any]]()
    peer = ToolPeer(server)  # over HTTP that of all clients of the stateless era

    async def unread(message: dict[str, Any]) -> None:
        if message["method"] != "notifications/subscriptions/acknowledged":
            await asyncio.Event().wait()

    wanted = {"notifications": {"toolsListChanged": True}, "_meta": ENVELOPE}
    streams = [peer.take(Request(name, "subscriptions/listen", wanted), put) for name, put in
               (("a", unread), ("b", heard.put))]  # fmt: skip
    assert (await heard.get())["method"] == "notifications/subscriptions/acknowledged"
    await asyncio.wait_for(server.announce("tools/list_changed"), 30)
    assert heard.get_nowait()["method"] == "notifications/tools/list_changed"
    for stream in filter(None, streams):
        stream.cancel()
