"""Words of a POSIX shell: quoting them so that they arrive as they are, and reading what somebody quoted."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from mcp_studio.safetext import LINES_LIVE, hidden_in

_PIECE = re.compile(
    r"""(?P<blank>[ \t\r]+)|(?P<line>\n)|(?P<join>\\\r?\n)|(?P<comment>(?<![^\s;&|])\#[^\n]*)"""
    r"""|(?P<ansi>\$'(?:[^'\\]|\\.)*+')|(?P<single>'[^']*+')|(?P<double>\$?"(?:[^"\\]|\\.)*+")"""
    r"""|(?P<escape>\\.)|(?P<end>\|\||&&|;|\||&(?!>)|\d*>>?(?:&\d)?|<)|(?P<plain>(?:[^\s'"\\;&|<>$]|\$(?!['"]))++)""",
    re.DOTALL,
)
_INNER = re.compile(r'\\([$`"\\\n])')
_ANSI = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|(.))", re.DOTALL)
_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
END = "\0"
"""Stands for what ends a command among the words of `words`: a newline, `;`, `|`, `>` and the like."""


class Unclosed(ValueError):
    """A quote that is not closed; `line` is where it begins, from 1."""

    def __init__(self, line: int) -> None:
        super().__init__("a quote is not closed")
        self.line = line


def quote(text: str) -> str:
    """One word that a shell reads as this text.

    What a terminal acts on as it is pasted, or nobody sees, never stands in it as it is: `printf` makes it.
    """
    if not LINES_LIVE.search(text):
        return shlex.quote(text)
    parts: list[str] = []
    at = 0
    for run in LINES_LIVE.finditer(text):
        parts += (shlex.quote(text[at : run.start()]) if run.start() > at else "", f'"{printed(run[0])}"')
        at = run.end()
    return "".join((*parts, shlex.quote(text[at:]) if at < len(text) else ""))


def printed(text: str) -> str:
    """What stands between double quotes for characters that are better not there themselves."""
    octal = "".join(f"\\{byte:03o}" for byte in text.encode("utf-8", "surrogatepass"))
    return f"$(printf '{octal}')"


def readable(text: str) -> bool:
    """Whether a person sees in a command line what this is: one short line without anything invisible."""
    return len(text) <= 200 and text.isprintable() and not hidden_in(text)


def words(text: str) -> list[str]:
    """The words of a script, as a shell would split them; nothing is expanded or run. `END` stands between commands.

    Raises:
        Unclosed: a quote is not closed.
    """
    found: list[str] = []
    word: list[str] | None = None
    for name, piece in _pieces(text):
        if name in ("blank", "line", "comment", "end"):
            if word is not None:
                found.append("".join(word))
                word = None
            if name in ("line", "end") and found and found[-1] != END:
                found.append(END)
        elif name != "join":
            word = word if word is not None else []
            word.append(_meant(name, piece))
    if word is not None:
        found.append("".join(word))
    return found


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text):
        piece = _PIECE.match(text, at)
        if piece is None:
            if text[at] == "\\":
                return  # the last character of all
            raise Unclosed(text.count("\n", 0, at) + 1)
        yield str(piece.lastgroup), piece[0]
        at = piece.end()


def _meant(name: str, piece: str) -> str:
    match name:
        case "single":
            return piece[1:-1]
        case "double":
            return _INNER.sub(lambda found: "" if found[1] == "\n" else found[1], piece.removeprefix("$")[1:-1])
        case "ansi":
            return _ANSI.sub(_letter, piece[2:-1])
        case "escape":
            return piece[1:]
        case _:
            return piece


def _letter(found: re.Match[str]) -> str:
    two, four, eight, octal, letter = found.groups()
    if letter is not None:
        return _LETTERS.get(letter, letter)
    number = int(octal, 8) if octal else int(two or four or eight, 16)
    return chr(number) if number <= 0x10FFFF else "\ufffd"
