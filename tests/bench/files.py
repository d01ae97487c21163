"""The filesystem server beside npm's: the same calls in the same run, and what each allows that it should not.

    python -m tests.bench.files [--rounds N]

Each round asks both servers by turns over a bare pipe; the figures are medians of the rounds' medians, in microseconds.
Then both are asked to leave their root: by links that lie there, and while a folder is swapped for a link.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.files.kit import argv
from tests.files.test_escapes import SWAP
from tests.support import npm_server

SECRET = "SECRET"
Arguments = dict[str, Any]


class Pipe:
    """A client that does as little as it can.

    Args:
        roots: what the client says that its roots are; None has none.
    """

    def __init__(self, command: list[str], roots: str | None = None) -> None:
        began = time.perf_counter()
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, **pipes)
        self._roots, self._number = roots, 0
        capabilities = {"roots": {}} if roots else {}
        client = {"name": "bench", "version": "1"}
        self.ask("initialize", protocolVersion="2025-11-25", capabilities=capabilities, clientInfo=client)
        self.ready = time.perf_counter() - began
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _write(self, message: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, /, **params: Any) -> bytes:
        """The raw answer."""
        assert self.process.stdout is not None
        self._number += 1
        self._write({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        while line := self.process.stdout.readline():
            if b'"method":"roots/list"' in line:
                found = {"roots": [{"uri": self._roots}]}
                self._write({"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": found})
            elif b'"result"' in line or b'"error"' in line:
                return line
        raise SystemExit("A server has ended.")

    def call(self, tool: str, arguments: Arguments) -> bytes:
        """The raw answer to a call."""
        return self.ask("tools/call", name=tool, arguments=arguments)

    def timed(self, tool: str, arguments: Arguments, count: int) -> float:
        """The median of some calls, in microseconds."""
        times: list[float] = []
        for _ in range(count):
            began = time.perf_counter()
            answer = self.call(tool, arguments)
            times.append(time.perf_counter() - began)
            assert b'"isError":true' not in answer, answer[:300]
        return statistics.median(times) * 1e6


def calls(root: Path) -> list[tuple[str, int, tuple[str, Arguments], tuple[str, Arguments]]]:
    """What is measured: name, how often, npm's call, ours."""
    small, large, tree = str(root / "small.txt"), str(root / "large.txt"), str(root / "tree")
    read, write = "read_text_file", {"path": str(root / "new.txt"), "content": "x" * 1_000}
    some, last = {"paths": [small] * 10}, {"path": large, "tail": 10}
    listed, glob = {"path": f"{tree}/0"}, "**/*7.txt"
    tried = {"path": small, "edits": [{"oldText": "same", "newText": "same"}], "dryRun": True}
    ours = {"path": small, "edits": [{"old": "same", "new": "same"}], "dry_run": True}
    return [
        ("read 1 KB", 100, (read, {"path": small}), ("read_file", {"path": small})),
        ("read 1 MB", 10, (read, {"path": large}), ("read_file", {"path": large})),
        ("its last 10 lines", 50, (read, last), ("read_file", last)),
        ("read 10 files", 50, ("read_multiple_files", some), ("read_files", some)),
        ("list 100 entries, with sizes", 50, ("list_directory_with_sizes", listed), ("list_directory", listed)),
        ("describe", 100, ("get_file_info", {"path": small}), ("get_file_info", {"path": small})),
        ("tree of 2,000 files", 5, ("directory_tree", {"path": tree}),
         ("directory_tree", {"path": tree, "limit": 10_000})),
        ("search 2,000 files by name", 5, ("search_files", {"path": tree, "pattern": glob}),
         ("search_files", {"path": tree, "glob": glob})),
        ("edit, dry run", 50, ("edit_file", tried), ("edit_file", ours)),
        ("write 1 KB", 50, ("write_file", write), ("write_file", write)),
    ]  # fmt: skip


def speed(root: Path, npm: Pipe, ours: Pipe, rounds: int) -> None:
    """Print how long calls take."""
    print(f"| | npm µs | ours µs | ours / npm |\n|---|---|---|---|\n| start | {npm.ready * 1e6:,.0f} |"
          f" {ours.ready * 1e6:,.0f} | {ours.ready / npm.ready:.2f} |")  # fmt: skip
    for name, count, theirs, mine in calls(root):
        npm.timed(*theirs, count), ours.timed(*mine, count)
        pairs = [(npm.timed(*theirs, count), ours.timed(*mine, count)) for _ in range(rounds)]
        left, right = (statistics.median(one) for one in zip(*pairs, strict=True))
        print(f"| {name} | {left:,.0f} | {right:,.0f} | {right / left:.2f} |")


def leaks(root: Path, server: Pipe, read: str) -> str:
    """How many of some thousand reads of a folder that is swapped for a link get what is outside."""
    swapper = subprocess.Popen([sys.executable, "-c", SWAP, str(root)])
    try:
        found = sum(SECRET.encode() in server.call(read, {"path": f"{root}/swapped/key"}) for _ in range(5_000))
    finally:
        swapper.kill()
        swapper.wait()
    return f"{found:,} of 5,000"


def escapes(folder: Path, npm: list[str], ours: list[str]) -> None:
    """Print what each allows."""
    root, rows = folder / "root", list[tuple[str, list[str]]]()
    (root / "link").symlink_to(folder / "secret")
    pairs = [(Pipe(npm), "read_text_file"), (Pipe(ours), "read_file")]

    def both(name: str, path: str) -> None:
        said = [server.call(read, {"path": path}) for server, read in pairs]
        rows.append((name, ["yes" if b'"isError":true' not in one else "no" for one in said]))

    both("read through a link that leads out", str(root / "link/key"))
    both("read `..` above the root", f"{root}/../secret/key")
    both("answer with a file of 12 MB, whole", str(root / "huge.txt"))
    rows.append(("reads that get out while a folder is swapped for a link", [leaks(root, *one) for one in pairs]))
    widened = [(Pipe(npm, roots=folder.as_uri()), "read_text_file"), (Pipe(ours, roots=folder.as_uri()), "read_file")]
    for server, read in widened:
        server.call(read, {"path": str(root / "small.txt")})  # npm's asks for the roots by itself meanwhile
    time.sleep(1.0)
    pairs += widened
    said = [server.call(read, {"path": str(folder / "secret/key")}) for server, read in widened]
    answers = ["yes" if SECRET.encode() in one else "no" for one in said]
    rows.append(("a client's roots widen those of the command line", answers))
    print("\n| | npm | ours |\n|---|---|---|")
    for name, (left, right) in rows:
        print(f"| {name} | {left} | {right} |")
    for server, _ in pairs:
        server.process.kill()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(os.path.realpath(name))
        root = folder / "root"
        for part in range(20):
            (root / f"tree/{part}").mkdir(parents=True)
            for number in range(100):
                (root / f"tree/{part}/{number}.txt").write_text("x")
        (root / "small.txt").write_text("same\n" + "line of text\n" * 80)
        (root / "large.txt").write_text("line of text\n" * 80_000)
        (root / "huge.txt").write_text("line of text\n" * 950_000)
        (folder / "secret").mkdir()
        (folder / "secret/key").write_text(SECRET)
        npm, ours = npm_server("filesystem", str(root)), argv(root)
        servers = Pipe(npm), Pipe(ours)
        speed(root, *servers, rounds)
        for one in servers:
            one.process.kill()
        escapes(folder, npm, ours)


if __name__ == "__main__":
    main()
