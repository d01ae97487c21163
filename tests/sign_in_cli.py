"""Somebody who signs in by the program itself, with a keyring and a browser of the tests."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.keyring_session import KeyringSession
from tests.support import ROOT, python_server

LONGEST = 60.0


class Person:
    """Somebody with the studio, a keyring and a browser."""

    def __init__(self, home: Path, keyring: KeyringSession, url: str, *browser: str) -> None:
        self.folder = home / "browser"
        self.folder.mkdir()
        self.environ = {**keyring.environ, "MCP_STUDIO_HOME": str(home)}
        config = home / "config" / "config.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        command = shlex.join([*python_server("browser"), *browser, str(self.folder)])
        config.write_text(f'[servers.notes]\nurl = "{url}"\n[auth]\nbrowser = {json.dumps(command)}\n')

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start the program."""
        argv = [sys.executable, "-m", "mcp_studio", *words]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(argv, env=self.environ, cwd=ROOT, text=True, **pipes)  # type: ignore[call-overload]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the program."""
        with self.start(*words) as process:
            try:
                out, err = process.communicate(timeout=LONGEST)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def result(self, *words: str) -> Any:
        """The result of a command that succeeds."""
        done = self.run(*words, "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)["result"]

    @property
    def opened(self) -> list[str]:
        """The addresses that the browser was given."""
        file = self.folder / "opened"
        return file.read_text().splitlines() if file.exists() else []

    def whoami(self) -> str:
        """What the tool of that name says."""
        return self.result("call", "notes.whoami")["content"][0]["text"]


def wait_for(true: Callable[[], object], timeout: float = 60) -> None:
    """Wait for a fact, in a test without a loop."""
    end = time.monotonic() + timeout
    while not true():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.02)
