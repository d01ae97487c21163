"""What a browser is started with."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from mcp_studio.present.browser import open_page
from tests.support import run, wait_until

WRITE = """
import json, os, sys
with open(sys.argv[1] + ".part", "w") as file:
    json.dump(dict(os.environ), file)
os.rename(sys.argv[1] + ".part", sys.argv[1])
"""


def test_it_gets_nothing_that_is_for_us_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_STUDIO_PASSPHRASE", "a passphrase")
    file, program = tmp_path / "environ", tmp_path / "write.py"
    program.write_text(WRITE)

    async def go() -> None:
        assert await open_page("https://example.com/", f"{sys.executable} {program} {file}")
        await wait_until(file.exists)

    run(go())
    environ = json.loads(file.read_text())
    assert environ["PATH"] and "a passphrase" not in environ.values()
