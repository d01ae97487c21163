"""Finds out which tool, prompt or resource a command line means and with which arguments. They come from the command
line, the newest call, a saved call or pasted text in a file.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, cast

from mcp_studio.call.call import Call
from mcp_studio.call.saved import Folders, SavedCall, Where, fill, folders, secrets_in, split, without_secrets
from mcp_studio.call.secrets import secret_places
from mcp_studio.catalog.catalog import suggestion
from mcp_studio.catalog.listing import EntryKind, Ref
from mcp_studio.cli.engine import connected, reachable, tell_passed_over
from mcp_studio.cli.options import Options
from mcp_studio.cli.questions import Asker
from mcp_studio.cli.targets import own_server, select, server_option
from mcp_studio.cli.terminal import EndOfInput, Output, agrees, can_ask, say
from mcp_studio.config.model import Config
from mcp_studio.errors import InputNeeded, StudioError, UsageError
from mcp_studio.jsontext import Json, dumps
from mcp_studio.paths import Paths
from mcp_studio.protocol.views import PromptView, ToolView
from mcp_studio.safetext import safe
from mcp_studio.schema.check import quick
from mcp_studio.schema.examples import Kind, example
from mcp_studio.schema.field import Form, SchemaProblem, errors
from mcp_studio.schema.form import build, prompt_fields, template_fields
from mcp_studio.schema.place import path_of, pointer
from mcp_studio.schema.text import key_of, set_pair
from mcp_studio.schema.uritemplate import TemplateError, expand
from mcp_studio.session.groups import MARK
from mcp_studio.studio import Studio


class Plan(NamedTuple):
    """What to call, get, read or complete, as far as the command line and the configuration tell before connecting."""

    config: Config
    """Contains only the servers that may be needed."""
    server: str
    """Empty if it is still to be found out."""
    name: str
    pairs: tuple[str, ...] = ()
    """The `key=value` words."""
    named: bool = False
    """True if the name came from its own option (`--tool`); it is then used even if the server does not list it."""
    saved: SavedCall | None = None
    group: str = ""
    """The group whose best member gets the call."""
    on: tuple[str, ...] = ()
    """Servers that all get the call (`--on`)."""


def plan_of(options: Options, config: Config) -> Plan:
    """Work out what a command line asks for.

    Raises:
        UsageError, ConfigError: it asks for something that does not exist or makes no sense.
    """
    if options.flag("--saved"):
        return _plan_saved(options, config)
    if options.verb == "read":
        return _plan_read(options, config)
    return _plan_named(options, config, *(("--tool", "tool") if options.verb == "call" else ("--prompt", "prompt")))


def _plan_named(options: Options, config: Config, option: str, what: str) -> Plan:
    """Read `SERVER.NAME key=value…`. Server and name may also come from options.

    Raises:
        UsageError: a word is missing, or names something that does not exist.
        ConfigError: it names a server whose configuration entry has a mistake.
    """
    words, name = list(options.words), options.value(option)
    named = bool(name)
    if not (named or words):
        raise UsageError(f"Which {what}?", hint=f"mcp-studio {options.verb} SERVER.{what.upper()}")
    name = name or words.pop(0)
    if options.verb == "call" and options.flag("--on"):
        on = options.value("--on")
        parts = list(config.servers) if on == "all" else [one for part in on.split(",") if (one := part.strip())]
        if not parts:
            raise UsageError("--on names no server.", hint="--on A,B,C, --on @GROUP or --on all")
        many = [_members(config, one[1:]) if one.startswith(MARK) else [one] for one in parts]
        names = tuple(dict.fromkeys(name for group in many for name in group))
        return Plan(select(config, names), "", name, _pairs_of(words), named, on=names)
    server = server_option(options)
    if name.startswith(MARK) and not named:
        group, _, name = name.removeprefix(MARK).partition(".")
        members = _members(config, group)
        if server in config.servers and config.servers[server].group != group:
            raise UsageError(f"{server} is not of the group {group!r}.", hint=f"Its servers are {', '.join(members)}.")
        chosen = select(config, [*dict.fromkeys((server, *members))] if server else members)
        # Start an on-demand member only if no other can serve, or if it is named.
        waits = {one: config.servers[one].start for one in members if one != server}
        servers = {one: replace(entry, start=waits.get(one, "")) for one, entry in chosen.servers.items()}
        return Plan(replace(chosen, servers=servers), server, name, _pairs_of(words), group=group)
    if not server:
        server, name = _split(config, name, named)
    return Plan(select(config, [server] if server else ()), server, name, _pairs_of(words), named)


def _members(config: Config, group: str) -> list[str]:
    """List the enabled servers of a group.

    Raises:
        UsageError: there is no such group, or all its servers are disabled.
    """
    members = [server for server in config.servers.values() if server.group == group and group]
    if enabled := [server.name for server in members if server.enabled]:
        return enabled
    if members:
        raise UsageError(f"All servers of the group {group!r} are disabled.", hint="Set `enabled = true` in one.")
    known = ", ".join(sorted({server.group for server in config.servers.values()} - {""}))
    raise UsageError(f"There is no group {group!r}.", hint=f"The groups are {known or 'none'}.")


def _plan_read(options: Options, config: Config) -> Plan:
    """Read `[SERVER] URI key=value…`.

    Raises:
        UsageError, ConfigError: as `_plan_named`.
    """
    words = list(options.words)
    server = server_option(options)
    if not server and words and (words[0] in config.servers or (len(words) > 1 and "=" not in words[1])):
        server = words.pop(0)
    if not words:
        raise UsageError("Which resource?", hint="mcp-studio read [SERVER] URI")
    chosen = select(config, [server] if server else [])
    return Plan(chosen, server or chosen.only, words[0], _with_lists(_pairs_of(words[1:])))


def _with_lists(pairs: Iterable[str]) -> tuple[str, ...]:
    """Join the pairs of a template: a key given several times gets a list as its value."""
    found: dict[str, list[str]] = {}
    for key, _, value in (pair.partition("=") for pair in pairs):
        found.setdefault(key, []).append(value)
    return tuple(
        f"{key}={many[-1]}" if len(many) == 1 or key.endswith(":") else f"{key}:={dumps([*many]).decode()}"
        for key, many in found.items()
    )


def _pairs_of(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words after checking that each is `key=value`."""
    for word in words:
        if "=" not in word:
            raise UsageError(f"`{word}` is not of the form key=value.")
    return tuple(words)


