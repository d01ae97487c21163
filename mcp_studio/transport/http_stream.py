"""Streams that are opened by GET in the older eras: the server's own messages, and answers that are resumed.

Specification 2025-11-25, basic/transports, "Listening for Messages from the Server" and "Resumability and Redelivery".
"""

from __future__ import annotations

import asyncio

from mcp_studio.transport.http_answer import Answer
from mcp_studio.transport.http_errors import HttpFailure, HttpLost, HttpUnreachable, SessionLost
from mcp_studio.transport.http_status import refused, session_lost, told, wants_sign_in, wrong_type
from mcp_studio.transport.http_wire import Cursor, Waiting, Wire

_STEADY = 5.0
"""A stream that was open for this many seconds was of use, whatever came on it."""
_SHORT = 2
"""How often the pause is doubled for a listening stream that ends at once, though it brings something each time."""
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})


async def follow(wire: Wire, cursor: Cursor, waiting: Waiting | None) -> None:
    """Keep one stream open by GET: until `waiting` is answered, or without one for as long as the server offers it.

    It is opened again after the pause the server asked for, at most `limits.reconnects` times without anything new.

    Raises:
        SessionLost: the server no longer knows the session.
        HttpFailure: it cannot be opened, or not any more; the last reason.
        LimitExceeded: an event is too large.
    """
    clock = asyncio.get_running_loop().time
    tries = short = 0
    established = waiting is not None
    pause = waiting is not None
    asked = 0.0
    while True:
        if pause:
            again = tries if waiting is not None else max(tries, short)
            await asyncio.sleep(max(cursor.delay(again, wire.limits), min(asked, wire.limits.retry_max)))
        pause = True
        began, seen, asked = clock(), _progress(cursor, waiting), 0.0
        try:
            standing = waiting.standing if waiting is not None else None
            async with wire.edge.exchange("GET", wire.stream_headers(cursor), head=None, standing=standing) as answer:
                await _accept(wire, answer, established=established)
                established = True
                await wire.pump(answer, cursor, waiting)
            unanswered = " without answering the request" * (waiting is not None)
            problem: HttpFailure = HttpLost(f"{wire.edge.place} ended the stream{unanswered}.")
        except HttpFailure as error:
            if waiting is not None and isinstance(error, SessionLost):
                error.http = None  # It is about the stream: the request itself was not turned away.
            if not _passing(error):
                raise
            problem, asked = error, error.retry_after
        if waiting is not None and waiting.answered:
            return
        held = clock() - began > _STEADY
        tries = 0 if held or _progress(cursor, waiting) > seen else tries + 1
        short = 0 if held else min(short + 1, _SHORT)
        if tries > wire.limits.reconnects:
            problem.hint = problem.hint or f"It was opened {tries} times in a row, and nothing new came."
            raise problem


def _progress(cursor: Cursor, waiting: Waiting | None) -> int:
    """What has to grow for a reconnect to count as useful.

    A server may let us poll for an answer with events that carry an id alone; the deadline of the request bounds that.
    The listening stream has no deadline, so only messages count there.
    """
    return cursor.messages if waiting is None else cursor.events


def _passing(error: HttpFailure) -> bool:
    """Whether trying again can help."""
    if isinstance(error, SessionLost):
        return False
    return error.status in _PASSING or (error.status == 0 and isinstance(error, HttpLost | HttpUnreachable))


async def _accept(wire: Wire, answer: Answer, *, established: bool) -> None:
    """Return if this is an event stream, raise what it is otherwise."""
    if answer.status == 200 and answer.media_type == "text/event-stream":
        return
    body = await wire.error_body(answer)
    place = wire.edge.place
    if answer.status == 404 and wire.session and established:
        raise session_lost(answer, place, body)
    if wants_sign_in(answer):
        raise wire.sign_in(answer, body)
    if answer.status == 405:
        if not established:
            raise HttpFailure("it answers GET with status 405, which is its right", http=told(answer, body))
        raise HttpFailure(
            f"{place} ended the stream early, and does not let it be taken up again: it answers GET with status 405.",
            hint="A stream whose events have ids has to be resumed by a GET with Last-Event-ID.",
            http=told(answer, body),
        )
    if 200 <= answer.status < 300:
        raise wrong_type(answer, place, body, wanted="an event stream")
    raise refused(answer, place, body)
