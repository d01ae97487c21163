"""Reading what a person types, a line at a time, without blocking the engine."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, nullcontext, suppress
from getpass import getpass
from typing import Any

from mcp_studio.errors import UsageError
from mcp_studio.safetext import safe

try:
    import termios
except ImportError:  # Windows
    termios = None

_LONGEST = 1024 * 1024
"""Bytes of one typed line."""


class EndOfInput(Exception):
    """The person closed the input (Ctrl-D)."""


class Left(Exception):
    """The person typed `:decline` or `:cancel`; the argument is the action."""


def can_ask() -> bool:
    """Whether there is somebody at a terminal who sees questions and can answer them."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def say(*lines: str) -> None:
    """Lines of our own words; foreign parts of them have to be safe already."""
    for line in lines:
        prompt(line + "\n")


def prompt(text: str) -> None:
    """The same without an end of the line."""
    sys.stderr.write(text)
    sys.stderr.flush()


def frame(text: str) -> None:
    """Foreign text behind a bar on every line: a server cannot draw what looks like ours."""
    say(*(f"  │ {line}" for line in safe(text, 20_000, lines=True).split("\n")))


class Lines:
    """Lines of the terminal; only while `read` waits is anything taken from it."""

    def __init__(self) -> None:
        self._text = b""

    async def answer(self, question: str, *, hidden: bool = False) -> str:
        """Ask for one line; `hidden`: what is typed is not shown.

        Raises:
            Left: it is one of the words that leave a question.
            EndOfInput: there is no more.
        """
        prompt(question)
        text = await self.read(hidden=hidden)
        if text.strip() in (":decline", ":cancel"):
            raise Left(text.strip().removeprefix(":"))
        return text

    async def read(self, *, hidden: bool = False) -> str:
        """The next line without its end; `hidden`: what is typed is not shown.

        Raises:
            EndOfInput: there is no more.
        """
        with _no_echo() if hidden else nullcontext():
            while b"\n" not in self._text:
                data = await self._wait()
                if len(self._text) > _LONGEST or not (data or self._text):
                    raise EndOfInput
                self._text += data or b"\n"
        if hidden:
            say("")
        line, _, self._text = self._text.partition(b"\n")
        return line.decode("utf-8", "replace").rstrip("\r")

    async def _wait(self) -> bytes:
        if sys.platform == "win32":
            return (await asyncio.to_thread(sys.stdin.readline)).encode()
        loop, ready = asyncio.get_running_loop(), asyncio.Event()
        with suppress(PermissionError):  # a file can be read at once
            loop.add_reader(0, ready.set)
            try:
                await ready.wait()
            finally:
                loop.remove_reader(0)
        try:
            return os.read(0, 65_536)
        except OSError:
            return b""


_modes: list[Any] = []
"""The modes of the terminal as they were, while it shows nothing of what is typed."""


@contextmanager
def _no_echo() -> Generator[None]:
    """Show nothing of what is typed."""
    if termios is None or not os.isatty(0):
        yield
        return
    _modes[:] = termios.tcgetattr(0)
    changed = termios.tcgetattr(0)
    changed[3] &= ~termios.ECHO
    termios.tcsetattr(0, termios.TCSANOW, changed)
    try:
        yield
    finally:
        _reset()


def restore() -> None:
    """Reset the terminal where nobody has ended the line, also while a thread still waits for it."""
    if _modes:
        _reset()
        say("")


def _reset() -> None:
    if _modes and termios is not None:
        with suppress(OSError, termios.error):
            termios.tcsetattr(0, termios.TCSANOW, _modes)
        _modes.clear()


async def agrees(lines: Lines, question: str) -> bool:
    """Ask a question that is answered by yes or no; no where nothing is typed.

    Raises:
        EndOfInput: there is nobody any more.
    """
    prompt(f"{question} [y/N] ")
    return (await lines.read()).strip().lower() in ("y", "yes")


def confirm(question: str) -> bool:
    """The same without an event loop. Blocks."""
    with suppress(EndOfInput):
        return asyncio.run(agrees(Lines(), question))
    return False


def typed(text: str) -> str:
    """One line, not shown. Blocks, and wants a thread without an event loop.

    Raises:
        EndOfInput: there is none.
    """
    if sys.platform == "win32":
        return getpass(text)
    prompt(text)
    return asyncio.run(Lines().read(hidden=True))


def private(question: str) -> str:
    """What is typed without being shown, or all of standard input; empty where the person ends the input.

    Raises:
        UsageError: it is no text.
    """
    try:
        return typed(question) if can_ask() else sys.stdin.buffer.read().decode()
    except EndOfInput:
        return ""
    except UnicodeDecodeError:
        raise UsageError("Standard input is not UTF-8 text.") from None


_SHORTEST = 8
_asked: list[bool] = []
"""What was asked for in this process: a passphrase that opened the file is not asked for again."""


def ask(new: bool) -> str:
    """Ask for the passphrase of the encrypted file; empty where nobody is there, or gives none. Blocks.

    Args:
        new: it is to be made up, and typed twice.
    """
    if not can_ask():
        return ""
    try:
        if new:
            return _new()
        if _asked:
            say("That passphrase does not open the file.")
        _asked.append(new)
        return typed("Passphrase of the encrypted secrets: ")
    except EndOfInput:
        return ""


def _new() -> str:
    say("Secrets are stored in a file here that is encrypted under a passphrase. There is none yet: make one up.")
    while first := typed(f"New passphrase ({_SHORTEST} characters or more): "):
        if len(first) < _SHORTEST:
            say(f"That is too short: it has {len(first)} characters.")
        elif typed("The same again: ") == first:
            return first
        else:
            say("These two are not the same.")
    return ""
