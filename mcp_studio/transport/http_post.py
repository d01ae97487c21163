"""One message out by POST, and what comes back on the same exchange.

Specification 2025-11-25 and 2026-07-28, basic/transports, "Sending Messages to the Server".
"""

from __future__ import annotations

import asyncio
import re
from codecs import BOM_UTF8

from mcp_studio.errors import StudioError
from mcp_studio.protocol.outgoing import Outgoing
from mcp_studio.transport.edge import HeaderList
from mcp_studio.transport.http_answer import Answer
from mcp_studio.transport.http_errors import (
    HttpBroken,
    HttpLost,
    SessionLost,
    excerpt,
)
from mcp_studio.transport.http_headers import merged, valid_session
from mcp_studio.transport.http_ids import answered, error_frame, named, readable
from mcp_studio.transport.http_phases import Standing
from mcp_studio.transport.http_status import endpoint_lost, refused, session_lost, told, wants_sign_in, wrong_type
from mcp_studio.transport.http_stream import follow
from mcp_studio.transport.http_wire import Cursor, Waiting, Wire, is_json
from mcp_studio.transport.tasks import Tasks

_METHOD_NOT_FOUND = re.compile(rb'"code"\s*:\s*-32601\b')
_SESSION = re.compile(rb"session", re.IGNORECASE)


async def ask(wire: Wire, waiting: Waiting) -> None:
    """Post a request and deliver all that comes until it is answered, on a resumed stream if need be.

    It has no deadline of its own once the version is settled: cancel it.

    Raises:
        StudioError: it will not be answered; see `http_errors`.
    """
    out = waiting.out
    cursor = Cursor()
    problem = HttpLost(
        f"{wire.edge.place} ended the stream without answering the request.",
        hint="The answer has to come before the stream ends, or on the resumed one where its events have ids.",
    )
    try:
        await _post(wire, waiting, cursor)
    except HttpLost as error:
        if not cursor.last_id or out.modern or isinstance(error, SessionLost):
            raise
        problem = error
    if waiting.answered:
        return
    if not cursor.last_id or out.modern:
        raise problem
    await follow(wire, cursor, waiting)


async def _post(wire: Wire, waiting: Waiting, cursor: Cursor) -> None:
    out = waiting.out
    # Until the version is settled the exchange is part of connecting. After that the deadline is the request's own,
    # which progress renews and a question to a person suspends: whoever waits ends it by `abandon`.
    head = None if wire.version else wire.edge.connect
    post = wire.edge.exchange(
        "POST", wire.headers(out), out.frame, head=head, patience=wire.patience, standing=waiting.standing
    )
    async with post as answer:
        if not 200 <= answer.status < 300:
            await _refusal(wire, out, answer)
            return
        _session(wire, out, answer)
        if answer.status == 202:
            raise HttpBroken(
                f"{wire.edge.place} accepted the request with status 202, which answers nothing.",
                hint="202 is for notifications; a request has to be answered, as JSON or as an event stream.",
                http=told(answer, await wire.error_body(answer)),
            )
        if answer.media_type == "text/event-stream":
            await wire.pump(answer, cursor, waiting)
            return
        await _json(wire, waiting, answer)


async def _json(wire: Wire, waiting: Waiting, answer: Answer) -> None:
    """Deliver a body that is one JSON text."""
    place, media_type = wire.edge.place, answer.media_type
    if media_type and not is_json(media_type):
        raise wrong_type(answer, place, await wire.error_body(answer))
    body = await answer.read(wire.limits.message)
    if not body.strip() or (not media_type and body.lstrip()[:1] not in b"{["):
        raise wrong_type(answer, place, body)
    marked = body.startswith(BOM_UTF8)  # It may be overlooked (RFC 8259 8.1).
    wire.deliver(body.removeprefix(BOM_UTF8), answer.exchange, None if marked else answer.root)
    if not waiting.answered:
        raise HttpBroken(
            f"What {place} sent does not answer the request: {excerpt(body)}",
            hint="The body of the response has to be a JSON-RPC response with the id of the request.",
            http=told(answer, body),
        )


