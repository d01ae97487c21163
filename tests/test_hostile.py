"""A server that is hostile in every string, on every screen: read from the raw bytes that reach the terminal."""

from __future__ import annotations

import os
import re
import time
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


def to(walker: Walker, key: str) -> None:
    """Go to a pane and see that its keys are there."""
    shown = {"1": "enter Details", "f5": "y Copy", "f8": "enter Detail", "f2": r"pgdn Tab|alt\+h "}
    walker.go(key, shown.get(key, "enter Open"))


def turn(walker: Walker, key: str, wanted: str) -> None:
    """Turn the tabs of the focused pane until one shows something."""
    for _ in range(5):
        before = walker.text()
        walker.go(key)
        end = time.monotonic() + 10
        while not re.search(wanted, walker.text()):
            # It shows another tab, and has had nothing to add to it for a while.
            if time.monotonic() > end or (not walker.pump(1) and walker.text() != before and not walker.busy()):
                break
        else:
            return
    walker.shows(wanted, limit=0)


def scroll(walker: Walker, wanted: str) -> None:
    """Turn the wheel in the middle of the screen until something is there, or nothing moves any more."""
    at = f"{walker.columns // 2};{walker.rows // 2}".encode()
    still = 0
    for _ in range(200):
        before = walker.text()
        if re.search(wanted, before):
            return
        walker.press(b"\x1b[<65;" + at + b"M")
        end = time.monotonic() + 2
        while walker.text() == before and time.monotonic() < end:
            walker.pump(0.05)
        still = still + 1 if walker.text() == before else 0
        if still == 5:
            break
        walker.drain(0.03)
    walker.shows(wanted, limit=0)


def open_tool(walker: Walker, words: str, name: str) -> None:
    """Open a tool by the filter."""
    to(walker, "f6")
    walker.go("/", "│ filter")
    walker.paste(words, r"\b1 of \d+")
    walker.go("enter", rf"3 target\.{name}{MARK}", gone="enter Open")
    to(walker, "esc")
    walker.go("esc", "/ filter")
    to(walker, "f2")


def everywhere(walker: Walker) -> None:
    """All screens that do without a call."""
    walker.shows(f"r echo{CUT}", f"w rich{CUT}", "1/1 servers")
    for keys, shown, leave in (
        ("^o", "a Servers", "esc"), ("f1", "Help: Catalog", "esc"), ("^p", "─ Commands ─", "esc"),
        ("f12", "What is running", "esc"), ("alt+t", "[Tt]heme", "esc"),
    ):  # fmt: skip
        walker.go(keys, shown)
        walker.go(leave, gone=shown)
    walker.go("]", f"A note{CUT}")
    walker.go("]", f"Notes{CUT}")
    walker.go("]", f"greet{CUT}")
    walker.go("]", "r echo")
    walker.go("/", "│ filter")
    walker.paste("gnp.exe", r"(\d+) of \1", f"echo{CUT}")
    walker.go("esc esc", "/ filter")
    to(walker, "1")
    walker.go("enter", "raw_poison")
    scroll(walker, "│ stderr")
    scroll(walker, "│ +FORGED")
    scroll(walker, r"\[@click=app.quit\]click +me|\[@click=app.quit\]click")
    click(walker, "click me")
    walker.go("esc", gone="y Copy")
    walker.go("d", "Remove target")
    walker.go("n", gone="Remove target")


def calls(walker: Walker) -> None:
    """Calls and their results, good and bad, in all views."""
    open_tool(walker, "echo", "echo")
    walker.go("h i", r"text.* hi +│")
    walker.go("^j", "✓ ok", rf"hi{MARK}")
    click(walker, "click me")
    to(walker, "f5")
    walker.go("]", "no structured part")
    turn(walker, "]", '"content"')
    turn(walker, "[", rf"│ hi{MARK}")
    open_tool(walker, "rich", "rich")
    walker.go("^j", "✓ ok", "A heading", r"hologram\\x1b\[31m")
    to(walker, "f5")
    turn(walker, "]", '"content"')
    turn(walker, "[", "│ # A heading")
    walker.go("f10", gone="1 Servers")
    scroll(walker, "▌ link · linked" + MARK)
    click(walker, "click me")
    walker.go("f10", "1 Servers")
    open_tool(walker, "page", "page")
    walker.go("^j", "✓ ok", "A heading")
    for text in ("click me", "a link", "evil.example/auto", "an image"):
        click(walker, text)
    open_tool(walker, "data", "data")
    walker.go("^j", "✓ ok", "structured" + MARK)
    to(walker, "f5")
    walker.go("]", "value")
    walker.go("[", "structured" + MARK)
    open_tool(walker, "refuse", "refuse")
    walker.go("^j", "✗", "not" + MARK)
    open_tool(walker, "fail", "fail")
    walker.go("^j", f"Run target.fail{MARK}")
    walker.go("y", "tool error", "It went wrong." + MARK)
    open_tool(walker, "count", "count")
    walker.go("9 9 tab 0 . 2", r"pause.* 0\.2 ")
    walker.go("^j", r"running .*%", rf"│ \d+{MARK}")
    to(walker, "f5")
    walker.go("x", "stopped after")


def questions(walker: Walker) -> None:
    """What the server asks, and every answer to it."""
    open_tool(walker, "first.", "ask")
    for keys, answered in (("^j", "accept"), ("alt+d", "decline"), ("alt+c", "cancel")):
        walker.go("^j", "target asks", rf"name\?{MARK}", f"name{MARK}")
        walker.go("A d a", r"name.* Ada ")
        click(walker, "click me")
        walker.go(keys, f'"{answered}"', "✓ ok", gone="target asks")
    to(walker, "f2")
    walker.go("^j", "target asks")
    walker.go("esc", "It waits", gone="target asks")
    to(walker, "f6")
    walker.go("f4", "target asks")
    click(walker, "click me")
    walker.go("alt+d", '"decline"', gone="target asks")
    open_tool(walker, "nudge", "nudge")
    walker.go("^j", "later" + MARK)
    to(walker, "f6")
    walker.go("/", "│ filter", "target asks: ", f"name.{MARK}")
    walker.go("esc", "/ filter")


