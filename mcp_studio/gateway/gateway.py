"""The gateway: requests of clients become calls of the studio, and requests of servers go to the right client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, cast

from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, ListRootsRequest, ListRootsResult

from mcp_studio.call.call import CallOutcome, Cancelled, Rejected, Succeeded, ToolFailed
from mcp_studio.catalog.listing import EntryKind, Ref
from mcp_studio.config.model import GatewayClient, Root
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.gateway.clients import Client, Session, Sessions
from mcp_studio.gateway.directory import Directory, Offer
from mcp_studio.gateway.exchange import Context, Exchange, current
from mcp_studio.jsontext import Json, dumps, mapping
from mcp_studio.present.metrics import metrics_of
from mcp_studio.present.outcomes import failure
from mcp_studio.protocol.events import RequestId
from mcp_studio.protocol.tasks import related_task
from mcp_studio.protocol.versions import MISSING_CAPABILITY
from mcp_studio.safetext import safe
from mcp_studio.session.inbox import InputRequest, Recent
from mcp_studio.session.logs import LogMessage, rank_of, set_level
from mcp_studio.session.server_requests import carrier
from mcp_studio.studio import Studio
from mcp_studio.toolset.registry import Queue
from mcp_studio.toolset.tokens import search_tools, tokenizer

_READY = 10.0
"""Seconds for servers to become ready before clients get a list."""
_PROTOCOL = "io.modelcontextprotocol/"
_PATIENCE = 10.0
"""Seconds for a client to tell its roots."""
_CHECKS = 10
"""Results of one tool that are compared with its outputSchema in a second: a check takes as long as a call."""
_COUNTING = 2.0
"""Seconds for counting tokens at the end."""
_LOOKS = 100
"""Times that counting messages lets others run; what is left waits for the next time."""
_PARKED = 200
"""Calls that wait for clients of the stateless era to come back with answers."""


class Gateway:
    """The parts that all transports of the gateway share.

    Args:
        tell: prints sentences for a person.
        approved: whether calls that a rule would ask about are made without asking.
        alone: whether the gateway serves a single client, over standard input and output.
    """

    def __init__(self, studio: Studio, tell: Callable[..., None], *, approved: bool, alone: bool = False) -> None:
        self.studio = studio
        self._tell = tell
        self.settings = studio.config.settings.gateway
        self.directory = Directory(studio.catalog, self.settings, search_tools())
        self.sessions = Sessions()
        self.client = Client("client", GatewayClient("client", register=self.settings.register), self.settings.calls)
        """The client without a table of its own in the configuration."""
        named = () if alone else self.settings.clients
        self.clients = (self.client, *(Client(one.name, one, self.settings.calls) for one in named))
        self.on_task: Callable[[Exchange], dict[str, Any]] | None = None
        """Answers a call that became a task, for a client that supports tasks."""
        self._approved = approved
        self._alone = alone
        self._checks = Recent()
        self._queue = Queue(1)
        self._counted = self._queue.submit(lambda: None)
        self._open: list[Exchange] = []
        self._parked: dict[str, Exchange] = {}
        self._seen: set[int] = set()
        """The numbers of the open requests of servers."""
        self._warm = studio.spawn(self._listed())
        studio.inbox.changed.connect(self._asked)
        studio.logs.added.connect(self._logged)
        for name in studio.manager.names():
            studio.manager.supervisor(name).answerer.roots = partial(self._roots, name)

    async def ready(self) -> None:
        """Wait until servers are connected and listed, though not for long."""
        if not self._warm.done():
            await asyncio.wait((self._warm,))

    async def _listed(self) -> None:
        manager = self.studio.manager

        async def one(name: str) -> None:
            with suppress(StudioError):
                await manager.settle(name)
                await manager.listed(name)

        with suppress(TimeoutError):
            async with asyncio.timeout(_READY):
                await asyncio.gather(*map(one, manager.names()))
        errors = ((name, manager.status(name).error) for name in manager.names())
        self._tell(*(f"{name} offers nothing yet: {error.message}" for name, error in errors if error))

    def count(self, client: Client, read: Iterable[Any], instead: Iterable[Any] = ()) -> None:
        """Count the tokens that a client got, and those of what it did not need to get, in a thread."""

        def work() -> None:
            tokens = tokenizer().tokens
            client.read += sum(tokens(dumps(one).decode("utf-8", "replace")) for one in read)
            client.spared += sum(tokens(dumps(one).decode("utf-8", "replace")) for one in instead)

        with suppress(UsageError):  # too many already wait
            self._counted = self._queue.submit(work)

    async def look(self) -> None:
        """Count the new messages of the trace, a few milliseconds at a time, so that no client waits for it."""
        for _ in range(_LOOKS):
            if self.studio.numbers.look():
                return
            await asyncio.sleep(0)

    async def report(self) -> list[str]:
        """What clients' models were given to read, in sentences; they are in the trace too."""
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.wrap_future(self._counted), _COUNTING)
        await self.look()
        results = sum(one.result_tokens for one in metrics_of(self.studio.numbers, {}, {}))
        sentences = [
            f"{one.name} was given {one.read:,} tokens to find tools; all definitions, as often as it listed tools, "
            f"are {one.spared:,} ({tokenizer().name})"
            for one in self.clients
            if one.spared
        ]
        sentences += [f"the results of tools are about {results:,} tokens, by their length"] if results else []
        for sentence in sentences:
            self.studio.trace.add("", "none", "note", sentence.encode(), "tokens")
        return sentences

    def client_of(self, ctx: Context) -> Client:
        """The client that sent a request; over standard input and output it has the name that it gives itself."""
        if self._alone and (params := ctx.session.client_params):
            self.client.name = safe(params.client_info.name, 80).strip() or self.client.name
        scope = getattr(ctx.request, "scope", {})
        return scope.get("mcp_studio.client", self.client)

    def offer(self, client: Client, kind: EntryKind, name: str) -> Offer | None:
        """The entry that a client knows by a name."""
        offer = self.directory.find(kind, name)
        return offer if offer is not None and client.sees(offer.ref) else None

    # ------------------------------------------------------------------ calls

    def begin(self, ctx: Context, offer: Offer, arguments: Mapping[str, Json], *, as_task: bool = False) -> Exchange:
        """Begin a call of a tool, with policy and approval first, or continue one.

        Args:
            as_task: whether the client does not wait for the call.
        """
        exchange, ref = self._exchange(ctx), offer.ref
        exchange.result_of = _tool_result
        exchange.holds = exchange.holds or as_task
        if exchange.call is None:
            self.studio.registry.used(str(ref))
            caller = self.studio.caller
            exchange.start(
                lambda: caller.call_tool(
                    ref, arguments, origin="program", approved=self._approved, wants_task=as_task or exchange.follows
                )
            )
            exchange.running.unchecked = self._checks.too_often(ref, _CHECKS, 1.0)
        self._follow(exchange)
        return exchange

    async def call_tool(self, ctx: Context, offer: Offer, arguments: Mapping[str, Json]) -> dict[str, Any]:
        """Call a tool for a client, and wait for the result."""
        return await self._answer(self.begin(ctx, offer, arguments))

    async def get(self, ctx: Context, ref: Ref, params: dict[str, Json]) -> dict[str, Any]:
        """Read a resource, or get a prompt, for a client.

        Raises:
            MCPError: the server refuses the request, or gives no answer.
        """
        exchange = self._exchange(ctx)
        exchange.result_of = _result
        if exchange.call is None:
            method = "prompts/get" if ref.kind == "prompt" else "resources/read"
            exchange.start(partial(self.studio.caller.start, ref, method, params))
        self._follow(exchange)
        return await self._answer(exchange)

    def _follow(self, exchange: Exchange) -> None:
        """Let requests of the call's server reach the exchange until the call has ended."""
        task = exchange.running.task
        if exchange not in self._open and task is not None:
            self._open.append(exchange)
            task.add_done_callback(lambda _: self._open.remove(exchange))

    async def _answer(self, exchange: Exchange) -> dict[str, Any]:
        """The result of a call, or the task or questions that the client gets instead."""
        call = exchange.running
        try:
            outcome = await exchange.wait()
        except asyncio.CancelledError:
            call.cancel()
            raise
        if exchange.lacks_sampling and isinstance(outcome, Cancelled):
            needed = {"requiredCapabilities": {"sampling": {}}}
            raise MCPError(MISSING_CAPABILITY, "This needs sampling, which the client does not declare.", needed)
        if outcome is not None:
            return exchange.result_of(outcome)
        if call.as_task is not None and self.on_task is not None and exchange.follows:
            return self.on_task(exchange)
        asks = {"resultType": "input_required", "inputRequests": exchange.questions, "requestState": exchange.state}
        if exchange.repeatable:  # the call begins anew, here or in another process, when the answers arrive
            call.cancel()
            return asks
        if len(self._parked) >= _PARKED:
            call.cancel()
            raise MCPError(INTERNAL_ERROR, "Too many calls wait for answers.")
        self._parked[exchange.id] = exchange
        asyncio.get_running_loop().call_later(self.studio.limits.answer, self._parked.pop, exchange.id, None)
        return asks

    def _exchange(self, ctx: Context) -> Exchange:
        """The exchange that a client goes on with, or another one."""
        client, session, params = self.client_of(ctx), self.sessions.of(ctx.session), mapping(cast("Json", ctx.params))
        state = params.get("requestState")
        if not isinstance(state, str):
            return Exchange(ctx, client, session, {})
        known, given = mapping(json.loads(state)), mapping(params.get("inputResponses"))
        if known.get("again"):
            fresh = {mark: given[key] for key, mark in mapping(known.get("marks")).items() if key in given}
            return Exchange(ctx, client, session, {**mapping(known.get("answers")), **fresh})
        exchange = self._parked.get(str(known.get("id")))
        if exchange is None or exchange.client is not client:
            raise MCPError(INVALID_PARAMS, "The call does not wait any more, or waits in another process.")
        del self._parked[exchange.id]
        exchange.resume(ctx, given)
        return exchange

    # ------------------------------------------------------------------ what servers ask and say

    def _asked(self, request: InputRequest) -> None:
        """Put a new request to the client whose call it belongs to, or decline it if there is no such client."""
        if request.number in self._seen or request.reply.done() or request.kind == "sign_in":
            return
        self._seen.add(request.number)
        request.reply.add_done_callback(lambda _: self._seen.discard(request.number))
        exchange = current.get() or self._concerned(request.server, request.params, carrier.get())
        ours = request.kind == "approval"
        policy = self.settings.approval
        modern = ours or self.studio.manager.status(request.server).modern
        if exchange is not None and not (ours and policy != "client") and exchange.ask(request, modern):
            return
        if ours and policy != "never":  # `mcp-studio approvals` answers the request, or the request times out
            if exchange is not None:
                exchange.log("warning", "mcp-studio", f"{request.subject} waits for approval: mcp-studio approvals")
            return
        request.answer("decline", by="nobody may be asked" if ours else "nobody: no client could be asked")

    def _concerned(self, server: str, params: dict[str, Json], carried: RequestId | None) -> Exchange | None:
        """The exchange that a request of a server belongs to, so that no client learns of another's requests.

        A server of the handshake era names a task, or sends the request on the stream of one of our requests (HTTP).
        Without either, all open exchanges of the server must belong to one session.
        """
        task = related_task(params)
        # A call with an outcome may still be checked, but its server has nothing more to ask or to tell for it.
        some = [one for one in self._open if one.running.ref.server == server and one.running.outcome is None]
        for one in some:
            call = one.running
            if (task and call.as_task and call.as_task.id == task) or (carried is not None and call.request == carried):
                return one
        return some[-1] if len({id(one.session or one) for one in some}) == 1 else None

    def _logged(self, message: LogMessage) -> None:
        """Pass log messages of a server to the client for whose call the server works."""
        span = self.studio.manager.supervisor(message.server).tap.carrier
        exchange = self._concerned(message.server, {}, span and span.request.id)
        if exchange is not None:
            exchange.log(message.level, ".".join(filter(None, (message.server, message.logger))), message.data)

    async def _roots(self, server: str, params: dict[str, Json]) -> tuple[Root, ...] | None:
        """The roots of the client for whose call a server asks; None if that client is unknown, or does not answer."""
        exchange = current.get() or self._concerned(server, params, carrier.get())
        request = InputRequest("roots", server, "", params=params)
        if exchange is None or not exchange.ask(request, self.studio.manager.status(server).modern):
            return None
        with suppress(TimeoutError):
            async with asyncio.timeout(self.studio.limits.answer):
                answer = await request.reply
                return _usable(mapping(answer.content).get("roots")) if answer.action == "accept" else None
        return None

    async def set_level(self) -> None:
        """Ask all servers for log messages of the lowest level that a session wants."""
        level = min((session.level for session in self.sessions.all), key=rank_of, default="info")
        for name in self.studio.manager.names():
            with suppress(StudioError):
                await set_level(self.studio.manager.supervisor(name), level)

    async def ask_roots(self, ctx: Context, session: Session) -> None:
        """Ask a session for its roots. If all sessions of the only client agree, servers know their roots at any time.

        Clients with tables of their own do not share their folders: a server gets a client's roots only in its calls.
        """
        session.roots_due = False
        metadata = ServerMessageMetadata(related_request_id=ctx.request_id)
        with suppress(MCPError):
            request = ListRootsRequest()
            found = await ctx.session.send_request(request, ListRootsResult, _PATIENCE, metadata)
            session.roots = _usable([root.model_dump(mode="json") for root in found.roots])
            self.set_roots()

    def set_roots(self) -> None:
        """Give servers the roots that all sessions agree on, or else those of the configuration."""
        known = {one.roots for one in self.sessions.all if one.roots is not None}
        for name in self.studio.manager.names():
            supervisor, config = self.studio.manager.supervisor(name), self.studio.config.servers[name]
            roots = next(iter(known)) if len(known) == 1 else (config.written or config).roots
            if roots != supervisor.config.roots:
                supervisor.set_roots(roots)


