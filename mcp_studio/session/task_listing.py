"""What a server of 2025-11-25 lists as its tasks, and whether anything will be heard of a server's tasks at all."""

from __future__ import annotations

from mcp_studio.errors import ProtocolError, StudioError, Unreachable
from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.limits import Limits
from mcp_studio.protocol.events import Refused
from mcp_studio.session.connection import Connection
from mcp_studio.session.manager import ConnectionManager


async def list_tasks(connection: Connection, limits: Limits) -> list[Json]:
    """All pages of `tasks/list`, as far as `limits` go.

    Raises:
        StudioError: not connected, or the server refused.
    """
    found: list[Json] = []
    cursor: Json = None
    deadline = connection.deadline()
    for _ in range(limits.pages):
        reply = await connection.request("tasks/list", {} if cursor is None else {"cursor": cursor}, deadline=deadline)
        if isinstance(reply.event, Refused):
            raise ProtocolError(f"The server refused tasks/list: {reply.event.said}.")
        result: Json = reply.event.result
        page = mapping(result)
        tasks = page.get("tasks")
        found += items_of(tasks)
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str) or len(found) >= limits.tasks:
            break
    return found[: limits.tasks]


def unreachable(manager: ConnectionManager, server: str) -> StudioError | None:
    """Why nothing more will be heard of a server's tasks by itself; None while it is connected or on its way."""
    if server not in manager.names():
        return Unreachable(f"{server} is not configured any more.")
    status = manager.status(server)
    if status.state in ("failed", "needs_auth"):
        return status.error or Unreachable(f"{server} has failed.")
    if status.state == "disabled":
        return Unreachable(f"{server} was disconnected.")
    return None
