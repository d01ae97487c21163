"""What is said on standard error while a question is asked on the terminal."""

from __future__ import annotations

import sys

from mcp_studio.safetext import safe


class Left(Exception):
    """The person said `:decline` or `:cancel`; the argument is the action."""


WORDS = {":decline", ":cancel"}


def leave(text: str) -> None:
    """Raise `Left` where a line is one of the words that leave a question."""
    if text.strip() in WORDS:
        raise Left(text.strip().removeprefix(":"))


def say(text: str) -> None:
    """One line of our own words; foreign parts of it have to be safe already."""
    prompt(text + "\n")


def prompt(text: str) -> None:
    """The same without an end of the line."""
    sys.stderr.write(text)
    sys.stderr.flush()


def frame(text: str) -> None:
    """Foreign text behind a bar on every line: a server cannot draw what looks like ours."""
    for line in safe(text, 20_000, lines=True).split("\n"):
        say(f"  │ {line}")
