"""What a connecting verb is about: which servers, which tool, prompt or URI; decided before anything is started."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_studio.cli import late
from mcp_studio.cli.options import Options
from mcp_studio.cli.targets import problem_of, select
from mcp_studio.config.model import Config
from mcp_studio.config.table import nearest
from mcp_studio.errors import UsageError
from mcp_studio.record import record

if TYPE_CHECKING:
    from mcp_studio.call.saved import SavedCall
    from mcp_studio.cli.verbs.replay import Replay

_PAIR = re.compile(r"[\w.-]+:?=")
"""How `key=value` and `key:=JSON` begin, and no URI does."""
KINDS = ("servers", "tools", "resources", "templates", "prompts", "history", "saved")
"""What `list` can list."""
TASK_ACTIONS = ("list", "get", "result", "cancel", "watch")
"""What can be done with tasks."""


@record(frozen=True)
class Plan:
    """The servers to connect, and what to do there."""

    config: Config
    """Only the servers concerned, each to be started."""
    server: str = ""
    """The one server it is about, where there is one."""
    name: str = ""
    """Tool, prompt, URI or URI template; for `tasks` what to do."""
    pairs: tuple[str, ...] = ()
    """The `key=value` words; for `tasks` the task's id."""
    named: bool = False
    """The name was given by an option of its own: it is used even if the server does not list it."""
    guessed: bool = False
    """The server is the one that had it last time, as is remembered."""
    unknown: tuple[str, ...] = ()
    """Servers that were never listed, and may have it, too."""
    connects: bool = True
    uris: tuple[str, ...] = ()
    """Several URIs or URI templates; for `list history` what it is of."""
    verb: str = ""
    """The verb that does it, where it is not the one that was given: saved calls are called, got or read."""
    saved: SavedCall | None = None
    replay: Replay | None = None
    """What is sent again, and where."""


class Outdated(UsageError):
    """The server that is remembered to have something has it no more."""


def make(options: Options, config: Config) -> Plan:
    """Read a verb's words.

    Raises:
        UsageError: a word is missing, is too much, or names nothing.
        ConfigError: it names a server that was left out because of a mistake in its entry.
    """
    if options.verb == "list":
        return _list(options, config)
    if options.flag("--from"):
        late.take_pasted(options, config)
    plan = late.saved_plan(options, config) if options.flag("--saved") else _of_verb(options, config)
    if options.value("--repeat") and plan.verb not in ("", "call"):
        raise UsageError("--repeat is for tools; this saved call is of something else.")
    return late.without_calling(plan, options) if options.flag("--as") else plan


def _of_verb(options: Options, config: Config) -> Plan:
    if options.verb == "replay":
        return late.replay_plan(options, config)
    if options.verb == "search":
        return late.search_plan(options, config)
    if options.verb == "shell":
        return _shell(options, config)
    if options.verb == "doctor":
        return Plan(select(config, [*options.words, *options.values("--server")]))
    if options.verb == "send":
        return _send(options, config)
    if options.verb == "read":
        return _read(options, config)
    if options.verb == "watch":
        return _watch(options, config)
    if options.verb == "tasks":
        return _tasks(options, config)
    if options.verb == "skills":
        return _skills(options, config)
    option, what = ("--tool", "tool") if options.verb == "call" else ("--prompt", "prompt")
    return _named(options, config, option, what)


def _list(options: Options, config: Config) -> Plan:
    if options.words[:1] == ["history"] and len(options.words) <= 2:
        return Plan(
            config, name="history", connects=False, uris=tuple([*options.words[1:], *options.values("--server")])
        )
    if len(options.words) > 1 or not {*options.words} <= {*KINDS}:
        word = next(word for word in (*options.words[1:], *options.words) if word)
        raise UsageError(f"`list` lists one of {', '.join(KINDS)}, not `{word}`.", hint=nearest(word, KINDS))
    kind = options.words[0] if options.words else ""
    if kind in ("servers", "saved"):
        return Plan(config, name=kind, connects=False)
    chosen = select(config, options.values("--server"))
    return Plan(chosen, next(iter(chosen.servers)) if len(chosen.servers) == 1 else "", kind)


def _named(options: Options, config: Config, option: str, what: str) -> Plan:
    """`SERVER.NAME key=value…`, or with options of their own for server and name."""
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
    if server:
        return Plan(select(config, [server]), server, name, pairs_of(words), named)
    chosen = select(config, ())
    known, never = late.holders(chosen, name, ("tool",) if what == "tool" else ("prompt", "template"))
    if len(known) > 1:
        raise ambiguous(options.verb, what, [f"{one}.{name}" for one in known])
    pairs, chosen = pairs_of(words), select(chosen, known)
    return Plan(chosen, "".join(known), name, pairs, named, guessed=bool(known), unknown=never if known else ())


def ambiguous(verb: str, what: str, found: Sequence[str]) -> UsageError:
    """Several servers have something of one name."""
    said = f"Several servers have the {what}: {', '.join(found)}."
    return UsageError(said, hint=f"Say which: mcp-studio {verb} {shlex.quote(found[0])}")


