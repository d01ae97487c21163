"""Dialogs about servers, files, themes, commands and help."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from mcp_studio.tui.screens.import_dialog import ImportDialog
from mcp_studio.tui.screens.palette import Palette
from mcp_studio.tui.screens.server_details import ServerDetails
from mcp_studio.tui.screens.server_dialog import ServerDialog
from mcp_studio.tui.screens.theme_picker import ThemePicker
from mcp_studio.tui.screens.trust import Trust

from mcp_studio.config.load import load
from mcp_studio.config.model import Config
from mcp_studio.paths import Paths
from mcp_studio.vault.keyring import place_in_words
from tests.support import SERVERS
from tests.tui.stage import Stage, on_stage, raw, run

COMMAND = f"{sys.executable} {SERVERS / 'raw_server.py'}"


def config_file() -> Path:
    return Paths.default().config_file


async def add_dialog(stage: Stage, paste: str) -> ServerDialog:
    await stage.press("1", "n")
    await stage.until(lambda: isinstance(stage.app.screen, ServerDialog), "dialog")
    dialog = stage.app.screen
    assert isinstance(dialog, ServerDialog)
    dialog._paste.text = paste
    return dialog


async def test_a_pasted_command_is_read_tested_saved_and_connected() -> None:
    async with on_stage() as stage:
        await add_dialog(stage, COMMAND)
        await stage.until(lambda: stage.app.screen.form.get_at(("name",)) == "raw", "name")
        await stage.press("ctrl+t")
        await stage.shows("✓ connected in", "6 tools")
        assert stage.studio.manager.names() == ()
        await stage.press("ctrl+j")
        await stage.until(lambda: stage.studio.manager.names() == ("raw",), "server")
        await stage.shows("● raw ", "6t")
        written = tomllib.loads(config_file().read_text())
        assert written["servers"]["raw"]["command"] == sys.executable


async def test_a_name_that_is_taken_is_refused_and_a_secret_in_clear_is_warned_about() -> None:
    async with on_stage(raw()) as stage:
        dialog = await add_dialog(stage, f"API_TOKEN=abcdef123456 {COMMAND}")
        await stage.shows("env.API_TOKEN looks secret")
        dialog.form.put_value(("name",), "raw")
        await stage.press("ctrl+j")
        await stage.shows("There is a server raw already")


async def test_a_server_is_edited_under_another_name() -> None:
    config_file().parent.mkdir(parents=True)
    words = COMMAND.split()
    config_file().write_text(f"# mine\n[servers.old]\ncommand = {words[0]!r}\nargs = [{words[1]!r}]\n")
    config = load(Paths.default(), Path.cwd())
    async with on_stage(config=config) as stage:
        await stage.press("1", "e")
        await stage.shows("Edit old")
        await stage.press("up", "up", *["backspace"] * 3, *"new", "ctrl+j")
        await stage.until(lambda: stage.studio.manager.names() == ("new",), "new name")
        assert config_file().read_text().startswith("# mine\n[servers.new]")


async def test_removing_asks_first_and_takes_the_entry_out_of_the_file() -> None:
    config_file().parent.mkdir(parents=True)
    config_file().write_text('[servers.gone]\ncommand = "no-such-program"\n[servers.kept]\ncommand = "x"\n')
    async with on_stage(config=load(Paths.default(), Path.cwd())) as stage:
        await stage.press("1", "d")
        await stage.shows("Remove gone?")
        await stage.press("n")
        assert stage.studio.manager.names() == ("gone", "kept")
        await stage.press("d")
        await stage.shows("Remove gone?")
        await stage.press("y")
        await stage.until(lambda: stage.studio.manager.names() == ("kept",), "removed")
        assert "gone" not in config_file().read_text()


def test_servers_of_other_clients_are_shown_and_taken_over(home: Path) -> None:
    async def main() -> None:
        (home / ".cursor").mkdir()
        (home / ".cursor" / "mcp.json").write_text(
            '{"mcpServers": {"theirs": {"command": "their-program", "args": ["-x"]}}}'
        )
        async with on_stage() as stage:
            await add_dialog(stage, "")
            await stage.press("ctrl+o")
            await stage.until(lambda: isinstance(stage.app.screen, ImportDialog), "dialog")
            await stage.shows("theirs", "their-program -x")
            await stage.press("space", "ctrl+j")
            await stage.until(lambda: stage.studio.manager.names() == ("theirs",), "server")
            assert tomllib.loads(config_file().read_text())["servers"]["theirs"]["args"] == ["-x"]

    import pytest

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        run(main())


async def test_a_projects_file_is_asked_about_with_all_that_it_starts(tmp_path: Path) -> None:
    file = tmp_path / ".mcp-studio.toml"
    words = COMMAND.split()
    file.write_text(
        f"[servers.project]\ncommand = {words[0]!r}\nargs = [{words[1]!r}]\nenv = {{ SECRET_VALUE = 'x1y2z3' }}\n"
    )
    async with on_stage(config=load(Paths.default(), tmp_path)) as stage:
        await stage.until(lambda: isinstance(stage.app.screen, Trust), "question")
        await stage.shows("raw_server.py", "SECRET_VALUE")
        assert "x1y2z3" not in stage.screen_text()
        assert stage.studio.manager.names() == ()
        await stage.press("y")
        await stage.until(lambda: stage.studio.manager.names() == ("project",), "server")
    assert load(Paths.default(), tmp_path).untrusted == ()


async def test_a_projects_file_that_is_refused_starts_nothing(tmp_path: Path) -> None:
    (tmp_path / ".mcp-studio.toml").write_text("[servers.project]\ncommand = 'x'\n")
    async with on_stage(config=load(Paths.default(), tmp_path)) as stage:
        await stage.until(lambda: isinstance(stage.app.screen, Trust), "question")
        await stage.press("escape")
        await stage.until(lambda: stage.app.screen is stage.main, "main screen")
        assert stage.studio.manager.names() == ()


async def test_details_tell_command_steps_capabilities_and_stderr() -> None:
    async with on_stage(raw()) as stage:
        await stage.press("1", "enter")
        await stage.until(lambda: isinstance(stage.app.screen, ServerDetails), "details")
        text = stage.app.screen._content.plain
        await stage.press("G")
        await stage.until(lambda: stage.app.screen.query_one("#box").scroll_y > 0, "scrolled")
        for expected in ("raw is connected.", "raw_server.py", "protocol", "negotiated", "Capabilities", "6 tools"):
            assert expected in text
        await stage.press("escape")


async def test_the_palette_does_what_is_typed() -> None:
    async with on_stage(raw()) as stage:
        await stage.press("ctrl+p")
        await stage.until(lambda: isinstance(stage.app.screen, Palette), "palette")
        await stage.press(*"zoom", "enter")
        await stage.until(lambda: stage.main.has_class("-zoom"), "zoom")


async def test_help_tells_the_keys_of_the_focused_pane() -> None:
    async with on_stage(raw()) as stage:
        await stage.press("1", "question_mark")
        await stage.shows("Help: Servers", "space", "Connect or disconnect")
        await stage.press("escape")


async def test_moving_over_themes_shows_them_and_enter_keeps_one() -> None:
    async with on_stage(raw()) as stage:
        await stage.press("alt+t")
        await stage.until(lambda: isinstance(stage.app.screen, ThemePicker), "picker")
        await stage.press("down")
        await stage.until(lambda: stage.app.theme != "studio-dark", "another theme")
        await stage.press("escape")
        await stage.until(lambda: stage.app.theme == "studio-dark", "the old theme")
        await stage.press("alt+t", "down", "enter")
        await stage.until(lambda: config_file().is_file(), "written")
        assert tomllib.loads(config_file().read_text())["theme"] == stage.app.theme != "studio-dark"


async def test_what_is_running_tells_what_of_the_configuration_was_not_used() -> None:
    config_file().parent.mkdir(parents=True)
    config_file().write_text("thme = 'nord'\n")
    config: Config = load(Paths.default(), Path.cwd())
    async with on_stage(config=config) as stage:
        await stage.shows("1 problem in the configuration (F12)")
        await stage.press("f12")
        await stage.shows("Not used from the configuration", "theme")
        place = place_in_words("keyring", stage.studio.paths.state)
        assert place.startswith("✗ "), "there is none in a test"
        await stage.shows(" ".join(place.split()[:6]))
        await stage.press("y")
        await stage.shows("Copied")
        assert f"kept  {place}\n" in stage.app.clipboard
