"""Unexpected output: lines on standard output that are no messages, their place between messages, and their causes.

On stdio a server must write nothing but messages to standard output (specification, basic/transports).
"""

import os
import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from mcp_studio.jsontext import loads_or
from mcp_studio.trace.message import GREETINGS, KINDS, Recording, WireMessage

Sort = Literal["banner", "log", "json", "broken", "trace", "text"]
"""`json` is JSON over several lines, `broken` a message mixed with other text, `trace` a stack trace."""
_MESSAGES = frozenset(KINDS.index(kind) for kind in ("request", "notification", "result", "error"))
_LINES = frozenset(KINDS.index(kind) for kind in ("stray", "invalid"))
_READ = 2_000
"""The most bytes of a line that are read."""
_SCANNED = 200_000
"""The most entries that are searched."""
_MOST = 2_000

_ANSI = re.compile(rb"\x1b[\[\]()][0-9;?]*[A-Za-z]?")
_LEVELS = rb"TRACE|DEBUG|INFO|INFORMATION|NOTICE|WARN|WARNING|ERROR|ERR|FATAL|CRITICAL|SEVERE"
_LEVEL = re.compile(
    rb"^[^\w]{0,3}(?:\d[\d:.,TZ/ +-]{6,}\W*|\w{3} \d+ [\d:]+ ?)?(?:[\w.$-]{1,60}[ :|\-\]]+){0,2}\W{0,3}"
    rb"(?:(?:" + _LEVELS + rb")\b|(?i:" + _LEVELS + rb")[\]:|])"
)
_STAMP = re.compile(rb"\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d|.{0,80}\blevel=\w")
_RECORD = re.compile(rb'\{.{0,400}"(?:level|severity|levelname|lvl)"\s*:', re.DOTALL)
_STACK = re.compile(
    rb'^(?:Traceback \(most recent|\s+File "|\s+at \S+[ (]|goroutine \d+|thread \'.*\' panicked|panic: )'
)


class Stray(NamedTuple):
    """One line, or the rest of a message that cannot be read."""

    entry: WireMessage
    sort: Sort


class Burst(NamedTuple):
    """Lines between two messages."""

    before: WireMessage | None
    """The last message before the lines, in either direction; None if there was none."""
    lines: tuple[Stray, ...]
    after: WireMessage | None


def bursts(trace: Recording, server: str, *, first: int = 1, most: int = _MOST) -> list[Burst]:
    """The unexpected lines of a server, the newest first; at most `most` lines.

    Args:
        first: the number of the first entry to search.
    """
    columns = trace.columns
    server_number, end = columns.servers.get(server), columns.first + len(columns)
    runs: list[Burst] = []
    lines: list[WireMessage] = []
    count = after = 0
    for number in range(end - 1, max(first, columns.first, end - _SCANNED) - 1, -1):
        row = number - columns.first
        kind = columns.kind[row] & 15
        if columns.server[row] != server_number:
            continue
        if kind in _MESSAGES:
            if lines:
                runs.append(_burst(trace, number, lines, after))
                lines = []
            after = number
        elif kind in _LINES and count < most and (entry := trace.entry(number)) is not None and _is_stray(entry):
            lines.append(entry)
            count += 1
        if count == most and not lines:
            break
    return [*runs, _burst(trace, 0, lines, after)] if lines else runs


def _is_stray(entry: WireMessage) -> bool:
    """Whether an entry is a line of standard output that is no message."""
    if entry.kind == "stray":
        return True
    text = text_of(entry)
    # The lint reports a message that is wrong in another way.
    message = b'"jsonrpc"' in text and len(text) < _READ and loads_or(text) is not None
    return entry.direction == "in" and not entry.exchange and not entry.by_hand and not message


def _burst(trace: Recording, before: int, newest_first: list[WireMessage], after: int) -> Burst:
    above = trace.entry(before)
    lines = tuple(Stray(entry, sort_of(text_of(entry), above)) for entry in reversed(newest_first))
    if len(lines) > 1 and any(text_of(one.entry).strip(b" \t\r,") in (b"{", b"}", b"[", b"]") for one in lines):
        lines = tuple(one._replace(sort="json") if one.sort != "log" else one for one in lines)
    return Burst(above, lines, trace.entry(after))


