"""The protocol part of the server dialog: texts and back, and the dialog itself on a small screen."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import Any

import pytest
from textual.widgets import Input, Select, TextArea

from mcp_studio.config.model import ServerConfig, Source, Timeouts
from mcp_studio.config.save import put_server
from mcp_studio.errors import ConfigError
from mcp_studio.paths import Paths
from mcp_studio.tui.bending import protocol_texts, summary, with_protocol
from mcp_studio.tui.entry import server_of, texts_of
from mcp_studio.tui.screens.protocol_part import Fold
from mcp_studio.tui.screens.server_details import ServerDetails
from mcp_studio.tui.screens.server_dialog import ServerDialog
from tests.tui.stage import on_stage, raw, run

BENT = ServerConfig(
    "s",
    command="x",
    transport="stdio",
    protocol_version="2025-06-18",
    capabilities={"sampling": {"tools": {}}},
    client_info={"name": "else", "version": "1"},
    log_level="warning",
    timeouts=Timeouts(1.5, None, 300.0),
)


def test_what_is_shown_says_the_entry_again() -> None:
    for server in (BENT, ServerConfig("s", command="x"), ServerConfig("s", url="ws://h/", transport="websocket")):
        assert server_of(texts_of(server), server) == server
    assert summary(protocol_texts(ServerConfig("s"))) == ""
    assert summary(protocol_texts(BENT)) == (
        "stdio, 2025-06-18, warning, own capabilities, own client info, connect 1.5 s, total 300 s"
    )


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"capabilities": "{"}, "capabilities", "cannot be read"),
        ({"capabilities": "[]"}, "capabilities", "must be a JSON object"),
        ({"client": '{"name": null}'}, "client", "null"),
        ({"idle": "soon"}, "idle", "no number of seconds"),
        ({"total": "0"}, "total", "no number of seconds"),
        ({"version": "2026-07-28"}, "version", "legacy"),
        ({"transport": "http"}, "transport", "not for a command"),
    ],
)
def test_what_cannot_be_meant_names_its_field(changes: dict[str, str], field: str, words: str) -> None:
    entry = replace(BENT, era="legacy")
    with pytest.raises(ConfigError) as failed:
        with_protocol(entry, protocol_texts(entry) | changes)
    assert failed.value.key == field and words in failed.value.message


def saved(name: str) -> Any:
    return tomllib.loads(Paths.default().config_file.read_text())["servers"][name]


def test_the_dialog_pins_a_version_on_a_small_screen_and_the_server_speaks_it() -> None:
    async def main() -> None:
        file = Paths.default().config_file
        server = raw("raw", source=Source("user", str(file)))
        put_server(file, server)
        async with on_stage(server, size=(80, 24)) as stage:
            await stage.press("1", "e")
            await stage.until(lambda: isinstance(stage.app.screen, ServerDialog), "dialog")
            await stage.shows("▸ Protocol and timeouts  as usual")
            dialog = stage.app.screen
            assert not dialog.query_one("#field-version").region
            dialog.query_one(Fold).focus()
            await stage.press("enter")
            await stage.until(lambda: dialog.query_one("#field-total").region.height, "the fields")
            dialog.query_one("#field-version", Select).value = "2025-03-26"
            dialog.query_one("#field-capabilities", TextArea).text = '{"roots": {}}'
            dialog.query_one("#field-total", Input).value = "x"
            await stage.press("ctrl+j")
            await stage.shows("`x` is no number of seconds above 0.")
            assert dialog.focused is dialog.query_one("#field-total")
            dialog.query_one("#field-total", Input).value = "90"
            await stage.press("ctrl+j")
            await stage.until(lambda: stage.studio.manager.status("raw").version == "2025-03-26", "the version")
            assert stage.studio.manager.status("raw").declared == {"roots": {}}
        assert saved("raw")["protocol_version"] == "2025-03-26" and saved("raw")["timeouts"] == {"total": 90.0}
        assert saved("raw")["capabilities"] == {"roots": {}}

    run(main())


def test_a_wrong_value_opens_the_part_that_it_stands_in() -> None:
    async def main() -> None:
        file = Paths.default().config_file
        server = raw("raw", source=Source("user", str(file)))
        put_server(file, server)
        async with on_stage(server) as stage:
            await stage.press("1", "e")
            await stage.until(lambda: isinstance(stage.app.screen, ServerDialog), "dialog")
            dialog = stage.app.screen
            dialog.query_one("#field-client", TextArea).text = "{"
            await stage.press("ctrl+t")
            await stage.shows("The client info cannot be read", "▾ Protocol and timeouts")

    run(main())


def test_details_say_what_was_offered_and_declared() -> None:
    async def main() -> None:
        server = raw("raw", protocol_version="2025-06-18", capabilities={"sampling": {}}, client_info={"name": "else"})
        async with on_stage(server) as stage:
            await stage.press("1", "enter")
            await stage.shows("protocol 2025-06-18 (with handshake)")
            assert isinstance(stage.app.screen, ServerDetails)
            text = stage.app.screen._content.plain
            assert "Capabilities that we have declared to it" in text and '"sampling"' in text and "as else" in text

    run(main())
