"""How a server or its connection ended: read from the words that the trace has of it, and told with what it means."""

from __future__ import annotations

import re
import signal
from typing import Literal, NamedTuple

How = Literal[
    "exit", "signal", "guard", "stdout", "stdin", "stalled", "refused", "dropped", "status", "timeout", "session",
    "closed", "other",
]  # fmt: skip
ENDED_NOTE = "the connection ended: "
"""How the note on the end of a connection that is no process of ours begins, behind the server's name."""


class Ending(NamedTuple):
    """How it ended; `code` is an exit code, the number of a signal or an HTTP status."""

    how: How
    code: int = 0
    text: str = ""
    """The sentence that it was read from."""

    @property
    def gone(self) -> bool:
        """A process of ours is over."""
        return self.how in ("exit", "signal", "guard", "stdout", "stdin", "stalled")


_PROCESS = re.compile(
    r"(?:ended with exit code (?P<exit>\d+)|was ended by (?P<signal>SIG[A-Z0-9]+|signal \d+)"
    r"|(?P<guard>ended together with its guard)|has closed its standard (?P<pipe>output|input)"
    r"|(?P<stalled>has not read its input for))"
)
_REMOTE: tuple[tuple[How, re.Pattern[str]], ...] = (
    ("session", re.compile(r"no longer knows the session")),
    ("refused", re.compile(r"the connection was refused|does not resolve|No connection to ")),
    ("dropped", re.compile(r"(?:closed|reset) the (?:connection|WebSocket)|hung up|ended (?:before|the stream)")),
    ("dropped", re.compile(r"connection .*ended")),
    ("timeout", re.compile(r"\bwithin [\d.]+ ?s|does not read what is sent")),
)
_STATUS = re.compile(r"HTTP status (\d{3})\b")


def read(server: str, text: str) -> Ending | None:
    """What a note says of the end of a server; None where it is about something else.

    Only what stands right behind the server's name counts: further on, a note may quote the server.
    """
    if not text.startswith(f"{server} "):
        return None
    rest = text[len(server) + 1 :]
    if rest.startswith(ENDED_NOTE):
        return of_words(rest[len(ENDED_NOTE) :])
    found = _PROCESS.match(rest)
    if found is None:
        return None
    if found["exit"]:
        return Ending("exit", int(found["exit"]), text)
    if found["signal"]:
        return Ending("signal", _number(found["signal"]), text)
    if found["pipe"]:
        return Ending("stdout" if found["pipe"] == "output" else "stdin", 0, text)
    return Ending("guard" if found["guard"] else "stalled", 0, text)


def of_words(text: str, status: int = 0) -> Ending:
    """What the sentence of a failure over the network means."""
    if not status and (found := _STATUS.search(text[:400])):
        status = int(found[1])
    for how, words in _REMOTE:
        if words.search(text[:400]):
            return Ending(how, status, text)
    return Ending("status" if status else "other", status, text)


def _number(name: str) -> int:
    if name.startswith("signal "):
        return int(name.removeprefix("signal "))
    return int(getattr(signal, name, 0))


def headline(ending: Ending) -> str:
    """How it ended, without the server's name: `ended with exit code 3`, `was ended by SIGSEGV`."""
    match ending.how:
        case "exit":
            return f"ended with exit code {ending.code}"
        case "signal":
            return f"was ended by {signal_name(ending.code)}"
        case "guard":
            return "ended together with its guard"
        case "stdout":
            return "closed its standard output, though it was still running"
        case "stdin":
            return "closed its standard input, though it was still running"
        case "stalled":
            return "did not read its input any more"
        case "refused":
            return "could not be reached"
        case "dropped":
            return "dropped the connection"
        case "session":
            return "no longer knows the session"
        case "status":
            return f"answered with HTTP status {ending.code}"
        case "timeout":
            return "did not answer in time"
        case "closed":
            return "was closed by the studio"
        case _:
            return "is not connected any more"


def signal_name(number: int) -> str:
    """`SIGSEGV`; `signal 40` where it has no name here."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


_SIGNALS = {
    "SIGSEGV": "It touched memory that is not its own: a crash in native code, its own or that of a library.",
    "SIGBUS": "It touched memory that is not there: a crash in native code, or a mapped file that was cut short.",
    "SIGILL": "It ran an instruction that this processor does not have: often a build for another machine.",
    "SIGFPE": "It calculated what cannot be: often a division by zero in native code.",
    "SIGABRT": "It gave up by itself (abort): a failed assertion, a panic, or memory that was damaged.",
    "SIGKILL": "It was killed from outside: by the system when memory ran out, by a container's limit, or by somebody.",
    "SIGTERM": "Something asked it to end: a supervisor, a container that stops, or somebody.",
    "SIGINT": "It was interrupted, as Ctrl+C does.",
    "SIGHUP": "Its terminal or session went away.",
    "SIGQUIT": "It was told to quit and leave a core file.",
    "SIGPIPE": "It wrote to a pipe that nobody reads any more.",
    "SIGXCPU": "It used more processor time than its limit allows.",
    "SIGXFSZ": "It wrote a file larger than its limit allows.",
    "SIGSYS": "It made a system call that a sandbox forbids.",
    "SIGTRAP": "It ran into a breakpoint or a check of its runtime.",
}
_CODES = {
    0: "It ended as a program does that is done. A server has to go on reading its input until that ends.",
    1: "The usual code for any error; what it said last often tells which.",
    2: "Often the code for arguments that are wrong.",
    126: "The code of a shell for a command that cannot be run.",
    127: "The code of a shell for a command that it does not find.",
    3221225477: "The code of Windows for an access violation: a crash in native code.",
    3221225786: "The code of Windows for Ctrl+C.",
}
_HOWS: dict[How, str] = {
    "stdout": "Nothing that it says can be read any more, so the studio ended it.",
    "stdin": "Nothing can be sent to it any more, so the studio ended it.",
    "stalled": "Its pipe was full, so the studio ended it: it is busy, or waits for something itself.",
    "guard": "The process that watches over the servers is gone, and they went with it.",
    "refused": "Nothing listens at its address: it is not running, or it listens elsewhere.",
    "dropped": "It ended, was restarted, or something between here and there cut the connection.",
    "session": "It was restarted, or has forgotten the session after some time.",
    "timeout": "It is busy, or waits for something itself.",
}


def meaning(ending: Ending) -> str:
    """What that usually means, in a sentence; empty where nothing is known of it."""
    if ending.how == "signal":
        return _SIGNALS.get(signal_name(ending.code), "")
    if ending.how == "exit":
        if known := _CODES.get(ending.code):
            return known
        if 128 < ending.code < 128 + 65:
            name = signal_name(ending.code - 128)
            more = _SIGNALS.get(name, "")
            return f"128 and {ending.code - 128}: a program that it had started was ended by {name}. {more}".rstrip()
        return ""
    if ending.how == "status" and ending.code >= 500:
        return "The server, or a proxy before it, is in trouble."
    return _HOWS.get(ending.how, "")
