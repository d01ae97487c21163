"""A tap in the file of another client, and out of it again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.kit import cli

ARGS = ["-y", "files", "--", "/a b"]
ENTRY = {"command": "npx", "args": ARGS, "env": {"K": "${env:TOKEN}"}, "disabled": False}
WHOLE = {"mcpServers": {"files": ENTRY, "web": {"url": "https://example.com/mcp?of=me"}}, "other": [1]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    place = tmp_path / ".cursor" / "mcp.json"
    place.parent.mkdir()
    place.write_text(json.dumps(WHOLE))
    return place


def tap(file: Path, *words: str) -> tuple[int, str]:
    done = cli("tap", *words, "--project", cwd=file.parent.parent)
    assert "Traceback" not in done.err
    return done.code, done.err


def test_it_is_put_before_a_server_and_taken_out_again(file: Path) -> None:
    assert tap(file, "--install", "cursor", "files")[0] == 6, "nobody has agreed"
    assert json.loads(file.read_text()) == WHOLE
    code, told = tap(file, "--install", "cursor", "files", "--yes")
    assert code == 0 and '+        "tap",' in told
    entry = json.loads(file.read_text())["mcpServers"]["files"]
    at = entry["args"].index("tap")
    assert entry["args"][at:] == ["tap", "--name", "files", "--", "npx", *ARGS]
    assert {key: entry[key] for key in ("env", "disabled")} == {key: ENTRY[key] for key in ("env", "disabled")}
    assert "already" in tap(file, "--install", "cursor", "files", "--yes")[1]
    assert tap(file, "--remove", "cursor", "files", "--yes")[0] == 0
    assert json.loads(file.read_text()) == WHOLE
    assert len(list(file.parent.glob("*.bak"))) == 2, "each change keeps what was there before"
    assert "behind no tap" in tap(file, "--remove", "cursor", "files", "--yes")[1]


def test_it_is_put_before_a_server_at_a_url_and_taken_out_again(file: Path) -> None:
    code, told = tap(file, "--install", "cursor", "web", "--listen", "8300", "--yes")
    assert code == 0 and "tap --name web --listen 8300 --to 'https://example.com/mcp?of=me'" in told
    entry = json.loads(file.read_text())["mcpServers"]["web"]
    assert entry == {"url": "http://127.0.0.1:8300/mcp?of=me#https://example.com/mcp?of=me"}
    assert "already" in tap(file, "--install", "cursor", "web", "--listen", "8300", "--yes")[1]
    assert tap(file, "--remove", "cursor", "web", "--yes")[0] == 0
    assert json.loads(file.read_text()) == WHOLE
    assert "behind no tap" in tap(file, "--remove", "cursor", "web", "--yes")[1]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["cursor", "filse"], "Did you mean `files`?"),
        (["cursor", "web"], "web is at a URL: the tap needs a port"),
        (["cursor"], "Which server of it?"),
        (["nobody", "files"], "No client is known as `nobody`"),
        (["zed", "files"], "has no server `files`"),
    ],
)
def test_what_cannot_be_done_is_said(file: Path, words: list[str], says: str) -> None:
    code, told = tap(file, "--install", *words, "--yes")
    assert code == 2 and says in told
