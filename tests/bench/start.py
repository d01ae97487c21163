"""How fast the studio starts, as ratios to floors measured in the same run.

    python -m tests.bench.start [--rounds 7] [--npm FOLDER]     with the Python of an installed studio

Rounds are interleaved, medians compared. Nothing here is a verdict: machines are noisy.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.terminal import Terminal

HERE = Path(__file__).resolve().parent
PYTHON = sys.executable
STUDIO = shutil.which("mcp-studio", path=str(Path(PYTHON).parent)) or "mcp-studio"


def command(*argv: str) -> Callable[[], dict[str, float]]:
    """Measures a whole run of a command."""

    def measure() -> dict[str, float]:
        before = time.perf_counter()
        done = subprocess.run(argv, capture_output=True)
        if done.returncode:
            raise RuntimeError(f"{argv}: {done.stderr.decode()[-2_000:]}")
        return {"wall": time.perf_counter() - before}

    return measure


def screen(paint: str, ready: str, *argv: str) -> Callable[[], dict[str, float]]:
    """Measures a program on a terminal: first paint, when it is ready, memory, idle CPU, quitting."""

    def measure() -> dict[str, float]:
        terminal = Terminal(list(argv))
        terminal.start()
        end = time.perf_counter() + 3.0
        while time.perf_counter() < end:  # only read: looking at the screen takes long, and would date what comes late
            terminal.pump(0.1)
        memory, before = terminal.memory(), terminal.cpu()
        end = time.perf_counter() + 1.0
        while time.perf_counter() < end:
            terminal.pump(0.1)
        idle = terminal.cpu() - before
        found = {"paint": terminal.first(paint), "ready": terminal.first(ready), "MB": memory, "idle": idle}
        return {**found, "quit": terminal.quit()}

    return measure


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--npm", default=os.environ.get("MCP_STUDIO_NPM", "."))
    options = parser.parse_args()
    script = Path(options.npm) / "node_modules/@modelcontextprotocol/server-everything/dist/index.js"
    server = ["node", str(script), "stdio"]
    os.environ["MCP_STUDIO_HOME"] = tempfile.mkdtemp()
    bare, echo = str(HERE / "bare_client.py"), ["call", "echo", "message=hi"]
    cases: dict[str, tuple[str, Callable[[], dict[str, float]]]] = {
        "python -c pass": ("", command(PYTHON, "-c", "pass")),
        "mcp-studio --help": ("python -c pass", command(STUDIO, "--help")),
        "mcp-studio --version": ("python -c pass", command(STUDIO, "--version")),
        "bare list": ("", command(PYTHON, bare, "list", "--", *server)),
        "mcp-studio list": ("bare list", command(STUDIO, "list", "tools", "--", *server)),
        "bare call": ("", command(PYTHON, bare, "call", "--", *server)),
        "mcp-studio call": ("bare call", command(STUDIO, *echo, "--", *server)),
        "bare Textual": ("", screen("READY", "READY", PYTHON, str(HERE / "bare_app.py"))),
        "the studio": ("bare Textual", screen(r"\S", r"●1\b.*\d tools", STUDIO, "--", *server)),
    }
    found: dict[str, list[dict[str, float]]] = {name: [] for name in cases}
    for number in range(options.rounds + 1):
        for name in random.sample(list(cases), len(cases)):
            measured = cases[name][1]()
            if number:  # the first round fills caches
                found[name].append(measured)
    print(f"{'':22}{'what':8}{'median':>10}{'ratio':>8}  of")
    medians = {
        name: {key: statistics.median(run[key] for run in runs) for key in runs[0]} for name, runs in found.items()
    }
    for name, (floor, _) in cases.items():
        for key, value in medians[name].items():
            base = medians[floor].get(key) if floor else None
            unit = f"{value:8.1f}MB" if key == "MB" else f"{value * 1000:8.0f}ms"
            print(f"{name:22}{key:8}{unit:>10}" + (f"{value / base:8.2f}  {floor}" if base else ""))
    ready = medians["the studio"]["ready"] / medians["bare list"]["wall"]
    print(f"\nconnected, its tools on screen and callable: {ready:.2f} of a bare client's whole run")


if __name__ == "__main__":
    main()
