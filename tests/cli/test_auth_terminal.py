"""Signing in at a terminal: pasted addresses, step by step, passphrases, questions of verbs, ctrl+c."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator

import pytest

from mcp_studio.paths import Paths
from tests.cli.kit import argv, ends_at, environment
from tests.cli.test_terminal import finish
from tests.servers.auth_server import World, threaded
from tests.terminal import Terminal

Start = Callable[..., Terminal]
PASSPHRASE = "correct horse battery"
WIDE = 400
"""Columns: an address stands on one line."""


@pytest.fixture
def world() -> Iterator[World]:
    with threaded() as found:
        file = Paths.default().config_file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'[secrets]\nstore = "memory"\n[auth]\nbrowser = "none"\n[servers.mine]\nurl = "{found.url}"\n')
        yield found


@pytest.fixture
def terminal() -> Iterator[Start]:
    """Starts command lines on terminals of their own; they end with the test."""
    running: list[Terminal] = []

    def start(*words: str, passphrase: str = PASSPHRASE) -> Terminal:
        env = environment(NO_COLOR="1", MCP_STUDIO_PASSPHRASE=passphrase, SSH_CONNECTION="a 1 192.0.2.9 22", USER="ada")
        started = Terminal(argv(*words), env=env, columns=WIDE, rows=50)
        started.start()
        running.append(started)
        return started

    yield start
    for started in running:
        started.close()
        if started.process.poll() is None:
            started.process.kill()
            started.process.wait(10)


def page(screen: Terminal) -> str:
    """The address to open, which stands alone on its line."""
    screen.until("paste that address here")
    (found,) = set(re.findall(r"^(http://\S+/authorize\?\S+) *$", screen.text(), re.MULTILINE))
    return found


def test_over_ssh_the_address_is_pasted_after_a_wrong_one(world: World, terminal: Start) -> None:
    screen = terminal("auth", "login", "mine")
    url = page(screen)
    assert "ssh -N -L 7338:127.0.0.1:7338 ada@192.0.2.9" in re.sub(r"\b\d{5}\b", "7338", screen.text())
    for part in (b"http://127.0.0.1:7338/callback?code=", *[b"x" * 1_000] * 6, b"&state=y\n"):  # terminals cut lines
        screen.press(part)
        screen.pump(0.05)
    screen.until("another state than was sent|not the address that")
    screen.press(b"oops\x15hm\x7f\x7f" + ends_at(url).encode() + b"\n")
    assert finish(screen) == 0
    assert "Signed in to mine" in screen.text()


def test_ctrl_c_ends_it_in_order(world: World, terminal: Start) -> None:
    screen = terminal("auth", "login", "mine")
    page(screen)
    os.kill(screen.process.pid, signal.SIGINT)
    assert finish(screen) == 130
    assert "interrupted" in screen.text() and "Traceback" not in screen.text()


def test_step_by_step_each_request_is_shown_and_waits(world: World, terminal: Start) -> None:
    screen = terminal("auth", "login", "mine", "--step")
    screen.until("Enter sends it")
    assert not world.requests and f"│ POST {world.url}" in screen.text()
    screen.press(b"\n")
    screen.until("oauth-protected-resource[^~]*Enter sends it")
    assert len(world.requests) == 1 and "│ HTTP" not in screen.text().split("POST")[0]
    screen.press(b"r\n")
    page(screen)
    assert world.seen("/register")
    screen.press(b":cancel\n")
    assert finish(screen) == 3


def test_a_verb_offers_the_sign_in_and_goes_on_and_a_call_that_needs_more_asks(world: World, terminal: Start) -> None:
    screen = terminal("call", "mine.read_notes")
    for reason in ("requires you to sign in", r"read_notes is waiting[^~]*notes:read"):
        screen.until(rf"{reason}[^~]*Sign in now\? \[y/N\]")
        screen.chunks.clear()
        screen.press(b"y\n")
        screen.press(ends_at(page(screen)).encode() + b"\n")
    assert finish(screen) == 0
    assert "read_notes: done" in screen.text() and "withdrawn" not in screen.text()


def test_who_says_no_has_not_signed_in(world: World, terminal: Start) -> None:
    screen = terminal("list", "tools", "--server", "mine")
    screen.until(r"Sign in now\?")
    screen.press(b"n\n")
    assert finish(screen) == 3
    assert "mcp-studio auth login mine" in screen.text() and not world.seen("/register")


def test_a_passphrase_is_made_up_asked_for_and_never_shown(world: World, terminal: Start) -> None:
    file = Paths.default().config_file
    file.write_text(file.read_text().replace('"memory"', '"file"'))
    screen = terminal("auth", "login", "mine", "--timeout", "60", passphrase="")
    for typed, then in ((b"short", "too short"), (b"long enough", "again"), (b"other one!", "not the same")):
        screen.until(r"(?:characters or more\)|again): *\n\s*$")
        screen.press(typed + b"\n")
        screen.until(then)
    for _ in range(2):
        screen.until(r"(?:characters or more\)|again): *\n\s*$")
        screen.press(PASSPHRASE.encode() + b"\n")
    screen.press(ends_at(page(screen)).encode() + b"\n")
    assert finish(screen) == 0
    later = terminal("auth", "status", "mine", passphrase="")
    for typed in ("no such passphrase", PASSPHRASE):
        later.until(r"Passphrase of the encrypted secrets: *\n\s*$")
        later.press(typed.encode() + b"\n")
        later.until("does not open the file|can be revoked")
    assert finish(later) == 0
    said = later.text() + screen.text()
    assert "does not open the file" in said and "no such" not in said and PASSPHRASE not in said
