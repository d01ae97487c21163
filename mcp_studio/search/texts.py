"""What of an entry is turned into a vector."""

from __future__ import annotations

from mcp_studio.search.fields import Fields
from mcp_studio.search.tokens import CHUNK, parts

LONGEST = 600
"""Characters of a description that are looked at."""
TOKENS = 64
"""Tokens of one text that are looked at."""


def text_of(read: Fields) -> str:
    """The text whose meaning stands for an entry: its name in words, its title, the beginning of its description."""
    title = "" if read.title == read.name else " ".join(read.title.split())
    return ". ".join(part for part in (spoken(read.name), title, " ".join(read.description[:LONGEST].split())) if part)


def spoken(name: str) -> str:
    """An identifier as a person would say it."""
    return " ".join(CHUNK.findall(name.replace("_", " "))) and " ".join(_parts(name))


def _parts(name: str) -> list[str]:
    found: list[str] = []
    for chunk in CHUNK.findall(name):
        end = -1
        for part in parts(chunk):
            if part.start >= end:
                found.append(chunk[part.start : part.end])
                end = part.end
    return found
