"""Prints the results of verbs: data on standard output, messages on standard error, and one envelope with `--json`.
Also reads what a person types, one line at a time, without blocking the engine.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from getpass import getpass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_studio.call.query import parsed, query
from mcp_studio.catalog.listing import Entry, Ref
from mcp_studio.cli.options import Options
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.jsontext import Json, pieces, printable
from mcp_studio.paths import write_object
from mcp_studio.present import connections, questions
from mcp_studio.protocol.message import whole
from mcp_studio.protocol.views import ToolView
from mcp_studio.redact import Redactor
from mcp_studio.safetext import escape_live, safe

if TYPE_CHECKING:
    from mcp_studio.cli.questions import Asker
    from mcp_studio.cli.verbs.shell import Shell
    from mcp_studio.session.inbox import Answer, InputRequest
    from mcp_studio.studio import Studio
    from mcp_studio.trace.postmortem import Mortem

try:
    import termios
except ImportError:  # Windows
    termios = None

_COLUMN = 44
"""Widest column by which the next one is aligned."""
RISKS = {"read": "r", "write": "w", "destructive": "d"}
"""Risk of a tool -> its mark."""


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Format rows with aligned columns. Every cell is made safe for the terminal."""
    cells = [[safe(cell, 400) for cell in row] for row in rows]
    lengths = ([len(cell) for cell in column] for column in zip(*cells, strict=True))
    widths = [max((length for length in column if length <= _COLUMN), default=0) for column in lengths]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]


def entry_rows(entries: Sequence[Entry], doubts: Mapping[Ref, str], indent: str = "") -> list[str]:
    """Format one row for each listed entry: risk (for tools), address and description."""
    rows: list[tuple[str, ...]] = []
    for entry in entries:
        about = entry.view.description.strip().split("\n", 1)[0] or entry.view.title
        if entry.skill:
            about = f"(skill) {about}".rstrip()
        if problem := entry.problem_with(doubts):
            about = f"({problem}) {about}".rstrip()
        risk = (RISKS[entry.view.risk],) if isinstance(entry.view, ToolView) else ()
        # Keep server and URI apart: joined by a dot, the server's name would look like part of the URI.
        address = (str(entry.ref),) if entry.ref.kind in ("tool", "prompt") else (entry.ref.server, entry.ref.name)
        rows.append((*risk, *address, safe(about, 160)))
    return [indent + row for row in table(rows)]


_KINDS = {1: "failure", 2: "usage", 3: "sign_in_needed", 4: "unreachable", 5: "tool_error", 6: "input_needed"}
"""Exit code -> `error.kind` of the envelope."""
INTERRUPTED = 130