def _split(config: Config, text: str, named: bool) -> tuple[str, str]:
    """Split `SERVER.NAME` at the first dot that follows a server's name. The server is empty if none is named."""
    sole = config.only
    heads = () if named else (text[: dot.start()] for dot in re.finditer(r"\.(?=.)", text))
    for head in heads:
        if head in config.servers or (not sole and config.problem_of(head)):
            return head, text[len(head) + 1 :]
    return sole, text


async def located(studio: Studio, plan: Plan, out: Output, *kinds: EntryKind) -> Ref:
    """Find the server that has what the plan names, connect to it and load its lists.

    Raises:
        UsageError: no server has it, or several do. The message names similar ones.
        StudioError: the server is not ready; the message says why.
    """
    server, groups = plan.server, studio.groups
    routed = bool(plan.group) or kinds == ("resource",)
    if plan.group or (routed and not server):
        find = partial(groups.route, plan.group, preferred=server) if plan.group else groups.reader
        try:
            server = await find(plan.name)
        except UsageError:
            await reachable(studio, out)  # this says why it failed, and lets the person sign in
            server = await find(plan.name)
        else:
            tell_passed_over(studio, out)
    await (connected(studio, server, out) if server else reachable(studio, out))
    ref = Ref(kinds[0], server, plan.name) if routed else _listed(studio, plan, out, kinds)
    out.server = ref.server
    return ref


def _listed(studio: Studio, plan: Plan, out: Output, kinds: tuple[EntryKind, ...]) -> Ref:
    """Find the listed entry of this name at the named server, or at the only server that has it.
    A name given by its own option need not be listed.

    Raises:
        UsageError: no server has it, or several do. The message names similar ones.
    """
    server, name, what = plan.server, plan.name, kinds[0]
    entries = [one for kind in kinds for one in studio.catalog.entries(kind, [server] if server else None)]
    refs = [entry.ref for entry in entries if server or not entry.remembered]
    found = list(dict.fromkeys(ref for ref in refs if ref.name == name))
    if len(found) == 1 or (found and server):
        return found[0]
    if found:
        several = f"Several servers have the {what}: {', '.join(map(str, found))}."
        raise UsageError(several, hint=f"Say which: --server {found[0].server}")
    if not server:
        near = suggestion(name, [str(ref) if "." in name else ref.name for ref in refs])
        raise UsageError(f"No server has the {what} `{name}`.{near}")
    ref = Ref(what, server, name)
    if plan.named or (kinds == ("tool",) and studio.catalog.listing(server, "tool").error):
        out.warn(f"{server} does not list a {what} {name}.")
        return ref
    raise studio.catalog.missing(ref)


