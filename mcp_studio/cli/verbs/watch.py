"""`watch`: a line for every change of a list or a resource, and for log messages, until somebody ends it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

from mcp_studio.cli.addresses import filled, owner, template_form
from mcp_studio.cli.engine import connected, execute
from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output
from mcp_studio.cli.plan import Plan
from mcp_studio.cli.watcher import Watcher
from mcp_studio.errors import UsageError
from mcp_studio.jsontext import Json
from mcp_studio.schema.field import Form
from mcp_studio.session.logs import LogMessage, rank_of
from mcp_studio.studio import Studio


def run(plan: Plan, options: Options, out: Output) -> int:
    """Watch until interrupted, or until nothing can be watched any more; returns the exit code."""
    out.lines, out.server = True, plan.server
    least, out.log_level = out.log_level, ""
    if options.flag("--logs"):
        asked = {
            name: replace(server, log_level=server.log_level or "debug") for name, server in plan.config.servers.items()
        }
        plan = replace(plan, config=replace(plan.config, servers=asked))
    addresses = _addresses(plan, options)
    return execute(plan, out, lambda studio: _watch(studio, plan, addresses, options, out, least))


async def _watch(
    studio: Studio, plan: Plan, addresses: dict[str, str], options: Options, out: Output, least: str
) -> int:
    with ExitStack() as ends:
        ends.callback(studio.manager.notified.connect(lambda heard: _print_change(heard, out)))
        if options.flag("--logs") or least:
            ends.callback(_print_logs(studio, out, least))
        for name in plan.config.servers:
            await connected(studio, name, out)
        targets = [(plan.server or owner(studio, given, "watch"), given, uri) for given, uri in addresses.items()]
        if not targets:
            what = "changes of lists and log messages" if options.flag("--logs") else "changes of lists"
            out.note(f"{what} of {', '.join(plan.config.servers)}; Ctrl-C ends")
        watcher = Watcher(studio, out, read=options.flag("--read"))
        try:
            return await watcher.run(list(plan.config.servers), targets)
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


def _addresses(plan: Plan, options: Options) -> dict[str, str]:
    """What is to be watched, as given and with the values of the templates that it names.

    Raises:
        UsageError: a value is missing, or is for no template.
    """
    names = {uri: {field.name for field in (template_form(uri) or Form()).fields} for uri in plan.uris}
    given = {pair: pair.partition("=")[0].rstrip(":") for pair in plan.pairs}
    if unknown := [name for name in given.values() if not any(name in known for known in names.values())]:
        raise UsageError(f"`{unknown[0]}` is no variable of a template here.")
    return {
        uri: filled(uri, options, [pair for pair, name in given.items() if name in known])
        for uri, known in names.items()
    }
