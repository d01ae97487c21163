"""Sending one call over its connection: headers, rounds of input, pages that have to be opened, tasks."""

from __future__ import annotations

from typing import cast

from mcp_studio.call.call import Call
from mcp_studio.call.tasked import TaskCalls, task_in, task_params
from mcp_studio.catalog.fetch import fetch
from mcp_studio.catalog.refresh import asker
from mcp_studio.jsontext import Json
from mcp_studio.limits import Limits
from mcp_studio.protocol.events import Refused
from mcp_studio.protocol.headers import param_headers
from mcp_studio.protocol.outgoing import RequestId
from mcp_studio.protocol.versions import HEADER_MISMATCH
from mcp_studio.protocol.views import ToolView
from mcp_studio.session.connection import Connection, Reply
from mcp_studio.session.manager import ConnectionManager
from mcp_studio.session.pages import with_pages
from mcp_studio.session.rounds import drive
from mcp_studio.session.supervisor import Supervisor
from mcp_studio.transport.http_errors import SessionLost

Headers = tuple[tuple[str, str], ...]


class Sender:
    """Sends calls and drives them to their answer."""

    def __init__(self, manager: ConnectionManager, tasked: TaskCalls, limits: Limits) -> None:
        self._manager = manager
        self._tasked = tasked
        self._limits = limits

    async def send(self, call: Call, tool: ToolView | None) -> Reply:
        """The answer of the last round.

        A server that turned it away because it no longer knows the session has done nothing of it: it is sent once
        more, in the session that begins then (specification 2025-11-25, basic/transports, Session Management).

        Raises:
            StudioError, Ended: why there is none.
        """
        try:
            return await self._send(call, tool)
        except SessionLost as error:
            if call.answered or error.http is None or not error.http.refused:
                raise
            call.sent, call.sendings = False, 0
        return await self._send(call, tool)

    async def _send(self, call: Call, tool: ToolView | None) -> Reply:
        connection = await self._manager.ready(call.ref.server)
        supervisor = self._manager.supervisor(call.ref.server)
        if not supervisor.calls:
            supervisor.answerer.call_began()
        supervisor.calls.append(call.subject)
        try:
            return await _Sending(call, tool, supervisor, connection, self._manager, self._limits).run(self._tasked)
        finally:
            supervisor.calls.remove(call.subject)


class _Sending:
    """One call on its way."""

    def __init__(
        self,
        call: Call,
        tool: ToolView | None,
        supervisor: Supervisor,
        connection: Connection,
        manager: ConnectionManager,
        limits: Limits,
    ) -> None:
        self._call = call
        self._supervisor = supervisor
        self._connection = connection
        self._manager = manager
        self._limits = limits
        self._earlier: RequestId | None = None
        self._mirrors = tool is not None and connection.core.modern and supervisor.config.kind == "http"
        self._headers = self._headers_for(tool)
        self._as_task = task_params(supervisor.status, tool, call.wants_task, call.ttl)

    async def run(self, tasked: TaskCalls) -> Reply:
        """Through all rounds, and to the end of the task that it may become."""
        call, connection, answerer = self._call, self._connection, self._supervisor.answerer
        if connection.core.modern:
            reply = await drive(call.params, self._send, answerer, self._limits, call.subject, connection.ended)
        else:
            reply = await with_pages(
                lambda: self._send(call.params), connection, answerer, self._limits, call.subject, self._asking
            )
        held = task_in(reply, connection, self._as_task)
        return reply if held is None else await tasked.finish(call, held, connection)

    async def _send(self, params: dict[str, Json]) -> Reply:
        reply = await self._once(params)
        if self._mirrors and isinstance(reply.event, Refused) and reply.event.code == HEADER_MISMATCH:
            headers = await self._listed_anew()
            if headers is not None and headers != self._headers:
                self._headers = headers
                reply = await self._once(params)
        return reply

    async def _once(self, params: dict[str, Json]) -> Reply:
        call = self._call
        reply = await self._connection.request(
            call.method, {**params, **self._as_task} if self._as_task else params,
            deadline=self._connection.deadline(call.timeouts), follows=self._earlier, headers=self._headers,
            on_progress=call.on_progress, on_sent=call.on_sent, on_id=call.on_id,
        )  # fmt: skip
        self._earlier = reply.request_id
        call.answered = True
        return reply

    async def _listed_anew(self) -> Headers | None:
        """The headers that the tool wants now: its definition has changed since it was listed (-32020, 2026-07-28)."""
        number = self._supervisor.tap.number_of(self._earlier)
        found = await fetch("tool", asker(self._connection, number), self._limits)
        self._manager.refresh(self._call.ref.server)
        for item in found.items:
            if isinstance(item, dict) and item.get("name") == self._call.ref.name:
                return self._headers_for(ToolView(item))
        return None

    def _headers_for(self, tool: ToolView | None) -> Headers:
        if tool is None or not self._mirrors:
            return ()
        return param_headers(tool.input_schema, cast("dict[str, Json]", self._call.params["arguments"]))

    def _asking(self, now: bool) -> None:
        self._call.asking = now
        self._call.changed.emit(self._call)