class Intent(NamedTuple):
    """A call that is about to be made, with its arguments."""

    ref: Ref
    form: Form
    arguments: dict[str, Json]
    hidden: frozenset[str] = frozenset()
    """Pointers to values that are secret though they do not look like it."""

    @property
    def value(self) -> Json:
        """The arguments as the history stores them; None for a resource, which has none."""
        return None if self.ref.kind == "resource" else self.arguments

    @property
    def secrets(self) -> frozenset[str]:
        """Pointers to all secret values."""
        return self.hidden | secret_places(self.form, self.value)

    @property
    def texts(self) -> dict[str, str]:
        """The arguments as strings, the only type that the protocol has for those of a prompt."""
        return {name: item if isinstance(item, str) else str(item) for name, item in self.arguments.items()}

    async def check(self, studio: Studio) -> None:
        """Check the arguments against the form, and for a tool against its whole schema.

        Raises:
            UsageError: they do not match it; the message says where.
        """
        wrong, hint = quick(self.form, self.arguments), ""
        if self.ref.kind == "tool":
            wrong = await studio.checker.check_arguments(self.form, self.arguments)
            hint = "--unchecked sends them all the same."
        refuse_wrong(wrong, self.arguments, str(self.ref), hint)

    def begun(self, studio: Studio, call: Call) -> Call:
        """Add the call to the history once it has ended."""
        studio.memory.history.follow(call, self.ref, self.value, origin="command line", hidden=self.secrets)
        if self.ref.kind == "template":  # the studio itself sees only the expanded address
            studio.usage.ran(self.ref)
        return call

    def save(self, studio: Studio, out: Output) -> None:
        """If `--save` is given, save the call without its secrets and say where.

        Raises:
            UsageError, ConfigError: a call of that name exists, or the file cannot be written.
        """
        if not out.options.flag("--save"):
            return
        places = folders(studio.paths, Path.cwd(), studio.config.settings.calls)
        whose, name = split(out.options.value("--save"))
        where: Where = "project" if whose == "project" else "personal" if whose == "personal" else places.usual
        secrets = secrets_in(self.value, studio.memory.keeper, secret_places(self.form, self.value))
        pinned = out.options.flag("--pin")
        saved = SavedCall(name, self.ref, without_secrets(self.value, secrets, {}), where=where, pinned=pinned)
        out.note(f"saved as {places.write(saved, replace=False).file}")
        for path in secrets:
            out.note(f"{pointer(*path).lstrip('/')} is secret, and not in the file: write ${{keyring:NAME}} there")


def form_of(studio: Studio, ref: Ref) -> Form:
    """Build the form for a tool's or prompt's arguments. If it is not listed, any arguments fit."""
    found = studio.catalog.find(ref)
    view = found[0].view if found else None
    if ref.kind == "prompt":
        return prompt_fields(list(view.arguments)) if isinstance(view, PromptView) else Form(whole=True)
    return build(view.input_schema if isinstance(view, ToolView) else {"type": "object"})


async def intent_of(studio: Studio, plan: Plan, out: Output, ref: Ref, form: Form | None = None) -> Intent:
    """Collect the arguments of the call. They are not checked yet.

    Args:
        form: use this form instead of that of a listed tool or prompt.

    Raises:
        UsageError: a value cannot be read, or there is no earlier call to repeat.
        StudioError: see `_saved_intent`.
    """
    options, form = out.options, form or form_of(studio, ref)
    if plan.saved is not None:
        return await _saved_intent(studio, plan, plan.saved, out, ref, form)
    arguments = with_pairs(form, options.object("--args"), plan.pairs)
    if options.flag("--last"):
        arguments = {**await _last(studio, ref, out), **arguments}
    if options.flag("--example"):
        arguments = {**_example(form, ref, out), **arguments}
    return Intent(ref, form, arguments)


def _example(form: Form, ref: Ref, out: Output) -> dict[str, Json]:
    """Make up example arguments, and say which example it is."""
    kind = cast("Kind", out.options.value("--example"))
    made = example(form, kind, out.options.count("--seed", 999_999_999, least=0) or 0)
    out.note(f"Example ({kind}): {made.label}.")
    out.warn(made.remark)
    return _object(made.value, ref)


async def _last(studio: Studio, ref: Ref, out: Output) -> dict[str, Json]:
    """Return the arguments of the newest call, and warn of parts that the history did not store."""
    found = await studio.memory.history.of(ref)
    if not found:
        raise UsageError(f"No earlier call of {ref} is remembered.")
    out.warn(found[0].loss)
    return _object(found[0].arguments, ref)


def _object(value: Json, ref: Ref) -> dict[str, Json]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UsageError(f"The arguments of {ref} are not a JSON object.")
    return cast("dict[str, Json]", value)


