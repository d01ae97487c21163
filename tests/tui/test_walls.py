"""What reaches a terminal through the wall, byte by byte."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from mcp_studio.safetext import is_live
from mcp_studio.tui.walls import WALL, TerminalWall

BLACK = Color(0, 0, 0)
HOSTILE = [
    "\x1b[2J\x1b]0;owned\x07",
    "\x1b]52;c;b3duZWQ=\x07",
    "\x9b31m\x9d0;owned\x9c",
    "a\u202egnp.exe",
    "in\u200bvis\u2060ible\ufeff",
    "tag\U000e0041\U000e0042",
    "half \ud83d surrogate",
    "\r\n\t\x08\x7f",
    "family 👨‍👩‍👧 wide 漢字\u2066",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_live_passes_and_the_line_keeps_its_cells(text: str) -> None:
    [segment] = WALL.apply([Segment(text, Style(bold=True))], BLACK)
    assert not [char for char in segment.text if is_live(char)]
    assert segment.cell_length == cell_len(text)
    assert segment.style == Style(bold=True)


def test_harmless_lines_pass_as_the_same_object() -> None:
    segments = [Segment("│ plain text ✓"), Segment("漢字 é", Style(color="red"))]
    assert WALL.apply(segments, BLACK) is segments


def test_links_lose_their_address_and_keep_their_look() -> None:
    [segment] = TerminalWall().apply([Segment("click", Style(bold=True, link="https://evil.example"))], BLACK)
    assert segment.style is not None and segment.style.link is None and segment.style.bold


CARELESS_APP = """
from textual.app import App
from textual.widgets import Static, Input, Log, Button
from rich.text import Text
from mcp_studio.tui.walls import WALL
EVIL = "E1\\x1b]0;owned\\x07E2\\x9b31mE3\\u202eE4\\u200bE5\\U000e0041E6"

class Careless(App):
    def get_line_filters(self):
        return [*super().get_line_filters(), WALL]

    def compose(self):
        box = Static(EVIL, markup=False)
        box.styles.border = ("round", "white")
        box.border_title = EVIL.replace("[", "(")
        yield box
        yield Static(Text("linked", style="link https://evil.example/"))
        yield Static("[link='https://evil.example/']linked[/link]")
        yield Input(value=EVIL)
        yield Button(Text(EVIL))
        yield Log()

    def on_ready(self):
        self.query_one(Log).write_line(EVIL)
        self.notify(EVIL, title=EVIL, markup=False)
        self.set_timer(0.3, self.exit)

Careless().run()
"""

# What Textual itself writes: colours, cursor and mode changes, queries of the terminal, the pointer's shape.
OWN = re.compile(rb"\x1b\]22;[a-z-]*\x07|\x1b\[[0-9;?<>=]*[ -/]*[A-Za-z~]|\x1b[()][A-Z0-9]|\x1b[=>78]")


def read_terminal(command: list[str], cwd: Path) -> bytes:
    """Everything that a command writes to a pseudo-terminal of its own, until it ends."""
    master, slave = pty.openpty()
    env = os.environ | {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24", "PYTHONPATH": str(cwd)}
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True)
    os.close(slave)
    data = b""
    try:
        while chunk := os.read(master, 1 << 16):
            data += chunk
    except OSError:  # the other side is closed: that is the end of file on a pseudo-terminal
        pass
    os.close(master)
    assert process.wait(10) == 0, data.decode("utf-8", "replace")
    return data


def test_raw_bytes_of_careless_widgets_on_a_pseudo_terminal_are_harmless() -> None:
    root = Path(__file__).resolve().parents[2]
    data = read_terminal([sys.executable, "-c", CARELESS_APP], root)
    drawn = OWN.sub(b"", data)
    assert b"linked" in drawn and drawn.count(b"E6") >= 5
    assert b"evil.example" not in drawn and b"\x1b]" not in drawn and b"\x07" not in drawn
    text = drawn.decode()
    assert {char for char in text if is_live(char)} <= {"\r", "\n"}