class Output:
    """Prints everything. Foreign text goes through the sanitizer, and errors also through the redactor."""

    def __init__(self, options: Options) -> None:
        self.take(options)
        self.redactor = Redactor()
        self.lines = False
        """True if data is printed as lines that are read one by one; with `--json` each is an object."""
        self.server = ""
        """The server the verb works with, for the envelope."""
        self.more: dict[str, Json] = {}
        """Further members of the envelope."""
        self.shell: Shell | None = None
        """The shell that keeps the studio open between verbs, if there is one."""
        self.noted: set[str] = set()
        """Messages that are not printed a second time."""
        self.studio: Studio
        """Set once it is open, as is `asker`, which asks the person."""
        self.asker: Asker
        self.ending: Mortem | None = None
        """How the server ended, if a call was lost because of that."""
        self._began = time.perf_counter()
        self.ms: float | None = None
        """The duration for the envelope; without it that of the whole run is used."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]

    def take(self, options: Options) -> None:
        """Set how to print from these options."""
        self.options = options
        if options.flag("--query"):
            parsed(options.value("--query"))  # fails before anything is done
        self.json, self.quiet = options.flag("--json") or options.flag("--query"), options.flag("--quiet")
        """Print JSON instead of texts; `--query` alone prints it without an envelope."""
        self.log_level = options.value("--log-level")
        """The lowest level of log messages that are printed; empty for none."""

    def data(self, *texts: object) -> None:
        """Print texts on standard output; an iterator is a text in pieces. Nothing with `--json`."""
        for text in () if self.json else texts:
            self._print(text if isinstance(text, Iterator) else iter((str(text), "\n")))

    def content(self, value: Json) -> None:
        """Print a value as indented JSON on standard output; nothing with `--json`."""
        self.data(map(escape_live, pieces(value)))

    def table(self, rows: Sequence[Sequence[str]], heads: Sequence[str] = ()) -> None:
        """Print rows with aligned columns. `heads` come first if there are rows."""
        self.data(*table([heads, *rows] if rows and heads else rows))

    def listing(self, rows: Sequence[Sequence[str]], facts: Json, *, empty: str, heads: Sequence[str] = ()) -> int:
        """Print a table, or a message if it is empty, and finish without an error. Returns the exit code."""
        self.table(rows, heads)
        if not rows:
            self.note(empty)
        return self.done(facts)

    def line(self, text: str, value: dict[str, Json], *, lines: bool = False) -> None:
        """Print one line, or several, at once: the text, or with `--json` the object."""
        said = _json(self._found(value), 0) if self.json else iter((safe(text, len(text) or 1, lines=lines),))
        self._print(said, exact=True)
        sys.stdout.flush()

    def flush(self) -> None:
        """Send everything printed so far to whoever reads it."""
        sys.stdout.flush()

    def note(self, *texts: object) -> None:
        """Print each text as one line on standard error. Empty texts are skipped."""
        for text in () if self.quiet else filter(None, texts):
            sys.stderr.write(safe(self.redactor.text(str(text))) + "\n")

    def once(self, text: str) -> None:
        """Print a message unless it was printed before."""
        if text not in self.noted:
            self.noted.add(text)
            self.note(text)

    def answered(self, given: tuple[InputRequest, Answer]) -> None:
        """Print which page a rule has accepted or refused: no browser opens for it."""
        request, answer = given
        if request.kind == "url":
            self.note(f"{questions.request_words(request)} ({answer.by}: {answer.action}): {request.message}")
            if not self.quiet:
                self._address(request.url)

    def warn(self, *texts: object) -> None:
        """Print problems that do not stop the verb on standard error, even with `--quiet`."""
        for text in filter(None, texts):
            self._say("warning", "33", text)

    def warn_of_list(self, server: str, kind: str, *problems: str) -> None:
        """Print the problems of a server's list. Empty ones are skipped."""
        self.warn(*(f"{server}, {kind}s: {problem}" for problem in problems if problem))

    def fail(self, error: StudioError, detail: dict[str, Json] | None = None) -> int:
        """Print an error, as text or as the envelope. Returns the exit code.

        Args:
            detail: further members of the envelope's `error`.
        """
        detail = {**error.detail, **(detail or {})}
        self.flush()  # what was printed before comes first, even if both go to one file
        self._say("error", "31", error.message)
        if detail.get("asked") == "url":
            self._address(str(detail["url"]))
        text = self.redactor.text(error.hint)
        sys.stderr.writelines(f"  {safe(line)}\n" for line in text.splitlines())
        if self.json:
            message = {"kind": _KINDS.get(error.exit_code, "failure"), "message": self.redactor.text(error.message)}
            hint = {"hint": text} if text else {}
            http = {"http": connections.http_json(error.http, self.redactor)} if error.http is not None else {}
            self.envelope({"ok": False, "error": {**message, **hint, **http, **detail}})
        return error.exit_code

    def attempt(self, doing: Callable[[], int]) -> int:
        """Do something and print its error if it fails. Returns the exit code."""
        try:
            return doing()
        except StudioError as error:
            return self.fail(error)
        except BrokenPipeError:
            raise
        except Exception as error:  # boundary: a bug of ours is printed as one line, not as a stack trace
            if os.environ.get("MCP_STUDIO_DEBUG"):
                raise
            hint = "This is a mistake in mcp-studio. MCP_STUDIO_DEBUG=1 shows where."
            message = f"Something unexpected went wrong: {type(error).__name__}: {error}"
            return self.fail(StudioError(message, hint=hint))

    def store(self, file: str, value: dict[str, Json]) -> None:
        """Write a JSON file to a path that the person named, and say so; `-` is standard output.

        Raises:
            UsageError: it cannot be written.
        """
        if file == "-":
            return self.content(value)
        try:
            write_object(Path(file), value)
        except OSError as problem:
            raise UsageError(f"{file} cannot be written: {problem.strerror or problem}.") from None
        self.note(f"written: {file}")

    def done(self, result: Json = None, error: StudioError | None = None) -> int:
        """Finish, with success if there is no error. Prints the envelope if one is wanted. Returns the exit code."""
        if error is not None:
            return self.fail(error, {"result": result})
        if self.json:
            try:
                self.envelope({"ok": True, "result": self._found(result)})
            except StudioError as wrong:
                return self.fail(wrong, {"result": result})
        # Do it now rather than when the servers are closed.
        sys.stdout.flush()
        return 0

    def interrupted(self, **detail: Json) -> int:
        """Print that the person or the system interrupted the verb. Returns the exit code."""
        if not self.json:
            self.note("interrupted")
        elif not self.lines:
            self.envelope({"ok": False, "error": {"kind": "interrupted", "message": "Interrupted.", **detail}})
        return INTERRUPTED

    def envelope(self, value: dict[str, Json]) -> None:
        """Print an envelope, with `server` and `ms` added."""
        ms = (time.perf_counter() - self._began) * 1000 if self.ms is None else self.ms
        out = {**value, **self.more, "server": self.server or None, "ms": round(ms, 1)}
        if (json := self.options.flag("--json")) or value["ok"]:
            self._print(_json(out if json else value["result"], 0 if self.lines else 2), exact=True)

    def _found(self, value: Json) -> Json:
        if not self.options.flag("--query"):
            return value
        found = query(whole(value), self.options.value("--query"))
        if found is None and isinstance(value, dict) and not self.lines:
            self.note(f"the expression finds nothing in the result, which has {', '.join(value)}")
        return found

    def _print(self, texts: Iterator[str], *, exact: bool = False) -> None:
        """Print a text in pieces, and end its line; `exact` text is safe already, such as JSON with escapes."""
        texts, text = filter(None, texts), ""
        while more := "".join(islice(texts, 20)):  # the text as a whole may be larger than its value
            sys.stdout.write(text := more if exact else safe(more, len(more), lines=True))
        sys.stdout.write("" if text.endswith("\n") else "\n")

    def _address(self, url: str) -> None:
        # Print the whole address: with values removed that look like secrets, such as `state`, it would not work.
        sys.stderr.write(f"  {safe(url, 8_192)}\n")

    def _say(self, word: str, colour: str, text: object) -> None:
        if sys.stderr.isatty() and not os.environ.get("NO_COLOR"):
            word = f"\x1b[{colour}m{word}\x1b[0m"
        sys.stderr.write(f"{word}: {safe(self.redactor.text(str(text)))}\n")


