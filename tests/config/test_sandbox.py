"""`sandbox` in a server's entry: what it can say, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_studio.config.model import Sandbox
from mcp_studio.config.servers import to_table
from tests.config.helpers import load_file, load_user


def test_paths_are_relative_to_the_file_and_stay_as_they_were_written(tmp_path: Path) -> None:
    entry = 'command = "x"\nsandbox = { network = false, files = "read", paths = [".", "~/notes", "${DATA}"] }'
    config = load_file(tmp_path / "c.toml", f"[servers.s]\n{entry}", {"HOME": "/home/me", "DATA": "/srv/data"})
    server = config.servers["s"]
    assert server.sandbox == Sandbox(False, "read", (str(tmp_path), "/home/me/notes", "/srv/data"))
    assert to_table(server)["sandbox"] == {"network": False, "files": "read", "paths": [".", "~/notes", "${DATA}"]}


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ('command = "x"\nsandbox = { netwrok = false }', "sandbox.netwrok: is not a known key. Did you mean `network`"),
        ('command = "x"\nsandbox = { files = "reed" }', "sandbox.files: must be one of none, read, readwrite"),
        ('command = "x"\nsandbox = { network = "no" }', "sandbox.network: must be true or false"),
        ('command = "x"\nsandbox = { files = "read" }', "sandbox.paths: belongs to files"),
        ('command = "x"\nsandbox = { files = "none", paths = ["."] }', "sandbox.paths: belongs to files"),
        ('command = "x"\nsandbox = true', "sandbox: must be a table"),
        ('url = "https://h/mcp"\nsandbox = { network = false }', "sandbox: is for servers that are programs"),
    ],
)
def test_a_server_with_a_sandbox_that_is_not_understood_is_left_out(entry: str, says: str) -> None:
    config = load_user(f"[servers.s]\n{entry}")
    assert not config.servers
    assert says in str(config.problems[0])


def test_a_file_of_another_client_can_say_sandbox_and_is_never_passed_over(tmp_path: Path) -> None:
    walled = '{"command": "x", "sandbox": {"network": false, "files": "read", "paths": ["."]}}'
    foreign = '{"command": "x", "sandbox": {"filesystem": {"allowWrite": ["."]}}}'
    config = load_file(tmp_path / "mcp.json", f'{{"mcpServers": {{"s": {walled}, "t": {foreign}}}}}')
    assert config.servers["s"].sandbox == Sandbox(False, "read", (str(tmp_path),))
    assert [problem.key for problem in config.problems] == ["mcpServers.t.sandbox.filesystem"]
    assert "t" not in config.servers and "is not a known key" in config.problems[0].message
