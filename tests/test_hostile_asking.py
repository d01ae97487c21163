"""A server that is hostile in all that it asks and tells by itself: the bytes that reach the terminal."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cli.kit import Done, cli
from tests.harmless import LINES, copied, live_in
from tests.support import python_server
from tests.test_hostile import click
from tests.walker import Walker, studio

MARK = r"␛\[31m"


def call(walker: Walker, name: str, *shown: str) -> None:
    """Open a tool by the filter, and run it."""
    walker.go("esc esc f6", "enter Open")
    walker.go("/", "│ filter")
    walker.paste(f"Does {name}.", r"\b1 of \d+")
    walker.go("enter", rf"3 target\.{name}\b")
    walker.go("esc esc f2 ^j", *shown)


def forms(walker: Walker) -> None:
    """Every kind of field, walked through, refused, accepted, put off; and a rule of it."""
    call(walker, "forms", "target asks", f"words.*{MARK}|FORGED")
    click(walker, "click me")
    walker.go("tab down tab down tab down space tab down space tab down space tab x ^j", "Not sent|✗ ")
    walker.go("pgdn pgdn end home pgup")
    walker.go("alt+d", gone="target asks")
    walker.go("alt+r", "Make a rule")
    walker.go("esc", gone="Make a rule")
    call(walker, "long", "target asks", "long long")
    walker.go("pgdn pgdn alt+c", gone="target asks")


def pages(walker: Walker) -> None:
    """Pages that are asked for, and that a call needs; nothing is opened."""
    call(walker, "visit", "target asks you to", "xn--bcher-kva.example", "b\u00fccher.example")
    lines = [line for line in walker.text().split("\n") if "host     bank.example" in line]
    assert all(line.partition("host ")[0].rstrip().endswith("│ │") for line in lines), "a bar stands before each line"
    walker.go("pgdn")
    click(walker, "click me")
    walker.go("d", gone="target asks you to")
    call(walker, "odd", "blanks, control characters")
    walker.go("o", "Not opened")
    walker.go("d", gone="target asks you to")
    call(walker, "locked")
    walker.drain(0.2)
    if "target asks you to" in walker.text():
        walker.go("c", gone="target asks you to")


def models(walker: Walker) -> None:
    """Requests for a reply of a model."""
    for name in ("sample", "huge"):
        call(walker, name, "reply of a model", f"system|{MARK}")
        click(walker, "click me")
        walker.go("alt+u alt+j alt+j")
        walker.go("alt+d", gone="reply of a model")


def told(walker: Walker) -> None:
    """What is told: log messages, progress, updates, tasks; what a result has besides text."""
    call(walker, "talk", "talked")
    walker.go("f3", "Log of ", MARK)
    walker.go("down enter", "Timeline")
    walker.go("esc esc", gone="Log of ")
    call(walker, "work")
    walker.drain(0.3)
    call(walker, "draw", "✓ ok")
    walker.go("f5 n n n n n N N", MARK)
    walker.go("o")
    walker.go("n esc")
    click(walker, "click me")
    for key in ("f12", "f4", "^p"):
        walker.go(key)
        walker.go("down enter")
        walker.go("esc esc")


def lists(walker: Walker) -> None:
    """Every list, page by page, its changes, what is completed, and what is watched."""
    walker.go("esc esc f6", "enter Open")
    for _ in range(5):
        walker.go("]")
        walker.go("enter")
        walker.go("A")
        walker.drain(0.2)
        walker.go("down enter esc f6 s a p")
        walker.drain(0.2)
        walker.go("] esc f6")
    walker.go("1 l", "Log")
    walker.go("esc", gone="Log of target")
    walker.go("1 f", "Roots")
    walker.go("esc", gone="Roots")
    walker.go("1 e", "Edit")
    walker.go("esc 1 enter")
    walker.go("pgdn pgdn end esc")
    walker.go("f8 end enter ] ] ] esc up enter ] ] esc esc")


PARTS = (forms, pages, models, told, lists)


def test_nothing_that_a_hostile_server_asks_or_tells_acts(home: Path) -> None:
    browser = home / "browser"
    browser.write_text(f"#!/bin/sh\necho $1 >> {home}/opened\n")
    browser.chmod(0o755)
    env = {"MCP_STUDIO_HOME": str(home), "BROWSER": f"{browser} %s", "DISPLAY": "", "WAYLAND_DISPLAY": ""}
    argv = ("--", *python_server("raw_poison_asks", "--modern"))
    with studio(*argv, columns=120, rows=36, env=env) as walker:
        walker.shows("1/1 servers", "enter Open")
        walker.drain(0.3)
        for part in PARTS:
            part(walker)
        assert walker.leave() == 0, "it was left by the quit key and nothing else"
    written = walker.written()
    assert live_in(written, clipboard=len(copied(written))) == []
    assert not (home / "opened").exists(), "no address was opened without consent"


VERBS = {
    "tasks list": 0, "doctor": 0, "send tools/list": 0, "send foo/bar": 1, "call talk --log-level debug": 0,
    "call draw": 0, "call locked": 6, "call forms": 6, "call visit": 6, "call sample": 6, "call huge": 6,
    "complete greet who=A": 0,
}  # fmt: skip
"""What is typed, and the exit code."""


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
def test_nothing_of_it_acts_on_the_command_line(options: tuple[str, ...]) -> None:
    server = python_server("raw_poison_asks", *(["--modern"] if options else []))

    def run(verb: str) -> Done:
        return cli(*verb.split(), *options, "--", *server)

    with ThreadPoolExecutor(3) as pool:
        for (verb, code), done in zip(VERBS.items(), pool.map(run, VERBS), strict=True):
            everything = (done.out + done.err).encode()
            assert b"\x1b" not in everything and live_in(everything, LINES) == [], verb
            assert b"Traceback" not in everything, everything.decode()
            if options:
                assert "ok" in done.json, verb
            else:
                assert done.code == code, (verb, everything.decode())
                assert not any(line.startswith("host     bank") for line in done.err.split("\n")), verb
