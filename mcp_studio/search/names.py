"""Texts as somebody who types compares them: upper and lower case, and the ways of writing names, are the same."""

from __future__ import annotations

import re
import unicodedata

from mcp_studio.search.document import Document
from mcp_studio.search.fields import fields

LONGEST_NAME = 200
"""Characters of a name that are compared; its whole is found when it is written in full."""
LONGEST_TEXT = 480
"""Bytes of everything else: title, server, address, tags, names of arguments, then the description's beginning."""
_LONGEST_TITLE, _LONGEST_ADDRESS, _LONGEST_ARGUMENTS = 120, 160, 120

NAME, END, PART, LETTERS, LAST, TITLE = "\x1f", "\x1e", "\x1d", "\x1c", "\x1b", "\x1a"
"""What a row's text is divided by: before and behind the name, before each part of it, before and behind its initials,
behind the title. No folded text has them."""

_CONTROL = re.compile("[\x00-\x1f\x7f]+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_FOREIGN_PART = re.compile(r"[^\W\d_]+|\d+")


def fold(text: str) -> str:
    """A text without its cases and control characters, words one space apart; wide letters are plain ones."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(_CONTROL.sub(" ", text).lower().split())


def parts(name: str) -> list[str]:
    """The parts of an identifier, folded: `getFile_contents` has three."""
    if name.isascii():
        return [part.lower() for part in _PART.findall(name)]
    return [fold(part) for part in _FOREIGN_PART.findall(unicodedata.normalize("NFKC", name))]


def text_of(document: Document) -> str:
    """A document as it is compared: its name as `of_name` has it, `title TITLE rest`; folded and `encoded`."""
    found = fields(document)
    arguments = " ".join(one.name for one in found.parameters[:20])[:_LONGEST_ARGUMENTS]
    rest = (found.server, found.uri[:_LONGEST_ADDRESS], *found.tags, arguments, found.description[:LONGEST_TEXT])
    title = fold(found.title[:_LONGEST_TITLE]) + TITLE
    return of_name(found.name) + encoded("\n".join((title, *(fold(one) for one in rest if one))))[:LONGEST_TEXT]


def of_name(name: str) -> str:
    """What a row's text begins with: `NAME name END PART part …, LETTERS INITIALS LAST`, `encoded`."""
    name = name[:LONGEST_NAME]
    its_parts = parts(name)
    own = its_parts if name.isascii() else [part for part in its_parts if part.isascii()]
    initials = "".join([part[0] for part in own]).upper()
    divided = PART.join(["", *its_parts])
    return encoded(f"{NAME}{fold(name)}{END}{divided}{LETTERS}{initials}{LAST}")


def parts_of(text: str) -> list[str]:
    """The parts of the name that a text begins with, `encoded`."""
    return text[text.index(END) + 2 : text.index(LETTERS)].split(PART)


def encoded(text: str) -> str:
    """A folded text as rows have it: a character for each byte of its UTF-8, so that no text takes up more."""
    return text if text.isascii() else text.encode("utf-8", "surrogatepass").decode("latin-1")


def decoded(text: str) -> str:
    """What `encoded` was given; what is no character any more is marked."""
    return text if text.isascii() else text.encode("latin-1").decode("utf-8", "replace")
