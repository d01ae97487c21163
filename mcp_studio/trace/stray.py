"""Lines on standard output that are no protocol: which there were, between which messages, and how they come about.

On stdio a server must write nothing to standard output that is no message (specification, basic/transports).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
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
    **dict.fromkeys(
        ("python", "python3", "pypy", "pypy3", "uv", "uvx", "pipx", "poetry", "hatch", "pdm", "conda"), PYTHON
    ),
    **dict.fromkeys("node npx npm yarn pnpm bun bunx deno tsx ts-node".split(), NODE),
    **dict.fromkeys(("go",), GO),
    **dict.fromkeys(("cargo",), RUST),
    **dict.fromkeys(("java", "jbang", "kotlin", "scala", "mvn", "gradle"), JAVA),
}
_ENDINGS: dict[str, Language] = {
    ".py": PYTHON, ".pyz": PYTHON, ".js": NODE, ".mjs": NODE, ".cjs": NODE, ".ts": NODE, ".go": GO, ".rs": RUST,
    ".jar": JAVA,
}  # fmt: skip
_LAUNCHERS = {"npx", "npm", "yarn", "pnpm", "bunx", "uvx", "uv", "pipx", "docker", "podman", "poetry", "cargo", "mvn",
              "gradle", "dotnet", "go"}  # fmt: skip
"""Programs that may print something of their own before the server runs."""
_WRAPPERS = {"env", "sudo", "nice", "time", "timeout", "stdbuf", "xvfb-run", "nohup", "exec"}
_VERSIONED = re.compile(r"(python|pypy|node)[\d.]*$")


def program(argv: Sequence[str]) -> str:
    """The name of the program that is run, without its path, version and what only wraps it."""
    words = [word for word in argv if word]
    while words and _name(words[0]) in _WRAPPERS:
        words.pop(0)
        while words and (words[0].startswith("-") or "=" in words[0] or words[0].isdigit()):
            words.pop(0)
    return _name(words[0]) if words else ""


def language_of(argv: Sequence[str], cwd: str = "") -> Language:
    """The language of the server that a command starts; `UNKNOWN` where nothing tells."""
    name = program(argv)
    inner = _script(argv[1:]) if name in ("sh", "bash", "zsh", "dash", "cmd") else None
    if inner is not None:
        return inner
    if name in _PROGRAMS:
        return _PROGRAMS[name]
    for word in argv:
        ending = os.path.splitext(word)[1].lower()
        if ending in _ENDINGS:
            return _ENDINGS[ending]
    return _by_first_line(argv[0] if argv else "", cwd)


def launcher_of(argv: Sequence[str]) -> str:
    """The program that starts the server and may print before it does; empty where there is none."""
    name = program(argv)
    return name if name in _LAUNCHERS else ""


def _script(words: Sequence[str]) -> Language | None:
    """What a shell is told to run, where that is a line: `sh -c "npx server"`."""
    if len(words) > 1 and words[0] in ("-c", "-lc", "-ic", "/c", "/C"):
        found = language_of(words[1].split())
        return None if found is UNKNOWN else found
    return None


def _by_first_line(command: str, cwd: str) -> Language:
    path = os.path.join(cwd, command) if os.sep in command else ""
    if not path:
        return UNKNOWN
    try:
        with open(path, "rb") as file:
            begin = file.read(200)
    except OSError:
        return UNKNOWN
    if not begin.startswith(b"#!"):
        return UNKNOWN
    words = begin[2:].split(b"\n", 1)[0].decode("utf-8", "replace").split()
    return _PROGRAMS.get(program(words), UNKNOWN)


def _name(word: str) -> str:
    name = os.path.basename(word.replace("\\", "/")).lower().removesuffix(".exe").removesuffix(".cmd")
    found = _VERSIONED.match(name)
    return found[1] if found and name not in _PROGRAMS else name


Sort = Literal["banner", "log", "colours", "header", "json", "broken", "bom", "trace", "text"]
"""`json` is JSON over several lines, `broken` a message with something else in it, `trace` a stack trace."""
_IN = 1 << 4
_STRAY, _INVALID = KINDS.index("stray") | _IN, KINDS.index("invalid") | _IN
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
    before: WireMessage | None = None
    count = 0
    for number in _numbers(trace, server, first):
        entry = trace.entry(number)
        if entry is None or not is_stray(entry):
            continue
        if group and (before := _message(trace, group[-1], -1, entry.number)) is not None:
            found.append(_burst(trace, group, before))
            group = []
        group.append(entry)
        count += 1
        if count >= most:
            break
    if group:
        found.append(_burst(trace, group, _message(trace, group[-1], -1, 0)))
    return found


def is_stray(entry: WireMessage) -> bool:
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


def _numbers(trace: Recording, server: str, first: int) -> Iterator[int]:
    """The entries that may be such lines, newest first."""
    columns = trace.columns
    wanted = columns.servers.known(server)
    kinds, start = columns.kind.tobytes(), max(0, first - columns.first)
    if wanted is None:
        return
    places = [kinds.rfind(kind, start) for kind in (_STRAY, _INVALID)]
    while (row := max(places)) >= 0:
        if columns.server[row] == wanted:
            yield columns.first + row
        places = [kinds.rfind(kind, start, row) if place == row else place
                  for place, kind in zip(places, (_STRAY, _INVALID), strict=True)]  # fmt: skip


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
    match sort:
        case "banner" if launcher:
            return (
                "It stands before the first message of the server: a greeting of its own, or output of "
                f"{launcher} that starts it. {usual}"
            )
        case "banner":
            return f"It stands before the first message of the server: a greeting. {usual}"
        case "log":
            cause = language.logging or language.cause
            return f"A log line on standard output. {within}the usual cause is {cause}; logs belong on standard error."
        case "colours":
            return f"Text with colours, made for a terminal, which a server has none of. {usual}"
        case "header":
            return (
                "A header line, as language servers (LSP) and HTTP have them. MCP on stdio has no headers: each "
                "message is one line of JSON and ends with a newline."
            )
        case "json":
            return (
                "JSON over several lines. A message has to be one line: it must be written without indentation, and "
                "newlines in its texts as \\n."
            )
        case "broken":
            return (
                "A message that something else was printed into, or two messages on one line: two threads or processes "
                f"write to standard output at once, without a lock or unbuffered. {usual}"
            )
        case "bom":
            return (
                "A byte order mark before a message: standard output is open with an encoding that writes one "
                "(utf-8-sig, UTF-8 with signature). Plain UTF-8 has none."
            )
        case "trace":
            return (
                f"A stack trace that was printed to standard output: an error that the server did not expect. {usual}"
            )
        case _:
            return f"Text that was printed to standard output. {usual}"
