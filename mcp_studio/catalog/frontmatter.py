"""The YAML frontmatter of a skill's `SKILL.md`: read, and compared with what the skill's entry says.

What people write there is read: mappings, lists, texts of every style, flow collections, comments. What could make
reading it dangerous or ambiguous is refused in words: anchors, aliases, tags, complex and duplicate keys. Time and
memory are linear in the text, which is bounded.
"""

from __future__ import annotations

import re
from typing import cast

from mcp_studio.catalog.yamltext import Plain, YamlProblem, extent, flow, fold, key_of, plain_text, quoted
from mcp_studio.jsontext import Json

Node = dict[str, "Node"] | list["Node"] | str | None
"""What was read; a `Plain` is a text whose type its reader chooses."""

LONGEST = 64 * 1024
"""Characters of frontmatter that are read."""
_DEPTH = 20
_FENCED = re.compile(r"\ufeff?---[ \t]*\r?\n(.*?)(?:^|\r?\n)---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_ITEM = re.compile(r"-(?:[ \t]+|$)")
_BLOCK = re.compile(r"([|>])(?:([+-])([1-9])?|([1-9])([+-])?)?[ \t]*(?:\#.*)?$")


def parse(text: str) -> dict[str, Node]:
    """The frontmatter at the beginning of a file.

    Raises:
        YamlProblem: there is none, or it cannot be read; says why.
    """
    head = text[: LONGEST + 100]
    found = _FENCED.match(head)
    if not found:
        longer = f", or it is longer than {LONGEST // 1024} KiB" if len(text) > LONGEST else ""
        raise YamlProblem(f"it does not begin with frontmatter between two lines of ---{longer}")
    node = _Block(found[1].replace("\r\n", "\n").split("\n")).document()
    if not isinstance(node, dict):
        raise YamlProblem("it is no mapping of names to values")
    return node


def differences(written: Node, listed: Json, where: str = "") -> list[str]:
    """Where a file's frontmatter and the one of its entry differ, in words."""
    if isinstance(written, dict) and isinstance(listed, dict):
        known = cast("dict[str, Json]", listed)
        found = [f"{_name(where, key)} is in the file, but not in the entry" for key in written if key not in known]
        found += [f"{_name(where, key)} is in the entry, but not in the file" for key in known if key not in written]
        for key, value in written.items():
            if key in known:
                found += differences(value, known[key], _name(where, key))
        return found
    if isinstance(written, list) and isinstance(listed, list):
        items = cast("list[Json]", listed)
        if len(written) != len(items):
            return [f"{where} has {len(written)} items in the file, and {len(items)} in the entry"]
        pairs = enumerate(zip(written, items, strict=True))
        return [one for at, (mine, other) in pairs for one in differences(mine, other, f"{where}[{at}]")]
    return (
        [] if _same(written, listed) else [f"{where} differs: {_short(written)} in the file, {_short(listed)} listed"]
    )


def _same(written: Node, listed: Json) -> bool:
    """Whether a scalar is the value that was listed; versions of YAML disagree about which words are more than text."""
    if not isinstance(written, Plain):
        return type(written) is type(listed) and written == listed
    if isinstance(listed, str):
        return listed == str(written)
    if listed is None:
        return written.lower() in ("", "~", "null")
    if isinstance(listed, bool):
        return written.lower() in (("true", "yes", "on") if listed else ("false", "no", "off"))
    return isinstance(listed, (int, float)) and written.number() == listed


def _name(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _short(value: object) -> str:
    text = repr(str(value)) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:59] + "…"


class _Block:
    """A reader of block style, line by line."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0

    def document(self) -> Node:
        indent = self._indent()
        if indent < 0:
            return {}
        node = self._node(indent, 0)
        if self._indent() >= 0:
            raise self._problem("is not indented as what it belongs to")
        return node

    # ------------------------------------------------------------------ lines

    def _indent(self) -> int:
        """The indentation of the next line that says something; -1 at the end."""
        while self._at < len(self._lines):
            line = self._lines[self._at]
            bare = line.lstrip(" ")
            if bare.strip() and not bare.startswith("#"):
                if bare[0] == "\t":
                    raise self._problem("is indented with a tab")
                return len(line) - len(bare)
            self._at += 1
        return -1

    def _problem(self, what: str) -> YamlProblem:
        return YamlProblem(f"line {self._at + 2} {what}")

    # ------------------------------------------------------------------ nodes

    def _node(self, indent: int, depth: int) -> Node:
        if depth > _DEPTH:
            raise self._problem(f"is nested deeper than {_DEPTH} levels")
        rest = self._lines[self._at][indent:]
        if _ITEM.match(rest):
            return self._sequence(indent, depth)
        if key_of(rest):
            return self._mapping(indent, depth)
        if rest.startswith("? "):
            raise self._problem("has a complex key")
        self._at += 1
        return self._scalar(rest, indent - 1, depth)

    def _sequence(self, indent: int, depth: int) -> Node:
        found: list[Node] = []
        while self._indent() == indent and (item := _ITEM.match(self._lines[self._at], indent)):
            line = self._lines[self._at]
            if line[item.end() :].strip() and not line[item.end() :].startswith("#"):
                # What follows the dash stands as if the dash were a part of its indentation.
                self._lines[self._at] = " " * item.end() + line[item.end() :]
                found.append(self._node(item.end(), depth + 1))
            else:
                self._at += 1
                deeper = self._indent()
                found.append(self._node(deeper, depth + 1) if deeper > indent else None)
        return found

    def _mapping(self, indent: int, depth: int) -> Node:
        found: dict[str, Node] = {}
        while self._indent() == indent and (key := key_of(self._lines[self._at][indent:])):
            name, rest = key
            if name in found:
                raise self._problem(f"has the key {name[:40]!r} for the second time")
            if name == "<<":
                raise self._problem("merges another mapping, which is not read here")
            self._at += 1
            found[name] = self._value(rest, indent, depth)
        return found

    def _value(self, rest: str, indent: int, depth: int) -> Node:
        """What follows a key: on its line, or on the lines below it."""
        if rest and not rest.startswith("#"):
            return self._scalar(rest, indent, depth)
        deeper = self._indent()
        if deeper > indent:
            return self._node(deeper, depth + 1)
        if deeper == indent and _ITEM.match(self._lines[self._at], indent):
            return self._sequence(indent, depth + 1)
        return Plain("")

    def _scalar(self, rest: str, indent: int, depth: int) -> Node:
        """A value that begins with `rest` and goes on, where it does, in lines indented deeper than `indent`."""
        if rest[0] in "&*!%@`":
            what = {"&": "an anchor", "*": "an alias", "!": "a tag"}.get(rest[0], "a reserved character")
            self._at -= 1
            raise self._problem(f"has {what}, which is not read here")
        if block := _BLOCK.match(rest):
            return self._literal(block, indent)
        if rest[0] in "\"'[{":
            rest = self._whole(rest)
            return quoted(rest) if rest[0] in "\"'" else flow(rest, _DEPTH - depth)
        lines = [rest]
        while self._at < len(self._lines):
            line = self._lines[self._at]
            bare = line.strip()
            if bare and (len(line) - len(line.lstrip(" ")) <= indent or bare.startswith("#")):
                break
            lines.append(bare)
            self._at += 1
        return Plain(fold([plain_text(line) for line in lines]))

    def _whole(self, rest: str) -> str:
        """A quoted text or flow collection with all the lines that belong to it."""
        if extent(rest) >= 0:
            return rest
        text = "\n".join((rest, *self._lines[self._at :]))
        end = extent(text)
        if end < 0:
            raise self._problem("is inside of something that never ends")
        end = len(text) if (line_end := text.find("\n", end)) < 0 else line_end
        self._at += text.count("\n", 0, end)
        return text[:end]

    def _literal(self, block: re.Match[str], indent: int) -> str:
        """A block scalar: `|` keeps line breaks, `>` folds them."""
        chomp, digit = block[2] or block[5] or "", block[3] or block[4]
        lines: list[str] = []
        base = max(indent, 0) + int(digit) if digit else 0
        while self._at < len(self._lines):
            line = self._lines[self._at]
            own = len(line) - len(line.lstrip(" "))
            if line.strip():
                base = base or own
                if own < base or own <= indent:
                    break
            lines.append(line[base:] if line.strip() or base else "")
            self._at += 1
        end = len(lines)
        while end and not lines[end - 1]:
            end -= 1
        text = fold(lines[:end], block=True) if block[1] == ">" else "\n".join(lines[:end])
        if chomp == "+":
            return text + "\n" * (len(lines) - end + (end > 0))
        return text + ("\n" if end and chomp != "-" else "")
