"""The filesystem server as a process, and a folder to serve."""

from __future__ import annotations

import os
from pathlib import Path

from tests.support import python_program

PROGRAM = python_program("-m", "mcp_studio.servers.files")


def argv(*roots: Path, options: tuple[str, ...] = ()) -> list[str]:
    """How the server of some folders is started."""
    return [*PROGRAM, *(word for root in roots for word in ("--root", str(root))), *options]


def filled(folder: Path) -> Path:
    """A root with files, folders and links, beside a secret that is outside of it."""
    root = folder / "root"
    (root / "src/deep").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / ".git/config").write_text("needle")
    (root / "notes.txt").write_text("one\ntwo\nthree\nfour\n")
    (root / "src/main.py").write_text("import os\nneedle = 1\n")
    (root / "src/deep/more.py").write_text("# Needle\n")
    (root / "data.bin").write_bytes(bytes(range(256)))
    (root / "dos.txt").write_bytes(b"a\r\nb\r\n")
    (root / "large.txt").write_text("line\n" * 2_500_000)
    (folder / "secret").mkdir()
    (folder / "secret/key").write_text("SECRET")
    (root / "inside").symlink_to("src/main.py")
    (root / "round").symlink_to(root / "src/deep")
    (root / "outside").symlink_to(folder / "secret")
    (root / "above").symlink_to("../secret/key")
    (root / "circle").symlink_to("circle")
    os.mkfifo(root / "pipe")
    return root
