"""`watch`: a line for every change of a list or a resource, and for log messages, until somebody ends it."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace

from mcp_studio.call.call import Rejected, Succeeded, TimedOut
from mcp_studio.cli.arguments import filled, template_form
from mcp_studio.cli.content import contents_text
from mcp_studio.cli.engine import connected, execute
from mcp_studio.cli.entries import owner
from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output
from mcp_studio.cli.targets import configured, only, select
from mcp_studio.errors import StudioError, Unreachable, UsageError
from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.schema.field import Form
from mcp_studio.session.logs import LogMessage, rank_of
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


_PAIR = re.compile(r"[\w.-]+:?=")
"""How `key=value` and `key:=JSON` begin, and no URI does."""


def run(options: Options, out: Output) -> int:
    """Watch until interrupted, or until nothing can be watched any more; returns the exit code."""
    config, words, servers = configured(out), list(options.words), list(options.values("--server"))
    while words and ":" not in words[0] and "=" not in words[0]:
        servers.append(words.pop(0))
    pairs = [word for word in words if _PAIR.match(word)]
    chosen = select(config, servers)
    server = out.server = only(chosen)
    out.lines = True
    least, out.log_level = out.log_level, ""
    if options.flag("--logs"):
        asked = {name: replace(one, log_level=one.log_level or "debug") for name, one in chosen.servers.items()}
        chosen = replace(chosen, servers=asked)
    addresses = _addresses([word for word in words if word not in pairs], pairs, options)
    return execute(chosen, out, lambda studio: _watch(studio, server, addresses, out, least), answers=False)


async def _watch(studio: Studio, server: str, addresses: dict[str, str], out: Output, least: str) -> int:
    logs, names = out.options.flag("--logs"), studio.manager.names()
    with ExitStack() as ends:
        ends.callback(studio.manager.notified.connect(lambda heard: _print_change(heard, out)))
        if logs or least:
            ends.callback(_print_logs(studio, out, least))
        for name in names:
            await connected(studio, name, out)
        targets = [(server or owner(studio, uri, "watch"), uri, address) for uri, address in addresses.items()]
        if not targets:
            what = "changes of lists and log messages" if logs else "changes of lists"
            out.note(f"{what} of {', '.join(names)}; Ctrl-C ends")
        watcher = Watcher(studio, out, read=out.options.flag("--read"))
        try:
            return await watcher.run(names, targets)
        finally:
            await watcher.leave()


def _print_change(heard: tuple[str, str, dict[str, Json]], out: Output) -> None:
    server, method, _ = heard
    if method.endswith("/list_changed"):
        now, kind = time.time(), method.split("/")[1]
        clock = time.strftime("%H:%M:%S", time.localtime(now))
        out.line(f"{clock} {server} list of {kind} changed", {"changed": kind, "server": server, "time": round(now, 3)})


def _print_logs(studio: Studio, out: Output, least: str) -> Callable[[], None]:
    rank = rank_of(least)

    def added(message: LogMessage) -> None:
        if message.rank < rank:
            return
        clock = time.strftime("%H:%M:%S", time.localtime(message.time))
        value = {"server": message.server, "level": message.level, "logger": message.logger or None}
        out.line(f"{clock} {message.line}", {"log": message.data, **value, "time": round(message.time, 3)})

    return studio.logs.added.connect(added)


def _addresses(uris: Sequence[str], pairs: Sequence[str], options: Options) -> dict[str, str]:
    """What is to be watched, as given and with the values of the templates that it names.

    Raises:
        UsageError: a value is missing, or is for no template.
    """
    names = {uri: {field.name for field in (template_form(uri) or Form()).fields} for uri in uris}
    keys = {pair: pair.partition("=")[0].rstrip(":") for pair in pairs}
    if unknown := [key for key in keys.values() if not any(key in known for known in names.values())]:
        raise UsageError(f"`{unknown[0]}` is no variable of a template here.")
    return {
        uri: filled(uri, options, [pair for pair, key in keys.items() if key in known]) for uri, known in names.items()
    }
