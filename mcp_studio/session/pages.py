"""Calls that need pages to be opened first: the server refuses, a person opens the pages, the call is sent again.

Specification 2025-11-25, client/elicitation: error -32042 with `data.elicitations`, each of URL mode; the server may
tell with `notifications/elicitation/complete` that a page is done.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import cast

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, items_of
from mcp_studio.limits import Limits
from mcp_studio.protocol.events import Refused
from mcp_studio.protocol.versions import URL_ELICITATION_REQUIRED
from mcp_studio.session.answering import Answerer
from mcp_studio.session.connection import Connection, Reply
from mcp_studio.session.rounds import while_connected

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
