"""How fast lists and viewers are on a real terminal, beside the same screen without them, measured in the same run.

    python -m tests.bench.widgets [rows] [trace] [list] [text] [json] [--seconds 6] [--rounds 3]

Times are seen from outside: key sent until the screen's answer is written. Nothing here is a verdict.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from tests.terminal import Terminal

APP = Path(__file__).resolve().parent / "widget_app.py"
FAST = {"TEXTUAL_FPS": "240", "ESCDELAY": "25"}
"""As the studio sets it before Textual is imported."""
CLEAR = b"\x15"


class Screen:
    """One of the screens of `widget_app`, running."""

    def __init__(self, *arguments: str) -> None:
        self.out = tempfile.NamedTemporaryFile(suffix=".json")
        argv = [sys.executable, str(APP), *arguments, "--out", self.out.name]
        self.terminal = Terminal(argv, 140, 40, {**FAST, "PYTHONPATH": str(APP.parents[2])})
        self.terminal.start()
        self.keys = self.filters = 0
        self.wait(b"READY; ", 60)
        self.facts: dict[str, float] = json.loads(Path(self.out.name).read_text())

    def wait(self, text: bytes, limit: float = 20) -> float:
        """Read until the program has written this; the time of it."""
        end = time.perf_counter() + limit
        seen, tail = 0, b""
        while time.perf_counter() < end:
            chunks = self.terminal.chunks
            while seen < len(chunks):
                tail = tail[-4096:] + chunks[seen][1]
                if text in tail:
                    found = chunks[seen][0] + self.terminal.began
                    del chunks[:]
                    return found
                seen += 1
            self.terminal.pump(0.005)
        raise TimeoutError(f"{text!r} was not written")

    def rest(self, seconds: float) -> None:
        """Read what comes, for some time."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            self.terminal.pump(0.01)
        del self.terminal.chunks[:]

    def key(self) -> float:
        """Press `x`: seconds until it shows."""
        self.keys += 1
        began = time.perf_counter()
        self.terminal.press(b"x")
        return self.wait(b"K%d;" % self.keys) - began

    def type(self, key: bytes) -> float:
        """Type into the filter: seconds until the list shows what it finds."""
        self.filters += 1
        began = time.perf_counter()
        self.terminal.press(key)
        return self.wait(b"F%d;" % self.filters) - began

    def close(self) -> float:
        """Quit: seconds until it is gone."""
        return self.terminal.quit()


def ms(values: list[float], share: float = 0.5) -> float:
    """A percentile in milliseconds."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000


def line(name: str, values: list[float], floor: list[float] | None = None) -> None:
    """Print one row."""
    ratio = f"{ms(values) / ms(floor):8.2f} x floor" if floor else "   (floor)"
    print(
        f"{name:34}{ms(values):8.1f} p50{ms(values, 0.95):8.1f} p95{max(values) * 1000:8.1f} max ms{ratio}", flush=True
    )


def flow(kind: str, options: argparse.Namespace) -> None:
    """Keys while messages flow: the same flow with no table is the floor."""
    for rate in (0, 1_000, 5_000, 20_000):
        found: dict[str, list[float]] = {}
        cpu: dict[str, float] = {}
        for view in ("none", kind):
            screen = Screen(view, "--rate", str(rate))
            screen.rest(1.0)
            before, began = screen.terminal.cpu(), time.perf_counter()
            found[view] = []
            while time.perf_counter() < began + options.seconds:
                found[view].append(screen.key())
                screen.rest(0.037)
            cpu[view] = (screen.terminal.cpu() - before) / (time.perf_counter() - began)
            memory = screen.terminal.memory()
            screen.close()
        line(f"{rate:,} messages/s, none", found["none"])
        line(f"{rate:,} messages/s, {kind}", found[kind], found["none"])
        print(f"{'':34}CPU {cpu['none']:.0%} and {cpu[kind]:.0%}, {memory:.0f} MB")


def lists(options: argparse.Namespace) -> None:
    """Typing a filter: the same line with no list is the floor."""
    for count in (2_000, 10_000):
        found: dict[str, list[float]] = {"none-list": [], "list": []}
        show: list[float] = []
        for _ in range(options.rounds):
            for view in found:
                screen = Screen(view, "--count", str(count))
                if view == "list":
                    show.append(screen.facts["show"])
                screen.rest(0.3)
                for word in ("sync", "create_issue", "tool 12", "zzz"):
                    for char in word:
                        found[view].append(screen.type(char.encode()))
                        screen.rest(0.04)
                    screen.type(CLEAR)
                    screen.rest(0.04)
                screen.close()
        line(f"list of {count:,}: shown", show)
        line(f"list of {count:,}: key, none", found["none-list"])
        line(f"list of {count:,}: key", found["list"], found["none-list"])


def viewer(kind: str, options: argparse.Namespace) -> None:
    """Handing over a large text: an empty one is the floor."""
    row = {"id": 0, "name": "row", "tags": ["alpha", "beta"], "score": 12.5, "nested": {"ok": True, "note": "x" * 60}}
    floor: list[float] = []
    for megabytes in (0, 1, 20):
        count = megabytes * 1_000_000 // (len(json.dumps(row)) + 2)
        text = "[" + ", ".join(json.dumps(row | {"id": number}) for number in range(count)) + "]"
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(text)
            file.flush()
            runs = []
            for _ in range(options.rounds):
                screen = Screen(kind, "--file", file.name)
                runs.append(screen.facts)
                screen.close()
        shown = [run["show"] for run in runs]
        line(f"{kind}, {megabytes} MB: shown", shown, floor or None)
        floor = floor or shown
        print(f"{'':34}all {ms([run['all'] for run in runs]):.1f} ms, longest stop "
              f"{ms([run['stall'] for run in runs]):.1f} ms of CPU (medians)")  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=["trace", "list", "text", "json"])
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    began = time.perf_counter()
    sum(range(3_000_000))
    print(f"a plain loop: {(time.perf_counter() - began) * 1000:.0f} ms, load {os.getloadavg()[0]:.1f}")
    for what in options.what:
        match what:
            case "trace" | "rows":
                flow(what, options)
            case "list":
                lists(options)
            case _:
                viewer(what, options)


if __name__ == "__main__":
    main()
