"""Parses a command line, and prints help and completions: argparse fed from the tables of `grammar`."""

from __future__ import annotations

import sys
from argparse import SUPPRESS, ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from textwrap import fill
from typing import Any, NoReturn

from mcp_studio import __version__
from mcp_studio.cli.grammar import CODES, CONNECTION, SEE_CONNECTION, VERBS, Option, Verb
from mcp_studio.errors import LimitExceeded, UsageError, nearest
from mcp_studio.jsontext import Json, JsonProblem, loads

_WIDTH = 110
_LAYOUT = partial(RawDescriptionHelpFormatter, max_help_position=26, width=_WIDTH)


@cache
def standard_input() -> bytes:
    """Return all of standard input. It can be read only once, but an option's value is needed once for each server."""
    return sys.stdin.buffer.read()


class Options:
    """A parsed command line: the verb (empty for the studio itself), its words, and its options by long name."""

    def __init__(self, verb: str, words: list[str] | None = None, given: dict[str, list[str]] | None = None) -> None:
        self.verb, self.words, self.given = verb, words or [], given or {}
        self.command: list[str] | None = None
        """The words after `--`; None if there was no `--`."""

    def flag(self, name: str) -> bool:
        """Whether an option was given."""
        return name in self.given

    def value(self, name: str) -> str:
        """Return an option's value, the last if it was given several times, or an empty string."""
        return (self.values(name) or [""])[-1]

    def values(self, name: str) -> list[str]:
        """Return all values of a repeatable option."""
        return self.given.get(name, [])

    def seconds(self, name: str = "--timeout") -> float | None:
        """Return an option's value in seconds, or None if it was not given.

        Raises:
            UsageError: it is not a number above 0.
        """
        if not (text := self.value(name)):
            return None
        try:
            seconds = float(text)
        except ValueError:
            seconds = 0.0
        if not 0 < seconds < float("inf"):
            raise UsageError(f"{name}: `{text}` is no number of seconds above 0.")
        return seconds

    def count(self, name: str, most: int, least: int = 1) -> int | None:
        """Return an option's value as a whole number, or None if it was not given.

        Raises:
            UsageError: it is not a whole number from `least` to `most`.
        """
        if not (text := self.value(name)):
            return None
        if not (text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) <= most):
            raise UsageError(f"{name}: `{text}` is no whole number from {least} to {most:,}.")
        return int(text)

    def read(self, name: str, text: str = "") -> bytes:
        """Return what an option's value stands for: the text itself, the content of `@FILE`, or standard input.

        Raises:
            UsageError: the file cannot be read.
        """
        text = text or self.value(name)
        if text == "-":
            return standard_input()
        if not text.startswith("@"):
            return text.encode("utf-8", "surrogateescape")
        try:
            return Path(text[1:]).expanduser().read_bytes()
        except OSError as problem:
            raise UsageError(f"{name}: {text[1:]} cannot be read: {problem.strerror or problem}.") from None

    def json(self, name: str, otherwise: Any) -> Any:
        """Return an option's value as JSON.

        Raises:
            UsageError: it cannot be read or is not JSON.
        """
        if not self.value(name):
            return otherwise
        try:
            return loads(self.read(name), exact=True)
        except (JsonProblem, LimitExceeded) as problem:
            raise UsageError(f"{name} is not valid JSON: {str(problem).rstrip('.')}.") from None

    def object(self, name: str) -> dict[str, Json]:
        """Return an option's value as a JSON object; empty if it was not given.

        Raises:
            UsageError: as for `json`, or it is not an object.
        """
        value = self.json(name, {})
        if not isinstance(value, dict):
            raise UsageError(f"{name} must be a JSON object.")
        return value

    @property
    def headers(self) -> list[tuple[str, str]]:
        """Return the values of `--header` as pairs.

        Raises:
            UsageError: one is not of the form `Name: value`.
        """
        pairs: list[tuple[str, str]] = []
        for text in self.values("--header"):
            name, colon, value = text.partition(":")
            if not colon or not name.strip() or " " in name.strip():
                raise UsageError(f"--header: `{text}` is not of the form `Name: value`.")
            pairs.append((name.strip(), value.strip()))
        return pairs


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message.removeprefix('argument ')}.")


def _parser(verb: Verb, *, all: bool = True) -> ArgumentParser:
    """Build the parser of one verb. `all`: include the options that `--help connection` describes."""
    usage = "\n       ".join(f"mcp-studio {line}" for line in verb.usage.split("\n"))
    about = "\n".join(fill(part, _WIDTH) for part in verb.about.split("\n"))
    epilog = "\n".join(filter(None, (SEE_CONNECTION if verb.shared else "", CODES)))
    parser = _Parser(
        usage=usage, description=about, epilog=epilog, formatter_class=_LAYOUT, add_help=False, allow_abbrev=False
    )  # fmt: skip
    for option in (*verb.options, *(verb.shared if all else ())):
        names = [name for name in (option.name, option.short) if name]
        values = "" if not option.choices or option.choices[-1] in option.help else f": {', '.join(option.choices)}"
        add = partial(parser.add_argument, *names, dest=option.name, help=option.help + values, default=SUPPRESS)
        if option.optional:
            add(action="append", metavar=option.value, nargs="?", const="")
        elif option.value:
            add(action="append", metavar=option.value, choices=None if option.others else option.choices or None)
        else:
            add(action="store_const", const=[])
    return parser


