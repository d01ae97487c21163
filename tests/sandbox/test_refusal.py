"""What cannot be walled off is not started, and the words say why; `doctor` says what stands."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.kit import argv, cli, environment
from tests.support import ROOT, python_server


def entry(folder: Path, sandbox: str) -> str:
    """A configuration file with one server."""
    command, *args = python_server("raw_server")
    text = f"[servers.s]\ncommand = {json.dumps(command)}\nargs = {json.dumps(args)}\nsandbox = {sandbox}\n"
    file = folder / "c.toml"
    file.write_text(text)
    return str(file)


@pytest.mark.skipif(not shutil.which("setarch"), reason="setarch gives the machine another name")
@pytest.mark.parametrize(
    ("sandbox", "cannot", "hint"),
    [
        ("{ network = false }", "cannot block the network on this machine: there is no filter", "Remove `sandbox`"),
        ('{ files = "none" }', "cannot wall off files on this machine: bubblewrap is not installed, and", "Install"),
    ],
)
def test_a_server_whose_walls_cannot_be_built_is_not_started(
    tmp_path: Path, sandbox: str, cannot: str, hint: str
) -> None:
    setarch = str(shutil.which("setarch"))
    words = [setarch, "linux32", *argv("list", "tools", "--config", entry(tmp_path, sandbox))]
    done = subprocess.run(words, cwd=ROOT, env=environment(PATH=str(tmp_path)), capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (4, "")
    assert cannot in done.stderr and hint in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="sandboxes need Linux")
def test_doctor_says_which_walls_stand(tmp_path: Path) -> None:
    done = cli("doctor", "--config", entry(tmp_path, "{ network = false }"))
    assert "sandbox      " in done.out and "no network" in done.out
