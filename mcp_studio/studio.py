"""The studio composes everything below the front ends: the API of the whole engine on one screen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Unpack

from mcp_studio import __version__
from mcp_studio.call.audit import Audit
from mcp_studio.call.cache import ResourceCache
from mcp_studio.call.call import Call
from mcp_studio.call.caller import Caller, CallOptions
from mcp_studio.call.drafts import Memory
from mcp_studio.call.filter import ResultFilter
from mcp_studio.call.policy import Policy
from mcp_studio.call.skills import SkillReading
from mcp_studio.catalog.catalog import Catalog
from mcp_studio.catalog.listing import KINDS, Ref
from mcp_studio.catalog.remembered import Memories
from mcp_studio.config.model import Config, ServerConfig
from mcp_studio.jsontext import Json
from mcp_studio.paths import Paths
from mcp_studio.redact import Redactor
from mcp_studio.schema.checker import Checker
from mcp_studio.search.usage import Usage
from mcp_studio.session.approvals import Approvals
from mcp_studio.session.groups import Groups
from mcp_studio.session.inbox import Inbox
from mcp_studio.session.manager import ConnectionManager
from mcp_studio.session.raw import RawConnection
from mcp_studio.session.rules import AnswerRules
from mcp_studio.session.sign_in import SignInManager, make_accounts
from mcp_studio.session.state import TestReport
from mcp_studio.session.task_manager import TaskManager
from mcp_studio.trace.lint.ledger import Ledger
from mcp_studio.trace.statistics import Numbers
from mcp_studio.trace.store import TraceStore, disk_for
from mcp_studio.transport.base import Tasks

if TYPE_CHECKING:
    from mcp_studio.auth.accounts import Browser
    from mcp_studio.registry.registry import ToolRegistry
    from mcp_studio.search.index import SearchIndex
    from mcp_studio.tap.connection import Breakpoints
    from mcp_studio.transport.headers import HeaderFunction

CLIENT_INFO: dict[str, Json] = {"name": "mcp-studio", "title": "mcp-studio", "version": __version__}


class Studio:
    """Connections, catalog, trace, inbox and calls; use it as `async with Studio.open(...) as studio`."""

    def __init__(
        self, config: Config, paths: Paths, can_ask: bool, origin: str, breakpoints: bool, browser: Browser | None
    ) -> None:  # fmt: skip
        settings = config.settings
        self.config, self.paths, self.limits = config, paths, settings.limits
        self._background = Tasks(lambda *_: None)
        self.spawn = self._background.spawn
        """Starts a task that belongs to the studio; on closing, the studio waits a moment before it cancels tasks."""
        self._bare: list[RawConnection] = []
        self.redactor = Redactor(settings.redact)
        self.trace = TraceStore(self.redactor, settings.limits, disk_for(paths.state / "trace", settings, origin))
        self.inbox = Inbox(settings.limits)
        self.rules = AnswerRules(settings.answers)
        self.catalog = Catalog()
        self.catalog.seen.redact = self.redactor.bytes
        self.memory = Memory(paths.state, self.redactor, settings.history)
        self.usage = Usage(paths.state / "search-usage.json" if settings.search_usage else None, self.redactor.text)
        self.checker = Checker(settings.limits)
        accounts = partial(make_accounts, settings, paths, self.redactor, browser)
        self.sign_ins = SignInManager(accounts, self.inbox, can_ask=can_ask, spawn=self.spawn)
        make = self.sign_ins.transport
        self.manager = ConnectionManager(
            settings, inbox=self.inbox, rules=self.rules, catalog=self.catalog, trace=self.trace,
            redactor=self.redactor, can_ask=can_ask, client_info=CLIENT_INFO, spawn=self.spawn,
            make_transport=partial(self.breakpoints.over, make) if breakpoints else make,
            memories=Memories(paths.state / "servers", self.redactor.bytes),
        )  # fmt: skip
        self.sign_ins.attach(self.manager)
        self.events = self.manager.events
        """Typed events of `session.events` that tell what happens to servers, in their order."""
        self.subscriptions, self.logs = self.manager.subscriptions, self.manager.logs
        self.tasks = TaskManager(self.manager, settings.limits, self.spawn)
        self.audit = Audit(paths.state / "audit.jsonl", self.redactor, origin)
        self.approvals = Approvals(paths.state / "approvals", self.inbox, self.redactor, self.spawn)
        self.numbers = Numbers(self.trace)
        """The figures of the whole trace; call `look` before reading them."""
        self.groups = Groups(self.manager, self.numbers, self.catalog)
        self.caller = Caller(
            self.manager, self.tasks, self.catalog, self.inbox, self.checker,
            Policy(settings.policy, settings.tools), self.groups, self.audit, self._background,
            ResourceCache(self.manager.config, settings),
            ResultFilter(self.redactor, self.manager.config, settings.filter),
        )  # fmt: skip

    @classmethod
    @asynccontextmanager
    async def open(
        cls, config: Config, paths: Paths, *, can_ask: bool, origin: str = "", breakpoints: bool = False,
        browser: Browser | None = None, headers: HeaderFunction | None = None,
    ) -> AsyncGenerator[Studio]:  # fmt: skip
        """Start all enabled servers; on leaving, for whatever reason, close everything in a bounded time.

        Args:
            paths: the folders of memories, drafts and recorded sessions.
            can_ask: whether a person can answer what servers ask; otherwise no such capability is advertised.
            origin: the name of the front end in its recorded session; an empty name records nothing.
            breakpoints: whether the messages of all connections pass `studio.breakpoints`, which costs each a little.
            browser: opens the page of a sign-in for the person.
            headers: returns headers for each request to a remote server, for rotating tokens and signed requests.
        """
        studio = cls(config, paths, can_ask, origin, breakpoints, browser)
        try:
            for server in config.servers.values():
                studio.add(server, headers)
            yield studio
        finally:
            await studio.close()

    async def close(self) -> None:
        """Close servers, write pending data, end all tasks; may be called any number of times."""
        self.trace.flush()
        self.sign_ins.close()
        for question in self.inbox.pending:
            question.answer("cancel")
        try:
            await asyncio.gather(self.manager.close(), *(bare.close() for bare in self._bare))
        finally:
            try:
                for name in {"registry", "index"} & self.__dict__.keys():
                    await asyncio.to_thread(getattr(self, name).close)
                await asyncio.to_thread(self.usage.write)
                await self.memory.close()
                self.audit.close()
            finally:
                await self.checker.close()
                await self.sign_ins.settle(self.limits.close)
                await self._background.end(0.5, grace=0.5)
                await self.trace.close()

    # ------------------------------------------------------------------ calls

    def call_tool(
        self, ref: Ref, arguments: Mapping[str, Json], *, approved: bool = False, **options: Unpack[CallOptions]
    ) -> Call:
        """Call a tool for a person; returns the handle at once."""
        self.usage.ran(ref)
        return self.caller.call_tool(ref, arguments, origin="person", approved=approved, **options)

    def read_resource(self, server: str, uri: str, *, fresh: bool = False, parts: bool = False) -> Call:
        """Read a resource by its URI, whether it is listed or not.

        Without a `server`, the server that lists the resource or has a matching template is asked. A cached answer that
        is still fresh (2026-07-28) is returned without asking the server; `fresh` always asks. `parts` as in
        `CallOptions`.

        Raises:
            UsageError: `server` is empty, and no server or several servers have the resource.
        """
        server = server or self.groups.server_of(uri)
        self.subscriptions.read(server, uri)
        self.usage.ran(Ref("resource", server, uri))
        return self.caller.start(Ref("resource", server, uri), "resources/read", {"uri": uri}, fresh, parts)

    def get_prompt(self, ref: Ref, arguments: Mapping[str, str], *, parts: bool = False) -> Call:
        self.usage.ran(ref)
        return self.caller.start(ref, "prompts/get", {"name": ref.name, "arguments": dict(arguments)}, parts=parts)

    async def skill(self, server: str, which: str, file: str = "") -> SkillReading:
        """Read a skill, or one of its files, by the skill's name or address; compare the file with the skill's entry.

        Raises:
            StudioError: the server is not connected, or has no such skill or file.
        """
        return await self.caller.skills.load(server, which, file, partial(self.read_resource, fresh=True))

    # ------------------------------------------------------------------ search

    @cached_property
    def index(self) -> SearchIndex:
        """The index over everything that servers offer, created and imported at the first search."""
        return self._new_index(self.catalog)

    def _new_index(self, catalog: Catalog | None = None) -> SearchIndex:
        from mcp_studio.search.index import SearchIndex

        settings = self.config.settings
        return SearchIndex(
            catalog, tags=self.groups.tags, usage=self.usage, cache=self.paths.cache,
            semantic=settings.search_semantic, cjk=settings.search_cjk, redact=self.redactor.bytes,
        )  # fmt: skip

    @cached_property
    def registry(self) -> ToolRegistry:
        """The tools of all servers across runs, for programs and agents; once created, it follows the catalog."""
        from mcp_studio.registry.registry import ToolRegistry

        where = self.config.settings.registry_storage or self.paths.state / "registry.json"
        return ToolRegistry(
            where, catalog=self.catalog, index=self._new_index, usage=self.usage, redact=self.redactor.bytes
        )

    # ------------------------------------------------------------------ by hand

    @cached_property
    def breakpoints(self) -> Breakpoints:
        """Breakpoints on the studio's own connections, if it was opened with them."""
        from mcp_studio.tap.connection import Breakpoints

        return Breakpoints(self.redactor, self.limits)

    async def open_raw(self, server: ServerConfig) -> RawConnection:
        """Open a further connection to a server, in the studio or not, on which only messages written by hand are sent.

        The caller closes the connection; the studio closes those that are still open when it ends.

        Raises:
            StudioError: the server cannot be started or reached.
        """
        tap = self.manager.tap(server, Ledger())
        bare = RawConnection(server, self.manager.transport(server, tap), tap, self.limits, CLIENT_INFO)
        self._bare.append(bare)
        await bare.open()
        return bare

    # ------------------------------------------------------------------ servers

    def add(self, server: ServerConfig, headers: HeaderFunction | None = None) -> None:
        """Add a server and start it if it is enabled; `headers` returns further headers for each of its requests.

        Raises:
            UsageError: a server of this name exists already.
        """
        self.manager.add(server)
        self.sign_ins.headers[server.name] = headers

    async def test(self, server: ServerConfig) -> TestReport:
        """Connect a server that is not part of the studio, read its lists, and close it again."""
        began, trial = asyncio.get_running_loop().time(), replace(server, enabled=True, start="")
        async with Studio.open(replace(self.config, servers={trial.name: trial}), self.paths, can_ask=False) as studio:
            studio.sign_ins.share(self.sign_ins)
            status = await studio.manager.settle(trial.name)
            await studio.manager.listed(trial.name)
            listing, ms = studio.catalog.listing, (asyncio.get_running_loop().time() - began) * 1000
            printed = tuple(studio.manager.supervisor(trial.name).tap.stray_lines)
            return TestReport(status, {kind: len(listing(trial.name, kind).entries) for kind in KINDS}, ms, printed)
