"""Texts and flow collections of YAML: what can stand on one line, or be folded into one."""

from __future__ import annotations

import re
from typing import Any

_ESCAPES = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b",
    " ": " ", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.|$)", re.DOTALL)
_COMMENT = re.compile(r"(?:^|[ \t])#.*$")
_NUMBER = re.compile(r"[-+]?(?:0x[0-9a-fA-F]+|0o[0-7]+|(?:\d[\d_]*)?(?:\.\d*)?(?:[eE][-+]?\d+)?)")
_WORD = re.compile(r"[^,\[\]{}\"'&*!|>%@`#\s](?:[^,\[\]{}:#]|:(?![\s,\[\]{}]|$)|(?<=\S)#)*")
_QUOTED = {'"': re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL), "'": re.compile(r"'(?:[^']|'')*'")}
_PAST = re.compile(r"""[^"'\[\]{}#]+""")
_SPACE = re.compile(r"(?:\s+|#[^\n]*)*")


class YamlProblem(ValueError):
    """What cannot be read, as the rest of a sentence about it."""


class Plain(str):
    """A text without quotes, which may mean a number, true or false, or nothing."""

    __slots__ = ()

    def number(self) -> float | int | None:
        """The number that it means, or None."""
        if not self or len(self) > 40 or not _NUMBER.fullmatch(self) or not any(char.isdigit() for char in self):
            return None
        try:
            bare = self.replace("_", "")
            return int(bare, 0) if re.fullmatch(r"[-+]?(0[xo].*|[1-9]\d*|0)", bare) else float(bare)
        except (ValueError, OverflowError):
            return None


def plain_text(line: str) -> str:
    """A line of a plain text without its comment."""
    return _COMMENT.sub("", line).strip()


def fold(lines: list[str], *, block: bool = False) -> str:
    """Join lines as YAML folds them: a line break becomes a space, empty lines become line breaks.

    Args:
        block: the lines are those of a `>` block, where lines that are indented deeper keep their breaks.
    """
    parts: list[str] = []
    empty, before = 0, ""
    for line in lines:
        if not line:
            empty += 1
            continue
        kept = block and (line[0] in " \t" or before[:1] in (" ", "\t"))
        if parts or empty:
            first = not parts
            parts.append("\n" * (empty + (kept and not first)) if empty or (kept and not first) else " ")
        parts.append(line)
        empty, before = 0, line
    return "".join(parts)


def key_of(line: str) -> tuple[str, str] | None:
    """The key that a line begins with, and what stands behind its colon; None where there is no key."""
    if line[0] in "\"'":
        end = _end_of_quote(line, 0)
        after = line[end:].lstrip(" \t") if end > 0 else ""
        return (quoted(line[:end]), after[1:].strip()) if _is_colon(after, 0) else None
    if line[0] in ",[]{}#&*!|>%@`" or (line[0] in "-?:" and line[1:2] in ("", " ", "\t")):
        return None
    comment = _COMMENT.search(line)
    end = line.find(":")
    while end >= 0 and not _is_colon(line, end):
        end = line.find(":", end + 1)
    if end < 0 or (comment and comment.start() < end):
        return None
    return line[:end].rstrip(), line[end + 1 :].strip()


def _is_colon(text: str, at: int) -> bool:
    return text[at : at + 1] == ":" and text[at + 1 : at + 2] in ("", " ", "\t")


def extent(text: str) -> int:
    """The place after the quoted text or flow collection that a text begins with; -1 where it does not end."""
    if text[0] in _QUOTED:
        return _end_of_quote(text, 0)
    depth, at = 0, 0
    while 0 <= at < len(text):
        char = text[at]
        if char in _QUOTED and text[at - 1] in " \t\n,[{:":
            at = _end_of_quote(text, at)
        elif char == "#" and text[at - 1] in " \t\n":
            at = text.find("\n", at)
        else:
            depth += (char in "[{") - (char in "]}")
            at += 1
            if depth == 0:
                return at
            if past := _PAST.match(text, at):
                at = past.end()
    return -1


def _end_of_quote(text: str, start: int) -> int:
    """The place after the closing quote of a text that begins at `start`; -1 where there is none."""
    found = _QUOTED[text[start]].match(text, start)
    return found.end() if found else -1