def _split(config: Config, text: str, named: bool) -> tuple[str, str]:
    """Server and name of `SERVER.NAME`, which divides at the first dot behind a server; empty where it names none."""
    only = _only(config)
    heads = () if named else (text[: dot.start()] for dot in re.finditer(r"\.(?=.)", text))
    for head in heads:
        if head in config.servers or (not only and problem_of(config, head)):
            return head, text[len(head) + 1 :]
    return only, text


def _read(options: Options, config: Config) -> Plan:
    words = list(options.words)
    server = server_option(options)
    if not server and words and "://" not in words[0] and (len(words) > 1 or words[0] in config.servers):
        second = words[1] if len(words) > 1 else ""
        if words[0] in config.servers or ("=" not in second and ":" in second):
            server = words.pop(0)
    if not words:
        raise UsageError("Which resource?", hint="mcp-studio read [SERVER] URI")
    uri = words.pop(0)
    chosen = select(config, [server] if server else [])
    if not server and len(chosen.servers) == 1:
        server = next(iter(chosen.servers))
    return Plan(chosen, server, uri, pairs_of(words))


def _watch(options: Options, config: Config) -> Plan:
    """`[SERVER…] URI… key=value…`; without URIs it is about lists and log messages alone."""
    words, servers = list(options.words), options.values("--server")
    while words and ":" not in words[0] and "=" not in words[0]:
        servers = [*servers, words.pop(0)]
    pairs = [word for word in words if _PAIR.match(word)]
    uris = tuple(word for word in words if word not in pairs)
    chosen = select(config, servers)
    server = next(iter(chosen.servers)) if len(chosen.servers) == 1 else ""
    return Plan(chosen, server, pairs=tuple(pairs), uris=uris)


def _send(options: Options, config: Config) -> Plan:
    """`[SERVER] METHOD`, or `[SERVER] --frame TEXT`."""
    words = list(options.words)
    frames = bool(options.values("--frame"))
    server = server_option(options)
    if not server and words and (frames or len(words) > 1):
        server = words.pop(0)
    if len(words) != (0 if frames else 1):
        what = "`--frame` takes the place of the method." if words and frames else "Which method?"
        raise UsageError(what, hint="mcp-studio send [SERVER] METHOD|--frame TEXT")
    server = server or _only(config)
    if not server:
        raise UsageError("Which server?", hint="mcp-studio send SERVER METHOD")
    chosen = select(config, [server])
    if options.flag("--no-handshake"):
        chosen = replace(chosen, servers={name: replace(one, enabled=False) for name, one in chosen.servers.items()})
    return Plan(chosen, server, words[0] if words else "", connects=not options.flag("--no-handshake"))


def _shell(options: Options, config: Config) -> Plan:
    """`[SERVER]`; it can be left out where there is one."""
    if len(options.words) > 1:
        raise UsageError(f"`{options.words[1]}` is too much.", hint="Commands are read from the terminal or a pipe.")
    server = server_option(options) or next(iter(options.words), "") or _only(config)
    if not server and config.servers:
        raise UsageError("Which server?", hint="mcp-studio shell SERVER")
    return Plan(select(config, [server] if server else []), server)


def _tasks(options: Options, config: Config) -> Plan:
    """`[list|get|result|cancel|watch] [SERVER] [TASK]`; the server can be left out where there is one."""
    words = list(options.words)
    action = words.pop(0) if words and words[0] in TASK_ACTIONS else "list"
    server = server_option(options)
    wanted = 0 if action == "list" else 1
    if not server and len(words) > wanted:
        server = words.pop(0)
    if not server and action != "list" and not (server := _only(config)):
        raise UsageError("Which server?", hint=f"mcp-studio tasks {action} SERVER TASK")
    if len(words) != wanted:
        raise UsageError("Which task?" if len(words) < wanted else f"`{words[wanted]}` is too much.")
    return Plan(select(config, [server] if server else []), server, action, tuple(words))


def _skills(options: Options, config: Config) -> Plan:
    """`[SERVER] [SKILL [FILE]]`; the server can be left out where there is one."""
    words = list(options.words)
    server = server_option(options)
    if not server and words and (words[0] in config.servers or (not _only(config) and "://" not in words[0])):
        server = words.pop(0)
    if words and not server and not (server := _only(config)):
        raise UsageError(f"Which server has the skill {words[0]}?", hint="mcp-studio skills SERVER SKILL")
    if len(words) > 2:
        raise UsageError(f"`{words[2]}` is too much.", hint="mcp-studio skills [SERVER] [SKILL [FILE]]")
    chosen = select(config, [server] if server else [])
    server = server or (next(iter(chosen.servers)) if len(chosen.servers) == 1 else "")
    return Plan(chosen, server, words[0] if words else "", uris=tuple(words[1:]))


def server_option(options: Options) -> str:
    names = options.values("--server")
    if len(names) > 1:
        raise UsageError(f"`{options.verb}` is about one server.")
    return names[0] if names else ""


def _only(config: Config) -> str:
    """The one server that can be meant without naming it."""
    names = list(config.servers) if len(config.servers) == 1 else [s.name for s in config.servers.values() if s.enabled]
    return names[0] if len(names) == 1 else ""


def pairs_of(words: list[str]) -> tuple[str, ...]:
    for word in words:
        if "=" not in word:
            raise UsageError(f"`{word}` is not of the form key=value.")
    return tuple(words)
