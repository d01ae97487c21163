"""Watching resources for the command line: a line for each update, what was read, and what becomes of the servers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from mcp_studio.call.outcome import Rejected, Succeeded, TimedOut
from mcp_studio.cli.content import contents_text
from mcp_studio.cli.output import Output
from mcp_studio.errors import StudioError, Unreachable
from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.session.subscriptions import Subscription
from mcp_studio.studio import Studio

_LEAVING = 2.0
"""Seconds for telling servers that nothing is watched any more."""


class Watcher:
    """Subscribes, prints, and unsubscribes.

    Args:
        read: the resource is read after each update; several updates while it is read cost one reading more.
    """

    def __init__(self, studio: Studio, out: Output, *, read: bool) -> None:
        self._studio = studio
        self._out = out
        self._read = read
        self._watched: list[Subscription] = []
        self._states: dict[str, str] = {}
        self._known: dict[tuple[str, str], tuple[str, bool]] = {}
        self._due: dict[tuple[str, str], asyncio.Event] = {}
        self._over: asyncio.Future[StudioError] = asyncio.get_running_loop().create_future()

    async def run(self, servers: Sequence[str], targets: Sequence[tuple[str, str, str]]) -> int:
        """Watch `targets` (server, URI as given, URI) until interrupted; the exit code when nothing is left."""
        studio = self._studio
        ends = [
            studio.manager.changed.connect(self._server_changed),
            studio.subscriptions.changed.connect(self._watched_changed),
            studio.subscriptions.updated.connect(self._updated),
        ]
        readers: list[asyncio.Task[None]] = []
        try:
            self._states = {name: studio.manager.status(name).state for name in servers}
            for server, given, uri in targets:
                one = studio.subscriptions.watch(server, uri, template=given if given != uri else "")
                self._watched.append(one)
                if self._read:
                    self._due[server, uri] = asyncio.Event()
                    readers.append(asyncio.create_task(self._reading(one)))
            return self._out.fail(await self._over)
        finally:
            for end in ends:
                end()
            for reader in readers:
                reader.cancel()

    async def leave(self) -> None:
        """Tell the servers that nothing is watched any more, in a bounded time."""
        for one in self._watched:
            self._studio.subscriptions.unwatch(one.server, one.uri)
        for server in {one.server for one in self._watched}:
            await self._studio.subscriptions.settle(server, _LEAVING)

    # ------------------------------------------------------------------ what happens

    def _updated(self, one: Subscription) -> None:
        if one not in self._watched:
            return
        self._out.line(
            f"{_clock(one.updated)} {one.server} {one.uri}",
            {"updated": one.uri, "server": one.server, "time": round(one.updated, 3), "count": one.updates},
        )
        self._want(one)

    def _want(self, one: Subscription) -> None:
        if due := self._due.get((one.server, one.uri)):
            due.set()

    def _watched_changed(self, server: str) -> None:
        for one in self._watched:
            if one.server == server:
                self._tell(one)
        if self._watched and all(one.state in ("refused", "lost") for one in self._watched):
            first = self._watched[0]
            self._end(StudioError(f"{first.server} does not let {first.uri} be watched: {first.detail.rstrip('.')}."))

    def _tell(self, one: Subscription) -> None:
        key = one.server, one.uri
        before, missed = self._known.get(key, ("", False))
        self._known[key] = one.state, one.missed
        if one.state == before:
            return
        if one.state == "active":
            self._out.note(f"watching {one.uri} of {one.server}")
            if one.missed and not missed:
                self._out.note("  it may have changed while nobody listened")
                self._want(one)
        elif one.state in ("refused", "lost") and len(self._watched) > 1:
            self._out.warn(f"{one.server}: {one.uri} is not watched: {one.detail}")
        elif before == "active":
            self._out.note(f"{one.uri} of {one.server} is not watched at the moment")

    def _server_changed(self, name: str) -> None:
        if name not in self._states or name not in self._studio.manager.names():
            return
        status, before = self._studio.manager.status(name), self._states[name]
        self._states[name] = status.state
        if status.state != before and status.state == "retrying" and status.error is not None:
            self._out.note(f"{name}: {status.error.message} It is tried again.")
        if all(state in ("failed", "needs_auth", "disabled") for state in self._states.values()):
            self._end(status.error or Unreachable(f"{name} is not connected any more."))

    def _end(self, error: StudioError) -> None:
        if not self._over.done():
            self._over.set_result(error)

    # ------------------------------------------------------------------ reading

    async def _reading(self, one: Subscription) -> None:
        due = self._due[one.server, one.uri]
        while True:
            await due.wait()
            due.clear()
            outcome = await self._studio.read_resource(one.server, one.uri, fresh=True).wait()
            match outcome:
                case Succeeded(result=result):
                    self._show(one, result)
                case Rejected():
                    self._out.warn(f"{one.uri} cannot be read: {outcome.said}")
                case TimedOut(limit=limit):
                    self._out.warn(f"{one.uri} cannot be read: no answer within {limit}")
                case _:
                    self._out.warn(f"{one.uri} could not be read")

    def _show(self, one: Subscription, result: Json) -> None:
        found = mapping(result).get("contents")
        contents = items_of(found)
        if self._out.json:
            now = round(time.time(), 3)
            self._out.line("", {"read": one.uri, "server": one.server, "time": now, "contents": contents})
            return
        for item in contents:
            self._out.data(contents_text(item).removesuffix("\n"))
        self._out.flush()


def _clock(when: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(when))
