"""Servers that fail with hostile words, and hostile files of projects and other clients: read from the raw bytes."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

from tests.harmless import live_in
from tests.support import ROOT, SERVERS, python_server
from tests.support_servers import running
from tests.test_bad_input import about
from tests.test_hostile import MARK
from tests.walker import STUDIO, Walker, studio

sys.path.insert(0, str(SERVERS))
from raw_offer import HOSTILE

TEXT = HOSTILE.replace("${x}", "").replace("\0", "")
"""Without what a configuration would replace, and what no program can be started with."""
HOW = {"refuses": "mood", "version": "1999", "dies": "exit", "lists": "", "malformed": ""}
"""A word of why it failed: lines break anywhere else."""
PATHS = ("500", "401", "html", "redirect", "rpc")


def scroll(walker: Walker, wanted: str) -> None:
    """Turn the wheel in the middle of the screen until something is there, or nothing moves any more."""
    at = f"{walker.columns // 2};{walker.rows // 2}".encode()
    still = 0
    for _ in range(200):
        before = walker.text()
        if re.search(wanted, before):
            return
        walker.press(b"\x1b[<65;" + at + b"M")
        end = time.monotonic() + 2
        while walker.text() == before and time.monotonic() < end:
            walker.pump(0.05)
        still = still + 1 if walker.text() == before else 0
        if still == 5:
            break
        walker.drain(0.03)
    walker.shows(wanted, limit=0)


def entries(url: str) -> dict[str, dict[str, Any]]:
    """One server for each way to fail."""
    python, script = python_server("raw_poison")
    local: dict[str, dict[str, Any]] = {
        how: {"command": python, "args": [script, "--how", how]} for how in (*HOW, "stray")
    }
    return local | {f"http-{path}": {"url": f"{url}/{path}"} for path in PATHS}


def test_however_a_server_fails_its_words_are_only_shown(home: Path) -> None:
    file = home / "mcp.json"
    with running(python_server("http_poison")) as server:
        servers = entries(server.url)
        file.write_text(json.dumps({"mcpServers": servers}))
        with studio("--config", str(file)) as walker:
            walker.shows("●3", "✗[5-8]", "⏎ Open")
            walker.go("1", "⏎ Details")
            seen: set[str] = set()
            for _ in range(2 * len(servers)):
                walker.go("enter", r"╭─ (\S+) ─.*\n(.*\n)*.*Write to")
                name = re.findall(rf"╭─ ({'|'.join(servers)}) ─", walker.text())[0]
                if name not in seen:
                    if words := HOW.get(name):
                        scroll(walker, words)
                    scroll(walker, f"stderr|Findings|{MARK}")
                    seen.add(name)
                if seen == servers.keys():
                    break
                walker.go("esc", gone="Write to")
                walker.go("down")
                walker.drain(0.05)
            assert seen == servers.keys()
            walker.go("esc", gone="Write to")
            walker.go("f8", "⏎ Open")
            walker.go("/", "since:")
            walker.paste("server:http", r"\d+ of \d+")
            walker.go("enter end enter", r"Timeline +Message +Response +HTTP")
            for _ in range(5):
                walker.go("]")
            walker.go("esc", gone="Timeline +Message")
            assert walker.leave() == 0
    assert live_in(walker.written()) == []


def spelled(text: str) -> str:
    """Text as TOML."""
    return '"' + "".join(c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in text) + '"'


def test_hostile_files_of_projects_and_other_clients_are_only_shown(home: Path) -> None:
    project = home / "project"
    (project / ".vscode").mkdir(parents=True)
    (project / ".mcp-studio.toml").write_text(
        f"[servers.{spelled('ours' + TEXT)}]\ncommand = {spelled('no-such' + TEXT)}\n"
        f"args = [{spelled('arg' + TEXT)}]\nenv = {{ {spelled('VAR' + TEXT)} = {spelled(TEXT)} }}\n"
        f"[servers.odd]\n{spelled('key' + TEXT)} = 1\n"
    )
    theirs = {"theirs" + TEXT: {"command": "no-such" + TEXT, "args": [TEXT]}, "bad" + TEXT: {"command": 7}}
    (project / ".vscode" / "mcp.json").write_text(json.dumps({"servers": theirs}))
    walker = Walker(["sh", "-c", f'cd {project} && exec "$@"', "sh", *STUDIO], env={"PYTHONPATH": str(ROOT)})
    walker.start()
    try:
        walker.shows("Use the servers of this project", f"ours{MARK}")
        walker.go("u", f"ours{MARK}", "✗", gone="Use the servers of this project")
        walker.go("1", "⏎ Details")
        walker.go("enter", f"─ ours{MARK}", "command")
        walker.go("esc", gone="Write to")
        walker.go("e", rf"ours{MARK}", "change it there")
        walker.go("d", "Delete the server", f"ours{MARK}")
        walker.go("esc", gone="Delete the server")
        about(walker, f"key{MARK}")
        walker.go("^n", "Add a server")
        walker.go("shift+tab shift+tab shift+tab enter", "Import servers", f"theirs{MARK}")
        walker.go("esc", gone="Import servers")
        walker.go("tab tab tab")
        walker.paste(json.dumps({"mcpServers": theirs}), rf"theirs{MARK}|✗")
        walker.go("esc", gone="Add a server")
        assert walker.leave() == 0
    finally:
        if walker.process.poll() is None:
            walker.process.kill()
            walker.process.wait()
        walker.close()
    assert live_in(walker.written()) == []
