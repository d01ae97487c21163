"""Servers as a person has them: in the pane, added, edited, imported, and the dialogs about one of them."""

from __future__ import annotations

import json
import os
import signal
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.events import Paste
from textual.widgets import Select, TextArea

from mcp_studio.call.call import Lost
from mcp_studio.config.load import load
from mcp_studio.config.model import Config, ServerConfig, Settings, Source
from mcp_studio.config.save import put_server
from mcp_studio.limits import Limits
from mcp_studio.paths import Paths
from mcp_studio.protocol.versions import VERSIONS
from mcp_studio.tui.screens import console
from mcp_studio.tui.screens.console import Console
from mcp_studio.tui.screens.exit_report import ExitReport, UnexpectedOutput
from mcp_studio.tui.screens.export_servers import ExportServers
from mcp_studio.tui.screens.import_servers import FirstStart, ImportServers
from mcp_studio.tui.screens.logs import Logs
from mcp_studio.tui.screens.pages import Pages
from mcp_studio.tui.screens.roots import Roots
from mcp_studio.tui.screens.server_details import ServerDetails
from mcp_studio.tui.screens.server_entry import value_of
from mcp_studio.tui.screens.server_form import ServerForm
from mcp_studio.vault import keyring
from tests.cli.test_dev import SERVER, write
from tests.studio_support import PATIENT, http, stdio
from tests.support import SERVERS, python_server
from tests.tui.stage import Stage, on_stage, raw, ref

COMMAND = f"{sys.executable} {SERVERS / 'raw_server.py'}"
EXITS = ServerConfig("exits", sys.executable, ("-c", "import sys; sys.exit('no licence')"))


def config_file() -> Path:
    return Paths.default().config_file


def saved(name: str) -> Any:
    return tomllib.loads(config_file().read_text())["servers"][name]


def faulty(fault: str) -> ServerConfig:
    """A server with one fault."""
    return stdio(python_server("raw_faults", "--fault", fault), "s")


async def adding(stage: Stage, paste: str) -> ServerForm:
    """Open the dialog that adds a server, and paste."""
    await stage.press("ctrl+n")
    form = await stage.dialog(ServerForm)
    stage.app.post_message(Paste(paste))
    await stage.pilot.pause()
    return form