def wire(walker: Walker) -> None:
    """The trace, its filter, and everything about one exchange."""
    to(walker, "f8")
    walker.go("/", "│ filter")
    walker.paste("gnp.exe", r"\d+ of \d+")
    walker.go("enter", "tools/call|notifications")
    walker.go("end")
    walker.go("enter", r"\] Next tab|\^pgdn Tab")
    for _ in range(5):
        walker.go("]")
    walker.go("esc", "enter Detail", gone=r"\] Next tab|\^pgdn Tab")
    walker.go("esc", gone=r"│ gnp\.exe  +│")
    walker.go("M", "─ Comment")
    walker.paste("[@click=app.quit]my\x1b[31m words")
    walker.go("^j", gone="─ Comment")
    walker.go("S", "─ Sessions 2")
    walker.go("end", r"click me\[|no session")
    walker.go("enter", "cannot be opened")
    walker.go("esc", gone="─ Sessions")
    walker.go("f11", "Servers 1 . Methods", rf"│ (echo|refuse){MARK}")
    turn(walker, "]", r"│ target +\d")
    turn(walker, "]", rf"│ (echo|refuse){MARK}")
    walker.go("]", MARK)
    walker.go("esc", gone="Methods")


def offers(walker: Walker) -> None:
    """Resources, templates and prompts; every kind of field, as form, as JSON, as it was defined."""
    open_tool(walker, "field", "form")
    for _ in range(8):
        walker.go("tab")
    walker.go("^pgdn", r"│ +1 +{")
    walker.go("^pgdn", "▾ {  4 keys")
    walker.go("down down down down enter down enter down enter pgdn pgdn")
    walker.go("^pgup", r"│ +1 +{")
    walker.go("^pgup")
    to(walker, "esc")
    walker.go("]", f"A note{CUT}")
    walker.go("enter", f"3 target.*note{MARK}")
    walker.go("^j", "✓ ok", f"A note.{MARK}")
    to(walker, "f6")
    walker.go("]", f"Notes{CUT}")
    walker.go("enter", "3 target.raw://notes", gone="enter Open")
    walker.go("x", r"name.* x ")
    walker.go("^j", "✓ ok", f"A note.{MARK}")
    to(walker, "f6")
    walker.go("]", f"greet{CUT}")
    walker.go("enter", "who", gone="enter Open")
    walker.go("A d a", r"who.* Ada ")
    walker.go("^j", "✓ ok", f"Greet nobody.{MARK}")
    to(walker, "f6")
    walker.go("]", f"echo{CUT}")
    to(walker, "f5")
    walker.go("w", "─ Save")
    walker.go("esc", gone="─ Save")
    walker.go("y", "Copied")


def servers(walker: Walker) -> None:
    """Adding the hostile server itself; one that dies in the middle of a call; how that is told."""
    python, *words = python_server("raw_poison")
    walker.go("^n", "Add server")
    walker.paste(f"{python} {' '.join(words)}", "Ready to")
    walker.go("^t", "connected in", r"13 tools")
    walker.go("esc", gone="Add server")
    open_tool(walker, "Ends.", "die")
    walker.go("^j", "connection lost|exit code 7")
    to(walker, "f8")
    walker.go("x", "─ How target ended", f"out of memory{MARK}|exit code 7")
    walker.go("esc", gone="─ How target ended")
    to(walker, "1")
    walker.go("enter", "raw_poison")
    scroll(walker, f"memory{MARK}")
    walker.go("esc", gone="y Copy")
    open_tool(walker, "Adds two", "add")
    walker.go("^j", "is required", "2 errors")


PARTS = (everywhere, calls, wire, questions, offers, servers)


def test_nothing_of_a_hostile_server_acts(home: Path) -> None:
    browser = home / "browser"
    browser.write_text(f"#!/bin/sh\necho $1 >> {home}/opened\n")
    browser.chmod(0o755)
    sessions = home / "state" / "trace"
    sessions.mkdir(parents=True)
    (sessions / os.fsdecode(b"2000\xff\x1b[31m[@click=app.quit]click me[.trace")).write_bytes(b"\x1b[31mnone")
    env = {"MCP_STUDIO_HOME": str(home), "BROWSER": f"{browser} %s", "DISPLAY": "", "WAYLAND_DISPLAY": ""}
    argv = ("--", *python_server("raw_poison"))
    with studio(*argv, columns=COLUMNS, rows=ROWS, env=env) as walker:
        walker.shows(f"r echo{CUT}", f"w rich{CUT}", "1/1 servers", "enter Open")
        walker.drain(0.3)
        for part in PARTS:
            part(walker)
        assert walker.leave() == 0, "it was left by the quit key and nothing else"
    written = walker.written()
    assert live_in(written, clipboard=len(copied(written))) == []
    assert not (home / "opened").exists(), "no address was opened by a click"
    *links, last = copied(written)
    assert all(link.startswith("http://evil.example/") for link in links), "only what was clicked or asked for"
    assert "Greet nobody." in last and "click me" in last
    # The next start draws names from memory first.
    with studio(*argv, columns=COLUMNS, rows=ROWS, env=env) as again:
        again.shows("Nothing is open")
        assert again.leave() == 0
    assert live_in(again.written()) == []
