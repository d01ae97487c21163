"""A server that is hostile in every string, on the main screen: read from the raw bytes that reach the terminal."""

from __future__ import annotations

from pathlib import Path

from tests.harmless import copied, live_in
from tests.support import python_server
from tests.walker import Walker, studio

COLUMNS, ROWS = 80, 24
"""test_hostile_asking.py walks through a larger size, in the newer era."""
MARK = r"␛\[31m"
"""How hostile text begins where it is shown."""
CUT = r"␛\["
"""The same in lists, where the inside of long names is left out."""


def click(walker: Walker, text: str) -> None:
    """Click on every place where a text is."""
    for row, line in enumerate(walker.text().split("\n")):
        if (column := line.find(text)) >= 0:
            at = f"{column + 3};{row + 1}".encode()
            walker.press(b"\x1b[<0;" + at + b"M\x1b[<0;" + at + b"m")
            walker.pump(0.1)
            walker.drain(0.1)


def everywhere(walker: Walker) -> None:
    """The main screen and what opens over it, without a call."""
    for keys, shown in (("^f", "Search everything"), ("?", "Help: catalog"), ("^p", "Actions, tools, servers")):
        walker.go(keys, shown)
        walker.go("esc", gone=shown)
    walker.go("^f", "Search everything")
    walker.paste("echo", f"echo{CUT}")
    walker.go("down up esc", gone="Search everything")
    walker.go("]", f"A note{CUT}")
    walker.go("]", f"Notes{CUT}")
    walker.go("]", f"greet{CUT}")
    walker.go("[ [ [", "r echo")
    walker.go("/", "filter")
    walker.paste("gnp.exe", r"\d+ of \d+", f"echo{CUT}")
    click(walker, "click me")
    walker.go("esc")


def calls(walker: Walker) -> None:
    """A call and its result."""
    walker.go("/")
    walker.paste("echo", r"\d+ of \d+")
    walker.go("enter", f"echo{MARK}|echo{CUT}")
    walker.paste("hi")
    walker.go("^j", "✓ ok", rf"hi{MARK}")
    click(walker, "click me")
    walker.go("esc esc esc esc")


def test_nothing_of_a_hostile_server_acts(home: Path) -> None:
    browser = home / "browser"
    browser.write_text(f"#!/bin/sh\necho $1 >> {home}/opened\n")
    browser.chmod(0o755)
    env = {"MCP_STUDIO_HOME": str(home), "BROWSER": f"{browser} %s", "DISPLAY": "", "WAYLAND_DISPLAY": ""}
    argv = ("--", *python_server("raw_poison"))
    with studio(*argv, columns=COLUMNS, rows=ROWS, env=env) as walker:
        walker.shows(f"r echo{CUT}", f"w rich{CUT}")
        walker.drain(0.3)
        everywhere(walker)
        calls(walker)
        assert walker.leave() == 0, "it was left by the quit key and nothing else"
    written = walker.written()
    assert live_in(written, clipboard=len(copied(written))) == []
    assert not (home / "opened").exists(), "no address was opened by a click"
    assert all("\x1b" not in text for text in copied(written))
    # The next start draws names from memory first.
    with studio(*argv, columns=COLUMNS, rows=ROWS, env=env) as again:
        again.shows(f"r echo{CUT}")
        assert again.leave() == 0
    assert live_in(again.written()) == []
