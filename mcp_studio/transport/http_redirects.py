"""Redirects: followed where they stay with the server and keep the message, else refused with what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_studio.transport.http_errors import HttpUnreachable, excerpt
from mcp_studio.transport.http_status import told

if TYPE_CHECKING:
    import httpx2

    from mcp_studio.transport.http_answer import Answer
    from mcp_studio.transport.http_client import Client


def onward_of(client: Client, answer: Answer) -> httpx2.URL | None:
    """Where to go on, None if the answer is no redirect.

    Raises:
        HttpUnreachable: it leads to another origin, or does not keep method and body.
    """
    location = answer.header("location")
    if answer.status not in (301, 302, 303, 307, 308) or not location:
        return None
    http = told(answer, b"")
    onward = client.join(answer.url, location)
    if onward is None:
        raise HttpUnreachable(f"{client.place} redirects to something that is no address.", http=http)
    here = client.same_origin(onward)
    if here and answer.status in (307, 308):
        return onward
    where = excerpt(str(onward.copy_with(query=None)).encode())
    if here:
        why = f"with status {answer.status}, which drops the message (307 and 308 keep it)"
    elif client.upgrade(onward):
        raise HttpUnreachable(
            f"{client.place} redirects to {where}, the same server over TLS; it was not followed.",
            hint=f"Use {onward.scheme}:// in the address of this server.",
            http=http,
        )
    elif onward.scheme not in ("http", "https", "ws", "wss"):
        raise HttpUnreachable(f"{client.place} redirects to {where}, which is no web address.", http=http)
    else:
        why = "on another origin"
    raise HttpUnreachable(
        f"{client.place} redirects to {where}, {why}; it was not followed.",
        hint=f"If that is the server you mean, use its address: {where}",
        http=http,
    )