def _usable(roots: Json) -> tuple[Root, ...]:
    """The roots of a client that are folders and refer to no variable of ours."""
    found = (mapping(one) for one in roots) if isinstance(roots, list) else ()
    return tuple(
        Root(uri, str(one.get("name") or ""))
        for one in found
        if isinstance(uri := one.get("uri"), str) and uri.startswith("file:") and "$" not in uri
    )


def _tool_result(outcome: CallOutcome | None) -> dict[str, Any]:
    if isinstance(outcome, ToolFailed):
        return _passed(outcome.result)
    if isinstance(outcome, Succeeded) or (isinstance(outcome, Rejected) and outcome.code):
        return _result(outcome)
    return refusal(failure(outcome or Cancelled()))


def _result(outcome: CallOutcome | None) -> dict[str, Any]:
    """The client's answer for an outcome.

    Raises:
        MCPError: the server refuses the request, or gives no answer.
    """
    if isinstance(outcome, Succeeded):
        return _passed(outcome.result)
    if isinstance(outcome, Rejected) and outcome.code:
        raise MCPError(outcome.code, str(safe(outcome.message)), outcome.data)
    raise MCPError(INTERNAL_ERROR, str(safe(failure(outcome or Cancelled()).message)))


def _passed(result: Json) -> dict[str, Any]:
    """A result for the client, without the metadata that the server sent only to us."""
    given = mapping(result)
    meta = {key: value for key, value in mapping(given.get("_meta")).items() if not key.startswith(_PROTOCOL)}
    return {key: value for key, value in given.items() if key != "_meta"} | ({"_meta": meta} if meta else {})


def refusal(error: StudioError) -> dict[str, Any]:
    """A failure as the result of a tool, so that a model can read it and react."""
    text = safe(" ".join(filter(None, (error.message, error.hint))))
    return {"content": [{"type": "text", "text": str(text)}], "isError": True, "resultType": "complete"}
