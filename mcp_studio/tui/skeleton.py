"""The first frame, before Textual is imported: the panes, the servers, and what they offered last time.

It is the real first screen in plain text, drawn with the standard library in a few milliseconds; Textual paints over it
as soon as it is there. Its proportions are those of `screens/main.tcss`, which a test compares.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple
from unicodedata import east_asian_width

from mcp_studio.catalog.ref import KINDS
from mcp_studio.catalog.remembered import Memories, Memory
from mcp_studio.config.model import Config
from mcp_studio.paths import Paths
from mcp_studio.protocol.views import ToolView
from mcp_studio.safetext import safe
from mcp_studio.tui.themes_file import Palette, palette

try:
    import termios
except ImportError:  # Windows
    termios = None

SIDE, SIDE_NARROW, WIDE, HUGE, SPLIT, TALL = 40, 28, 110, 160, 180, 36
"""Widths of the left column and the breakpoints of the three arrangements, in cells."""
_NAMES = {"tool": "Tools", "resource": "Resources", "template": "Templates", "prompt": "Prompts"}
_SHORT = {"tool": "Tools", "resource": "Res", "template": "Tpl", "prompt": "Pr"}
_ASCII = str.maketrans("╭╮╰╯─│◐○", "++++-|~o")
_SIGNS = {"read": "r", "write": "w", "destructive": "!"}


class Known(NamedTuple):
    """What is known of a server before anything is connected."""

    name: str
    kind: str
    enabled: bool
    memory: Memory


class Box(NamedTuple):
    """One pane: its place in cells, title, note at the bottom, and lines."""

    x: int
    y: int
    width: int
    height: int
    title: str
    lines: tuple[str, ...] = ()
    note: str = ""


_taken: list[Any] = []
"""The settings of the terminal before the frame, while it stands."""


@contextmanager
def shown(config: Config, paths: Paths) -> Generator[None]:
    """Draw the frame and keep typed keys for the app; whatever happens, the terminal is given back.

    Nothing is drawn where there is no terminal, or a dumb one.
    """
    if termios is not None and sys.stdin.isatty() and sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        _take()
        _write(_frame(config, paths))
    try:
        yield
    finally:
        if give_back():
            _write("\x1b[?1049l\x1b[?25h")


def give_back() -> bool:
    """The app takes over: the terminal is set as it was, the frame stays. Tells whether there was one."""
    if termios is None or not _taken:
        return False
    termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, _taken.pop())
    return True


def _take() -> None:
    assert termios is not None
    before = termios.tcgetattr(sys.stdin.fileno())
    _taken.append(before)
    quiet = [*before]
    # Also for the app: ^q, which a terminal takes for flow control, and enter, which it would make ^j.
    quiet[0] = before[0] & ~(termios.IXON | termios.ICRNL)
    quiet[3] = before[3] & ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, quiet)


def _write(text: str) -> None:
    os.write(sys.stderr.fileno(), text.encode("utf-8", "replace"))


def _frame(config: Config, paths: Paths) -> str:
    columns, rows = os.get_terminal_size(sys.stderr.fileno())
    memories = Memories(paths.state / "servers")
    servers = [Known(s.name, s.kind, s.enabled, memories.recall(s)) for s in config.servers.values()]
    colours = palette(config.settings.theme, paths.themes) if "COLORTERM" in os.environ else None
    text = "".join(_paint(boxes(columns, rows, servers), columns, rows, servers, colours))
    if config.settings.ascii:
        text = text.translate(_ASCII)
    return f"\x1b[?1049h\x1b[?25l\x1b[?2026h{text}\x1b[0m\x1b[?2026l"


def boxes(columns: int, rows: int, servers: Sequence[Known]) -> list[Box]:
    """Where the panes are and what stands in them, for a terminal of this size."""
    wide, tall = columns >= WIDE, rows >= TALL
    side = SIDE if wide else SIDE_NARROW
    trace = max(6, rows * 30 // 100) if wide and tall else 0
    work = rows - 2 - trace
    top = max(4, min(len(servers) + 2, work * 40 // 100)) if servers else min(9, work * 40 // 100)
    found = [
        Box(0, 1, side, top, "1 Servers", tuple(_server_line(server, side - 4) for server in servers)),
        _catalog(side, 1 + top, work - top, servers),
    ]
    desk = columns - side
    if columns >= HUGE:
        call = round(desk * 2 / 5)
        found += [Box(side, 1, call, work, "3 Call"), Box(side + call, 1, desk - call, work, "4 Result")]
    else:
        call = work // 2
        found += [Box(side, 1, desk, call, "3 Call"), Box(side, 1 + call, desk, work - call, "4 Result")]
    if trace:
        found.append(Box(0, 1 + work, round(columns * 3 / 5) if columns >= SPLIT else columns, trace, "5 Trace"))
    return found


def _server_line(server: Known, width: int) -> str:
    state = "waiting" if server.enabled else "off"
    return f"{'◐' if server.enabled else '○'} {safe(server.name)} {server.kind} {state}"[:width]


def _catalog(width: int, y: int, height: int, servers: Sequence[Known]) -> Box:
    lines = ["/ filter"]
    for server in servers:
        for item in server.memory.listings.get("tool", [])[: max(0, height - 3)]:
            tool = ToolView(item if isinstance(item, dict) else {})
            lines.append(f"{_SIGNS[tool.risk]} {safe(tool.name, 80)}")
    counts = {kind: sum(len(server.memory.listings.get(kind, [])) for server in servers) for kind in KINDS}
    whole, short = (" │ ".join(f"{names[kind]} {counts[kind]:,}" for kind in KINDS) for names in (_NAMES, _SHORT))
    title = whole if len(whole) + 2 <= width - 4 else short
    known = any(server.memory.listings for server in servers)
    return Box(0, y, width, height, f"2 {title}", tuple(lines), "◐ remembered" if known else "")


def _paint(
    panes: Sequence[Box], columns: int, rows: int, servers: Sequence[Known], colours: Palette | None
) -> Iterator[str]:
    """The frame as escape sequences: everything foreign in it has been through `safe`."""
    plain, border, bar = colours or Palette("", "", "")
    yield f"\x1b[H{plain}\x1b[2J"
    tools = sum(len(server.memory.listings.get("tool", [])) for server in servers)
    status = f" mcp-studio  0/{len(servers)} servers  {tools:,} tools"
    yield f"{bar}\x1b[1;1H{_fit(status, columns)}\x1b[{rows};1H{' ' * columns}{plain}"
    for box in panes:
        inner = box.width - 2
        yield f"\x1b[{box.y + 1};{box.x + 1}H{border}╭─ {plain}{_cut(box.title, inner - 3)}{border} "
        yield "─" * max(0, inner - 3 - _width(_cut(box.title, inner - 3))) + "╮"
        for row in range(box.height - 2):
            line = box.lines[row] if row < len(box.lines) else ""
            yield f"\x1b[{box.y + 2 + row};{box.x + 1}H{border}│{plain} {_fit(line, inner - 2)} {border}│"
        note = f" {box.note} " if box.note else ""
        line = "─" * (inner - 1 - len(note))
        yield f"\x1b[{box.y + box.height};{box.x + 1}H{border}╰{line}{plain}{note}{border}─╯{plain}"


def _width(text: str) -> int:
    return len(text) if text.isascii() else sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


def _cut(text: str, width: int) -> str:
    while _width(text) > width:
        text = text[:-1]
    return text


def _fit(text: str, width: int) -> str:
    text = _cut(text, width)
    return text + " " * (width - _width(text))
