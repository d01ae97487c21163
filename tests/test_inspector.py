"""The command line of the MCP Inspector uses our servers: their tools, how it judges the schemas, and a call."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.database.kit import Shop
from tests.database.kit import argv as database
from tests.files.kit import argv as files
from tests.gateway.kit import argv as gateway
from tests.gateway.kit import configured, environment
from tests.support import inspector


def _files(folder: Path) -> list[str]:
    (folder / "notes.txt").write_text("one\n")
    return files(folder)


def _database(folder: Path) -> list[str]:
    return database("--connect", f"shop={Shop(str(folder / 'shop.sqlite')).owner}")


def _gateway(folder: Path) -> list[str]:
    return gateway(configured(home=folder, notes=_files(folder)), "--mode", "all")


@pytest.mark.parametrize(
    ("server", "tool", "argument", "says"),
    [
        (_files, "read_file", "path=notes.txt", {"content": "one\n"}),
        (_database, "query", "sql=SELECT title FROM book", {"rows": [["One"], ["Two"]]}),
        (_gateway, "mcp__notes__read_file", "path=notes.txt", {"content": "one\n"}),
    ],
    ids=["serve-files", "serve-db", "serve"],
)
def test_the_inspector_lists_and_calls_tools(
    tmp_path: Path, server: Callable[[Path], list[str]], tool: str, argument: str, says: dict[str, Any]
) -> None:
    command, *words = server(tmp_path)
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"ours": {"command": command, "args": words, "env": environment()}}}))

    def ask(*words: str) -> Any:
        argv = inspector("--config", str(config), "--server", "ours", *words)
        environ = {**os.environ, "HOME": str(tmp_path)}
        return json.loads(subprocess.run(argv, capture_output=True, timeout=120, check=True, env=environ).stdout)

    listed = ask("--method", "tools/list", "--strict")["tools"]
    assert tool in [one["name"] for one in listed]
    found = ask("--method", "tools/call", "--tool-name", tool, "--tool-arg", argument)
    assert found["structuredContent"] | says == found["structuredContent"]
