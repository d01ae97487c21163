"""Multi-round requests: the server answers `input_required`, is given what it needs, and is asked again.

Specification 2026-07-28, client/multi-round: a new id each time, `inputResponses` keyed as asked, `requestState` as it
came; only on tools/call, prompts/get and resources/read; a round with state alone is retried at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar, cast

from mcp_studio.errors import ConnectionLost, LimitExceeded, ProtocolError, StudioError
from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.limits import MB, Limits
from mcp_studio.protocol.events import Answered, Refused
from mcp_studio.protocol.versions import URL_ELICITATION_REQUIRED
from mcp_studio.session.connection import Connection, Reply
from mcp_studio.session.server_requests import Answerer, Refusal


class Declined(StudioError):
    """What a call needs was declined, and the protocol has no answer that says so (2026-07-28, sampling)."""


T = TypeVar("T")
Send = Callable[[dict[str, Json]], Awaitable[Reply]]
_PAUSE = 0.05
_STATE = 8 * MB
"""Characters of a `requestState` that are sent back; each round holds it several times."""


async def drive(
    params: dict[str, Json],
    send: Send,
    answerer: Answerer,
    limits: Limits,
    subject: str,
    ended: asyncio.Future[StudioError | None],
) -> Reply:
    """Send a request until the server is satisfied.

    Args:
        ended: set when the connection ends: then nobody is asked any longer.

    Raises:
        ConnectionLost: the connection ended while somebody was asked.
        ProtocolError: it asked for something that was not offered, or for nothing at all.
        LimitExceeded: it asked for more than `limits.rounds` rounds, or for too many things at once.
    """
    current = params
    for round in range(limits.rounds + 1):
        reply = await send(current)
        needed = _input_required(reply)
        if needed is None:
            return reply
        if round == limits.rounds:
            break  # nobody is to be asked for what is not sent any more
        _check(needed, limits)
        current = await while_connected(_next_round(params, needed, answerer, subject), ended)
    raise LimitExceeded(f"The server asked for more than {limits.rounds} rounds of input.", limit="rounds")


async def while_connected(asking: Coroutine[Any, Any, T], ended: asyncio.Future[StudioError | None]) -> T:
    """Wait for answers as long as there is somebody to give them to.

    Raises:
        ConnectionLost: the connection ended first.
    """
    task = asyncio.ensure_future(asking)
    try:
        await asyncio.wait((task, ended), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ended.result() or ConnectionLost("The connection was closed.")
        return task.result()
    finally:
        task.cancel()


def _input_required(reply: Reply) -> dict[str, Json] | None:
    result = reply.event.result if isinstance(reply.event, Answered) else None
    if not isinstance(result, dict):
        return None
    known = cast("dict[str, Json]", result)
    return known if known.get("resultType") == "input_required" else None


def _check(needed: dict[str, Json], limits: Limits) -> None:
    """Refuse what is too much for one round."""
    asked, state = needed.get("inputRequests"), needed.get("requestState")
    if isinstance(asked, dict) and len(asked) > limits.server_requests:
        text = f"The server asks for {len(asked):,} things at once (limits.server_requests)."
        raise LimitExceeded(text, limit="server_requests")
    if isinstance(state, str) and len(state) > _STATE:
        raise ProtocolError(f"The server wants {len(state):,} characters of requestState sent back: too many.")


async def _next_round(
    params: dict[str, Json], needed: dict[str, Json], answerer: Answerer, subject: str
) -> dict[str, Json]:
    asked, state = needed.get("inputRequests"), needed.get("requestState")
    following = dict(params)
    if isinstance(asked, dict) and asked:
        following["inputResponses"] = await _answer_all(cast("dict[str, Json]", asked), answerer, subject)
    elif state is None:
        raise ProtocolError("The server wants input but says neither which nor gives a state to go on with.")
    else:
        await asyncio.sleep(_PAUSE)
    if state is not None:
        following["requestState"] = state
    return following


async def _answer_all(asked: dict[str, Json], answerer: Answerer, subject: str) -> dict[str, Json]:
    answers: dict[str, Json] = {}
    for key, request in asked.items():
        body: dict[str, Json] = mapping(request)
        method, params = str(body.get("method", "")), body.get("params")
        answer = await answerer.answer(method, mapping(params), subject)
        if isinstance(answer, Refusal):
            if answer.declined:
                raise Declined(f"The call needs {method}, which was declined.")
            raise ProtocolError(f"The server asked for {method or 'nothing'}: {answer.message}.")
        answers[key] = answer
    return answers


_MOST = 10
"""Pages of one refusal that a person is asked about."""


async def with_pages(
    send: Callable[[], Awaitable[Reply]],
    connection: Connection,
    answerer: Answerer,
    limits: Limits,
    subject: str,
    pause: Callable[[bool], None],
) -> Reply:
    """Send a request; as long as it is refused for want of pages, and a person opens them, send it again.

    Args:
        pause: told True before a person is asked, and False afterwards.
    """
    for _ in range(limits.url_retries):
        reply = await send()
        pages = pages_of(reply)
        if not pages or not answerer.opens_pages:
            return reply
        pause(True)
        try:
            if not await while_connected(_opened(pages, answerer, subject), connection.ended):
                return reply
        except StudioError:
            if connection.ended.done():
                return reply
            raise
        finally:
            pause(False)
    return await send()


def pages_of(reply: Reply) -> list[dict[str, Json]]:
    """The pages that a refusal asks for; empty where it is none of this kind."""
    event = reply.event
    if not isinstance(event, Refused) or event.code != URL_ELICITATION_REQUIRED or not isinstance(event.data, dict):
        return []
    asked = cast("dict[str, Json]", event.data).get("elicitations")
    items = items_of(asked)
    found = [cast("dict[str, Json]", item) for item in items if isinstance(item, dict)]
    return [item for item in found if item.get("mode", "url") == "url" and isinstance(item.get("url"), str)][:_MOST]


async def _opened(pages: list[dict[str, Json]], answerer: Answerer, subject: str) -> bool:
    for page in pages:
        if (await answerer.open_page(page, subject)).action != "accept":
            return False
    return True
