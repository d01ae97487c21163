"""What people get wrong, on the program itself: a clear sentence, the right exit code, and nothing typed is lost."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

from tests.cli.kit import cli
from tests.support import python_server
from tests.transport.stdio_kit import below
from tests.walker import Walker, studio

PYTHON, RAW = python_server("raw_server")
GOOD = f"[servers.good]\ncommand = {json.dumps(PYTHON)}\nargs = [{json.dumps(RAW)}]\n"
SERVER = ("--", PYTHON, RAW)


def run(*argv: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of the program."""
    done = cli(*argv)
    assert "Traceback" not in done.err
    return done.code, done.out, done.err


def configure(home: Path, text: str) -> Path:
    """Write the person's config.toml."""
    file = home / "config" / "config.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return file


# The command line


# The studio


def about(walker: Walker, *shown: str) -> None:
    """Find the page about the studio in the palette, read it and leave it."""
    walker.go("^p")
    walker.paste("about", "About: versions")
    walker.drain(0.5)
    walker.go("enter", "About mcp-studio", *shown)
    walker.go("esc", gone="About mcp-studio")


def test_the_studio_opens_on_a_bad_config_and_tells_where(home: Path) -> None:
    file = configure(home, GOOD + '[servers.bad]\ncomand = "x"\n')
    with studio() as walker:
        walker.shows("r echo", "●1", "1 problem in the configuration")
        about(walker, "servers.bad.comand:", "you mean `command`|`command`", r"\.toml: ")
        assert walker.leave() == 0
    configure(home, "[servers.good\n")
    with studio() as walker:
        walker.shows("Welcome to mcp-studio")
        walker.go("esc", "No servers yet", "1 problem in the configuration", gone="Welcome to")
        about(walker, "TOML: ")
        assert walker.leave() == 0
    assert file.read_text() == "[servers.good\n", "what a person wrote is left alone"


def open_tool(walker: Walker, words: str, shown: str) -> None:
    """Find a tool by the catalog's filter, and go to its first field or button."""
    walker.go("f5 f6 esc")  # the editor of JSON has f6 for itself
    walker.go("/", "filter")
    walker.paste(words, r"\b1 of \d+")
    walker.go("enter", shown)


def servers_below(walker: Walker) -> list[int]:
    """The processes of the helper server, without the guard that watches over it."""
    commands = {pid: Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0") for pid in below(walker.process.pid)}
    return [pid for pid, command in commands.items() if command[:2] == [PYTHON.encode(), RAW.encode()]]


def kill_server(walker: Walker) -> None:
    """End the one server by its id."""
    [pid] = servers_below(walker)
    os.kill(pid, signal.SIGKILL)


def test_a_server_may_be_killed_in_a_call_while_it_asks_under_a_dialog_and_before_approval() -> None:
    with studio(*SERVER) as walker:
        walker.shows("r echo", "⏎ Open")
        open_tool(walker, "Answers after", "3 target › wait")
        walker.go("3 0", r"seconds +30")
        walker.go("^j", "running")
        kill_server(walker)
        walker.shows("✗ no reply", "was ended by SIGKILL", "●1")
        open_tool(walker, "name first", "3 target › ask")
        walker.go("^j", "What is your name")
        walker.go("A d a", r"name \* +Ada")
        kill_server(walker)
        walker.shows("was withdrawn")
        walker.go("q esc", "✗ no reply", gone="What is your name")  # q belongs to the field, and quits nothing
        walker.shows("●1")
        walker.go("^j", "What is your name")
        walker.go("tab tab tab")
        walker.drain(0.3)
        walker.press(b"d")  # its letter declines, on a plain terminal too
        walker.shows("decline", "✓ ok")
        walker.go("f1", "─ Help: ")
        kill_server(walker)
        walker.shows("◐1|was ended by SIGKILL")
        walker.go("esc", "●1", gone="─ Help: ")
        open_tool(walker, "tool error", "3 target › fail")
        walker.go("^j", "Run target.fail")
        kill_server(walker)
        walker.shows("◐1|was ended by SIGKILL")
        walker.drain(0.5)
        walker.go("r", "✗ (not sent|lost|tool error)", gone="Run target.fail")
        assert walker.leave() == 0
