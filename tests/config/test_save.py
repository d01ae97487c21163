"""Writing keeps what people wrote, never spills a secret, never leaves half a file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from mcp_studio.config.model import PolicyRule, Root, ServerConfig, Timeouts
from mcp_studio.config.save import put_server, remove_server, set_value
from mcp_studio.errors import ConfigError
from mcp_studio.paths import Paths
from mcp_studio.tui.server_files import put_rule
from tests.config.helpers import load_file, load_user

TEXT = """\
# my file
theme = "nord"  # the best

[servers.a]  # first
command = "x"   # why x
args = [
    "one",  # because
]

# about b
[servers.b]
url = "http://h"
headers = { Authorization = "Bearer ${keyring:github}" }

[trace]
redact = ["x"]
"""


def file_with(tmp_path: Path, text: str = TEXT) -> Path:
    file = tmp_path / "config.toml"
    file.write_text(text)
    return file


def test_changing_one_key_changes_one_line(tmp_path: Path) -> None:
    file = file_with(tmp_path)
    put_server(file, ServerConfig("a", command="y", args=("one",)))
    assert file.read_text() == TEXT.replace('command = "x"', 'command = "y"')


def test_new_keys_come_before_what_stands_above_the_next_table(tmp_path: Path) -> None:
    file = file_with(tmp_path)
    roots = (Root("file:///srv", "Data"), Root("file:///x", "More"))
    put_server(file, ServerConfig("a", command="x", args=("one",), roots=roots))
    added = 'roots = [{uri = "file:///srv", name = "Data"}, {uri = "file:///x", name = "More"}]'
    assert file.read_text() == TEXT.replace("]\n\n# about b", f"]\n{added}\n\n# about b")


def test_tables_of_roots_become_a_list_and_the_comment_behind_them_stays(tmp_path: Path) -> None:
    tables = '[servers.a]\ncommand = "x"\n\n[[servers.a.roots]]\nuri = "file:///srv"\nname = "Data"\n'
    after = '\n# about b\n[servers.b]\nurl = "http://h"\n'
    file = file_with(tmp_path, tables + after)
    put_server(file, ServerConfig("a", command="x", roots=(Root("file:///x", "More"),)))
    written = file.read_text().replace("\n\n\n", "\n\n")
    assert written.endswith('roots = [{uri = "file:///x", name = "More"}]\n' + after)


def test_a_server_whose_tables_are_apart_can_be_changed(tmp_path: Path) -> None:
    file = file_with(tmp_path, '[servers.a]\ncommand = "x"\n[servers.b]\nurl = "http://h"\n[servers.a.env]\nA = "1"\n')
    put_server(file, ServerConfig("a", command="x"))
    assert tomllib.loads(file.read_text())["servers"] == {"a": {"command": "x"}, "b": {"url": "http://h"}}


def test_saving_what_was_loaded_changes_nothing_and_spills_nothing(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    config = load_file(file, TEXT)
    for server in config.servers.values():
        put_server(file, server)
    assert file.read_text() == TEXT


def test_a_new_server_in_a_new_file(tmp_path: Path) -> None:
    file = tmp_path / "new" / "config.toml"
    server = ServerConfig(
        "my.server",
        command="x",
        args=("a",),
        env={"A": "${T}"},
        era="legacy",
        enabled=False,
        timeouts=Timeouts(idle=2.5),
    )
    put_server(file, server)
    loaded = load_file(file, file.read_text(), {"T": "v"}).servers["my.server"].written
    assert loaded is not None and loaded.source.file == str(file)
    assert (loaded.command, loaded.args, loaded.env, loaded.era) == ("x", ("a",), {"A": "${T}"}, "legacy")
    assert (loaded.enabled, loaded.timeouts) == (False, Timeouts(idle=2.5))
    assert file.stat().st_mode & 0o777 == 0o600


def test_renaming_keeps_the_other_keys_and_comments(tmp_path: Path) -> None:
    file = file_with(tmp_path)
    put_server(file, ServerConfig("z", command="x", args=("one",)), old_name="a")
    values = tomllib.loads(file.read_text())
    assert set(values["servers"]) == {"b", "z"} and values["servers"]["z"] == {"command": "x", "args": ["one"]}
    assert "# my file" in file.read_text() and "# about b" in file.read_text()


def test_keys_back_at_their_default_are_removed(tmp_path: Path) -> None:
    file = file_with(tmp_path, '[servers.a]\ncommand = "x"\nenabled = false\n[servers.a.env]\nB = "1"\nC = "2"\n')
    put_server(file, ServerConfig("a", command="x", env={"C": "3"}))
    assert tomllib.loads(file.read_text()) == {"servers": {"a": {"command": "x", "env": {"C": "3"}}}}


@pytest.mark.parametrize(
    "text",
    [
        '["servers".\'a\']\ncommand = "x"\n[servers . "b"]\ncommand = "y"\n[other]\nz = 1\n',
        '[servers.a]\ncommand = "x"\n[servers.b]\ncommand = """y"""\n# [servers.a]',
    ],
)
def test_every_spelling_of_tables_can_be_changed(tmp_path: Path, text: str) -> None:
    file = file_with(tmp_path, text)
    put_server(file, ServerConfig("c", command="new"))
    put_server(file, ServerConfig("d", command="x"), old_name="a")
    remove_server(file, "b")
    put_server(file, ServerConfig("e f.g", url="http://h"), old_name="c")
    servers = tomllib.loads(file.read_text())["servers"]
    assert servers == {"d": {"command": "x"}, "e f.g": {"url": "http://h"}}


@pytest.mark.parametrize(
    "text",
    [
        'servers.a.command = "x"\nservers.b.command = "y"\n',
        'servers = { a = { command = "x" }, b = { command = "y" } }\n',
        '[servers]\na = { command = "x" }\nb.command = "y"\n',
        '[servers.a]\ncommand = "x"\n[servers.b]\ncommand = "y"\n[servers.a.env]\nA = "1"\n',
    ],
)
def test_servers_that_are_not_written_as_tables_are_left_to_the_person(tmp_path: Path, text: str) -> None:
    file = file_with(tmp_path, text)
    with pytest.raises(ConfigError, match=r"not all written as \[servers.NAME\] tables") as raised:
        remove_server(file, "a")
    assert raised.value.file == str(file) and file.read_text() == text


def test_inner_tables_go_with_their_server(tmp_path: Path) -> None:
    text = '[servers.a]\ncommand = "x"\n\n[servers.a.env]\nA = "1"\n# end\n\n[servers.ab]\ncommand = "y"\n'
    file = file_with(tmp_path, text)
    put_server(file, ServerConfig("z", command="x", env={"A": "1"}), old_name="a")
    assert file.read_text() == text.replace("servers.a]", "servers.z]").replace("servers.a.", "servers.z.")
    remove_server(file, "z")
    assert file.read_text() == '# end\n\n[servers.ab]\ncommand = "y"\n'


def test_removing_a_server(tmp_path: Path) -> None:
    file = file_with(tmp_path)
    remove_server(file, "a")
    assert set(tomllib.loads(file.read_text())["servers"]) == {"b"} and "# about b" in file.read_text()
    with pytest.raises(ConfigError, match="no server `aa`") as raised:
        remove_server(file, "aa")
    assert raised.value.file == str(file)


def test_setting_and_removing_one_value(tmp_path: Path) -> None:
    file = file_with(tmp_path)
    set_value(file, ("theme",), "mono")
    set_value(file, ("keys", "call"), "f5")
    assert 'theme = "mono"  # the best' in file.read_text()
    assert tomllib.loads(file.read_text())["keys"] == {"call": "f5"}
    set_value(file, ("keys", "call"), None)
    assert tomllib.loads(file.read_text())["keys"] == {}
    with pytest.raises(ConfigError, match="`theme` is no table"):
        set_value(file, ("theme", "x"), 1)


@pytest.mark.parametrize("content", [b"theme = ", b"\xff", b"[servers]\na = 1\n[servers]\nb = 2\n"])
def test_a_file_that_is_not_valid_is_never_overwritten(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(content)
    with pytest.raises(ConfigError):
        put_server(file, ServerConfig("a", command="x"))
    assert file.read_bytes() == content


def test_files_of_other_programs_are_not_written(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text("{}")
    with pytest.raises(ConfigError, match="another program"):
        put_server(file, ServerConfig("a", command="x"))


def test_a_folder_in_the_way_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be written"):
        put_server(tmp_path, ServerConfig("a", command="x"))


def test_two_writers_lose_nothing(tmp_path: Path) -> None:
    file = file_with(tmp_path)
    code = (
        "import sys; from pathlib import Path; from mcp_studio.config.save import set_value\n"
        "for n in range(12): set_value(Path(sys.argv[1]), ('keys', sys.argv[2] + str(n)), 'f5')"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, str(file), name]) for name in ("x", "y")]
    assert [writer.wait(30) for writer in writers] == [0, 0]
    assert tomllib.loads(file.read_text())["theme"] == "nord"


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_killed_at_any_moment_the_file_is_the_old_or_the_new_one(tmp_path: Path) -> None:
    file = file_with(tmp_path)
    code = (
        "import sys; from pathlib import Path; from mcp_studio.config.save import set_value\n"
        "for n in range(10000): set_value(Path(sys.argv[1]), ('keys', 'a'), str(n) * 1000); print(n, flush=True)"
    )
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", code, str(file)], stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout and writer.stdout.readline()
            os.kill(writer.pid, signal.SIGKILL)
        values = tomllib.loads(file.read_text())
        assert values["servers"].keys() == {"a", "b"} and len(values["keys"]["a"]) >= 1000


def test_saved_servers_load_again() -> None:
    load_user(TEXT)
    put_server(Paths.default().config_file, ServerConfig("c", url="https://h/${P}", headers={"K": "${keyring:github}"}))
    config = load_user(Paths.default().config_file.read_text(), {"P": "path"})
    assert config.problems == () and config.servers["c"].url == "https://h/path"
    assert config.servers["c"].headers == {"K": "gh-secret-1"}


@pytest.mark.parametrize(
    "before", ["", 'theme = "x"  # mine\n\n[[policy]]\ntools = "*"\nverdict = "deny"\n\n[servers.a]\ncommand = "b"\n']
)
def test_a_policy_rule_comes_before_all_others(tmp_path: Path, before: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(before)
    put_rule(file, PolicyRule("a.*", "allow"))
    put_rule(file, PolicyRule("a.[*]", "ask", arguments={"path": "/etc/*"}, until="2030-01-01"))
    known = tomllib.loads(before)
    first = {"tools": "a.[*]", "verdict": "ask", "arguments": {"path": "/etc/*"}, "until": "2030-01-01"}
    rules = [first, {"tools": "a.*", "verdict": "allow"}, *known.get("policy", [])]
    assert tomllib.loads(file.read_text()) == {**known, "policy": rules}
    assert "# mine" in file.read_text() or not before