def text_of(entry: WireMessage) -> bytes:
    """The beginning of a line."""
    return entry.body[:_READ] if entry.size < 1 << 20 or isinstance(entry.held, bytes) else b""


def sort_of(line: bytes, before: WireMessage | None) -> Sort:
    """Classify a line by its text.

    Args:
        before: the last message before the line; None at the very beginning.
    """
    bare = _ANSI.sub(b"", line)
    if b'"jsonrpc"' in bare:
        return "broken"
    if _STACK.match(bare):
        return "trace"
    if _LEVEL.match(bare) or _STAMP.match(bare) or _RECORD.match(bare):
        return "log"
    return "banner" if before is None or before.method in GREETINGS else "text"


# ---------------------------------------------------------------------- sentences


class _Language(NamedTuple):
    """The usual causes in one language."""

    name: str
    words: str
    """The programs and file endings that identify the language."""
    cause: str
    """What prints to standard output."""
    logging: str
    """What logs to standard output."""
    remedy: str
    """What prints to standard error instead."""


_LANGUAGES = (
    _Language("Python", "python pypy uv uvx pipx poetry hatch pdm conda .py .pyz",
              "a print()", "logging.basicConfig(stream=sys.stdout)", "print(…, file=sys.stderr)"),
    _Language("Node.js", "node npx npm yarn pnpm bun bunx deno tsx ts-node .js .mjs .cjs .ts",
              "a console.log()", "a logger on process.stdout, as pino and winston have it", "console.error()"),
    _Language("Go", "go .go", "a fmt.Println", "a logger on os.Stdout", "log.Println"),
    _Language("Rust", "cargo .rs", "a println!", "tracing_subscriber::fmt() without with_writer", "eprintln!"),
    _Language("Java", "java jbang kotlin scala mvn gradle .jar",
              "a System.out.println", "a console appender on System.out", "System.err.println"),
)  # fmt: skip
SORTS: dict[Sort, str] = {
    "banner": "greeting",
    "log": "log line",
    "json": "JSON over several lines",
    "broken": "message mixed with other text",
    "trace": "stack trace",
    "text": "printed text",
}
"""Each kind of line in a few words."""
_EXPLANATIONS: dict[Sort, str] = {
    "banner": "A greeting before the first message of the server.",
    "log": "A log line on standard output; logs belong on standard error.",
    "json": (
        "JSON over several lines. A message has to be one line: write it without indentation, and newlines in its "
        "texts as \\n."
    ),
    "broken": (
        "A message mixed with other text, or two messages on one line: two threads or processes write "
        "to standard output at once, without a lock or unbuffered."
    ),
    "trace": "A stack trace that was printed to standard output: an error that the server did not expect.",
    "text": "Text that was printed to standard output.",
}


def explain(sort: Sort, argv: Sequence[str]) -> str:
    """What an unexpected line is, its usual cause, and what to do.

    Args:
        argv: the command that starts the server, which identifies the language.
    """
    if sort == "json":
        return _EXPLANATIONS[sort]
    if (language := _language_of(argv)) is None:
        return f"{_EXPLANATIONS[sort]} The usual cause is a print in the server's code, or in a library that it uses."
    cause = language.logging if sort == "log" else f"{language.cause} in its code, or in a library that it uses"
    usual = f"In {language.name} the usual cause is {cause}; {language.remedy} writes to standard error instead."
    return f"{_EXPLANATIONS[sort]} {usual}"


def _language_of(argv: Sequence[str]) -> _Language | None:
    """The language of the server that a command starts, by the first word that identifies one."""
    for word in " ".join(argv).lower().replace("\\", "/").split():
        program = os.path.basename(word).removesuffix(".exe").removesuffix(".cmd").rstrip("0123456789.")
        ending = os.path.splitext(word)[1]
        for language in _LANGUAGES:
            if {program, ending} & {*language.words.split()}:
                return language
    return None
