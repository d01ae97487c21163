"""`watch`: print a line for each change of a list or resource, and for log messages, until interrupted. `dev`: restart
a server when its files change, and report what changed in its offer and its answers.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from mcp_studio.call.call import Succeeded
from mcp_studio.call.reload import Reloader, Round
from mcp_studio.call.saved import folders
from mcp_studio.catalog.listing import KINDS
from mcp_studio.cli.call_arguments import expanded, template_form, with_pairs
from mcp_studio.cli.engine import connect_all, connected, execute
from mcp_studio.cli.targets import configured, of_server, select
from mcp_studio.cli.terminal import Output
from mcp_studio.errors import StudioError, Unreachable, UsageError
from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.paths import read_object
from mcp_studio.present import blocks, outcomes, units
from mcp_studio.present.trace import difference_line
from mcp_studio.safetext import safe
from mcp_studio.sandbox.file_watch import FileWatch
from mcp_studio.schema.field import Form
from mcp_studio.session.logs import LogMessage, rank_of
from mcp_studio.session.subscriptions import Subscription
from mcp_studio.studio import Studio
from mcp_studio.trace.diff import Ignore

_LEAVING = 2.0
"""Seconds that telling servers to stop may take."""
_PAIR = re.compile(r"[\w.-]+:?=")
"""Matches the start of `key=value` and `key:=JSON`, but of no URI."""


def run(out: Output) -> int:
    """Watch until interrupted, or until nothing can be watched any more. Returns the exit code."""
    options, config = out.options, configured(out)
    words, servers = list(options.words), list(options.values("--server"))
    while words and ":" not in words[0] and "=" not in words[0]:
        servers.append(words.pop(0))
    uris = _addresses(words)
    chosen = select(config, servers)
    server = out.server = chosen.only
    out.lines = True
    least, out.log_level = out.log_level, ""
    if options.flag("--logs"):
        least = least or "debug"
        asked = {name: replace(one, log_level=one.log_level or "debug") for name, one in chosen.servers.items()}
        chosen = replace(chosen, servers=asked)
    return execute(chosen, out, lambda studio: _watched(studio, server, uris, out, least), answers=False)


def _addresses(words: Sequence[str]) -> list[str]:
    """Return the URIs to watch. Templates are expanded with the `key=value` words.

    Raises:
        UsageError: a value is missing, or belongs to no template.
    """
    pairs = {word: word.partition("=")[0].rstrip(":") for word in words if _PAIR.match(word)}
    forms = {uri: template_form(uri) or Form() for uri in words if uri not in pairs}
    known = {field.name for form in forms.values() for field in form.fields}
    if unknown := next((key for key in pairs.values() if key not in known), ""):
        raise UsageError(f"`{unknown}` is no variable of a template here.")
    found: list[str] = []
    for uri, form in forms.items():
        own = [pair for pair, key in pairs.items() if form.field(key) is not None]
        found.append(expanded(uri, form, with_pairs(form, {}, own)) if form.fields else uri)
    return found


async def _watched(studio: Studio, server: str, uris: list[str], out: Output, least: str) -> int:
    names = studio.manager.names()
    with ExitStack() as ends:
        ends.callback(studio.manager.notified.connect(partial(_print_change, out)))
        if least:
            ends.callback(studio.logs.added.connect(partial(_print_log, out, rank_of(least))))
        if out.options.flag("--events"):
            events = studio.manager.events
            ends.callback(events.connect(lambda one: _print(out, time.time(), f"{one.server} {one.text}", one.facts)))
            await connect_all(studio, out)  # servers that cannot be reached appear as events
        for name in () if out.options.flag("--events") else names:
            await connected(studio, name, out)
        for uri in uris if server else ():
            try:
                studio.groups.server_of(uri)
            except UsageError as error:
                out.note(f"{error.message} {server} is asked all the same")
        targets = [(server or studio.groups.server_of(uri), uri) for uri in uris]
        if not targets:
            what = "changes of lists and log messages" if least else "changes of lists"
            out.note(f"{what} of {', '.join(names)}; Ctrl-C ends")
        watcher = Watcher(studio, out)
        ends.callback(studio.manager.changed.connect(watcher.server_changed))
        ends.callback(studio.subscriptions.changed.connect(watcher.subscriptions_changed))
        ends.callback(studio.subscriptions.updated.connect(watcher.updated))
        return await watcher.run(targets)


def _print_change(out: Output, heard: tuple[str, str, dict[str, Json]]) -> None:
    server, method, _ = heard
    if method.endswith("/list_changed"):
        kind = method.split("/")[1]
        _print(out, time.time(), f"{server} list of {kind} changed", {"changed": kind, "server": server})


def _print_log(out: Output, least: int, message: LogMessage) -> None:
    if message.rank >= least:
        value = {"log": message.data, "server": message.server, "level": message.level}
        _print(out, message.time, message.line, {**value, "logger": message.logger or None})


def _print(out: Output, when: float, text: str, value: dict[str, Json]) -> None:
    out.line(f"{units.clock(when, exact=False)} {text}", {**value, "time": round(when, 3)})


class Watcher:
    """Subscribes to resources, prints their updates, and unsubscribes at the end."""

    def __init__(self, studio: Studio, out: Output) -> None:
        self._studio, self._out = studio, out
        self._watched: dict[tuple[str, str], str] = {}
        """Server and URI -> the state that was last printed."""
        self._due: dict[tuple[str, str], Subscription] = {}
        """Resources that are to be read."""
        self._wake = asyncio.Event()
        self._over: asyncio.Future[StudioError] = asyncio.get_running_loop().create_future()

    async def run(self, targets: Sequence[tuple[str, str]]) -> int:
        """Watch `targets` (server, URI) until interrupted.

        Returns an exit code when nothing can be watched any more.
        """
        subscriptions, reader = self._studio.subscriptions, asyncio.create_task(self._read())
        try:
            for server, uri in targets:
                self._watched[server, uri] = "wanted"
                subscriptions.watch(server, uri)
            return self._out.fail(await self._over)
        finally:
            reader.cancel()
            for server, uri in self._watched:
                subscriptions.unwatch(server, uri)
            for server in {server for server, _ in self._watched}:
                await subscriptions.settle(server, _LEAVING)

    def updated(self, one: Subscription) -> None:
        """Print that a resource has changed."""
        if (one.server, one.uri) not in self._watched:
            return
        value: dict[str, Json] = {"updated": one.uri, "server": one.server, "count": one.updates}
        _print(self._out, one.updated, f"{one.server} {one.uri}", value)
        self._want(one)

    def _want(self, one: Subscription) -> None:
        """With `--read`, have a resource read. Several updates during a read cause only one more."""
        if self._out.options.flag("--read"):
            self._due[one.server, one.uri] = one
            self._wake.set()

    async def _read(self) -> None:
        while await self._wake.wait():
            self._wake.clear()
            while self._due:
                (server, uri), _ = self._due.popitem()
                outcome = await self._studio.read_resource(server, uri, fresh=True).wait()
                if not isinstance(outcome, Succeeded):
                    self._out.warn(f"{uri} cannot be read: {outcomes.failure(outcome).message}")
                    continue
                contents = items_of(mapping(outcome.result).get("contents"))
                value: dict[str, Json] = {"read": uri, "server": server, "time": round(time.time(), 3)}
                text = "".join(blocks.resource_text(outcome.result)).removesuffix("\n")
                self._out.line(text, {**value, "contents": contents}, lines=True)

    def subscriptions_changed(self, server: str) -> None:
        """Print which resources are watched now. Ends the verb if none is."""
        ones = [one for key in self._watched if (one := self._studio.subscriptions.get(*key)) is not None]
        for one in ones:
            if one.server == server:
                self._tell(one)
        if ones and all(one.state in ("refused", "lost") for one in ones):
            first = ones[0]
            self._end(StudioError(f"{first.server} does not let {first.uri} be watched: {first.detail.rstrip('.')}."))

    def _tell(self, one: Subscription) -> None:
        before, self._watched[one.server, one.uri] = self._watched[one.server, one.uri], one.state
        if one.state == before:
            return
        if one.state == "active":
            self._out.note(f"watching {one.uri} of {one.server}")
            if one.missed:
                self._out.note("  it may have changed while nobody listened")
                self._want(one)
        elif before == "active" or one.state in ("refused", "lost"):
            self._out.note(f"{one.uri} of {one.server} is not watched: {one.detail or 'it is tried again'}")

    def server_changed(self, name: str) -> None:
        """Print that a server is being tried again. Ends the verb if none can be reached any more."""
        manager = self._studio.manager
        statuses = [manager.status(one) for one in manager.names()]
        for status in statuses:
            if status.server == name and status.state == "retrying" and status.error is not None:
                self._out.once(f"{name}: {status.error.message} It is tried again.")
        if all(status.state in ("failed", "needs_auth", "disabled") for status in statuses):
            errors = [status.error for status in statuses if status.error is not None]
            self._end(errors[-1] if errors else Unreachable(f"{name} is not connected any more."))

    def _end(self, error: StudioError) -> None:
        if not self._over.done():
            self._over.set_result(error)


def dev(out: Output) -> int:
    """Watch until interrupted, or run once with `--once`. Returns the exit code."""
    options = out.options
    chosen, server, _ = of_server(out, 0)
    if not server:
        raise UsageError("Which server?", hint="mcp-studio dev SERVER, or mcp-studio dev -- COMMAND ARGS…")
    if chosen.servers[server].kind != "stdio":
        raise UsageError(f"{server} is no program that is started here.", hint="A server at a URL restarts by itself.")
    out.lines = not options.flag("--once")
    if out.lines:  # fails before anything is started
        FileWatch(chosen.servers[server], options.values("--watch"))
    return execute(chosen, out, lambda studio: _rounds(studio, server, Ignore(options.values("--ignore")), out))


async def _rounds(studio: Studio, server: str, ignore: Ignore, out: Output) -> int:
    options = out.options
    places, anywhere = folders(studio.paths, Path.cwd(), studio.config.settings.calls), options.command is not None
    reloader = Reloader(studio.caller, places, server, anywhere)
    reloader.approved, reloader.ignore = options.flag("--yes"), ignore
    if file := options.value("--baseline"):
        known = read_object(Path(file))
        if "surface" not in known:
            raise UsageError(f"{file} is no baseline.", hint="dev --once --write-baseline FILE writes one.")
        reloader.surface, reloader.answers = known["surface"], mapping(known.get("answers"))
    if not out.lines:
        first = await reloader.round()
        _print_round(first, studio, out)
        return _end_once(first, reloader, out)
    async for one in reloader.run(options.values("--watch")):
        _print_round(one, studio, out)
        out.once("watching; Ctrl-C ends")
    return 0


def _end_once(one: Round, reloader: Reloader, out: Output) -> int:
    """Finish `--once`: exit code 1 if there is a breaking change, or if a pinned call has another answer."""
    error = one.error or next(iter(out.asker.refused), None)
    if error is None and (file := out.options.value("--write-baseline")):
        out.store(file, {"version": 1, "surface": reloader.surface, "answers": reloader.answers})
    elif error is None and (one.breaking or one.other):
        words = f"{units.plural(len(one.breaking), 'breaking change')}, {units.plural(len(one.other), 'other answer')}."
        error = StudioError(words)
    return out.done(_json(one, out), error)


def _print_round(one: Round, studio: Studio, out: Output) -> None:
    if out.json and out.lines:
        out.line("", _json(one, out))
    # Print each as one line, whatever a tool's name contains.
    out.data(*(safe(out.redactor.text(line), 4_000) for line in _lines(one, studio)))
    out.flush()


def _lines(one: Round, studio: Studio) -> Iterator[str]:
    clock = units.clock(time.time(), exact=False)
    if one.files:
        yield f"{clock} changed: {', '.join(one.files)}"
    if one.error is not None:
        why, *last = one.error.message.split(" | ")
        yield f"{clock} {one.server} is not ready: {why}"
        yield from (f"  │ {line}" for line in last)
        return
    offers = ((kind, len(studio.catalog.listing(one.server, kind).entries)) for kind in KINDS)
    counts = ", ".join(units.plural(count, kind) for kind, count in offers if count)
    yield f"{clock} {one.server} is ready after {units.duration(one.ms)}: {counts or 'it offers nothing'}"
    for change in one.changes:
        yield f"  {'! breaking: ' if change.breaking else '~ '}{change.kind} {change.name}"
        yield from (f"      {text}" for text in (*change.breaking, *change.compatible))
    for answer in one.answers:
        yield f"  {answer.verdict:<8} {answer.name}  {answer.said or units.duration(answer.ms)}"
        if answer.accepted:
            yield f"           its tool is another one than was accepted ({answer.accepted}): accepted by this call"
        yield from (f"           {difference_line(difference)}" for difference in answer.differences)


def _json(one: Round, out: Output) -> dict[str, Json]:
    return {
        **one._asdict(), "time": round(time.time(), 3), "ready": one.error is None, "breaking": bool(one.breaking),
        "error": out.redactor.text(one.error.message) if one.error else None,
        "changes": [change._asdict() for change in one.changes],
        "answers": [{**one._asdict(), "differences": [*map(difference_line, one.differences)]} for one in one.answers],
    }  # fmt: skip
