"""The dialog that adds and edits servers: one form, on screens of every size."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp_studio.tui.screens.server_dialog import ServerDialog
from textual.events import Paste

from mcp_studio.config.load import load
from mcp_studio.config.model import Source
from mcp_studio.config.save import put_server
from mcp_studio.paths import Paths
from mcp_studio.vault import keyring
from tests.tui.stage import Stage, on_stage, raw


def saved(name: str) -> Any:
    return tomllib.loads(Paths.default().config_file.read_text())["servers"][name]


async def dialog_of(stage: Stage, *keys: str) -> ServerDialog:
    await stage.press("1", *keys)
    await stage.until(lambda: isinstance(stage.app.screen, ServerDialog), "dialog")
    dialog = stage.app.screen
    assert isinstance(dialog, ServerDialog)
    return dialog


def place(dialog: ServerDialog) -> tuple[str | int, ...]:
    found = dialog.form.current_place
    return found[0] if found else ()


async def test_a_version_is_pinned_on_a_small_screen_and_the_server_speaks_it() -> None:
    file = Paths.default().config_file
    server = raw("raw", source=Source("user", str(file)))
    put_server(file, server)
    async with on_stage(server, size=(80, 24)) as stage:
        dialog = await dialog_of(stage, "e")
        await stage.shows("● command  ○ URL", "raw_server.py")
        assert place(dialog) == ("connect", "command")
        dialog.form.focus_field("/protocol")
        await stage.press("space", "tab", "space", *"2025-03", "enter", "tab", "tab", "ctrl+d", "alt+right")
        await stage.shows("2025-03-26")
        dialog.form.put_value(("protocol", "capabilities"), {"roots": {}})
        dialog.form.put_text(("timeouts", "total"), "x")
        await stage.press("shift+tab", "ctrl+j")
        await stage.shows("timeouts › total: must be")
        assert place(dialog) == ("timeouts", "total")
        await stage.press("backspace", "9", "0", "ctrl+j")
        manager = stage.studio.manager  # for a moment it has neither the old entry nor the new one
        await stage.until(lambda: "raw" in manager.names() and manager.status("raw").version == "2025-03-26")
        assert stage.studio.manager.status("raw").declared == {"roots": {}}
    assert saved("raw")["protocol_version"] == "2025-03-26" and saved("raw")["timeouts"] == {"total": 90.0}
    assert saved("raw")["capabilities"] == {"roots": {}}


@pytest.fixture
def in_memory() -> Iterator[None]:
    """Secrets are kept in memory: no keyring of the machine is asked."""
    file = Paths.default().config_file
    file.parent.mkdir(parents=True)
    file.write_text('[secrets]\nstore = "memory"\n')
    keyring.use("memory", Paths.default().state)
    yield
    keyring.use("keyring", Paths.default().state)


@pytest.mark.usefixtures("in_memory")
async def test_a_secret_in_clear_goes_into_the_keyring_by_a_key_or_when_saving_asks() -> None:
    async with on_stage(size=(80, 24)) as stage:
        dialog = await dialog_of(stage, "n")
        dialog._paste.text = (
            '{"mcpServers": {"far": {"url": "http://127.0.0.1:9/", "headers": {"X-Api-Key": "k1-k1-k1"}}}}'
        )
        await stage.shows("headers.X-Api-Key looks secret", "keeps it in the keyring")
        dialog.form.put_value(("connect", "auth"), {"client_id": "me", "client_secret": "s2-s2-s2"})
        await stage.press("alt+k")
        await stage.shows("It is kept in memory")
        assert keyring.lookup("far-x-api-key") == "k1-k1-k1"
        assert dialog.form.get_at(("connect", "auth", "client_secret")) == "${keyring:far-client-secret}"
        dialog.form.put_value(("connect", "headers", "X-Token"), "t3-t3-t3")
        await stage.press("ctrl+j")
        await stage.shows("1 secret in clear: headers.X-Token", "write ${keyring:far-x-token}")
        await stage.press("enter")
        await stage.until(lambda: stage.studio.manager.names() == ("far",), "saved")
    assert saved("far")["headers"] == {"X-Api-Key": "${keyring:far-x-api-key}", "X-Token": "${keyring:far-x-token}"}
    assert saved("far")["auth"] == {"client_id": "me", "client_secret": "${keyring:far-client-secret}"}
    assert stage.studio.manager.config("far").headers["X-Token"] == "t3-t3-t3"
    assert stage.studio.redactor.text("t3-t3-t3") != "t3-t3-t3"


@pytest.mark.usefixtures("in_memory")
async def test_secrets_of_other_clients_files_are_offered_to_the_keyring(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / ".cursor").mkdir()
    theirs = '{"mcpServers": {"theirs": {"command": "their-program", "env": {"A_TOKEN": "abc-def-ghi"}}}}'
    (home / ".cursor" / "mcp.json").write_text(theirs)
    monkeypatch.setenv("HOME", str(home))

    async with on_stage() as stage:
        await dialog_of(stage, "n")
        await stage.press("ctrl+o")
        await stage.shows("their-program")
        await stage.press("ctrl+j")
        await stage.shows("1 secret in clear: env.A_TOKEN")
        await stage.press("enter")
        await stage.until(lambda: stage.studio.manager.names() == ("theirs",), "saved")
    assert saved("theirs")["env"] == {"A_TOKEN": "${keyring:theirs-a-token}"}


@pytest.mark.parametrize("name", ["own.toml", "mcp.json"])
async def test_a_new_server_goes_to_the_file_that_was_named_and_the_place_is_said(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_text("# mine\n" if file.suffix == ".toml" else '{"mcpServers": {}}')
    before = file.read_text()

    config = load(Paths.default(), tmp_path, files=[file])
    async with on_stage(config=config) as stage:
        place = file if file.suffix == ".toml" else Paths.default().config_file
        await stage.press("ctrl+n")
        await stage.until(lambda: isinstance(stage.app.screen, ServerDialog), "the dialog")
        await stage.shows(f"Saved in {str(place)[:60]}")
        stage.app.screen.post_message(Paste("no-such-command --now"))
        await stage.shows("no-such-command")
        await stage.until(lambda: "Ready to" in stage.screen_text(), "what was pasted")
        await stage.press("ctrl+j")
        await stage.until(lambda: any(f"is saved in {place}." in told for told in stage.toasts), "the place")
        assert "no-such-command" in place.read_text() and (place == file or file.read_text() == before)