def parse(argv: Sequence[str]) -> Options:
    """Read a command line.

    Raises:
        UsageError: a verb or option is unknown (the message names the nearest), or a value is missing or wrong.
    """
    words = list(argv)
    command = None
    if "--" in words:
        at = words.index("--")
        words, command = words[:at], words[at + 1 :]
        if command and command[0].startswith("-"):
            hint = "Options of mcp-studio stand before it, those of the server behind the command."
            raise UsageError(f"{command[0]} stands behind --, where the command of the server begins.", hint=hint)
    name = words.pop(0) if words and words[0] in VERBS else ""
    verb = VERBS[name]
    if name == "auth" and "token" in words:  # here it is a flag: print the token as a header line
        shared = tuple(one for one in verb.shared if one.name != "--header")
        verb = verb._replace(options=(*verb.options, Option("--header", "")), shared=shared)
    if name == "trace":  # here `-word` belongs to the query
        words = [word if word[:1] != "-" or word[:2] == "--" or verb.option(word) else f"\0{word}" for word in words]
    known, rest = _parser(verb).parse_known_args(words)
    wrong = next((word.partition("=")[0] for word in rest if word.startswith("-") and word != "-"), "")
    if not name and (later := next((word for word in rest if word in VERBS), "")):
        verb = VERBS[later]
        if not wrong or verb.option(wrong):
            raise UsageError(f"The verb comes first: mcp-studio {later} …", hint="Options stand behind it.")
    if wrong:
        known_here = [option.name for option in (*verb.options, *verb.shared)]
        what = f"`{name}` has no option" if name else "There is no option"
        raise UsageError(f"{what} {wrong}.", hint=nearest(wrong, known_here))
    if not name and rest and "://" not in rest[0]:
        hint = nearest(rest[0], VERBS) or "`mcp-studio --help` shows all verbs."
        raise UsageError(f"There is no verb `{rest[0]}`.", hint=hint)
    options = Options(name, [word.removeprefix("\0") for word in rest], vars(known))
    options.command = command
    _check(verb, options)
    return options


def _check(verb: Verb, options: Options) -> None:
    """Refuse options that exclude each other or do not fit the verb, and durations that are not numbers."""
    if verb.closed and (word := "".join(options.words[:1])) not in ("", *verb.words):
        hint = nearest(word, verb.words) or f"There are {', '.join(verb.words)}."
        raise UsageError(f"`{options.verb}` knows no `{word}`.", hint=hint)
    for one, other in verb.apart:
        if options.flag(one) and options.flag(other):
            raise UsageError(f"{one} and {other} do not go together.")
    for option in (*verb.options, *verb.shared):
        if option.needs and options.flag(option.name) and not any(map(options.flag, option.needs)):
            raise UsageError(f"{option.name} needs {' or '.join(option.needs)}.")
        if option.words and options.flag(option.name) and "".join(options.words[:1]) not in option.words:
            raise UsageError(f"{option.name} is for `{f'{options.verb} {option.words[-1]}'.rstrip()}`.")
        if option.value == "SECONDS":
            options.seconds(option.name)


def help_text(words: Sequence[str]) -> str | None:
    """Return the text for `--version`, `--help` and `help`; None for any other command line."""
    ours = words[: words.index("--")] if "--" in words else words
    if ours[:1] in (["--version"], ["-V"]):
        return f"mcp-studio {__version__}\n"
    if not ({"--help", "-h"} & {*ours} or ours[:1] == ["help"]):
        return None
    topics = [word for word in ours if word not in ("--help", "-h", "help")]
    if "connection" in topics[:2]:
        return _parser(CONNECTION).format_help()
    if verb := next((word for word in topics if word in VERBS), ""):
        return _parser(VERBS[verb], all=False).format_help()
    verbs = "\n".join(f"  {name:<13}{one.summary}" for name, one in VERBS.items() if name)
    about = f"mcp-studio {__version__} - {VERBS[''].summary}\n\nverbs (mcp-studio VERB --help):\n{verbs}"
    return _parser(VERBS[""]._replace(about=about), all=False).format_help()


def show(text: str) -> int:
    """Print a text; returns the exit code."""
    with suppress(BrokenPipeError):
        sys.stdout.buffer.write(text.encode())
        sys.stdout.flush()
    return 0


_SCRIPTS = Path(__file__).parent / "completion"
"""One script per shell; each asks `mcp-studio completion -- WORDS`."""


def completion(options: Options, servers: Callable[[], Iterable[str]]) -> str:
    """Return the script for `completion SHELL`, or the candidates for the last word after `--`.

    Args:
        servers: returns the servers' names; called only if needed.

    Raises:
        UsageError: the shell is unknown.
    """
    if options.command is not None:
        return "".join(f"{word}\n" for word in candidates(options.command, servers))
    if len(options.words) != 1:
        raise UsageError("Which shell?", hint=f"mcp-studio {VERBS['completion'].usage}")
    return (_SCRIPTS / f"mcp-studio.{options.words[0]}").read_text("utf-8")


def candidates(words: Sequence[str], servers: Callable[[], Iterable[str]]) -> list[str]:
    """List what the last word can be completed to. Empty where a file or the server's own command is typed."""
    *before, last = words or [""]
    if "--" in before:
        return []
    verb = VERBS.get(before[0] if before else "", VERBS[""])
    option = verb.option(before[-1] if before else "")
    if option is not None and option.value and not option.optional:
        found = servers() if option.name == "--server" else option.choices
    else:
        found = [*(one.name for one in (*verb.options, *verb.shared)), "--help"]
        if not before:
            found += [*filter(None, VERBS), "--version"]
        elif len(before) == 1:
            found += verb.words
    return [word for word in found if word.startswith(last)]
