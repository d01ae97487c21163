"""Reading what a person types, a line at a time, without blocking the engine."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from getpass import getpass
from typing import Any

from mcp_studio.safetext import safe

try:
    import termios
except ImportError:  # Windows
    termios = None

_LONGEST = 64 * 1024
"""Bytes of one typed line."""


class EndOfInput(Exception):
    """The person closed the input (Ctrl-D)."""


def can_ask() -> bool:
    """Whether there is somebody at a terminal who sees questions and can answer them."""
    return sys.stdin.isatty() and sys.stderr.isatty()


class Lines:
    """Lines of a terminal; only while `read` waits is anything taken from it."""

    def __init__(self, fd: int = 0) -> None:
        self._fd = fd
        self._text = b""

    async def read(self, *, hidden: bool = False, long: bool = False) -> str:
        """The next line without its end.

        Args:
            hidden: what is typed is not shown.
            long: it may be longer than the 4,095 bytes that a terminal which edits lines by itself takes.

        Raises:
            EndOfInput: there is no more.
        """
        with _without("ECHO" if hidden else "ICANON" if long else "", self._fd):
            while b"\n" not in self._text:
                data = await self._wait()
                if not data or data == b"\x04" or len(self._text) > _LONGEST:
                    raise EndOfInput
                self._text += data
        if hidden:
            say("")
        line, _, self._text = self._text.partition(b"\n")
        while long and (found := _ERASED.search(line)):
            line = line[: found.start()] + line[found.end() :]
        return line.decode("utf-8", "replace").rstrip("\r")

    async def _wait(self) -> bytes:
        if sys.platform == "win32":
            return (await asyncio.to_thread(sys.stdin.readline)).encode()
        loop, ready = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._fd, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(self._fd)
        try:
            return os.read(self._fd, 4096)
        except OSError:
            return b""


_ERASED = re.compile(rb"[^\x7f\x08]?[\x7f\x08]|.*\x15", re.DOTALL)
"""What backspace and ctrl+u take out of a line that the terminal does not edit."""
_before: dict[int, list[Any]] = {}
"""How terminals were whose modes are changed at the moment."""


@contextmanager
def _without(mode: str, fd: int) -> Generator[None]:
    """Switch a mode of a terminal off: `ECHO`, or `ICANON`, which edits lines."""
    if termios is None or not mode or not os.isatty(fd):
        yield
        return
    _before[fd] = termios.tcgetattr(fd)
    changed = termios.tcgetattr(fd)
    changed[3] &= ~getattr(termios, mode)
    termios.tcsetattr(fd, termios.TCSANOW, changed)
    try:
        yield
    finally:
        _set_back()


def restore() -> None:
    """Set terminals back where nobody has ended the line, also while a thread still waits for it."""
    if _before:
        _set_back()
        say("")


def _set_back() -> None:
    while _before and termios is not None:
        with suppress(OSError, termios.error):
            fd, before = _before.popitem()
            termios.tcsetattr(fd, termios.TCSANOW, before)


class Left(Exception):
    """The person said `:decline` or `:cancel`; the argument is the action."""


def leave(text: str) -> None:
    """Raise `Left` where a line is one of the words that leave a question."""
    if text.strip() in (":decline", ":cancel"):
        raise Left(text.strip().removeprefix(":"))


def say(text: str) -> None:
    """One line of our own words; foreign parts of it have to be safe already."""
    prompt(text + "\n")


def prompt(text: str) -> None:
    """The same without an end of the line."""
    sys.stderr.write(text)
    sys.stderr.flush()


async def agrees(lines: Lines, question: str) -> bool:
    """Ask a question that is answered by yes or no; no where nothing is typed.

    Raises:
        EndOfInput: there is nobody any more.
    """
    prompt(f"{question} [y/N] ")
    return (await lines.read()).strip().lower() in ("y", "yes")


def frame(text: str) -> None:
    """Foreign text behind a bar on every line: a server cannot draw what looks like ours."""
    for line in safe(text, 20_000, lines=True).split("\n"):
        say(f"  │ {line}")


_TRIES = 3
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
    except EOFError:
        return ""


def _new() -> str:
    say("Secrets are kept in a file here that is encrypted under a passphrase. There is none yet: make one up.")
    for _ in range(_TRIES):
        first = typed(f"New passphrase ({_SHORTEST} characters or more): ")
        if not first:
            break
        if len(first) < _SHORTEST:
            say(f"That is too short: it has {len(first)} characters.")
        elif typed("The same again: ") == first:
            return first
        else:
            say("These two are not the same.")
    return ""


def typed(text: str) -> str:
    """One line, not shown.

    Raises:
        EOFError: there is none.
    """
    if sys.platform == "win32":
        return getpass(text)
    prompt(text)
    line = b""
    with _without("ECHO", 0):
        # Byte by byte: what is typed ahead is for whoever reads next.
        while not line.endswith(b"\n"):
            byte = os.read(0, 1)
            if not byte:
                raise EOFError
            line += byte
    say("")
    return line[:-1].decode("utf-8", "replace").rstrip("\r")
