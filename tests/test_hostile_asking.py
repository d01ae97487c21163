"""A server that is hostile in all that it asks and tells by itself: the bytes that reach the terminal."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cli.kit import Done, cli
from tests.harmless import LINES, copied, live_in
from tests.support import python_server
from tests.walker import Walker, studio

MARK = r"␛\[31m"


def click(walker: Walker, text: str) -> None:
    """Click on every place where a text is."""
    for row, line in enumerate(walker.text().split("\n")):
        if (column := line.find(text)) >= 0:
            at = f"{column + 3};{row + 1}".encode()
            walker.press(b"\x1b[<0;" + at + b"M\x1b[<0;" + at + b"m")
            walker.drain(0.1)


def call(walker: Walker, name: str, *shown: str) -> None:
    """Open a tool by the filter, and run it."""
    walker.go("esc esc esc 2 / ^u")
    walker.paste(f"Does {name}.", r"\b\d+ of \d+")
    walker.go("enter", rf"3 target › {name}\b")
    walker.go("^j", *shown)


def answer(walker: Walker, button: str, title: str) -> None:
    """Press a button of the dialog."""
    for _ in range(5):  # a dialog that came by itself is deaf at first
        walker.drain(0.6)
        click(walker, button)
        if title not in walker.text():
            return
    walker.shows(title, gone=True)


def forms(walker: Walker) -> None:
    """Every kind of field, walked through and refused; and a rule of the answer."""
    call(walker, "forms", "target requests input", f"words.*{MARK}|FORGED")
    click(walker, "click me")
    walker.go("tab down tab space ^j", "Not sent|✗ ")
    walker.go("pgdn end")
    answer(walker, "Decline", "target requests input")
    walker.go("^p", "Actions, tools, servers")
    walker.paste("answer rule", "Answer rule")
    walker.shows("Search everything", gone=True)  # which the list has until it is narrowed
    walker.go("enter", "Written at the top")
    walker.go("esc", gone="Written at the top")


def pages(walker: Walker) -> None:
    """A page that is asked for; nothing is opened, and no line of it looks like one of the studio."""
    call(walker, "visit", "target requests that you open", "xn--bcher-kva.example", "b\u00fccher.example")
    lines = [line for line in walker.text().split("\n") if "host     bank.example" in line]
    assert all(line.partition("host ")[0].rstrip().endswith("▌") for line in lines), "a bar stands before each line"
    click(walker, "click me")
    answer(walker, "Decline", "target requests that you open")


def models(walker: Walker) -> None:
    """A request for a completion of an LLM, with huge numbers and tools."""
    call(walker, "huge", "requests an LLM completion", f"system|{MARK}")
    click(walker, "click me")
    click(walker, "Reply as JSON")
    answer(walker, "Decline", "requests an LLM completion")


def told(walker: Walker) -> None:
    """What is told: log messages, progress, tasks; what a result has besides text; details and trace of it all."""
    call(walker, "talk", "talked")
    walker.go("esc esc 1 ^p", "Actions, tools, servers")
    walker.paste("log messages of all", "Log messages of all")
    walker.go("enter", MARK)
    walker.go("down enter esc esc")
    walker.go("1 enter pgdn esc")
    call(walker, "draw", "✓ ok")
    click(walker, "click me")
    call(walker, "work")
    walker.go("! esc 5 end enter ] esc")


PARTS = (forms, pages, models, told)


def test_nothing_that_a_hostile_server_asks_or_tells_acts(home: Path) -> None:
    browser = home / "browser"
    browser.write_text(f"#!/bin/sh\necho $1 >> {home}/opened\n")
    browser.chmod(0o755)
    env = {"MCP_STUDIO_HOME": str(home), "BROWSER": f"{browser} %s", "DISPLAY": "", "WAYLAND_DISPLAY": ""}
    argv = ("--", *python_server("raw_poison_asks", "--modern"))
    with studio(*argv, columns=120, rows=36, env=env) as walker:
        walker.shows("●1", "target")
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
