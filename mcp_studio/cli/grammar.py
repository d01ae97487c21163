"""Verbs and options, declared in `grammar.json`. Parsing, help, completion and docs/cli.md are made from them.

An option is "--name, -n VALUE  help". One without a value is a flag; a [VALUE] can be left out. Some have more:
  choices   the values that it takes; others = true: and any other
  needs     the option requires one of these options
  words     the option requires one of these words before it; "" is none
A word without dashes stands for the options of the group of that name.

A verb has
  usage     the lines after `mcp-studio`
  about     one text, in parts
  shared    options that `--help connection` explains; `common` by default
  words     the first words that it takes, for completion; closed = true: and no others
  apart     options that exclude one another: "--a --b --c" are any two of them, "--a | --b --c" is --a with either

The file is JSON because every start reads it: as TOML it took 6 ms, a twentieth of `mcp-studio list`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

from mcp_studio.protocol.versions import LOG_LEVELS, VERSIONS

_CHOICES = {"versions": VERSIONS, "log levels": LOG_LEVELS}
"""Lists of choices that are defined elsewhere."""
_HEAD = re.compile(r"(--[\w-]+)(?:, (--?[\w-]+))?(?: (\[?)(.+?)\]?)?")
"""`--name, -n VALUE`."""


class Option(NamedTuple):
    """An option. `value` names what it takes; an option without it is a flag."""

    name: str
    help: str
    value: str = ""
    choices: tuple[str, ...] = ()
    short: str = ""
    """Its short form, such as `-n`."""
    others: bool = False
    """It also accepts values that are not among its choices."""
    optional: bool = False
    """The value may be left out."""
    needs: tuple[str, ...] = ()
    """It is only allowed together with one of these options."""
    words: tuple[str, ...] = ()
    """It is only allowed after one of these words; an empty string stands for no word."""


class Verb(NamedTuple):
    """A verb. The one with an empty name is the studio itself."""

    usage: str
    summary: str = ""
    about: str = ""
    options: tuple[Option, ...] = ()
    shared: tuple[Option, ...] = ()
    """Options that verbs with servers share; `--help connection` describes them."""
    words: tuple[str, ...] = ()
    """What its first word can be; used for completion."""
    apart: tuple[tuple[str, str], ...] = ()
    """Pairs of options that exclude each other."""
    closed: bool = False
    """Its first word must be one of `words`."""

    def option(self, name: str) -> Option | None:
        """Find an option by its name or its short form."""
        return next((one for one in (*self.options, *self.shared) if name and name in (one.name, one.short)), None)


def _options(rows: Iterable[Any]) -> Iterator[Option]:
    for row in rows:
        if isinstance(row, str) and row in GROUPS:
            yield from GROUPS[row]
            continue
        more: dict[str, Any] = {"option": row} if isinstance(row, str) else row
        head, _, help = more["option"].partition("  ")
        if (parts := _HEAD.fullmatch(head)) is None:
            raise ValueError(f"grammar.json: `{head}` is no option and no group.")
        name, short, bracket, value = parts.groups("")
        given = more.get("choices", ())
        choices = _CHOICES[given] if isinstance(given, str) else tuple(given)
        needs, words, others = tuple(more.get("needs", ())), tuple(more.get("words", ())), bool(more.get("others"))
        yield Option(name, help, value, choices, short, others, bool(bracket), needs, words)


def _pairs(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        some, _, others = line.partition(" | ")
        yield from product(some.split(), others.split()) if others else combinations(some.split(), 2)


def _verb(table: Mapping[str, Any]) -> Verb:
    usage, about = "\n".join(table["usage"]), " ".join(table.get("about", ()))
    own, shared = tuple(_options(table.get("options", ()))), tuple(_options(table.get("shared", ("common",))))
    words, apart = tuple(table.get("words", ())), tuple(_pairs(table.get("apart", ())))
    return Verb(usage, table.get("summary", ""), about, own, shared, words, apart, table.get("closed", False))


_TABLES = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
GROUPS: dict[str, tuple[Option, ...]] = {}
for _name, _rows in _TABLES["groups"].items():
    GROUPS[_name] = tuple(_options(_rows))
VERBS = {name: _verb(table) for name, table in _TABLES["verbs"].items()}
"""In the order in which help shows them."""
CONNECTION = _verb(_TABLES["connection"])
CODES = (
    "Exit codes: 0 ok, 1 failure, 2 usage or configuration, 3 sign-in needed, 4 unreachable, 5 tool error,\n"
    "6 input or approval needed, 130 interrupted."
)
SEE_CONNECTION = "About servers (--config, --url, -- COMMAND, --timeout …): mcp-studio --help connection\n"
