"""Watching resources: asked for in the way of the era, kept over ends and reconnects, counted cheaply."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import pytest

from mcp_studio.config.model import ServerConfig, Settings
from mcp_studio.limits import DEFAULT
from mcp_studio.protocol.versions import META_SUBSCRIPTION
from mcp_studio.session.subscriptions import Subscription
from mcp_studio.studio import Studio
from tests.studio_support import call, opened, stdio, text
from tests.support import python_server, wait_until

NOTE, OTHER = "raw://note", "raw://other"
QUICK = Settings(limits=replace(DEFAULT, retry_min=0.01))
BOTH = pytest.mark.parametrize("options", [(), ("--modern",)], ids=["legacy", "modern"])


def changing(*options: str, **more: Any) -> ServerConfig:
    return stdio(python_server("raw_changes", *options), **more)


async def heard(studio: Studio, *methods: str) -> list[Any]:
    """What the server was asked of these methods so far, the parameters alone."""
    return [params for method, params, _ in json.loads(text(await call(studio, "heard"))) if method in methods]


async def active(studio: Studio, uri: str = NOTE) -> Subscription:
    """Watch a resource until the server has agreed."""
    known = studio.subscriptions.watch("s", uri)
    await wait_until(lambda: known.state == "active")
    return known


@BOTH
async def test_updates_of_a_watched_resource_are_counted_and_reading_it_makes_them_known(
    options: tuple[str, ...],
) -> None:
    async with opened(changing(*options)) as studio:
        known = await active(studio)
        told: list[str] = []
        studio.subscriptions.changed.connect(told.append)
        await call(studio, "updated", uri=NOTE, count=3)
        await call(studio, "updated", uri=OTHER)
        await wait_until(lambda: known.updates == 3 and told)
        assert known.unread == 3 and time.time() - known.updated < 10 and set(told) == {"s"}
        await studio.read_resource("s", NOTE).wait()
        assert (known.updates, known.unread) == (3, 0)


@BOTH
async def test_a_switch_turns_it_off_again_and_the_server_is_told(options: tuple[str, ...]) -> None:
    async with opened(changing(*options)) as studio:
        await active(studio)
        assert studio.subscriptions.switch("s", NOTE) is False and studio.subscriptions.of("s") == ()
        await studio.subscriptions.settle("s", 5)
        if options:
            assert any("requestId" in params for params in await heard(studio, "notifications/cancelled"))
        else:
            assert await heard(studio, "resources/unsubscribe") == [{"uri": NOTE}]
        assert studio.subscriptions.switch("s", NOTE) is True
        await wait_until(lambda: studio.subscriptions.of("s")[0].state == "active")


@BOTH
async def test_several_resources_are_watched_and_one_can_be_left(options: tuple[str, ...]) -> None:
    async with opened(changing(*options)) as studio:
        note, other = await active(studio), await active(studio, OTHER)
        studio.subscriptions.unwatch("s", OTHER)
        await studio.subscriptions.settle("s", 5)
        await call(studio, "updated", uri=OTHER)
        await call(studio, "updated", uri=NOTE)
        await wait_until(lambda: note.updates == 1)
        assert other.updates == 0 and note.state == "active" and not note.missed


@BOTH
async def test_what_is_watched_stays_so_under_another_entry_and_goes_with_the_server(options: tuple[str, ...]) -> None:
    async with opened(changing(*options)) as studio:
        known = await active(studio)
        await studio.manager.replace(replace(studio.manager.config("s"), log_level="error"))
        assert studio.subscriptions.of("s") == (known,)
        await wait_until(lambda: known.state == "active")
        await studio.manager.remove("s")
        assert studio.subscriptions.of("s") == ()


@BOTH
async def test_what_is_watched_is_asked_for_again_after_the_server_died(options: tuple[str, ...]) -> None:
    async with opened(changing(*options), settings=QUICK) as studio:
        known = await active(studio)
        await call(studio, "leave")
        await wait_until(lambda: known.missed and known.state == "active")
        await call(studio, "updated")
        await wait_until(lambda: known.updates == 1)
        await studio.read_resource("s", NOTE).wait()
        assert not known.missed


@BOTH
async def test_a_disconnected_server_is_asked_once_it_is_connected(options: tuple[str, ...]) -> None:
    async with opened(changing(*options)) as studio:
        await studio.manager.stop("s")
        known = studio.subscriptions.watch("s", NOTE)
        assert known.state == "wanted"
        studio.manager.start("s")
        await wait_until(lambda: known.state == "active")
        assert not known.missed


@BOTH
async def test_a_refusal_is_said_in_the_servers_words(options: tuple[str, ...]) -> None:
    async with opened(changing(*options, "--refuse", "not here")) as studio:
        known = studio.subscriptions.watch("s", NOTE)
        await wait_until(lambda: known.state == "refused")
        assert "not here (-32603)" in known.detail


async def test_a_server_of_the_handshake_era_that_does_not_declare_it_is_not_asked() -> None:
    async with opened(changing("--no-capability")) as studio:
        known = studio.subscriptions.watch("s", NOTE)
        await wait_until(lambda: known.state == "refused")
        assert "resources.subscribe" in known.detail and await heard(studio, "resources/subscribe") == []


async def test_what_a_listen_does_not_honour_is_refused_and_the_rest_is_watched() -> None:
    async with opened(changing("--modern", "--honour", NOTE)) as studio:
        other = studio.subscriptions.watch("s", OTHER)
        await active(studio)
        await wait_until(lambda: other.state == "refused")
        assert other.detail == "the server does not honour it"


@pytest.mark.parametrize("how", ["response", "cancelled"])
async def test_a_stream_that_ends_is_opened_again(how: str) -> None:
    async with opened(changing("--modern"), settings=QUICK) as studio:
        known = await active(studio)
        await call(studio, "end", how=how)
        await wait_until(lambda: known.missed and known.state == "active")
        await call(studio, "updated")
        await wait_until(lambda: known.updates == 1)
        assert len([p for p in await heard(studio, "subscriptions/listen") if "resourceSubscriptions" in str(p)]) == 2


async def test_a_stream_that_never_holds_is_given_up_and_the_switch_tries_again() -> None:
    settings = Settings(limits=replace(DEFAULT, retry_min=0.001, reconnects=3))
    async with opened(changing("--modern", "--drop", "4"), settings=settings) as studio:
        known = studio.subscriptions.watch("s", NOTE)
        await wait_until(lambda: known.state == "lost")
        assert "ended the subscription" in known.detail
        asked = [params for params in await heard(studio, "subscriptions/listen") if "resourceSub" in str(params)]
        assert len(asked) == 4
        studio.subscriptions.switch("s", NOTE)
        await active(studio)


async def test_a_server_that_allows_one_stream_at_a_time_gets_the_new_wish_after_the_old_one_has_ended() -> None:
    async with opened(changing("--modern", "--one")) as studio:
        for uri in (NOTE, OTHER):
            await active(studio, uri)


async def test_a_stream_that_is_not_acknowledged_counts_all_the_same() -> None:
    async with opened(changing("--modern", "--mute")) as studio:
        known = studio.subscriptions.watch("s", NOTE)
        await wait_until(lambda: any(one.direction == "out" and NOTE.encode() in one.body for one in studio.trace))
        await call(studio, "updated")
        await wait_until(lambda: known.updates == 1)
        assert known.state == "wanted"


async def test_an_acknowledgement_of_a_stream_that_does_not_exist_changes_nothing() -> None:
    async with opened(changing("--modern")) as studio:
        known = await active(studio)
        nothing = {"notifications": {"resourceSubscriptions": []}, "_meta": {META_SUBSCRIPTION: 4711}}
        await call(studio, "notify", method="notifications/subscriptions/acknowledged", params=nothing)
        await call(studio, "updated")
        await wait_until(lambda: known.updates == 1)
        assert known.state == "active" and studio.manager.status("s").warnings == ()


@BOTH
async def test_a_flood_of_updates_is_counted_whole(options: tuple[str, ...]) -> None:
    async with opened(changing(*options)) as studio:
        known = await active(studio)
        await call(studio, "updated", count=5_000)
        await wait_until(lambda: known.updates == 5_000)


@BOTH
async def test_an_update_of_a_part_counts_for_the_whole(options: tuple[str, ...]) -> None:
    async with opened(changing(*options)) as studio:
        known = await active(studio)
        stream = [one.id for one in studio.trace if one.method == "subscriptions/listen"][-1:]
        await call(studio, "updated", uri=f"{NOTE}/page/1", **({"stream": stream[0]} if stream else {}))
        await wait_until(lambda: known.updates == 1)


async def test_removing_a_server_forgets_what_was_watched() -> None:
    async with opened(changing()) as studio:
        await active(studio)
        await studio.manager.remove("s")
        assert studio.subscriptions.of("s") == ()


async def test_what_is_watched_outlives_another_name_and_another_entry_of_the_server() -> None:
    async with opened(changing()) as studio:
        await active(studio)
        await studio.manager.replace(changing("--modern", name="other"), old_name="s")
        assert studio.subscriptions.of("s") == ()
        await wait_until(lambda: [one.state for one in studio.subscriptions.of("other")] == ["active"])
