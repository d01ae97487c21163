"""Log messages of servers: kept within bounds and without secrets, at the level that each era is asked for."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_studio.config.model import ServerConfig, Settings
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.jsontext import dumps, loads
from mcp_studio.limits import DEFAULT
from mcp_studio.session import logs
from mcp_studio.session.logs import LONGEST, LogStore, set_level
from mcp_studio.studio import Studio
from tests.studio_support import call, http, opened, stdio, text
from tests.support import npm_server, python_server, wait_until
from tests.support_servers import demo_http, demo_stdio

BOTH = pytest.mark.parametrize("options", [(), ("--modern",)], ids=["legacy", "modern"])


def changing(*options: str, **more: Any) -> ServerConfig:
    return stdio(python_server("raw_changes", *options), **more)


async def heard(studio: Studio) -> list[Any]:
    """Every message the server got: method, parameters, level in `_meta`."""
    return json.loads(text(await call(studio, "heard")))


def message(level: str = "info", data: Any = "x", **more: Any) -> dict[str, Any]:
    return {"level": level, "data": data, **more}


def test_numbers_beyond_every_float_are_kept_as_text() -> None:
    kept = LogStore().add("a", message(data=loads('{"size": 1e400}')))
    assert kept.text == '{"size":1e400}'


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=9), inner, max_size=5),
    max_leaves=20,
)


@settings(max_examples=25)
@given(JSON.filter(lambda value: not isinstance(value, str)), st.integers(1, 200))
def test_data_is_its_json_or_the_beginning_of_that(data: Any, longest: int) -> None:
    whole = dumps(data).decode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logs, "LONGEST", longest)
        kept = LogStore().add("a", message(data=data))
    assert kept.text == (whole if len(whole) <= longest else whole[:longest] + "…")


def test_a_level_that_is_none_may_hold_a_secret() -> None:
    kept = LogStore(redact=lambda text: text.replace("hush", "*")).add("a", message("hush"))
    assert kept.level == "*"


def test_a_store_keeps_the_newest_of_each_server_and_counts_the_rest() -> None:
    store = LogStore(replace(DEFAULT, logs=3))
    for number in range(5):
        store.add("a", message(data=f"a{number}"))
    store.add("b", message(data="b0"))
    assert [one.text for one in store.messages()] == ["a2", "a3", "a4", "b0"]
    assert (store.count("a"), store.count("b"), store.total) == (3, 1, 6)


def test_messages_are_found_by_server_least_level_and_words() -> None:
    store = LogStore()
    for level in ("debug", "info", "error", "emergency", "nonsense"):
        store.add("a", message(level, f"{level} of A", logger="db"))
    store.add("b", message("error", "other"))
    assert [one.level for one in store.messages(["a"], least="error")] == ["error", "emergency"]
    assert [one.server for one in store.messages(least="error", words=["ERROR", "of"])] == ["a"]
    assert len(store.messages(["a"], words=["db"])) == 5 and store.messages(["nobody"]) == []
    # What no version knows counts as info.
    assert [one.level for one in store.messages(["a"], least="info")] == ["info", "error", "emergency", "nonsense"]


def test_data_of_every_kind_is_kept_as_text_and_as_a_value() -> None:
    store = LogStore()
    values = ["plain", {"a": [1, None]}, 7, None, [True]]
    for value in values:
        store.add("a", message(data=value))
    assert [one.data for one in store.messages()] == values
    assert store.messages()[1].text == '{"a":[1,null]}'


def test_what_is_missing_or_of_a_wrong_type_reads_as_empty() -> None:
    store = LogStore()
    one = store.add("a", {"level": 7, "logger": ["x"], "data": None})
    assert (one.level, one.logger, one.text, one.rank) == ("", "", "null", 0)


def test_a_long_message_is_cut_and_secrets_are_taken_out() -> None:
    store = LogStore(redact=lambda text: text.replace("hunter2", "‹redacted›"))
    long = store.add("a", message(data={"text": "y" * 1_000_000}))
    assert len(long.text) == LONGEST + 1 and long.text.endswith("…") and long.data == long.text
    assert store.add("a", message(data={"password": "hunter2"}, logger="hunter2")).data == {"password": "‹redacted›"}


@BOTH
async def test_messages_of_a_server_arrive_with_their_place_in_the_trace(options: tuple[str, ...]) -> None:
    async with opened(changing(*options)) as studio:
        before = studio.logs.revision
        await call(studio, "log", level="warning", data={"disk": "full"}, logger="fs")
        found = studio.logs.messages()
        assert [(one.server, one.level, one.logger, one.data) for one in found] == [
            ("s", "warning", "fs", {"disk": "full"})
        ]
        assert studio.logs.revision != before
        assert studio.trace[found[0].entry - studio.trace.first_number].method == "notifications/message"


async def test_a_configured_level_is_set_after_connecting_and_again_after_reconnecting() -> None:
    async with opened(changing(log_level="warning")) as studio:
        for _ in range(2):
            levels = [params for method, params, _ in await heard(studio) if method == "logging/setLevel"]
            assert levels == [{"level": "warning"}]
            studio.manager.restart("s")
            await studio.manager.settle("s")
            await studio.manager.listed("s")


async def ask_for(studio: Studio, level: str) -> str:
    return await set_level(studio.manager.supervisor("s"), level)


async def test_a_modern_server_hears_the_level_with_every_request() -> None:
    async with opened(changing("--modern", log_level="error")) as studio:
        assert {level for method, _, level in await heard(studio) if method == "tools/call"} == {"error"}
        assert "Every request" in await ask_for(studio, "debug")
        assert (await heard(studio))[-1][2] == "debug" and studio.manager.supervisor("s").log_level == "debug"
        await ask_for(studio, "")
        assert (await heard(studio))[-1][2] is None


async def test_a_level_chosen_at_run_time_is_sent_at_once_and_outlives_a_reconnect() -> None:
    async with opened(changing()) as studio:
        assert "taken" in await ask_for(studio, "notice")
        assert [params for method, params, _ in await heard(studio) if "Level" in method] == [{"level": "notice"}]
        await studio.manager.stop("s")
        assert "when it is connected" in await ask_for(studio, "alert")
        studio.manager.start("s")
        await studio.manager.settle("s")
        await wait_until(lambda: studio.manager.status("s").state == "ready")
        found: list[Any] = []
        while not found:
            found = [params for method, params, _ in await heard(studio) if "Level" in method]
        assert found == [{"level": "alert"}]


async def test_a_server_that_does_not_declare_logging_is_not_asked() -> None:
    async with opened(changing("--no-capability", log_level="error")) as studio:
        assert "does not declare" in await ask_for(studio, "debug")
        assert not [method for method, _, _ in await heard(studio) if "Level" in method]


async def test_a_refused_level_is_an_error_and_while_connecting_a_warning() -> None:
    async with opened(changing("--refuse", "never", log_level="error")) as studio:
        await wait_until(lambda: studio.manager.status("s").warnings)
        assert "does not take a level" in studio.manager.status("s").warnings[0]
        with pytest.raises(StudioError, match="never"):
            await ask_for(studio, "debug")
        with pytest.raises(UsageError, match="no log level 'loud'"):
            await ask_for(studio, "loud")


async def test_a_flood_stays_within_the_bound() -> None:
    async with opened(changing(), settings=Settings(limits=replace(DEFAULT, logs=100))) as studio:
        await call(studio, "log", count=5_000)
        assert (studio.logs.count("s"), studio.logs.total) == (100, 5_000)


async def test_the_demo_server_sends_from_the_level_on_that_was_asked_for_in_both_eras() -> None:
    with demo_http() as url:
        servers = [stdio(demo_stdio(), f"s{era}", era=era, log_level="error") for era in ("legacy", "modern")]
        servers += [http(url, f"h{era}", era=era, log_level="error") for era in ("legacy", "modern")]
        async with opened(*servers) as studio:
            for server in servers:
                ref = next(e.ref for e in studio.catalog.entries("tool", [server.name]) if "log" in e.ref.name)
                await studio.call_tool(ref, {}).wait()
                await wait_until(lambda name=server.name: len(studio.logs.messages([name])) == 4)
                found = studio.logs.messages([server.name])
                assert [one.level for one in found] == ["error", "critical", "alert", "emergency"]
                carried = {one.request for one in found}
                assert carried == ({"tools/call log_every_level"} if server.name == "hmodern" else {""})


async def test_the_public_everything_server_sends_messages() -> None:
    async with opened(stdio(npm_server("everything"), log_level="debug")) as studio:
        await call(studio, "toggle-simulated-logging")
        await wait_until(lambda: studio.logs.count("s"))
