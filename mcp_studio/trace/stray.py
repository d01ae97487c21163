"""Lines on standard output that are no protocol: which there were, between which messages, and how they come about.

On stdio a server must write nothing to standard output that is no message (specification, basic/transports).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal, NamedTuple

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import JsonProblem, loads
from mcp_studio.trace.message import GREETINGS, KINDS, Recording, WireMessage


class Language(NamedTuple):
    """What is usual in one language."""

    name: str
    cause: str
    """What prints to standard output."""
    remedy: str
    """What prints to standard error instead."""
    logging: str = ""
    """How its log messages get there, where that is another way."""


PYTHON = Language(
    "Python", "a print() in its code, or in a library that it uses", "print(…, file=sys.stderr)",
    "a logging handler on sys.stdout: logging.basicConfig(stream=sys.stdout), or a console library",
)  # fmt: skip
NODE = Language(
    "Node.js", "a console.log() or console.info() in its code, or in a package that it uses", "console.error()",
    "a logger whose transport is the console or process.stdout (pino and winston write there by default)",
)  # fmt: skip
GO = Language(
    "Go", "a fmt.Println or fmt.Printf in its code, or in a module that it uses", "log.Println",
    "a logger that was given os.Stdout: slog.NewTextHandler(os.Stdout, …), log.SetOutput(os.Stdout)",
)  # fmt: skip
RUST = Language(
    "Rust", "a println! or print! in its code, or in a crate that it uses", "eprintln!",
    "tracing_subscriber::fmt(), which writes to standard output without with_writer(std::io::stderr)",
)  # fmt: skip
JAVA = Language(
    "Java", "a System.out.println", "System.err.println",
    "a console appender of Logback or Log4j, which writes to System.out unless its target is System.err",
)  # fmt: skip
UNKNOWN = Language("", "something that it prints, itself or by a library that it uses", "standard error")

_PROGRAMS: dict[str, Language] = {
    **dict.fromkeys("python pypy uv uvx pipx poetry hatch pdm conda".split(), PYTHON),
    **dict.fromkeys("node npx npm yarn pnpm bun bunx deno tsx ts-node".split(), NODE),
    **dict.fromkeys(("go",), GO),
    **dict.fromkeys(("cargo",), RUST),
    **dict.fromkeys("java jbang kotlin scala mvn gradle".split(), JAVA),
}
_ENDINGS: dict[str, Language] = {
    ".py": PYTHON, ".pyz": PYTHON, ".js": NODE, ".mjs": NODE, ".cjs": NODE, ".ts": NODE, ".go": GO, ".rs": RUST,
    ".jar": JAVA,
}  # fmt: skip
_LAUNCHERS = frozenset("npx npm yarn pnpm bunx uvx uv pipx docker podman poetry cargo mvn gradle dotnet go".split())
"""Programs that may print something of their own before the server runs."""


def language_of(argv: Sequence[str]) -> Language:
    """The language of the server that a command starts, by its first word that tells; else `UNKNOWN`."""
    for word in " ".join(argv).split():
        language = _PROGRAMS.get(_name(word)) or _ENDINGS.get(os.path.splitext(word)[1].lower())
        if language is not None:
            return language
    return UNKNOWN


def launcher_of(argv: Sequence[str]) -> str:
    """The program that starts the server and may print before it does; empty where there is none."""
    known = (name for name in map(_name, " ".join(argv).split()) if name in _LAUNCHERS or name in _PROGRAMS)
    return first if (first := next(known, "")) in _LAUNCHERS else ""


def _name(word: str) -> str:
    """The name of a program, without its path and version."""
    name = os.path.basename(word.replace("\\", "/")).lower().removesuffix(".exe").removesuffix(".cmd")
    return name.rstrip("0123456789.")


Sort = Literal["banner", "log", "colours", "header", "json", "broken", "bom", "trace", "text"]
"""`json` is JSON over several lines, `broken` a message with something else in it, `trace` a stack trace."""
_IN = 1 << 4
_KINDS = re.compile(b"[%c%c]" % (KINDS.index("stray") | _IN, KINDS.index("invalid") | _IN))
_FRAMES = frozenset(("request", "notification", "result", "error"))
_READ = 2_000
"""Bytes of a line that are looked at."""
_BETWEEN = 500
"""Entries that are looked at for the messages before and after a line."""
_MOST = 2_000

_ANSI = re.compile(rb"\x1b[\[\]()][0-9;?]*[A-Za-z]?")
_HEADER = re.compile(rb"(?:Content-(?:Length|Type)|Mcp-[\w-]+):\s*\S", re.IGNORECASE)
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
_PIECE = re.compile(rb'^\s*(?:[\[{]|[\]}],?|"(?:[^"\\]|\\.)*"\s*[:,]?.*|-?[\d.]+,?|(?:true|false|null),?)\s*$')


class Stray(NamedTuple):
    """One line, or what is left of a message that cannot be read."""

    entry: WireMessage
    sort: Sort


class Burst(NamedTuple):
    """Lines that came between two messages."""

    before: WireMessage | None
    """The last message before them, in either direction; None where there was none."""
    lines: tuple[Stray, ...]
    after: WireMessage | None


def bursts(trace: Recording, server: str, *, first: int = 1, most: int = _MOST) -> list[Burst]:
    """What a server printed besides the protocol, the newest first; at most so many lines.

    Args:
        first: the number of the entry to begin with.
    """
    found: list[Burst] = []
    group: list[WireMessage] = []
    for entry in islice(_entries(trace, server, first), most):
        if group and (before := _message(trace, group[-1], -1, entry.number)) is not None:
            found.append(_burst(trace, group, before))
            group = []
        group.append(entry)
    if group:
        found.append(_burst(trace, group, _message(trace, group[-1], -1, 0)))
    return found


def _entries(trace: Recording, server: str, first: int) -> Iterator[WireMessage]:
    """The lines, newest first."""
    columns = trace.columns
    wanted = columns.servers.known(server)
    rows = [found.start() for found in _KINDS.finditer(columns.kind.tobytes(), max(0, first - columns.first))]
    for row in reversed(rows):
        entry = trace.entry(columns.first + row) if columns.server[row] == wanted else None
        if entry is not None and _is_stray(entry):
            yield entry


def _is_stray(entry: WireMessage) -> bool:
    """Whether an entry is a line of standard output that is no message."""
    if entry.kind == "stray":
        return True
    within = entry.kind == "invalid" and entry.direction == "in" and not entry.exchange and not entry.by_hand
    return within and not _is_message(text_of(entry))


def _is_message(text: bytes) -> bool:
    """Something that was meant as a message and is wrong in another way, which the lint tells."""
    if b'"jsonrpc"' not in text or len(text) >= _READ:
        return False
    try:
        loads(text)
    except (JsonProblem, LimitExceeded):
        return False
    return True


def _message(trace: Recording, entry: WireMessage, step: int, stop: int) -> WireMessage | None:
    """The nearest message of the same server before or after an entry, not as far as `stop`."""
    columns = trace.columns
    wanted, last = columns.servers.known(entry.server), columns.first + len(columns) - 1
    number = entry.number + step
    while number != stop and columns.first <= number <= last and abs(number - entry.number) <= _BETWEEN:
        row = number - columns.first
        if columns.server[row] == wanted and columns.kind_of(row) in _FRAMES:
            return trace.entry(number)
        number += step
    return None


def _burst(trace: Recording, newest_first: list[WireMessage], before: WireMessage | None) -> Burst:
    after = _message(trace, newest_first[0], 1, 0)
    lines = tuple(Stray(entry, sort_of(text_of(entry), before)) for entry in reversed(newest_first))
    if len(lines) > 1 and sum(bool(_PIECE.match(text_of(one.entry))) for one in lines) * 2 > len(lines):
        if any(text_of(one.entry).strip()[:1] in (b"{", b"[", b"}", b"]") for one in lines):
            lines = tuple(one._replace(sort="json") if one.sort != "log" else one for one in lines)
    return Burst(before, lines, after)


def text_of(entry: WireMessage) -> bytes:
    """The beginning of a line."""
    return entry.body[:_READ] if entry.size < 1 << 20 or isinstance(entry.held, bytes) else b""


def sort_of(line: bytes, before: WireMessage | None) -> Sort:
    """What a line looks like.

    Args:
        before: the last message before it; None at the very beginning.
    """
    bare = _ANSI.sub(b"", line)
    if line.startswith(b"\xef\xbb\xbf"):
        return "bom"
    if _HEADER.match(bare.lstrip()):
        return "header"
    if b'"jsonrpc"' in bare:
        return "broken"
    if _STACK.match(bare):
        return "trace"
    if _LEVEL.match(bare) or _STAMP.match(bare) or _RECORD.match(bare):
        return "log"
    if len(bare) < len(line):
        return "colours"
    return "banner" if before is None or before.method in GREETINGS else "text"


_WORDS: dict[Sort, str] = {
    "banner": "greeting", "log": "log line", "colours": "coloured text", "header": "header of another framing",
    "json": "JSON over several lines", "broken": "message with something else in it", "bom": "byte order mark",
    "trace": "stack trace", "text": "printed text",
}  # fmt: skip


def words(sort: Sort) -> str:
    """A line of that kind in few words."""
    return _WORDS[sort]


def explain(sort: Sort, language: Language, launcher: str = "") -> str:
    """What such a line is, what usually causes it in that language, and what to do."""
    within = f"In {language.name} " if language.name else "Here "
    usual = f"{within}the usual cause is {language.cause}; {language.remedy} goes to people instead."
    if sort == "banner":
        more = f" of its own, or output of {launcher} that starts it" if launcher else ""
        return f"It stands before the first message of the server: a greeting{more}. {usual}"
    if sort == "log":
        cause = language.logging or language.cause
        return f"A log line on standard output. {within}the usual cause is {cause}; logs belong on standard error."
    return _EXPLANATIONS[sort].format(usual=usual)


_EXPLANATIONS: dict[Sort, str] = {
    "colours": "Text with colours, made for a terminal, which a server has none of. {usual}",
    "header": (
        "A header line, as language servers (LSP) and HTTP have them. MCP on stdio has no headers: each message is one "
        "line of JSON and ends with a newline."
    ),
    "json": (
        "JSON over several lines. A message has to be one line: it must be written without indentation, and newlines "
        "in its texts as \\n."
    ),
    "broken": (
        "A message that something else was printed into, or two messages on one line: two threads or processes write "
        "to standard output at once, without a lock or unbuffered. {usual}"
    ),
    "bom": (
        "A byte order mark before a message: standard output is open with an encoding that writes one (utf-8-sig, "
        "UTF-8 with signature). Plain UTF-8 has none."
    ),
    "trace": "A stack trace that was printed to standard output: an error that the server did not expect. {usual}",
    "text": "Text that was printed to standard output. {usual}",
}