def _plan_saved(options: Options, config: Config) -> Plan:
    """Build the plan for `call --saved NAME`.

    Raises:
        UsageError, ConfigError: there is no such call, its file is broken, or another option does not fit.
    """
    saved = folders(Paths.default(), Path.cwd(), config.settings.calls).find(options.value("--saved"))
    server = own_server(options, config) or server_option(options) or saved.ref.server
    chosen = select(config, [server])
    return Plan(chosen, server, saved.ref.name, _pairs_of(list(options.words)), saved=saved)


async def _saved_intent(studio: Studio, plan: Plan, saved: SavedCall, out: Output, ref: Ref, form: Form) -> Intent:
    """Load a saved call with its secrets, and add the arguments given on the command line.

    Raises:
        UsageError: an argument on the command line has an impossible value.
        InputNeeded: a project's file wants to use secrets, and nobody can be asked.
        StudioError: a secret is missing, or the person did not agree.
    """
    places = folders(studio.paths, Path.cwd(), studio.config.settings.calls)
    if not (out.options.flag("--yes") or places.agreed(saved)):
        await _agree(saved, places, plan.server, out.asker)
    filled = await asyncio.to_thread(fill, saved)
    for secret in filled.secrets:
        studio.manager.redactor.learn(secret)
    pairs = (*plan.pairs, *out.options.values("--set"))
    return Intent(ref, form, with_pairs(form, _object(filled.arguments, ref), pairs), filled.hidden)


async def _agree(saved: SavedCall, places: Folders, server: str, asker: Asker) -> None:
    """Ask whether a saved call in a project's file may use this computer's secrets.

    Raises:
        InputNeeded: nobody can be asked.
    """
    names = ", ".join(saved.references)
    said = f"{saved.file} is of the project, and sends {names} to {server}.{saved.ref.name}"
    if not can_ask():
        detail: dict[str, Json] = {"asked": "secrets", "question": said, "references": list(saved.references)}
        hint = "Look at it, then agree on a terminal, or with --yes."
        raise InputNeeded(f"{said}.", hint=hint, detail=detail)
    say(safe(said))
    with suppress(EndOfInput):
        if await agrees(asker.lines, "May it, as it is now?"):
            places.agree(saved)
            return
    raise StudioError("It was not run: denied by you.")


def with_pairs(form: Form, value: dict[str, Json], pairs: Sequence[str]) -> dict[str, Json]:
    """Return the value with the `key=value` pairs applied to it.

    Raises:
        UsageError: a pair does not fit the form.
    """
    wrong: list[str] = []
    for pair in pairs:
        try:
            value = cast("dict[str, Json]", set_pair(form, value, pair))
        except ValueError as problem:
            wrong.append(str(problem))
    if wrong:
        raise UsageError(f"The arguments cannot be read: {'; '.join(wrong)}.".replace("?.", "?"))
    return value


def refuse_wrong(problems: Iterable[SchemaProblem], value: Json, what: str, hint: str = "") -> None:
    """Refuse arguments that do not match the schema, before anything is sent.

    Raises:
        UsageError: always if there are problems; it names each wrong argument and says why.
    """
    wrong: dict[str, str] = {}
    for problem in errors(problems):
        wrong.setdefault(key_of(path_of(problem.pointer, value)), problem.message)
    if wrong:
        listed = "; ".join(f"{key}= {why}" if key else f"all of them {why}" for key, why in wrong.items())
        raise UsageError(f"The arguments of {what} are not right: {listed}.", hint=hint)


def template_form(uri: str) -> Form | None:
    """Build a form for a template's variables. None for a plain address: an address has no braces (RFC 3986 2).

    Raises:
        UsageError: it has braces but is not a valid template.
    """
    if not set("{}") & set(uri):
        return None
    form = template_fields(uri)
    if form.problems:
        raise UsageError(form.problems[0], hint="RFC 6570 says how they are written: {x}, {+x}, {/x*}, {?x,y}.")
    return form


def expanded(template: str, form: Form, values: Mapping[str, Json]) -> str:
    """Expand a template with these values to a URI.

    Raises:
        UsageError: a value is missing or unusable, or the template is invalid.
    """
    if missing := [field.name for field in form.fields if field.required and values.get(field.name) in (None, [], {})]:
        hint = f"Give each a value: {' '.join(f'{name}=…' for name in missing)}"
        raise UsageError(f"The template {template} needs {', '.join(missing)}.", hint=hint)
    try:
        return expand(template, values)
    except TemplateError as problem:
        raise UsageError(f"The URI template cannot be used: {problem}.") from None
