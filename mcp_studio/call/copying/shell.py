"""Shell words: quoted so that nothing in them acts, and split as a shell splits them; nothing is expanded or run."""

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
_INNER = r'\\([$`"\\\n])'
END = "\0"
"""Stands for the end of a command among the words of a script: a newline, `;`, `|`, `>` and so on."""


class PasteProblem(ValueError):
    """A pasted text contains no call: a sentence, and the line that it concerns (from 1; 0 for none)."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


def quote(text: str) -> str:
    """One word that a shell reads as this text.

    Characters that act on a terminal or are invisible are never written themselves: `printf` makes them.
    """
    if not re.search(LINES_LIVE, text):
        return shlex.quote(text)
    parts, at = list[str](), 0
    for run in re.finditer(LINES_LIVE, text):
        parts += (shlex.quote(text[at : run.start()]) if run.start() > at else "", f'"{printed(run[0])}"')
        at = run.end()
    return "".join((*parts, shlex.quote(text[at:]) if at < len(text) else ""))


def printed(text: str) -> str:
    """A substitution for characters that should not be written themselves, for use in double quotes."""
    octal = "".join(f"\\{byte:03o}" for byte in text.encode("utf-8", "surrogatepass"))
    return f"$(printf '{octal}')"


def readable(text: str) -> bool:
    """Whether a person can read a text in a command line: it is short and has no invisible characters."""
    return len(text) <= 200 and text.isprintable() and not hidden_in(text)


def shell_words(text: str) -> list[str]:
    """The words of a script, split as a shell splits them. `END` separates commands.

    Raises:
        PasteProblem: a quote is not closed.
    """
    found, word = list[str](), list[str]()
    for name, piece in (*_pieces(text), ("blank", "")):
        if name in ("blank", "line", "comment", "end"):
            if word:
                found.append("".join(word))
                word = []
            if name in ("line", "end") and found and found[-1] != END:
                found.append(END)
        elif name != "join":
            word.append(_meant(name, piece))
    return found


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text):
        piece = _PIECE.match(text, at)
        if piece is None:
            if text[at] == "\\":
                return  # the last character of the script
            raise PasteProblem("A quote is not closed.", text.count("\n", 0, at) + 1)
        yield str(piece.lastgroup), piece[0]
        at = piece.end()


def _meant(name: str, piece: str) -> str:
    match name:
        case "single":
            return piece[1:-1]
        case "double":
            return re.sub(_INNER, lambda found: "" if found[1] == "\n" else found[1], piece.removeprefix("$")[1:-1])
        case "ansi":
            escaped = re.sub(r"\\([\\eE])", lambda found: r"\x1b" if found[1] != "\\" else found[0], piece[2:-1])
            try:
                return escaped.encode("latin-1", "backslashreplace").decode("unicode_escape")
            except UnicodeDecodeError:
                return escaped
        case "escape":
            return piece[1:]
        case _:
            return piece
