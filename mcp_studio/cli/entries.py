"""Which tool, prompt or resource of which server a command line is about."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from mcp_studio.catalog.catalog import suggestion
from mcp_studio.catalog.listing import EntryKind, Ref, salvage
from mcp_studio.catalog.remembered import Memories
from mcp_studio.cli.engine import connect_all, connected
from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output
from mcp_studio.cli.targets import only, problem_of, select, server_option
from mcp_studio.config.model import Config
from mcp_studio.errors import UsageError
from mcp_studio.paths import Paths
from mcp_studio.studio import Studio

if TYPE_CHECKING:
    from mcp_studio.call.saved import SavedCall


class Plan(NamedTuple):
    """What is called, got, read or completed, as far as the command line and what is remembered say."""

    config: Config
    """Only the servers concerned."""
    server: str
    """Empty where it has to be found out."""
    name: str
    pairs: tuple[str, ...] = ()
    """The `key=value` words."""
    named: bool = False
    """The name was given by an option of its own: it is used even if the server does not list it."""
    saved: SavedCall | None = None


def plan_named(options: Options, config: Config, option: str, what: str) -> Plan:
    """Read `SERVER.NAME key=value…`, or the same with options of their own for server and name.

    Raises:
        UsageError: a word is missing, or names nothing.
        ConfigError: it names a server that was left out because of a mistake in its entry.
    """
    words = list(options.words)
    name = options.value(option)
    named = bool(name)
    if not name:
        if not words:
            raise UsageError(f"Which {what}?", hint=f"mcp-studio {options.verb} SERVER.{what.upper()}")
        name = words.pop(0)
    server = server_option(options)
    if not server:
        server, name = _split(config, name, named)
    pairs = pairs_of(words)
    if server:
        return Plan(select(config, [server]), server, name, pairs, named)
    chosen = select(config, ())
    known = _holders(chosen, name, ("tool",) if what == "tool" else ("prompt", "template"))
    if known:  # the others need not be started
        chosen = select(chosen, known)
    return Plan(chosen, known[0] if len(known) == 1 else "", name, pairs, named)


def plan_read(options: Options, config: Config) -> Plan:
    """Read `[SERVER] URI key=value…`.

    Raises:
        UsageError, ConfigError: as `plan_named`.
    """
    words = list(options.words)
    server = server_option(options)
    if not server and words and (words[0] in config.servers or (len(words) > 1 and "=" not in words[1])):
        server = words.pop(0)
    if not words:
        raise UsageError("Which resource?", hint="mcp-studio read [SERVER] URI")
    chosen = select(config, [server] if server else [])
    return Plan(chosen, server or only(chosen), words[0], pairs_of(words[1:]))


def pairs_of(words: Sequence[str]) -> tuple[str, ...]:
    """The words, each of which has to be `key=value`."""
    for word in words:
        if "=" not in word:
            raise UsageError(f"`{word}` is not of the form key=value.")
    return tuple(words)


def _split(config: Config, text: str, named: bool) -> tuple[str, str]:
    """Server and name of `SERVER.NAME`, which divides at the first dot behind a server; empty where it names none."""
    sole = only(config)
    heads = () if named else (text[: dot.start()] for dot in re.finditer(r"\.(?=.)", text))
    for head in heads:
        if head in config.servers or (not sole and problem_of(config, head)):
            return head, text[len(head) + 1 :]
    return sole, text


def _holders(config: Config, name: str, kinds: Sequence[EntryKind]) -> list[str]:
    """The servers that had something of this name and kind when they were listed last."""
    memories = Memories(Paths.default().state / "servers")
    found: list[str] = []
    for server in config.servers.values():
        listed = memories.recall(server).listings
        if any(entry.ref.name == name for kind in kinds for entry in salvage(server.name, kind, listed.get(kind, []))):
            found.append(server.name)
    return found


async def located(studio: Studio, plan: Plan, out: Output, *kinds: EntryKind) -> Ref:
    """What is meant, at the one server that has it, which is connected and listed then.

    Raises:
        UsageError: no server has it, or several have; the nearest are named.
        StudioError: the server is not ready, in words.
    """
    if plan.server:
        await connected(studio, plan.server, out)
        return _of_one(studio, plan, out, kinds)
    failed = await connect_all(studio, out)
    entries = [entry.ref for kind in kinds for entry in studio.catalog.entries(kind) if not entry.remembered]
    found = list(dict.fromkeys(ref for ref in entries if ref.name == plan.name))
    if len(found) > 1:
        hint = f"Say which: mcp-studio {out.options.verb} {shlex.quote(str(found[0]))}"
        raise UsageError(f"Several servers have the {kinds[0]}: {', '.join(map(str, found))}.", hint=hint)
    for name, error in failed.items():
        (out.note if found else out.warn)(f"{name} could not be asked: {error.message}")
    if not found:
        raise _nowhere(plan, kinds[0], entries)
    out.server = found[0].server
    return found[0]


def _nowhere(plan: Plan, kind: EntryKind, known: list[Ref]) -> UsageError:
    """No server has it: the nearest that there is."""
    near = suggestion(plan.name, [str(ref) if "." in plan.name else ref.name for ref in known])
    return UsageError(f"No server has the {kind} `{plan.name}`.{near}")


def _of_one(studio: Studio, plan: Plan, out: Output, kinds: tuple[EntryKind, ...]) -> Ref:
    """The same of the server that is named; what is named by an option of its own need not be listed."""
    refs = [Ref(kind, plan.server, plan.name) for kind in kinds]
    if found := next(filter(studio.catalog.find, refs), None):
        return found
    if plan.named or (kinds == ("tool",) and studio.catalog.listing(plan.server, "tool").error):
        out.warn(f"{plan.server} does not list a {kinds[0]} {plan.name}.")
        return refs[0]
    raise studio.catalog.missing(refs[0])


def owner(studio: Studio, uri: str, verb: str) -> str:
    """The server that lists this resource or template.

    Raises:
        UsageError: none does, or several do.
    """
    entries = (*studio.catalog.entries("resource"), *studio.catalog.entries("template"))
    owners = list(dict.fromkeys(entry.ref.server for entry in entries if entry.ref.name == uri))
    if len(owners) == 1:
        return owners[0]
    what = f"{' and '.join(owners)} have" if owners else "No server lists"
    raise UsageError(f"{what} {uri}.", hint=f"Name the server: mcp-studio {verb} SERVER URI")
