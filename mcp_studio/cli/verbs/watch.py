"""`watch`: a line for every update of resources, and for log messages, until somebody ends it."""

from __future__ import annotations

import time
from dataclasses import replace

from mcp_studio.cli.arguments import gather
from mcp_studio.cli.engine import connected, execute
from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output
from mcp_studio.cli.plan import Plan
from mcp_studio.cli.watcher import Watcher
from mcp_studio.errors import UsageError
from mcp_studio.schema.form import template_fields
from mcp_studio.schema.uritemplate import TemplateError, expand
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
    return execute(plan, out, lambda studio: _watch(studio, plan, options, out, least))


async def _watch(studio: Studio, plan: Plan, options: Options, out: Output, least: str) -> int:
    if options.flag("--logs") or least:
        _print_logs(studio, out, least)
    for name in plan.config.servers:
        await connected(studio, name, out)
    targets = [(plan.server or _owner(studio, uri), uri, _filled(plan, options, uri)) for uri in plan.uris]
    if not targets:
        out.note(f"log messages of {', '.join(plan.config.servers)}; Ctrl-C ends")
    watcher = Watcher(studio, out, read=options.flag("--read"))
    try:
        return await watcher.run(list(plan.config.servers), targets)
    finally:
        await watcher.leave()


def _print_logs(studio: Studio, out: Output, least: str) -> None:
    rank = rank_of(least)

    def added(message: LogMessage) -> None:
        if message.rank < rank:
            return
        clock = time.strftime("%H:%M:%S", time.localtime(message.time))
        value = {"server": message.server, "level": message.level, "logger": message.logger or None}
        out.line(f"{clock} {message.line}", {"log": message.data, **value, "time": round(message.time, 3)})

    studio.logs.added.connect(added)


def _filled(plan: Plan, options: Options, uri: str) -> str:
    """The URI of a template, filled with what the command line gives."""
    if "{" not in uri:
        return uri
    form = template_fields(uri)
    names = {field.name for field in form.fields}
    values = gather(options, [pair for pair in plan.pairs if pair.partition("=")[0].rstrip(":") in names], form)
    if missing := [field.name for field in form.fields if field.required and field.name not in values]:
        raise UsageError(f"The template {uri} needs {', '.join(missing)}.")
    try:
        return expand(uri, values)
    except TemplateError as problem:
        raise UsageError(f"The URI template cannot be used: {problem}.") from None


def _owner(studio: Studio, uri: str) -> str:
    """The server that lists this resource or template.

    Raises:
        UsageError: none does, or several do.
    """
    entries = (*studio.catalog.entries("resource"), *studio.catalog.entries("template"))
    owners = list(dict.fromkeys(entry.ref.server for entry in entries if entry.ref.name == uri))
    if len(owners) == 1:
        return owners[0]
    what = f"{' and '.join(owners)} have" if owners else "No server lists"
    raise UsageError(f"{what} {uri}.", hint="Name the server: mcp-studio watch SERVER URI")
