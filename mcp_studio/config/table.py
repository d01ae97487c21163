"""Reading a table of a configuration file key by key; problems are collected, never raised."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, cast, get_args, get_origin, get_type_hints

from mcp_studio.config.model import Problem
from mcp_studio.errors import LimitExceeded, nearest
from mcp_studio.jsontext import Json, loads

LARGEST = 8 * 1024 * 1024
"""Bytes of the largest configuration file that is read."""
_PART = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
_TOKEN = (
    rf'(?s)"""(?:[^\\]|\\.)*?"""|\'\'\'.*?\'\'\'|#[^\n]*+|(?P<key>(?:{_PART}[ \t]*+\.[ \t]*+){{16}})'
    rf"|(?P<number>\b0[xob][0-9A-Fa-f_]{{3000,}}+)|{_PART}|[^\"'#A-Za-z0-9_-]++|."
)
"""Dotted keys take a time that grows with the square of their parts, and endless numbers cannot be shown."""


def read(text: str, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """Read a TOML document.

    Raises:
        ValueError: the text is not TOML, or asks for too much, such as a number of more digits than Python reads.
        RecursionError: the text is nested too deeply.
    """
    if found := next((one for one in re.finditer(_TOKEN, text) if one.lastgroup), None):
        line = text.count("\n", 0, found.start()) + 1
        raise ValueError(f"A {found.lastgroup} is too long (at line {line})")
    return tomllib.loads(text, parse_float=parse_float)


class Document(NamedTuple):
    """The content of a file."""

    content: bytes
    is_toml: bool
    values: Any

    @property
    def ours(self) -> bool:
        """Whether the file has our own format: other clients use JSON, YAML, or other tables."""
        return self.is_toml and not ("mcp_servers" in self.values and "servers" not in self.values)


def read_file(file: Path, problems: list[Problem], *, required: bool = False) -> Document | None:
    """Read a TOML, JSON or YAML file; None, with the problem added, where that fails.

    A missing file is a problem only if `required`, and a pipe is read only then.
    """
    try:
        if not required and not file.is_file():
            return None
        if file.stat().st_size > LARGEST:
            raise OSError("it is larger than 8 MB")
        return parse(file.read_bytes(), problems, file)
    except FileNotFoundError:
        wrong = "There is no such file."
    except OSError as problem:
        wrong = f"It cannot be read: {problem.strerror or problem}."
    problems.append(Problem(str(file), "", wrong))
    return None


def parse(content: bytes, problems: list[Problem], file: Path | None = None) -> Document | None:
    """Read a document in the language that its file's name tells, or its beginning where there is no name."""
    suffix = file.suffix if file else ""
    language = "YAML" if suffix in (".yaml", ".yml") else "TOML" if suffix == ".toml" else "JSON"
    try:
        text = content.decode("utf-8-sig")
        if language == "YAML":
            return Document(content, False, read_yaml(text))
        if language == "TOML" or (suffix != ".json" and not text.lstrip().startswith(("{", "//", "/*"))):
            language = "TOML"
            return Document(content, True, read(text))
        return Document(content, False, loads_lenient(text, exact=True))
    except UnicodeDecodeError:
        wrong = "It is not UTF-8 text."
    except RecursionError:
        wrong = "It is nested too deeply."
    except (ValueError, LimitExceeded) as problem:
        wrong = f"It is not valid {language}: {problem}."
    problems.append(Problem(str(file or ""), "", wrong))
    return None