async def tell(
    wire: Wire, out: Outgoing, *, head: float | None, again: bool = False, standing: Standing | None = None
) -> None:
    """Post a message to which nothing comes back here but a status; with `again` the tap knows it already.

    Raises:
        StudioError: the server did not take it; see `http_errors`.
    """
    post = wire.edge.exchange(
        "POST", wire.headers(out), out.frame,
        head=head, url=wire.endpoint, again=again, patience=wire.patience, standing=standing,
    )  # fmt: skip
    async with post as answer:
        if not 200 <= answer.status < 300:
            await _refusal(wire, out, answer)
        elif answer.status != 204 and (body := await wire.error_body(answer)) and is_json(answer.media_type):
            # There should be none (202). It is shown; and taken, where it answers the request.
            wire.tap.received(body, answer.exchange)
            if out.kind == "request" and out.id in answered(body):
                wire.hand_over(body)


async def raw(wire: Wire, tasks: Tasks, data: bytes, headers: HeaderList) -> None:
    """Post a body that somebody wrote by hand; what comes back is told to the tap, and what is JSON to the sink.

    Returns when the response has begun, or after `limits.write` seconds; the rest goes on in a task.

    Raises:
        StudioError: no response came; see `http_errors`.
    """
    begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    task = tasks.spawn(_raw(wire, data, merged(wire.raw_headers(data), headers), begun))
    await asyncio.wait((begun, task), timeout=wire.limits.write, return_when=asyncio.FIRST_COMPLETED)
    if begun.done():
        begun.result()
    begun.cancel()


async def _raw(wire: Wire, data: bytes, lines: HeaderList, begun: asyncio.Future[None]) -> None:
    try:
        async with wire.edge.exchange("POST", lines, data, head=None, url=wire.endpoint) as answer:
            if not begun.done():
                begun.set_result(None)
            if not wire.session and named(data)[0] == "initialize":
                # A handshake that is made by hand begins a session too; one that there is stays.
                _session(wire, Outgoing(data, "request", None, "initialize"), answer)
            await _hear(wire, answer)
    except StudioError as error:
        if begun.done():
            wire.tap.note(f"The answer to the frame written by hand broke off: {error.message}")
        else:
            begun.set_exception(error)


async def _hear(wire: Wire, answer: Answer) -> None:
    """Take what answers a body that was written by hand, whatever it is."""
    if answer.media_type == "text/event-stream":
        await wire.pump(answer, Cursor())
        return
    body = await answer.read(wire.limits.message)
    if body:
        wire.tap.received(body, answer.exchange)
    if readable(body):
        wire.hand_over(body)


def _session(wire: Wire, out: Outgoing, answer: Answer) -> None:
    if out.method != "initialize" or out.modern:
        return
    found = answer.header("mcp-session-id")
    if found and not valid_session(found):
        wire.tap.note("The session id that the server gave has characters that are not allowed; it is ignored.")
        return
    wire.session = found


async def _refusal(wire: Wire, out: Outgoing, answer: Answer) -> None:
    """Deliver the JSON-RPC error that a failure carries, or raise what the status means."""
    body = await wire.error_body(answer)
    status, place = answer.status, wire.edge.place
    if wants_sign_in(answer):
        raise wire.sign_in(answer, body)
    if status == 403:
        raise refused(answer, place, body)  # Access is refused by HTTP, whatever JSON-RPC error comes with it.
    if wire.session and not out.modern and _session_gone(status, body):
        raise session_lost(answer, place, body)
    if wire.endpoint is not None and status in (400, 404, 410) and _SESSION.search(body):
        raise endpoint_lost(answer, place, body)
    if out.kind == "request" and out.id is not None and (frame := error_frame(body, out.id)) is not None:
        wire.tap.received(body, answer.exchange)
        wire.hand_over(frame)
        return
    raise refused(answer, place, body)


def _session_gone(status: int, body: bytes) -> bool:
    """Whether a failure means that the session is unknown.

    404 says so by the specification, but a gateway also answers an unknown method with it. Servers built on the
    TypeScript examples say 400 and put it into words; 410 says the same more strongly.
    """
    if status in (404, 410):
        return _METHOD_NOT_FOUND.search(body) is None
    return status == 400 and b'"error"' in body and _SESSION.search(body) is not None