def quoted(text: str) -> str:
    """The text that a quoted one, alone on its lines, means.

    Raises:
        YamlProblem: it does not end, or something follows it.
    """
    end = _end_of_quote(text, 0)
    if end < 0 or plain_text(text[end:]):
        raise YamlProblem("a quoted text does not end where its line ends")
    inner = _lines_folded(text[1 : end - 1])
    return inner.replace("''", "'") if text[0] == "'" else _ESCAPE.sub(_unescaped, inner)


def _lines_folded(text: str) -> str:
    """Fold the lines of a quoted text; a line that ends with a backslash is joined without a space."""
    if "\n" not in text:
        return text
    lines = text.split("\n")
    parts = [lines[0].rstrip(" \t")]
    empty = 0
    for at, line in enumerate(lines[1:], 1):
        last = at == len(lines) - 1
        bare = line.lstrip(" \t") if last else line.strip(" \t")
        if not bare and not last:
            empty += 1
            continue
        before = parts[-1]
        if not empty and (len(before) - len(before.rstrip("\\"))) % 2:
            parts[-1] = before[:-1]
        else:
            parts.append("\n" * empty or " ")
        parts.append(bare)
        empty = 0
    return "".join(parts)


def _unescaped(found: re.Match[str]) -> str:
    code = found[1]
    if len(code) > 1 and code[0] in "xuU":
        number = int(code[1:], 16)
        if number > 0x10FFFF:
            raise YamlProblem("an escape names a character that does not exist")
        return chr(number)
    if code not in _ESCAPES:
        raise YamlProblem(f"there is no escape \\{code[:1]}")
    return _ESCAPES[code]


def flow(text: str, depth: int) -> Any:
    """A flow collection, such as `[a, {b: c}]`, alone on its lines.

    Args:
        depth: how deep it may be nested.

    Raises:
        YamlProblem: it cannot be read.
    """
    node, at = _Flow(text).node(0, depth)
    if plain_text(text[at:]):
        raise YamlProblem("something follows a collection on its line")
    return node


class _Flow:
    """A reader of flow style."""

    def __init__(self, text: str) -> None:
        self._text = text

    def _skip(self, at: int) -> int:
        found = _SPACE.match(self._text, at)
        return found.end() if found else at

    def _char(self, at: int) -> str:
        if at >= len(self._text):
            raise YamlProblem("a collection does not end")
        return self._text[at]

    def node(self, at: int, depth: int) -> tuple[Any, int]:
        """One value and the place after it."""
        if depth < 0:
            raise YamlProblem("it is nested too deep")
        at = self._skip(at)
        char = self._char(at)
        if char == "[":
            return self._sequence(at + 1, depth)
        if char == "{":
            return self._mapping(at + 1, depth)
        return self._word(at)

    def _word(self, at: int) -> tuple[str, int]:
        if self._char(at) in "\"'":
            end = _end_of_quote(self._text, at)
            if end < 0:
                raise YamlProblem("a quoted text does not end")
            return quoted(self._text[at:end]), end
        found = _WORD.match(self._text, at)
        if not found:
            raise YamlProblem(f"a collection has {self._text[at]!r} where a value should be")
        return Plain(" ".join(found[0].split())), found.end()

    def _sequence(self, at: int, depth: int) -> tuple[list[Any], int]:
        found: list[Any] = []
        while self._char(at := self._skip(at)) != "]":
            node, at = self.node(at, depth - 1)
            found.append(node)
            at = self._separated(at, "]")
        return found, at + 1

    def _mapping(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        while self._char(at := self._skip(at)) != "}":
            name, at = self._word(at)
            at = self._skip(at)
            value: Any = Plain("")
            if self._char(at) == ":":
                at = self._skip(at + 1)
                if self._char(at) not in ",}":
                    value, at = self.node(at, depth - 1)
            if str(name) in found:
                raise YamlProblem(f"it has the key {name[:40]!r} twice")
            found[str(name)] = value
            at = self._separated(at, "}")
        return found, at + 1

    def _separated(self, at: int, end: str) -> int:
        """The place after the comma, or that of the end."""
        at = self._skip(at)
        char = self._char(at)
        if char not in ("," + end):
            raise YamlProblem(f"a collection has {char!r} where a comma or {end} should be")
        return at + 1 if char == "," else at