def read_yaml(text: str, *, plain: bool = False, depth: int = 100) -> Any:
    """Read a YAML document.

    Args:
        plain: all scalars are texts, and tags are refused.
        depth: the most levels of nesting.

    Raises:
        ValueError: the text is not YAML, or has what could make a short text large; the message names the line.
    """
    import yaml

    name, level = "BaseLoader" if plain else "SafeLoader", 0
    loader = getattr(yaml, f"C{name}", getattr(yaml, name))
    try:
        for event in yaml.parse(text, Loader=loader):
            line = f"line {event.start_mark.line + 1}"
            if getattr(event, "anchor", None) or (plain and getattr(event, "tag", None)):
                raise ValueError(f"{line} has an anchor, an alias or a tag, which is not read here")
            level += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if level > depth:
                raise ValueError(f"{line} is nested deeper than {depth} levels")
        return yaml.load(text, Loader=loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: {getattr(error, 'problem', '')}" if mark else str(error).partition("\n")[0]
        raise ValueError(where[:150]) from None


_JSONC_PARTS = (
    r'(?s)("(?:[^"\\]|\\.)*(?:"|\Z))|(//[^\n]*|/\*.*?(?:\*/|\Z))|(,)(?=(?:\s|//[^\n]*\n|(?>/\*.*?\*/))*[}\]])'
)


def loads_lenient(text: str, *, exact: bool = False) -> Json:
    """Read one JSON value; comments and commas before a closing bracket are ignored without changing line numbers.

    Args:
        exact: as in `jsontext.loads`.

    Raises:
        JsonProblem: the text is not JSON even without comments and such commas.
        LimitExceeded: the text is nested too deeply.
    """
    return loads(without_comments(text.removeprefix("\ufeff")), exact=exact)


def without_comments(text: str) -> str:
    """JSON with spaces in place of comments and of commas before a closing bracket."""
    return re.sub(_JSONC_PARTS, lambda part: part[1] or re.sub(r"[^\n]", " ", part[0]), text)


W = TypeVar("W", bound=str)
R = TypeVar("R")
LONGEST = 1e9
"""Seconds that count as endless: a number may have more digits than a float takes."""
_SURROGATE = "[\ud800-\udfff]"
LONE_SURROGATE = "has a lone surrogate in it: half of a character that was cut in two. Write it again."
_NAMED = ("a string", "true or false", "a whole number", "a number", "a list", "a table")
_WORDS = dict(zip((str, bool, int, float, list, dict), _NAMED, strict=True))
Flaws = Iterable[tuple[str, str, str]]
"""Key, sentence and hint of each contradiction."""


class Table:
    """One table of a file. Every `take_…` returns the value of a key, or the default with a problem added.

    Args:
        values: the parsed table; anything but a mapping is a problem.
        where: the dotted key of the table, empty for the whole file.
        problems: the list to which the table adds problems.
    """

    def __init__(self, values: object, file: str, where: str, problems: list[Problem]) -> None:
        self.file = file
        self.where = where
        self.problems = problems
        self._taken: set[str] = set()
        self._values: Mapping[str, Any] = {}
        if wrong := where if lone_surrogate(where) else place_of(values, where, lone_surrogate):
            self.problems.append(Problem(file, wrong, LONE_SURROGATE))
        elif isinstance(values, Mapping):
            self._values = values
        else:
            self.problem("", f"must be a table, not {kind_of(values)}.")

    def problem(self, key: str, message: str, hint: str = "") -> None:
        """Add a problem about a key of this table."""
        self.problems.append(Problem(self.file, self._at(key), message, hint))

    def keys(self) -> tuple[str, ...]:
        """The keys of the table, in their order."""
        return tuple(self._values)

    def take(self, key: str) -> Any:
        """The raw value of a key, or None where it is missing."""
        self._taken.add(key)
        return self._values.get(key)

    def take_text(self, key: str, default: str = "") -> str:
        return self._typed(key, str, default)

    def take_word(self, key: str, default: W, choices: Sequence[W]) -> W:
        text = self.take_text(key, default)
        if text != default and text not in choices:
            self.problem(key, f"must be one of {', '.join(choices)}, not `{text}`.", nearest(text, choices))
        return next((word for word in choices if word == text), default)

    def take_flag(self, key: str, default: bool = False) -> bool:
        return self._typed(key, bool, default)

    def take_integer(self, key: str, default: int, smallest: int) -> int:
        value = self._typed(key, int, default)
        if value < smallest:
            self.problem(key, f"must be at least {smallest}, not {value}.")
        return value if value >= smallest else default

    def take_seconds(self, key: str) -> float | None:
        """A duration in seconds above zero, or None where the key is missing."""
        value = self._typed(key, float, None)
        if value is not None and not value > 0:
            self.problem(key, f"must be a number of seconds above 0, not `{value}`.")
        return float(min(value, LONGEST)) if value is not None and value > 0 else None

    def take_texts(self, key: str) -> tuple[str, ...]:
        values = self._typed(key, list, list[Any]())
        for number, value in enumerate(values):
            if not isinstance(value, str):
                self.problem(f"{key}[{number}]", f"must be a string, not {kind_of(value)}.")
        return tuple(value for value in values if isinstance(value, str))

    def take_pairs(self, *keys: str) -> dict[str, str]:
        """The tables of strings under these keys, merged into one; numbers and booleans become text."""
        pairs: dict[str, str] = {}
        for key, name, value in ((one, *pair) for one in keys for pair in self._typed(one, dict, {}).items()):
            if isinstance(value, (str, int, float)):
                pairs[str(name)] = str(value).lower() if isinstance(value, bool) else str(value)
            else:
                self.problem(f"{key}.{name}", f"must be a string, not {kind_of(value)}.")
        return pairs

    def take_json(self, key: str) -> Json:
        """A value that is sent unchanged; dates are a problem, because JSON has none."""
        value = self.take(key)
        if wrong := place_of(value, key, _not_json):
            self.problem(wrong, "is not a JSON value.", "Dates and times have to be written as strings.")
        return None if wrong else value

    def inner(self, key: str) -> Table:
        """The table under a key; an empty table where the key is missing."""
        value = self.take(key)
        return Table({} if value is None else value, self.file, self._at(key), self.problems)

    def rows(self, key: str, short: str = "") -> list[Table]:
        """The tables of a list under a key, such as `[[policy]]`.

        A string in the list stands for a table that has the string under the key `short`.
        """
        value = self.take(key)
        if value is not None and not isinstance(value, list):
            self.problem(key, f"must be written as [[{key}]] tables, not {kind_of(value)}.")
            return []
        tables = ({short: one} if short and isinstance(one, str) else one for one in value or ())
        return [Table(one, self.file, f"{self._at(key)}[{at}]", self.problems) for at, one in enumerate(tables)]

    def take_fields(self, record: R, names: Iterable[str], prefix: str = "") -> R:
        """The record with the table's values for these fields; a field's default or Literal type says what may be set.

        Args:
            prefix: the text before the names in the record.
        """
        found: dict[str, Any] = {}
        for name in names:
            field = prefix + name
            default = getattr(record, field)
            if self.take(name) is None:
                continue
            if words := words_of(type(record)).get(field):
                found[field] = self.take_word(name, default, words)
            elif isinstance(default, Mapping):
                found[field] = self.take_pairs(name)
            elif isinstance(default, tuple):
                found[field] = self.take_texts(name)
            elif default is None:
                found[field] = self._typed(name, dict, None) if self.take_json(name) is not None else None
            else:
                found[field] = value = self._typed(name, type(default), default)
                if name != "priority" and isinstance(value, (int, float)) and value != default and not value >= 0:
                    self.problem(name, f"must be 0 or more, not {value}.")
                    found[field] = default
        return cast("R", replace(cast("Any", record), **found))

    def take_record(self, record: R, names: Iterable[str], wrong: Callable[[R], Flaws] = lambda _: ()) -> R | None:
        """The record with the whole table as in `take_fields`; None, with problems added, where anything is wrong.

        Args:
            wrong: returns the contradictions in the record.
        """
        before = len(self.problems)
        found = self.take_fields(record, names)
        self.refuse_rest()
        for key, message, hint in wrong(found) if len(self.problems) == before else ():
            self.problem(key, message, hint)
        return found if len(self.problems) == before else None

    def refuse_rest(self) -> None:
        """Add a problem for every key that was never taken, with the most similar valid key or all of them."""
        for key in self._values:
            if key not in self._taken:
                known = sorted(self._taken)
                there = f"There are {', '.join(known[:30])}{' …' if len(known) > 30 else ''}." if known else ""
                self.problem(key, "is not a known key.", nearest(key, known) or there)

    def _at(self, key: str) -> str:
        return ".".join(part for part in (self.where, key) if part)

    def _typed(self, key: str, kind: type[Any], default: Any) -> Any:
        value = self.take(key)
        good = isinstance(value, (int, float) if kind is float else kind)
        good = good and (kind is bool or not isinstance(value, bool))
        if value is not None and not good:
            self.problem(key, f"must be {_WORDS[kind]}, not {kind_of(value)}.")
        return value if good else default


@cache
def words_of(kind: type[Any]) -> dict[str, tuple[str, ...]]:
    """The words that each field of a record allows, from its Literal type or its annotation."""

    def words(part: Any) -> tuple[str, ...]:
        return part if isinstance(part, tuple) else get_args(part) if get_origin(part) is Literal else ()

    hints = get_type_hints(kind, include_extras=True)
    parts = {name: (hint, *get_args(hint)) for name, hint in hints.items()}
    return {name: tuple(filter(None, chain(*map(words, some)))) for name, some in parts.items()}


def lone_surrogate(value: object) -> bool:
    """Whether a value is text with half of a surrogate pair, which cannot be encoded."""
    return isinstance(value, str) and not value.isascii() and re.search(_SURROGATE, value) is not None


def _not_json(value: object) -> bool:
    return not (value is None or isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value)))


def place_of(value: object, where: str, wrong: Callable[[object], bool]) -> str:
    """The dotted key of the first wrong key or leaf inside a value; empty where nothing is wrong."""
    if isinstance(value, Mapping):
        inside = [(f"{where}.{key}", key, item) for key, item in cast("Mapping[str, object]", value).items()]
    elif isinstance(value, list):
        inside = [(f"{where}[{at}]", "", item) for at, item in enumerate(cast("list[object]", value))]
    else:
        return where if wrong(value) else ""
    return next(filter(None, (at if wrong(key) else place_of(item, at, wrong) for at, key, item in inside)), "")


def kind_of(value: object) -> str:
    """The kind of a value in words: `a string`."""
    words = (words for kind, words in _WORDS.items() if isinstance(value, kind))
    return next(words, "nothing" if value is None else "a date or time")
