"""Opens a recording and serves it."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from mcp_studio.config.table import nearest
from mcp_studio.errors import UsageError
from mcp_studio.redact import MARK
from mcp_studio.safetext import safe
from mcp_studio.servers import stdio
from mcp_studio.servers.http import CONNECTIONS, PATH, HttpServer, serve_http
from mcp_studio.servers.mock.peer import Pace, Peer
from mcp_studio.servers.mock.tape import Greeting, Tape, asked_servers
from mcp_studio.trace.export.bundle import open_recording
from mcp_studio.trace.message import Reader, Recording

_SEARCHED = 64 << 20
_INTERRUPTED = 130


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
    reader = played.reader()
    try:
        tape = Tape(played.columns, reader.body, name)
        greeting = Greeting(tape, name)
        _introduce(played, tape, greeting, name, note)
        return _serve(port, lambda: Peer(tape, greeting, Pace(seconds), note), note)
    except KeyboardInterrupt:
        return _INTERRUPTED
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


def _serve(port: int | None, peer: Callable[[], Peer], note: Callable[[str], None]) -> int:
    if port is None:
        return asyncio.run(_stdio(peer))
    serve_http(HttpServer(peer), port, PATH, lambda url: note(f"serving at {url}"), lifespan="off",
                   limit_concurrency=CONNECTIONS)  # fmt: skip
    return 0


async def _stdio(peer: Callable[[], Peer]) -> int:
    ended: list[int] = []
    task = asyncio.current_task()
    for number in (signal.SIGTERM, signal.SIGINT):
        with suppress(NotImplementedError):  # Windows
            asyncio.get_running_loop().add_signal_handler(number, _end, task, ended, 128 + number)
    with suppress(asyncio.CancelledError):
        await stdio.serve(peer(), sys.stdin.buffer, sys.stdout.buffer)
    return ended[0] if ended else 0


def _end(task: asyncio.Task[int] | None, ended: list[int], code: int) -> None:
    ended.append(code)
    if task is not None:
        task.cancel()


def _introduce(recording: Recording, tape: Tape, greeting: Greeting, server: str, note: Callable[[str], None]) -> None:
    count = sum(map(len, tape.requests.values()))
    note(f"mock of {server}: {count:,} recorded requests, protocol {', '.join(greeting.versions)}")
    if greeting.made_up:
        note("the recording does not say how the server introduced itself: that is made up")
    reader = recording.reader()
    try:
        if _has_secrets(reader, recording.total + 1):
            note(f"secrets were taken out of the recording: {MARK} stands for them")
    finally:
        reader.close()


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
