"""The examples of docs/python.md run as they stand, and print what they say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support_servers import demo_http

EXAMPLES = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "python.md").read_text("utf-8"), re.DOTALL | re.M)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: re.findall(r"mcp_studio.* import (\w+)", text)[-1])
def test_an_example_prints_what_it_says(example: str, home: Path, tmp_path: Path) -> None:
    (home / "config").mkdir()
    shop = f'[servers.shop]\ncommand = "{sys.executable}"\nargs = ["-m", "mcp_studio.servers.demo"]\n'
    (home / "config" / "config.toml").write_text(shop + f"inherit_env = {json.dumps(['PYTHONPATH'])}\n")
    said = re.findall(r"print\(.*\)  # (.*)$", example, re.MULTILINE)
    assert said
    if "8321" in example:
        with demo_http() as url:
            done = ran(example.replace("http://127.0.0.1:8321/mcp", url), tmp_path)
    else:
        done = ran(example, tmp_path)
    assert (done.stdout.splitlines(), done.stderr) == (said, "")


def ran(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    file = folder / "example.py"
    file.write_text(code, "utf-8")
    return subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=120, cwd=folder)
