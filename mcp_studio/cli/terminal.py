"""Reading what a person types, a line at a time, without blocking the engine."""

from __future__ import annotations

import asyncio
import os
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

    async def read(self, *, hidden: bool = False) -> str:
        """The next line without its end; `hidden` does not show what is typed.

        Raises:
            EndOfInput: there is no more.
        """
        with silent(self._fd) if hidden else _nothing():
            while b"\n" not in self._text:
                data = await self._wait()
                if not data or len(self._text) > _LONGEST:
                    raise EndOfInput
                self._text += data
        if hidden:
            sys.stderr.write("\n")
        line, _, self._text = self._text.partition(b"\n")
        return line.decode("utf-8", "replace").rstrip("\r")

    async def read_long(self) -> str:
        """The next line, however long: a terminal that edits lines by itself cuts them at 4,095 bytes.

        Raises:
            EndOfInput: there is no more.
        """
        if termios is None or not os.isatty(self._fd):
            return await self.read()
        line = bytearray()
        with _unedited(self._fd):
            while True:
                if not self._text:
                    sys.stderr.flush()
                    self._text = await self._wait()
                    if not self._text:
                        raise EndOfInput
                key, self._text = self._text[:1], self._text[1:]
                if key in (b"\n", b"\r"):
                    break
                _edit(line, key)
        sys.stderr.write("\n")
        return line.decode("utf-8", "replace")

    async def _wait(self) -> bytes:
        if sys.platform == "win32":
            return (await asyncio.to_thread(sys.stdin.readline)).encode()
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        loop.add_reader(self._fd, _settle, ready)
        try:
            await ready
        finally:
            loop.remove_reader(self._fd)
        try:
            return os.read(self._fd, 4096)
        except OSError:
            return b""


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


@contextmanager
def _nothing() -> Generator[None]:
    yield


def _edit(line: bytearray, key: bytes) -> None:
    """Do what a key does to a line, and show it."""
    if key == b"\x04" and not line:
        raise EndOfInput
    if key in (b"\x7f", b"\x08", b"\x15"):  # backspace, ctrl+u
        gone = len(line) if key == b"\x15" else min(len(line), 1)
        del line[len(line) - gone :]
        sys.stderr.write("\b \b" * gone)
    elif key >= b" " and len(line) < _LONGEST:
        line += key
        sys.stderr.write(key.decode("ascii", "replace"))


@contextmanager
def _unedited(fd: int) -> Generator[None]:
    """Have keys as they are pressed; ctrl+c stays what it is."""
    assert termios is not None
    _before[fd] = termios.tcgetattr(fd)
    plain = termios.tcgetattr(fd)
    plain[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(fd, termios.TCSADRAIN, plain)
    try:
        yield
    finally:
        _show_again()


_before: dict[int, list[Any]] = {}
"""How terminals were whose echo is off at the moment."""


@contextmanager
def silent(fd: int) -> Generator[None]:
    """Switch the terminal's echo off."""
    if termios is None:
        yield
        return
    _before[fd] = termios.tcgetattr(fd)
    quiet = termios.tcgetattr(fd)
    quiet[3] &= ~termios.ECHO
    termios.tcsetattr(fd, termios.TCSANOW, quiet)
    try:
        yield
    except BaseException:
        restore()
        raise
    _show_again()


def restore() -> None:
    """Switch it on again where nobody has ended the line, also while a thread still waits for it."""
    if _show_again():
        sys.stderr.write("\n")
        sys.stderr.flush()


def _show_again() -> bool:
    """Whether any terminal's echo was off."""
    silenced = tuple(_before)
    for fd in silenced:
        with suppress(OSError, KeyError, *([termios.error] if termios else [])):
            if termios is not None:
                termios.tcsetattr(fd, termios.TCSANOW, _before.pop(fd))
    return bool(silenced)


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


_TRIES = 3
_SHORTEST = 8


class _Asked:
    """How often it was asked for in this process: what opened the file once is not asked for again."""

    times = 0


def ask(new: bool) -> str:
    """Ask for it; empty where nobody is there, or gives none. Blocks.

    Args:
        new: it is to be made up, and typed twice.
    """
    if not can_ask():
        return ""
    try:
        return _new() if new else _known()
    except EOFError:
        return ""


def _known() -> str:
    if _Asked.times:
        say("That passphrase does not open the file.")
    _Asked.times += 1
    return typed("Passphrase of the encrypted secrets: ")


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
    with silent(0):
        # Byte by byte: what is typed ahead is for whoever reads next.
        while not line.endswith(b"\n"):
            byte = os.read(0, 1)
            if not byte:
                raise EOFError
            line += byte
    say("")
    return line[:-1].decode("utf-8", "replace").rstrip("\r")
