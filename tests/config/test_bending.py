"""Entries that bend the protocol: read, checked, saved."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from mcp_studio.config.load import load
from mcp_studio.config.model import ServerConfig
from mcp_studio.config.save import put_server
from mcp_studio.paths import Paths

BENT = """
[servers.s]
command = "x"
era = "legacy"
protocol_version = "2025-06-18"
capabilities = {sampling = {tools = {}}, roots = {listChanged = true}}
client_info = {name = "else", version = "1"}
"""


def loaded(text: str, folder: Path) -> tuple[ServerConfig | None, list[str]]:
    file = folder / "own.toml"
    file.write_text(text)
    config = load(Paths.default(), folder, files=[file], environ={})
    return config.servers.get("s"), [str(problem) for problem in config.problems]


def test_what_bends_is_read_and_saved_as_it_was(tmp_path: Path) -> None:
    server, problems = loaded(BENT, tmp_path)
    assert not problems and server is not None
    assert server.capabilities == {"sampling": {"tools": {}}, "roots": {"listChanged": True}}
    saved = tmp_path / "config.toml"
    put_server(saved, server)
    assert tomllib.loads(saved.read_text()) == tomllib.loads(BENT)


@pytest.mark.parametrize(
    ("era", "version", "good"),
    [
        ("auto", "2025-06-18", True),
        ("auto", "2026-07-28", True),
        ("legacy", "2024-11-05", True),
        ("modern", "2026-07-28", True),
        ("modern", "2025-11-25", False),
        ("legacy", "2026-07-28", False),
    ],
)
def test_a_version_of_another_era_than_the_one_asked_for_is_a_problem(
    era: str, version: str, good: bool, tmp_path: Path
) -> None:
    text = f'[servers.s]\ncommand = "x"\nera = "{era}"\nprotocol_version = "{version}"\n'
    server, problems = loaded(text, tmp_path)
    assert (server is not None) is good
    if not good:
        assert "servers.s.protocol_version" in problems[0] and f"`{era}` is asked for" in problems[0]