@pytest.fixture(autouse=True)
def other_clients(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where other clients have their files; this folder has none."""
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    return home


@pytest.fixture
def in_memory() -> Iterator[None]:
    """Secrets are kept in memory: no keyring of the machine is asked."""
    config_file().parent.mkdir(parents=True)
    config_file().write_text('[secrets]\nstore = "memory"\n')
    keyring.use("memory", Paths.default().state)
    yield
    keyring.use("keyring", Paths.default().state)


async def test_what_a_failed_server_offered_leaves_the_catalog_and_one_key_brings_it_back(home: Path) -> None:
    broken, run = home / "broken", "os.execv(sys.argv[1], sys.argv[1:])"
    code = f"import os, sys; os.path.exists({str(broken)!r}) and sys.exit(3); {run}"
    server = stdio([sys.executable, "-c", code, *python_server("raw_server")], "frail")
    settings = Settings(limits=Limits(restarts=0, connect=60.0))
    async with on_stage(server, settings=settings) as stage:
        await stage.press("2", "g")
        await stage.shows("r echo", "frail › echo")
        broken.touch()
        os.kill(stage.studio.manager.status("frail").pid, signal.SIGKILL)
        await stage.shows("✗ frail")
        await stage.hides("r echo")
        broken.unlink()
        await stage.press("1", "space")
        await stage.shows("● frail", "r echo")


async def test_a_server_that_is_off_is_counted_and_a_call_of_its_tools_offers_to_connect_it() -> None:
    async with on_stage(raw(), raw("other")) as stage:
        await stage.open("echo", server="raw")
        await stage.type("x")
        await stage.studio.manager.stop("raw")
        await stage.shows("●1 ○1", "raw is off")
        assert isinstance(await stage.call(), Lost)
        await stage.shows("Connect it first", " Connect +│")
        await stage.press("4", "enter")
        await stage.shows("●2 ")


async def test_each_server_has_one_row_that_says_what_is_the_matter() -> None:
    servers = (
        raw("good"),
        raw("off", enabled=False),
        stdio(["no-such-program"], "none"),
        EXITS,
        http("http://127.0.0.1:9/mcp", "away"),
        stdio([sys.executable, "-c", "print('hello')"], "no"),
    )
    async with on_stage(*servers, size=(80, 30), ready=False) as stage:
        await stage.shows(
            "● good +(stdio)? +6",
            "○ off .*off",
            "✗ none +not started",
            "✗ exits +exit code 1",
            "[◐✗] away .*(retry|refused)",
            "✗ no +no MCP: 'hello'",
        )
        assert stage.main.servers.list.size.height == 6
        await stage.press("1", "G")
        await stage.shows("no ended with exit code 0", "printed: hello")
        await stage.press("k", "k")
        await stage.shows("2 Catalog of exits", "exits ended with exit", "printed: no licence")
        await stage.hides("none failed")
        await stage.press("escape")
        await stage.shows(r"2 Catalog ─", "r echo")
        await stage.press("enter")
        await stage.dialog(ServerDetails)
        await stage.shows("no licence", "exit code 1", "from ", "Exit report")
        await stage.hides("Unexpected output")
        await stage.press("i")
        await stage.dialog(ExitReport)
        await stage.press("escape", "slash")
        await stage.type("echo.py good")
        await stage.press("enter")
        await stage.hides("none ")


async def test_a_command_is_pasted_tested_left_unsaved_and_saved() -> None:
    async with on_stage(config=Config(PATIENT, files=("/home/ada/mcp.json",)), size=(80, 24)) as stage:
        await stage.dialog(FirstStart)
        await stage.shows("Welcome", "No servers found", "Try the demo", "Close", "finds every action by name")
        assert "space ticks" not in stage.text
        await stage.press("escape")
        form = await adding(stage, '{"mcpServers": {')
        await stage.press("ctrl+j")
        await stage.shows("It is not valid JSON", "Saved in ", "Not in /home/ada/mcp.json: the studio only reads JSON")
        form.query_one("#paste", TextArea).text = ""
        stage.app.post_message(Paste(COMMAND))
        await stage.press("tab")
        await stage.shows("name .* raw", "command .*python")
        await stage.press("escape")
        await stage.until(lambda: stage.app.screen is stage.main, "closed")
        await stage.press("ctrl+n")
        form = await stage.dialog(ServerForm)
        await stage.shows("raw_server.py", "name .* raw", "not saved yet")
        area = form.query_one("#paste", TextArea)
        assert area.selected_text == area.text != "", "another paste replaces the earlier one"
        form.action_test()
        await stage.shows("✓ Connected in", "6 tools")
        assert stage.studio.manager.names() == ()
        await stage.press("ctrl+j")
        await stage.told(f"raw is saved in {config_file()}")
        await stage.shows("● raw .*6 ", "3 raw ─")
        assert stage.main.focused_pane is stage.main.servers
        assert saved("raw")["command"] == sys.executable
        form = await adding(stage, f"claude mcp add raw -e 'API_TOKEN=abcdef123456' -- {COMMAND}")
        await stage.shows("name .* raw-2", "▲ 1")
        form.form.set_value({**value_of(raw()), "name": "raw"})
        await stage.press("ctrl+j")
        await stage.shows("There is a server raw already")
        form.action_start_over()
        await stage.hides("raw_server.py")
        area = form.query_one("#paste", TextArea)
        area.text = "npx -y un"
        await stage.shows("command .*npx")
        area.text += '"'
        await stage.hides("command .*npx")
        assert "The command cannot be read" in stage.text
        await stage.press("tab", "ctrl+j")
        await stage.shows("name is required")


async def test_a_version_is_pinned_on_a_small_screen_and_the_server_speaks_it() -> None:
    server = raw("raw", source=Source("user", str(config_file())))
    put_server(config_file(), server)
    async with on_stage(server, size=(80, 24)) as stage:
        await stage.press("1", "e")
        form = await stage.dialog(ServerForm)
        await stage.shows("Edit raw", "● command +○ URL", "raw_server.py")
        more: Any = {"protocol_version": "2025-03-26", "capabilities": {"roots": {}}, "timeouts": {"total": 7}}
        form.form.set_value({**value_of(server), "advanced": more})
        form.form.focus_field("/advanced/timeouts/total")
        await stage.press("backspace", "x", "ctrl+j")
        await stage.shows("✗ advanced › timeouts › total must be")
        await stage.press("backspace", "9", "0", "ctrl+j")
        manager = stage.studio.manager  # for a moment it has neither the old entry nor the new one
        await stage.until(lambda: "raw" in manager.names() and manager.status("raw").version == "2025-03-26")
        assert manager.status("raw").declared == {"roots": {}}
        stage.main.servers.action_roots()
        roots = await stage.dialog(Roots)
        roots.form.set_value({"roots": [{"uri": "/nowhere/here"}]})
        await stage.press("ctrl+j")
        await stage.shows("Save again")
        assert "roots" not in saved("raw")
        await stage.press("ctrl+j")
        await stage.until(lambda: stage.app.screen is stage.main, "the roots, saved")
    assert saved("raw")["roots"] == ["/nowhere/here"]
    assert saved("raw")["protocol_version"] == "2025-03-26" and saved("raw")["timeouts"] == {"total": 90.0}
    assert saved("raw")["capabilities"] == {"roots": {}}


async def test_a_server_is_edited_under_another_name_and_removed_from_its_file() -> None:
    config_file().parent.mkdir(parents=True)
    words = COMMAND.split()
    config_file().write_text(f"# mine\n[servers.old]\ncommand = {words[0]!r}\nargs = [{words[1]!r}]\n")
    async with on_stage(config=load(Paths.default(), Path.cwd())) as stage:
        await stage.press("1", "e")
        form = await stage.dialog(ServerForm)
        form.form.focus_field("/name")
        await stage.press(*["backspace"] * 3, *"new")
        await stage.press("ctrl+j")
        await stage.until(lambda: stage.studio.manager.names() == ("new",), "the new name")
        assert config_file().read_text().startswith("# mine\n[servers.new]")
        await stage.until(lambda: stage.app.screen is stage.main, "closed")
        await stage.press("1", "d")
        await stage.shows("Delete the server", "new is closed", "Its entry is taken")
        await stage.press("escape")
        assert stage.studio.manager.names() == ("new",)
        await stage.press("d", "d")
        await stage.told("new is deleted")
        await stage.shows("No servers yet")
        assert "new" not in config_file().read_text()


@pytest.mark.usefixtures("in_memory")
async def test_servers_of_other_clients_are_ticked_at_the_first_start_and_their_secrets_kept(home: Path) -> None:
    (home / ".cursor").mkdir()
    theirs = {
        "theirs": {"command": "their-program", "args": ["-x"], "env": {"A_TOKEN": "abc-def-ghi"}},
        "asks": {"command": "x", "env": {"K": "${input:key}"}, "cwd": "sub"},
        "bad": {"command": 7},
    }
    (home / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": theirs}))
    (home / ".vscode").mkdir()
    (home / ".vscode" / "mcp.json").write_text(json.dumps({"servers": {"theirs": {"command": "another"}}}))
    async with on_stage(size=(80, 24)) as stage:
        await stage.dialog(FirstStart)
        await stage.shows(r"\[x\] theirs +Cursor +their-program -x", "has this name", "env +A_TOKEN", "left out: .*")
        await stage.press("space")
        await stage.shows(r"\[ \] theirs")
        await stage.press("enter")
        await stage.shows(r"\[x\] theirs")
        await stage.press("n")
        await stage.shows(r"\[ \] theirs +Cursor", r"\[ \] asks +Cursor")
        await stage.press("n")
        await stage.shows(r"\[x\] theirs +Cursor", r"\[x\] asks +Cursor")
        await stage.press("ctrl+j")
        await stage.shows("1 secret in clear: env.A_TOKEN", "keyring:theirs-a-token")
        await stage.press("enter")
        await stage.told("asks is imported, but cannot start yet: env.K")
        await stage.until(lambda: stage.studio.manager.names() == ("theirs",), "imported")
        await stage.until(lambda: stage.app.screen is stage.main, "closed")
        await stage.press("ctrl+n")
        await stage.dialog(ServerForm)
        await stage.press("tab", "tab", "tab")
        await stage.app.screen.run_action("import_servers")
        await stage.dialog(ImportServers)
        await stage.shows("already here")
        await stage.press("ctrl+j")
        await stage.told("No server is ticked")
    assert saved("theirs")["env"] == {"A_TOKEN": "${keyring:theirs-a-token}"}
    assert saved("asks") == {"command": "x", "env": {"K": "${input:key}"}, "cwd": str(home / "sub")}


async def test_where_there_is_no_keyring_an_encrypted_file_is_offered_for_secrets() -> None:
    async with on_stage() as stage:
        await stage.press("escape")
        await adding(stage, "A_TOKEN=abc-def-ghi no-such-program")
        await stage.press("ctrl+j")
        await stage.shows("There is no command no-such-program on this machine. Press .* again to save it anyway")
        await stage.press("ctrl+j")
        await stage.shows("Store it in an encrypted file from now on, under a", "in clear")
        await stage.hides("in the keyring")
        await stage.press("enter")
        await stage.shows("encrypted under a", "nobody gave it")
    assert tomllib.loads(config_file().read_text())["secrets"] == {"store": "file"}


@pytest.mark.usefixtures("in_memory")
async def test_several_servers_are_pasted_into_the_file_that_was_named_or_the_persons_own(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text("# mine\n")
    two = {"far": {"url": "http://127.0.0.1:9/", "headers": {"X-Api-Key": "k1-k1-k1"}}, "near": {"command": "no-such"}}
    async with on_stage(config=load(Paths.default(), tmp_path, files=[file])) as stage:
        await stage.press("escape")
        await adding(stage, json.dumps({"mcpServers": two}))
        await stage.shows("2 servers: far, near", str(file)[:30])
        await stage.press("ctrl+j")
        await stage.shows("1 secret in clear: headers.X-Api-Key")
        await stage.press("enter")
        await stage.until(lambda: stage.studio.manager.names() == ("far", "near"), "both")
        assert "${keyring:far-x-api-key}" in file.read_text() and "no-such" in file.read_text()
        assert stage.studio.redactor.text("k1-k1-k1") != "k1-k1-k1"
        await stage.until(lambda: stage.app.screen is stage.main, "closed")
        form = await adding(stage, "https://127.0.0.1:9/mcp")
        form.query_one(Select).value = Source("user", str(config_file()))
        await stage.press("ctrl+j")
        await stage.told(f"is saved in {config_file()}")
    assert "https://127.0.0.1:9/mcp" in config_file().read_text()


async def test_a_projects_file_is_asked_about_with_all_that_it_starts(tmp_path: Path) -> None:
    words = COMMAND.split()
    (tmp_path / ".mcp-studio.toml").write_text(
        f"[servers.project]\ncommand = {words[0]!r}\nargs = [{words[1]!r}]\nenv = {{ SECRET_VALUE = 'x1y2z3' }}\n"
    )
    async with on_stage(config=load(Paths.default(), tmp_path)) as stage:
        await stage.shows("raw_server.py", "SECRET_VALUE")
        assert "x1y2z3" not in stage.text
        assert stage.studio.manager.names() == ()
        await stage.press("ctrl+j")
        await stage.shows("● project .*6 ")
    assert load(Paths.default(), tmp_path).untrusted == ()


async def test_the_console_sends_what_is_written_and_loses_nothing() -> None:
    async with on_stage(raw(), size=(80, 24)) as stage:
        await stage.press("1")
        stage.main.servers.action_console()
        screen = await stage.dialog(Console)
        await stage.shows("Console of raw", "● connected, 2025-11-25", "✓ request tools/list", '"method": "tools/list"')
        await stage.press("ctrl+j")
        await stage.shows("✓ answered after", "← result", "Close")
        assert [row.kind for row in screen.came.rows] == ["result"]
        screen.editor.text = '{"method": '
        await stage.shows("▲ invalid JSON")
        await screen.run_action("template")
        await stage.shows("Start from", "tools/list.* sent before")
        await stage.type("completion")
        await stage.press("enter")
        await stage.shows('"method": "completion/complete"')
        await stage.press("escape")
        await stage.until(lambda: stage.app.screen is stage.main, "closed")
        stage.main.servers.action_console()
        screen = await stage.dialog(Console)
        assert "completion/complete" in screen.editor.text
        await screen.run_action("template")
        await stage.press("enter")
        await stage.until(lambda: screen.editor.text == '{"method": ', "what was left for the template")
        await screen.run_action("alone")
        await stage.shows("connected without a handshake", "Disconnect")
        screen.editor.text = console.text_of("initialize", 1, {})
        await stage.press("ctrl+j")
        await stage.shows("← result +1", '"protocolVersion": "2025-11-25"')
        await screen.run_action("alone")
        await stage.hides("connected without a handshake")
        await stage.studio.manager.stop("raw")
        await stage.press("ctrl+j")
        await stage.shows("▲ Not connected. The button No handshake opens")


async def test_log_messages_are_found_by_level_and_words_and_another_level_is_asked_for() -> None:
    def changing(name: str, *options: str) -> ServerConfig:
        return stdio(python_server("raw_changes", *options), name)

    async with on_stage(changing("a"), changing("b", "--refuse", "never")) as stage:
        for server in ("a", "b"):
            for level in ("debug", "info", "error"):
                said: Any = {"level": level, "data": f"{level} of {server}"}
                await stage.studio.call_tool(ref("log", server=server), said, approved=True).wait()
        stage.main.action_logs()
        logs = await stage.dialog(Logs)

        def rows() -> list[str]:
            return [row.text for row in logs.rows.rows]

        await stage.until(lambda: len(rows()) == 6, "all")
        logs.query_one("#least", Select).value = "warning"
        await stage.until(lambda: rows() == ["error of a", "error of b"], "errors")
        await stage.press("tab", "tab", "tab")
        logs.query_one("#words").focus()
        await stage.type("b error")
        await stage.until(lambda: rows() == ["error of b"], "of b")
        logs.rows.focus()
        await stage.press("y")
        assert stage.app.clipboard == "error of b"
        await stage.press("e")
        await stage.shows("Level of b")
        await stage.press("end", "enter")
        await stage.told("It refused the level emergency: never")
        await stage.press("enter")
        await stage.until(lambda: stage.app.screen is stage.main, "the trace")
        await stage.until(
            lambda: stage.main.trace.table.message and stage.main.trace.table.message.method == "notifications/message"
        )


async def test_a_server_that_is_killed_is_told_once_and_its_exit_report_leads_to_the_trace() -> None:
    async with on_stage(faulty("killed-mid-call"), size=(80, 24)) as stage:
        supervisor = stage.studio.manager.supervisor("s")
        await stage.studio.call_tool(ref("echo", server="s"), {"text": "a"}, approved=True).wait()
        await stage.until(lambda: supervisor.mortems and supervisor.connection is not None, "it is started again")
        await stage.told("was ended by SIGKILL")
        assert len(stage.toasts) == 1
        await stage.shows("● s .* 6 ")
        await stage.press("1")
        stage.main.servers.action_exit_report()
        await stage.dialog(ExitReport)
        await stage.shows("was ended by SIGKILL", "in flight", "tools/call echo", "Last messages")
        await stage.press("ctrl+j")
        await stage.until(lambda: stage.main.trace.table.message is not None, "the trace")
        message = stage.main.trace.table.message
        assert message is not None and message.number == supervisor.mortems[-1].last
        await stage.press("escape")
        await stage.shows("● s .*6 ")


async def test_unexpected_output_is_explained_and_stands_between_the_messages_around_it() -> None:
    async with on_stage(faulty("stray")) as stage:
        await stage.press("1", "enter")
        await stage.dialog(ServerDetails)
        await stage.shows("Unexpected output on stdout", "Findings")
        await stage.press("s")
        await stage.dialog(UnexpectedOutput)
        await stage.shows("Unexpected output: s", "print()", "after:", "before:")
        await stage.press("ctrl+j")
        await stage.until(lambda: stage.main.trace.table.message is not None, "the trace")
        message = stage.main.trace.table.message
        assert message is not None and message.kind in ("stray", "invalid")


async def test_the_details_say_what_the_studio_does_with_a_server() -> None:
    more = {"group": "pair", "priority": 2, "start": "demand", "filter": "mask", "cache_ttl": 60.0}
    async with on_stage(raw("one", **more), raw("two"), size=(140, 60), ready=False) as stage:
        stage.studio.groups.prefer("one")
        for _ in range(2):
            await stage.studio.read_resource("one", "raw://note").wait()
        await stage.press("1", "home")
        await stage.shows("a model reads [0-9,]+ tokens")
        await stage.press("enter")
        await stage.dialog(ServerDetails)
        await stage.shows(r"\n +\? Help  esc Close ")
        await stage.shows("group +pair, priority 2, preferred", "start +on demand", "results are masked")
        await stage.shows("cache +1 result, .* B, 1 hits, 1 misses")
        await stage.press("escape", "j", "enter")
        await stage.dialog(ServerDetails)
        await stage.hides("group  |cache  |filter  |start  ")


async def test_servers_are_written_to_another_client_after_the_change_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    home = Path(os.environ["HOME"])
    (file := home / ".cursor" / "mcp.json").parent.mkdir(parents=True)
    file.write_text('{"mcpServers": {"old": {"command": "x"}}}')
    secret = "t0p-s3cret-value"
    pair = [raw(name, group="pair") for name in ("one", "two")]
    clear = ServerConfig("clear", "no-such", env={"API_TOKEN": secret}, group="other")
    async with on_stage(*pair, clear, size=(120, 50), ready=False) as stage:
        await stage.press("1", "home", "enter")  # the heading folds
        await stage.press("enter")
        await stage.app.run_action("export_servers", stage.main.servers)
        await stage.dialog(ExportServers)
        await stage.shows("Cursor .*mcp.json", r"\[x\] one", r"\[x\] two", r"\[ \] clear", r'\+ +"two": \{')
        assert stage.app.screen.query_one(Select).value is not None and file.read_text().count("one") == 0
        await stage.press("tab", "end", "space")
        await stage.shows(r"\[x\] clear", "API_TOKEN is a secret in clear", "redacted")
        assert secret not in stage.text
        await stage.press("ctrl+j")
        await stage.told("Wrote one, two, clear to")
        await stage.until(lambda: stage.app.screen is stage.main, "closed")
        assert list(json.loads(file.read_text())["mcpServers"]) == ["one", "two", "clear", "old"]
        (backup,) = file.parent.glob("mcp.json.*.bak")
        assert json.loads(backup.read_text())["mcpServers"] == {"old": {"command": "x"}}
        await stage.app.run_action("export_servers", stage.main.servers)
        await stage.dialog(ExportServers)
        await stage.shows("says so already")
        await stage.press("ctrl+j")  # nothing to write
        await stage.shows("says so already")
        file.write_text("{")
        await stage.press("tab", "space")
        await stage.shows("is not valid JSON", "It is unchanged")
        assert len([*file.parent.glob("*")]) == 2


@pytest.mark.parametrize(
    ("text", "good", "words"),
    [
        ("", False, "empty"),
        ("{", False, "invalid JSON"),
        ("7", False, "no message"),
        ('{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', False, "no message"),
        ('{"id": "x", "method": "ping"}', True, 'request ping, id "x"'),
        ('{"method": "a"}', True, "notification a"),
        ('{"id": 3, "result": {}}', True, "answer to 3"),
        ('[{"id": 3, "result": {}}, 4]', True, "a batch of 2"),
        ('{"method": "a", "params": {"k": "‹redacted›"}}', False, "secret"),
        ("[" * 600 + "]" * 600, False, "nested deeper"),
    ],
)
def test_a_text_in_the_console_is_told_for_what_it_is(text: str, good: bool, words: str) -> None:
    found, said = console.verdict(text)
    assert found is good and words in said


def test_frames_keep_what_they_say_on_one_line_and_broken_ones_stay_as_they_are() -> None:
    assert console.frame_of('{\n  "a": "x\\n y",\n  "b": [1,\n 2]\n}') == (b'{ "a": "x\\n y", "b": [1, 2] }', False)
    assert console.frame_of('{"a":\n') == (b'{"a":\n', True)
    assert console.frame_of("\ud800") == (b"\xed\xa0\x80", False)


@pytest.mark.parametrize("version", ["", *VERSIONS])
def test_templates_are_those_of_the_version_and_say_what_they_are_called(version: str) -> None:
    found = console.templates(version)
    assert ("initialize" in found) == (version != "2026-07-28") and "tools/call" in found
    assert ("server/discover" in found) == (version in ("", "2026-07-28"))
    for method in found:
        good, words = console.verdict(console.text_of(method, 7, {"k": 1}))
        kind = "notification" if method.startswith("notifications/") else "request"
        assert good and words.startswith(f"{kind} {method}"), words


async def test_what_a_server_is_started_with_is_shown_without_secrets() -> None:
    secret = "correct-horse-battery"
    server = ServerConfig("quiet", sys.executable, ("-c", "raise SystemExit(3)", secret), secrets=(secret,))
    async with on_stage(server, raw(), size=(140, 40)) as stage:
        stage.main.servers.go_to("quiet")
        await stage.press("1")
        await stage.shows("3 quiet", "raise SystemExit")
        assert secret not in stage.text


async def test_a_toast_and_the_trace_say_what_a_change_of_files_has_changed(tmp_path: Path) -> None:
    write(tmp_path, SERVER)
    server = stdio([sys.executable, str(tmp_path / "server.py")], "made", cwd=str(tmp_path), watch=("*.py",))
    async with on_stage(server) as stage:
        add = ref("add", server="made")
        await stage.until(lambda: stage.studio.catalog.find(add), "the tool")
        write(tmp_path, SERVER.replace("b: int = 1", "b: int"))
        await stage.told("1 breaking: tool add: b is required now")
        notes = [entry.body.decode() for entry in stage.studio.trace if entry.kind == "note"]
        assert any("made was started again" in note for note in notes)
        write(tmp_path, "raise SystemExit(3)")
        await stage.told("made was started again and failed: made ended with exit code 3")


async def test_pages_are_read_one_by_one_and_a_server_that_ends_is_told() -> None:
    config = stdio(python_server("raw_lists", "--pages"), "raw")
    async with on_stage(config, size=(80, 24)) as stage:
        await stage.press("2")
        await stage.main.catalog.run_action("pages")
        await stage.dialog(Pages)
        await stage.shows("tools/list of raw", "page 1 ", "none: the first page", 'nextCursor +"after 2"')
        await stage.shows("Next page +First page +Copy +Close")
        await stage.press("ctrl+j")
        await stage.shows("page 2 ", 'cursor +"after 2"', "4 in 2 pages so far")
        await stage.press("f")
        await stage.shows("page 1 ", "none: the first page", "2 in 1 page so far")
        await stage.studio.manager.stop("raw")
        await stage.press("f")
        await stage.until(lambda: "page 1 " not in stage.text and "Reading" not in stage.text, "why not")
        await stage.press("escape")
        await stage.until(lambda: stage.app.screen is stage.main, "the main screen")