def _json(value: Json, indent: int) -> Iterator[str]:
    """JSON text; a text is printed as it is."""
    if indent and not isinstance(value, str):
        return map(escape_live, pieces(value))
    return iter((value if isinstance(value, str) else printable(whole(value), indent=None), "\n"))


# What is typed

_LONGEST = 1024 * 1024
"""Most bytes in one typed line."""


class EndOfInput(Exception):
    """The person closed the input (Ctrl-D)."""


class Left(Exception):
    """The person typed `:decline` or `:cancel`; the argument is the action."""


def can_ask() -> bool:
    """Return whether a person at a terminal sees our questions and can answer them."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def say(*lines: str) -> None:
    """Print lines of our own text. Foreign parts must already be safe."""
    prompt("".join(f"{line}\n" for line in lines))


def prompt(text: str) -> None:
    """Print our own text without a line end."""
    sys.stderr.write(text)
    sys.stderr.flush()


def frame(text: str) -> None:
    """Print foreign text with a bar before each line, so that a server cannot imitate our own messages."""
    say(*(f"  │ {line}" for line in safe(text, 20_000, lines=True).split("\n")))


class Lines:
    """Reads lines from the terminal. Input is only taken while `read` waits."""

    def __init__(self) -> None:
        self._text = b""

    async def answer(self, question: str, *, hidden: bool = False) -> str:
        """Ask for one line. `hidden`: do not show what is typed.

        Raises:
            Left: the line is one of the words that leave a question.
            EndOfInput: the input has ended.
        """
        prompt(question)
        text = await self.read(hidden=hidden)
        if text.strip() in (":decline", ":cancel"):
            raise Left(text.strip().removeprefix(":"))
        return text

    async def read(self, *, hidden: bool = False) -> str:
        """Read the next line, without its line end. `hidden`: do not show what is typed.

        Raises:
            EndOfInput: the input has ended.
        """
        with _no_echo() if hidden else nullcontext():
            while b"\n" not in self._text:
                data = await self._wait()
                if len(self._text) > _LONGEST or not (data or self._text):
                    raise EndOfInput
                self._text += data or b"\n"
        line, _, self._text = self._text.partition(b"\n")
        return line.decode("utf-8", "replace").rstrip("\r")

    async def _wait(self) -> bytes:
        if sys.platform == "win32":
            return (await asyncio.to_thread(sys.stdin.readline)).encode()
        loop, ready = asyncio.get_running_loop(), asyncio.Event()
        with suppress(PermissionError):  # a regular file can be read at once
            loop.add_reader(0, ready.set)
            try:
                await ready.wait()
            finally:
                loop.remove_reader(0)
        try:
            return os.read(0, 65_536)
        except OSError:
            return b""


_modes: list[Any] = []
"""The terminal's original modes while it hides what is typed."""


