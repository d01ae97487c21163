"""A server that is hostile in every string, on the command line: on a terminal and in a pipe, as text and as JSON."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pytest

from tests.cli.kit import cli
from tests.harmless import LINES, live_in
from tests.support import SERVERS, python_program, python_server
from tests.walker import Walker

sys.path.insert(0, str(SERVERS))
from raw_offer import HOSTILE, poison
from raw_poison import EXTRA, RICH
from raw_server import TOOLS

MARK = "␛[31m␛[2J"
VERBS: dict[str, tuple[int, str]] = {
    "list tools": (0, "Gives back what it gets." + MARK),
    "list resources": (0, "Text." + MARK),
    "list templates": (0, "Notes by name." + MARK),
    "list prompts": (0, "A greeting." + MARK),
    "search gives back --method substring": (0, "Gives back what it gets." + MARK),
    "call rich": (0, "embedded" + MARK),
    "call page": (0, MARK),
    "call data": (0, "structured" + MARK),
    "call refuse": (1, "It will not" + MARK),
    "call fail --yes": (5, "It went wrong." + MARK),
    "call echo nothing=1": (2, "text" + MARK),
    "call count": (0, "done" + MARK),
    "call die": (4, MARK),
    "call nosuch": (2, "no tool 'nosuch'"),
    "get greet": (2, "who" + MARK),
    "read raw://note": (0, "A note." + MARK),
    "doctor": (0, "raw" + MARK),
}
"""What is typed, the exit code, and what a person sees of the hostile text."""


class Ended(NamedTuple):
    """A run of the program: all that it wrote, standard output alone (in a pipe), and its exit code."""

    everything: bytes
    output: bytes
    code: int


def run(verb: str, *options: str, modern: bool, terminal: bool) -> Ended:
    """Run one verb."""
    server = python_server("raw_poison", "--plain", *(["--modern"] if modern else []))
    words = (*verb.split(), *options, "--", *server)
    if not terminal:
        done = cli(*words)
        return Ended((done.out + done.err).encode(), done.out.encode(), done.code)
    walker = Walker(python_program("-m", "mcp_studio", *words), 200, 50)
    walker.start()
    while walker.process.poll() is None:
        walker.pump(0.05)
    while walker.pump(0.05):
        pass
    walker.close()
    return Ended(walker.written(), b"", walker.process.returncode)


@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "pipe"])
@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
def test_nothing_that_a_server_says_acts_on_a_terminal(options: tuple[str, ...], terminal: bool) -> None:
    modern = terminal is bool(options)
    with ThreadPoolExecutor(3) as pool:
        ended = pool.map(lambda verb: run(verb, *options, modern=modern, terminal=terminal), VERBS)
        for (verb, (code, shown)), done in zip(VERBS.items(), ended, strict=True):
            assert done.code == code, (verb, done.everything.decode())
            assert live_in(done.everything, LINES) == [], verb
            assert terminal or b"\x1b" not in done.everything, verb
            if not options:
                assert shown in done.everything.decode(), verb
            elif not terminal:
                assert json.loads(done.output)["ok"] is (code == 0), verb


def result_of(verb: str, modern: bool = False) -> Any:
    """What `--json` gives."""
    answer = json.loads(run(verb, "--json", modern=modern, terminal=False).output)
    return answer["result"] if answer["ok"] else answer["error"]


@pytest.mark.parametrize("modern", [False, True], ids=["older era", "newer era"])
def test_json_holds_the_very_strings_that_the_server_sent(modern: bool) -> None:
    tools = [entry["definition"] for entry in result_of("list tools", modern)["tools"]]
    assert tools == [{**poison(tool), "name": tool["name"]} for tool in (*TOOLS, *EXTRA)]
    assert result_of("call rich", modern)["content"] == poison(RICH)
    assert result_of("call data", modern)["structuredContent"] == poison({"key": ["value", {"deep": "er"}], "n": 1})
    assert result_of("read raw://note", modern)["contents"][0]["text"] == "A note." + HOSTILE
    refused = result_of("call refuse", modern)
    assert refused["code"] == -32001 and refused["data"] == {"why": "dust" + HOSTILE}
    assert "It will not" + HOSTILE in refused["message"]
