"""The terminal driver: keys arrive, a lone Esc too, and quitting leaves nothing behind."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp_studio.tui.driver import Lasting
from textual.drivers._writer_thread import WriterThread

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")

ROOT = Path(__file__).resolve().parents[2]
APP = """
import asyncio
import threading
from textual.app import App
from textual.widgets import Static
from mcp_studio.tui.driver import StudioDriver
from mcp_studio.tui.run import signals

class Keys(App):
    def compose(self):
        yield Static("")
    def on_mount(self):
        self.write("READY")
    def write(self, text):
        self.query_one(Static).update(f"<{text}>")
    def on_key(self, event):
        self.write(f"key {event.key}")
    def on_paste(self, event):
        self.write(f"paste {event.text}")
    def on_click(self, event):
        self.write(f"click {event.x} {event.y}")
    async def key_f2(self):
        with self.suspend():
            print("AWAY", flush=True)
        self.write("BACK")

async def main():
    app = Keys(driver_class=StudioDriver)
    with signals(app):
        await app.run_async()

asyncio.run(main())
print("LEFT", [thread.name for thread in threading.enumerate()], flush=True)
"""


class Terminal:
    """A program on a pseudo-terminal: type into it, wait for what it draws."""

    def __init__(self, source: str) -> None:
        self.master, slave = pty.openpty()
        self.before = termios.tcgetattr(self.master)
        env = os.environ | {"TERM": "xterm-256color", "PYTHONPATH": str(ROOT), "ESCDELAY": "25"}
        command = [sys.executable, "-c", source]
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True, close_fds=True
        )
        os.close(slave)
        self.drawn = b""

    def type(self, keys: bytes, wanted: str, timeout: float = 60) -> None:
        """Send keys and wait until the text is drawn after them."""
        self.drawn = b""
        os.write(self.master, keys)
        self.wait(wanted, timeout)

    def wait(self, wanted: str, timeout: float = 60) -> None:
        """Wait until the text is drawn."""
        end = time.monotonic() + timeout
        while wanted.encode() not in self.drawn:
            left = end - time.monotonic()
            assert left > 0 and select.select([self.master], [], [], left)[0], f"no {wanted!r} in {self.drawn!r}"
            try:
                self.drawn += os.read(self.master, 1 << 16)
            except OSError:
                pytest.fail(f"ended without {wanted!r}: {self.drawn!r}")

    def close(self) -> None:
        """End what still runs."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(60)
        os.close(self.master)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    """The app above, running."""
    made = Terminal(APP)
    yield made
    made.close()


def test_keys_esc_paste_and_mouse_arrive_and_quitting_ends_all_threads(terminal: Terminal) -> None:
    terminal.wait("<READY>")
    terminal.type(b"j", "<key j>")
    terminal.type(b"\x1b", "<key escape>")
    terminal.type(b"\x1b[A", "<key up>")
    terminal.type(b"\x1bx", "<key alt+x>")
    terminal.type(b"\xc3", "")
    # The driver has to see the half of a character alone: it draws nothing for it.
    assert not select.select([terminal.master], [], [], 0.3)[0]
    terminal.type(b"\xa9", "<key é>")
    terminal.type(b"\xff\xfe", "")  # no text at all
    assert not select.select([terminal.master], [], [], 0.3)[0]
    terminal.type(b"k", "<key k>")
    terminal.type(b"\x1b[200~pasted text\x1b[201~", "<paste pasted text>")
    terminal.type(b"\x1b[<0;5;1M\x1b[<0;5;1m", "<click 4 0>")
    terminal.type(b"\x11", "LEFT ['MainThread']")
    assert terminal.process.wait(60) == 0


def test_the_terminal_can_be_given_away_and_taken_back(terminal: Terminal) -> None:
    terminal.wait("<READY>")
    for _ in range(3):
        terminal.type(b"\x1bOQ", "<BACK>")
        assert b"AWAY" in terminal.drawn
        terminal.type(b"k", "<key k>")
    terminal.type(b"\x11", "LEFT ['MainThread']")


def test_who_is_stopped_without_a_word_reads_the_terminal_once_and_leaves_it_as_it_was(terminal: Terminal) -> None:
    terminal.wait("<READY>")
    terminal.process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, terminal.process.pid, os.WSTOPPED)
    terminal.drawn = b""
    terminal.process.send_signal(signal.SIGCONT)
    terminal.wait("\x1b[?1049h")
    terminal.wait("<READY>")
    terminal.type(b"k", "<key k>")
    terminal.type(b"\x11", "LEFT ['MainThread']")
    assert termios.tcgetattr(terminal.master) == terminal.before


def test_a_terminal_that_goes_away_ends_the_app() -> None:
    made = Terminal(
        APP.replace("asyncio.run", "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\nasyncio.run")
    )
    try:
        made.wait("<READY>")
        os.close(made.master)
        made.master = os.open(os.devnull, os.O_RDONLY)
        made.process.wait(10)
    finally:
        made.close()


class Gone:
    """A terminal that was closed."""

    def write(self, text: str) -> None:
        raise OSError(5, "Input/output error")

    flush = fileno = lambda self, *_: self.write("")


def test_writing_to_a_terminal_that_has_gone_holds_nobody_up() -> None:
    def write() -> None:
        writer = WriterThread(Lasting(Gone()))  # type: ignore[arg-type]
        writer.start()
        for _ in range(100):
            writer.write("x")
        writer.stop()

    writing = threading.Thread(target=write, daemon=True)
    writing.start()
    writing.join(20)
    assert not writing.is_alive()
