"""The end of a server in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_studio.jsontext import Json
from mcp_studio.present import units
from mcp_studio.trace.message import WireMessage
from mcp_studio.trace.postmortem import Ending, How, Mortem
from mcp_studio.transport.stdio import how_it_ended, signal_name

_HEADLINES: dict[How, str] = {
    "stdout": "closed its standard output, though it was still running",
    "stdin": "closed its standard input, though it was still running",
    "stalled": "did not read its input any more",
    "refused": "could not be reached",
    "dropped": "dropped the connection",
    "session": "no longer knows the session",
    "status": "answered with HTTP status {code}",
    "timeout": "did not answer in time",
    "closed": "was closed by the studio",
    "other": "is not connected any more",
}
_SIGNALS = {
    "SIGSEGV": "It touched memory that is not its own: a crash in native code, its own or that of a library.",
    "SIGBUS": "It touched memory that is not there: a crash in native code, or a mapped file that was cut short.",
    "SIGILL": "It ran an instruction that this processor does not have: often a build for another machine.",
    "SIGFPE": "It made an invalid calculation: often a division by zero in native code.",
    "SIGABRT": "It gave up by itself (abort): a failed assertion, a panic, or memory that was damaged.",
    "SIGKILL": "It was killed from outside: by the system when memory ran out, by a container's limit, or by somebody.",
    "SIGTERM": "Something asked it to end: a supervisor, a container that stops, or somebody.",
    "SIGINT": "It was interrupted, as Ctrl+C does.",
    "SIGHUP": "Its terminal or session went away.",
    "SIGPIPE": "It wrote to a pipe whose reader had gone.",
    "SIGSYS": "It made a system call that a sandbox forbids.",
}
_CODES = {
    0: "It finished by itself. A server has to read its input until the input ends.",
    1: "The usual code for any error; its last output often says which.",
    2: "Often the code for wrong arguments.",
    126: "The code of a shell for a command that cannot be run.",
    127: "The code of a shell for a command that it does not find.",
}
_HOWS: dict[How, str] = {
    "stdout": "The studio could not read its answers any more, and ended it.",
    "stdin": "The studio could not send to it any more, and ended it.",
    "stalled": "Its pipe was full, and the studio ended it: it is busy, or waits for something itself.",
    "guard": "The guard process of the servers was killed, and they with it.",
    "refused": "Nothing listens at its address: it is not running, or it listens elsewhere.",
    "dropped": "It ended, was restarted, or something between here and there cut the connection.",
    "session": "It was restarted, or has forgotten the session after some time.",
    "timeout": "It is busy, or waits for something itself.",
}
_SHOWN = 5
"""The most pending requests that are named."""


def headline(ending: Ending) -> str:
    """How a server ended, without its name: `ended with exit code 3`, `was ended by SIGSEGV`."""
    if ending.how in ("exit", "signal", "guard"):
        return how_it_ended({"exit": ending.code, "signal": -ending.code}.get(ending.how))
    return _HEADLINES[ending.how].format(code=ending.code)


def meaning(ending: Ending) -> str:
    """What such an end usually means, in a sentence; empty if unknown."""
    code = ending.code
    if ending.how == "signal":
        return _SIGNALS.get(signal_name(code), "")
    if ending.how == "exit" and 128 < code < 128 + 65:
        name = signal_name(code - 128)
        more = _SIGNALS.get(name, "")
        return f"128 and {code - 128}: a program that it had started was ended by {name}. {more}".rstrip()
    if ending.how == "exit":
        return _CODES.get(code, "")
    if ending.how == "status" and code >= 500:
        return "The server, or a proxy before it, is in trouble."
    return _HOWS.get(ending.how, "")


def first_line(one: Mortem) -> str:
    """`files ended with exit code 3 after 12 s`."""
    when = "" if one.uptime is None else f" after {units.duration(one.uptime * 1000)}"
    start = "" if one.ready else ", while it was starting"
    return f"{one.server} {headline(one.ending)}{when}{start}"


def flight(one: Mortem, request: WireMessage) -> str:
    """`tools/call add, for 1.2 s`."""
    who = "" if request.direction == "out" else ", asked by the server"
    what = f"{request.method} {request.target}".strip()
    return f"{what}{who}, for {units.duration(one.waited(request))}"


def facts(one: Mortem) -> Iterator[tuple[str, str]]:
    """Short names and values: the pending requests, and the server's last output. Values quote the server."""
    if one.uptime is not None:
        yield "ran", f"for {units.duration(one.uptime * 1000)}" + ("" if one.ready else ", and was not ready yet")
    if text := meaning(one.ending):
        yield "means", text
    for item in one.flights[:_SHOWN]:
        yield "in flight", flight(one, item)
    if len(one.flights) > _SHOWN:
        yield "in flight", f"and {len(one.flights) - _SHOWN} more"
    if one.stray_count:
        last = f", the last: {one.stray[-1]}" if one.stray else ""
        yield "stdout", f"{units.plural(one.stray_count, 'line')} besides the protocol{last}"


def as_json(one: Mortem) -> dict[str, Json]:
    """The end of a server for programs."""
    return {
        "how": one.ending.how,
        "code": one.ending.code,
        "text": headline(one.ending),
        "means": meaning(one.ending),
        "ready": one.ready,
        "uptime": None if one.uptime is None else round(one.uptime, 3),
        "inFlight": [
            {"method": item.method, "target": item.target, "id": item.id, "ms": round(one.waited(item), 1)}
            for item in one.flights
        ],
        "stderr": list(one.stderr),
        "stray": list(one.stray),
        "strayCount": one.stray_count,
    }