@contextmanager
def _no_echo() -> Generator[None]:
    """Do not show what is typed."""
    if termios is None or not os.isatty(0):
        yield
        return
    _modes[:] = termios.tcgetattr(0)
    changed = termios.tcgetattr(0)
    changed[3] &= ~termios.ECHO
    termios.tcsetattr(0, termios.TCSANOW, changed)
    try:
        yield
    finally:
        restore()


def restore() -> None:
    """Show typed text again, and start a new line, even if a thread is still waiting for hidden input."""
    if _modes and termios is not None:
        with suppress(OSError, termios.error):
            termios.tcsetattr(0, termios.TCSANOW, _modes)
        _modes.clear()
        say("")


async def agrees(lines: Lines, question: str) -> bool:
    """Ask a yes/no question. An empty answer means no.

    Raises:
        EndOfInput: the input has ended.
    """
    prompt(f"{question} [y/N] ")
    return (await lines.read()).strip().lower() in ("y", "yes")


def confirm(question: str) -> bool:
    """Ask a yes/no question where no event loop runs. Blocks."""
    with suppress(EndOfInput):
        return asyncio.run(agrees(Lines(), question))
    return False


def typed(text: str) -> str:
    """Read one line without showing it. Blocks, and must run in a thread without an event loop.

    Raises:
        EndOfInput: the input has ended.
    """
    if sys.platform == "win32":
        return getpass(text)
    prompt(text)
    return asyncio.run(Lines().read(hidden=True))


def private(question: str) -> str:
    """Read hidden typing, or else all of standard input. Empty if the person ends the input.

    Raises:
        UsageError: the input is not text.
    """
    try:
        return typed(question) if can_ask() else sys.stdin.buffer.read().decode()
    except EndOfInput:
        return ""
    except UnicodeDecodeError:
        raise UsageError("Standard input is not UTF-8 text.") from None


_SHORTEST = 8
_asked: list[bool] = []
"""One item for each passphrase asked for: a second question means that the first one was wrong."""


def ask(new: bool) -> str:
    """Ask for the passphrase of the encrypted file. Empty if nobody is there or no passphrase is given. Blocks.

    Args:
        new: the person makes up a passphrase and types it twice.
    """
    if not can_ask():
        return ""
    try:
        if new:
            return _new()
        if _asked:
            say("That passphrase does not open the file.")
        _asked.append(new)
        return typed("Passphrase of the encrypted secrets: ")
    except EndOfInput:
        return ""


def _new() -> str:
    say("Secrets are stored in a file here that is encrypted under a passphrase. There is none yet: make one up.")
    while first := typed(f"New passphrase ({_SHORTEST} characters or more): "):
        if len(first) < _SHORTEST:
            say(f"That is too short: it has {len(first)} characters.")
        elif typed("The same again: ") == first:
            return first
        else:
            say("These two are not the same.")
    return ""
