"""Opens a recording and serves it."""

from __future__ import annotations

import signal
import sys
from functools import partial
from pathlib import Path

from mcp_studio.config.table import nearest
from mcp_studio.errors import UsageError
from mcp_studio.redact import MARK
from mcp_studio.safetext import safe
from mcp_studio.servers import loopback
from mcp_studio.servers.mock.peer import Peer
from mcp_studio.servers.mock.tape import Greeting, Tape, asked_servers
from mcp_studio.trace.export.bundle import open_recording
from mcp_studio.trace.message import Reader, Recording

_SEARCHED = 64 << 20


def run(recording: str, sessions: Path, server: str, port: int | None, seconds: float | None, quiet: bool) -> int:
    """Serve until the client leaves, or the process is ended.

    Args:
        recording: a bundle, a file, or a session's name.
        sessions: the folder of sessions.
        server: the name of a server in the recording; empty if it has only one.
        port: a port of 127.0.0.1 for HTTP, 0 for any free one; None is standard input and output.
        seconds: the delay of each answer; None takes the recorded time.

    Raises:
        StudioError: there is no such recording or server, or the port is taken.
    """
    played = open_recording(recording, sessions)
    name = chosen(played, server)
    note = (lambda text: None) if quiet else _note
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # the files of a bundle are deleted
    reader = played.reader()
    try:
        tape = Tape(played.columns, reader.body, name)
        greeting = Greeting(tape, name)
        count = sum(map(len, tape.requests.values()))
        note(f"mock of {name}: {count:,} recorded requests, protocol {', '.join(greeting.versions)}")
        if greeting.made_up:
            note("the recording does not say how the server introduced itself: that is made up")
        if _has_secrets(reader, played.total + 1):
            note(f"secrets were taken out of the recording: {MARK} stands for them")
        peer = partial(Peer, tape, greeting, seconds, note)
        return loopback.run(peer, port, on_start=lambda url: note(f"serving at {url}"))
    finally:
        reader.close()


def chosen(recording: Recording, name: str) -> str:
    """The server to mock.

    Raises:
        UsageError: there is no such server, or there are several and none is named.
    """
    servers = asked_servers(recording.columns)
    if name and name not in servers:
        hint = nearest(name, servers) or f"It has {', '.join(sorted(servers)) or 'none'}."
        raise UsageError(f"The recording has no server `{name}`.", hint=hint)
    if not servers:
        raise UsageError("There is nothing in the recording that a server was asked.")
    if not name and len(servers) > 1:
        raise UsageError("The recording has several servers.", hint=f"--server {'|'.join(sorted(servers))}")
    return name or next(iter(servers))


def _has_secrets(reader: Reader, below: int) -> bool:
    mark, room = MARK.encode(), _SEARCHED
    for block in reader.blocks(below):
        data = b"".join(block.bodies)
        room -= len(data)
        if mark in data or room < 0:
            return room >= 0
    return False


def _note(text: str) -> None:
    sys.stderr.write(safe(text, 1_000) + "\n")
    sys.stderr.flush()
