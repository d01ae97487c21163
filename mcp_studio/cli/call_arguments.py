"""The arguments of a call: those of the command line, of the newest call, or of a saved one; and keeping them."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import NamedTuple, cast

from mcp_studio.call.call import Call
from mcp_studio.call.copying.paste import LARGEST, Pasted, PasteProblem, read_paste
from mcp_studio.call.saved import Folders, SavedCall, Where, folders, schema_of, split
from mcp_studio.call.saved_arguments import fill, made, missing
from mcp_studio.call.secrets import secret_places
from mcp_studio.catalog.listing import Ref
from mcp_studio.cli import late
from mcp_studio.cli.arguments import Unread, gather, refuse_wrong, with_pairs
from mcp_studio.cli.asking import Asker
from mcp_studio.cli.options import Options
from mcp_studio.cli.output import MoreNeeded, Output
from mcp_studio.cli.plan import Plan, pairs_of, server_option
from mcp_studio.cli.targets import select
from mcp_studio.config.model import Config
from mcp_studio.config.table import nearest
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.jsontext import Json, dumps
from mcp_studio.paths import Paths
from mcp_studio.safetext import safe
from mcp_studio.schema.check import quick
from mcp_studio.schema.examples import KINDS, example
from mcp_studio.schema.field import Form
from mcp_studio.schema.form import build
from mcp_studio.schema.place import has, path_of
from mcp_studio.schema.text import parse_pair
from mcp_studio.session.inbox import InputRequest
from mcp_studio.studio import Studio


class Given(NamedTuple):
    """What a call is made with."""

    ref: Ref
    form: Form
    arguments: dict[str, Json]
    hidden: frozenset[str] = frozenset()
    """Pointers of what is secret, and not by its looks."""
    unread: tuple[Unread, ...] = ()
    """What of the command line means nothing; to be told by `refuse_wrong`."""

    def begun(self, studio: Studio, call: Call) -> Call:
        """Have a call remembered once it has ended."""
        value = None if self.ref.kind == "resource" else self.arguments
        hidden = self.hidden | secret_places(self.form, value)
        studio.memory.history.follow(call, self.ref, value, origin="command line", hidden=hidden)
        if self.ref.kind == "template":  # the studio knows of the address that came of it only
            studio.usage.ran(self.ref)
        return call


async def given(studio: Studio, plan: Plan, options: Options, out: Output, asker: Asker, form: Form, ref: Ref) -> Given:
    """The arguments, not checked yet.

    Raises:
        UsageError: something cannot be read, or there is no earlier call.
        StudioError: see `saved_call.saved_arguments`.
    """
    if plan.saved is not None and options.flag("--example"):
        raise UsageError("--example makes arguments up, and --saved has its own: one of them only.")
    if plan.saved is not None:
        value, hidden = await late.saved_arguments(studio, plan, options, asker, form)
        return Given(ref, form, _object(value, ref), hidden)
    unread: list[Unread] = []
    arguments = gather(options, plan.pairs, form, unread)
    if options.flag("--last"):
        arguments = {**await _last(studio, ref, arguments, out), **arguments}
    if options.flag("--example"):
        arguments = late.made_up(options, form, arguments, ref, out)
    elif options.flag("--seed"):
        raise UsageError("--seed is for --example.")
    return Given(ref, form, arguments, unread=tuple(unread))


def save(studio: Studio, options: Options, given: Given, out: Output) -> None:
    """Save the call where that is wanted.

    Raises:
        UsageError, ConfigError: it cannot be saved.
    """
    if name := options.value("--save"):
        value = None if given.ref.kind == "resource" else given.arguments
        late.save_call(studio, name, given.ref, value, given.form, out)


async def _last(studio: Studio, ref: Ref, over: dict[str, Json], out: Output) -> dict[str, Json]:
    """The arguments of the newest call; says what of them was not kept and is not given now."""
    found = await studio.memory.history.of(ref)
    if not found:
        off = "" if studio.memory.history.keep else " The history is switched off: [history] keep = 0."
        raise UsageError(f"No earlier call of {ref} is remembered.{off}")
    if found[0].large or any(not has(over, path_of(place, over)) for place in found[0].left_out):
        out.warn(found[0].loss)
    return _object(found[0].arguments, ref)


def _object(value: Json, ref: Ref) -> dict[str, Json]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UsageError(f"The arguments of {ref} are no JSON object.")
    return cast("dict[str, Json]", value)


def fill_examples(options: Options, form: Form, given: dict[str, Json], ref: Ref, out: Output) -> dict[str, Json]:
    """The arguments that were given, and an example's where there are none; says which example it is.

    Raises:
        UsageError: there is no such kind, the seed is no number, or the arguments are no object.
    """
    kind = options.value("--example")
    if kind not in KINDS:
        raise UsageError(
            f"--example: there is no kind `{kind}`.", hint=nearest(kind, KINDS) or f"One of {', '.join(KINDS)}."
        )
    seed = options.value("--seed") or "0"
    if not (seed.isascii() and seed.isdecimal() and len(seed) < 10):
        raise UsageError(f"--seed: `{seed}` is no whole number of at most 9 digits.")
    made = example(form, kind, int(seed))
    if not isinstance(made.value, dict):
        raise UsageError(f"{ref} takes no arguments by name: no example can be filled in.")
    out.note(f"Example ({kind}): {made.label}.")
    if made.remark:
        out.warn(made.remark)
    return {**cast("dict[str, Json]", made.value), **given}


_VERBS = {"tool": "call", "prompt": "get", "resource": "read"}
_NAMES = {"call": "--tool", "get": "--prompt"}


def take(options: Options, config: Config) -> None:
    """Change the options to what they would be, had the call been written as words.

    Raises:
        UsageError: the file cannot be read, or has no call of this verb in it.
    """
    if options.flag("--args"):
        raise UsageError("Give one of --args and --from.")
    file = options.value("--from")
    try:
        found = read_paste(_text(file))
    except PasteProblem as problem:
        where = f"{file}, line {problem.line}" if problem.line and file != "-" else file
        raise UsageError(f"--from {where}: {problem}") from None
    verb = _VERBS.get(found.kind, options.verb)
    if verb != options.verb:
        raise UsageError(f"--from {file}: it is a call of a {found.kind}.", hint=f"mcp-studio {verb} --from {file}")
    words, option = list(options.words), _NAMES.get(options.verb, "")
    own = [] if options.flag(option) or not words or "=" in words[0] else words[:1]
    if options.verb == "read" and len(words) > 1 and "=" not in words[1]:
        own = words[:2]
    rest = words[len(own) :]
    if own and found.name and not own[-1].endswith(found.name):
        raise UsageError(f"--from {file}: it is about {safe(found.name, 80)}, not {own[-1]}.")
    if not own and not options.flag(option):
        own = _named(options, config, found, option)
    options.words = [*own, *found.pairs, *rest]
    if found.arguments:
        options.given["--args"] = [dumps(dict(found.arguments)).decode()]


def _named(options: Options, config: Config, found: Pasted, option: str) -> list[str]:
    """Say which server and which entry it is about, as far as the text does; the words that stand for it."""
    server = found.server if found.server in config.servers else _at(config, found.url)
    if server and not options.flag("--server"):
        options.given["--server"] = [server]
    if option and found.name:
        options.given[option] = [found.name]
        return []
    return [found.name] if found.name else []


def _at(config: Config, url: str) -> str:
    """The server at this address."""
    return next((name for name, server in config.servers.items() if url and server.url == url), "")


def _text(file: str) -> str:
    """What is in the file, or comes on standard input.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        if file == "-":
            data = sys.stdin.buffer.read(4 * LARGEST + 1)
        else:
            with open(Path(file).expanduser(), "rb") as stream:
                data = stream.read(4 * LARGEST + 1)
    except OSError as problem:
        raise UsageError(f"--from: {file} cannot be read: {problem.strerror or problem}.") from None
    return data.decode("utf-8", "replace")


def saved_folders(config: Config) -> Folders:
    """Where saved calls are, seen from here."""
    return folders(Paths.default(), Path.cwd(), config.settings.calls)


def saved_plan(options: Options, config: Config) -> Plan:
    """What `call --saved NAME` is about.

    Raises:
        UsageError, ConfigError: there is no such call, its file is broken, or it cannot go with another option.
    """
    for option in ("--tool", "--args", "--last", "--save"):
        if options.flag(option):
            raise UsageError(
                f"--saved names a call with its arguments: {option} cannot be added.", hint="--set KEY=VALUE"
            )
    saved = saved_folders(config).find(options.value("--saved"))
    server = server_option(options) or saved.ref.server
    if options.command is not None or options.value("--url"):
        server = next(iter(config.servers))
    chosen = select(config, [server])
    return Plan(chosen, server, saved.ref.name, pairs_of(list(options.words)), verb=saved.verb, saved=saved)


async def saved_arguments(
    studio: Studio, plan: Plan, options: Options, asker: Asker, form: Form
) -> tuple[Json, frozenset[str]]:
    """The arguments of a saved call, and the pointers of those that are secret.

    Raises:
        UsageError: a variable or `--set` has a value that cannot be.
        InputNeeded: a variable has none, or a secret may not be used, and nobody can be asked.
        StudioError: a secret is not there, or the person went away.
    """
    saved = plan.saved
    assert saved is not None
    values = _values(saved, plan.pairs)
    if absent := missing(saved, values):
        values |= await _ask(saved, schema_of(absent), plan.server, asker)
    await _may_use_secrets(saved, saved_folders(studio.config), options, plan.server, asker)
    filled = await asyncio.to_thread(fill, saved, values)
    for secret in filled.secrets:
        studio.manager.learn(secret)
    arguments = filled.arguments
    if pairs := options.values("--set"):
        if arguments is not None and not isinstance(arguments, dict):
            raise UsageError("--set: the saved arguments are no JSON object.")
        arguments, unread = with_pairs(form, cast("dict[str, Json]", arguments or {}), pairs)
        refuse_wrong((), arguments, f"{plan.server}.{plan.name}", unread)
    return arguments, filled.hidden


def save_call(studio: Studio, name: str, ref: Ref, arguments: Json, form: Form, out: Output) -> None:
    """Save a call, secrets as variables, and tell where.

    Raises:
        UsageError, ConfigError: there is one of that name, or it cannot be written.
    """
    places = saved_folders(studio.config)
    whose, bare = split(name)
    where: Where = "project" if whose == "project" else "personal" if whose == "personal" else places.usual
    hidden = secret_places(form, arguments)
    saved = made(bare, ref, arguments, form, keeper=studio.memory.keeper, hidden=hidden, where=where)
    written = places.write(saved, replace=False)
    out.note(f"saved as {written.file}")
    for variable in written.variables:
        out.note(f"{variable.name} is secret: it is asked for, and not in the file")


def _values(saved: SavedCall, pairs: tuple[str, ...]) -> dict[str, Json]:
    """The variables that the command line gives."""
    form = build(schema_of(saved.variables))
    values: dict[str, Json] = {}
    unread: list[Unread] = []
    for pair in pairs:
        name = pair.partition("=")[0].removesuffix(":")
        if saved.variable(name) is None:
            known = ", ".join(one.name for one in saved.variables)
            hint = f"Its variables: {known}." if known else "It has none."
            raise UsageError(f"{saved.name} has no variable `{name}`.", hint=f"{hint} --set {name}=… sets an argument.")
        try:
            values[name] = parse_pair(form, pair)[1]
        except ValueError as problem:
            unread.append(Unread(name, str(problem)))
    given = tuple(one for one in saved.variables if one.name in values)
    refuse_wrong(quick(build(schema_of(given)), values), values, saved.name, unread, hint="")
    return values


async def _ask(saved: SavedCall, schema: dict[str, Json], server: str, asker: Asker) -> dict[str, Json]:
    """Ask for variables on the terminal.

    Raises:
        InputNeeded: there is none.
    """
    names = ", ".join(cast("dict[str, Json]", schema["properties"]))
    message = f"{saved.name} needs {names}."
    if not asker.present:
        detail: Json = {"asked": "variables", "question": saved.description or message, "schema": schema}
        raise MoreNeeded(message, detail, hint=f"Give them: mcp-studio call --saved {saved.name} NAME=VALUE")
    request = InputRequest("elicitation", server, saved.description or message, schema=schema)
    content = await asker.fill(request)
    if not isinstance(content, dict):
        raise StudioError("It was cancelled.")
    return cast("dict[str, Json]", content)


async def _may_use_secrets(saved: SavedCall, places: Folders, options: Options, server: str, asker: Asker) -> None:
    """A project's file may send secrets of this computer once the person has agreed to it.

    Raises:
        InputNeeded: there is nobody who could.
    """
    if options.flag("--yes") or places.agreed(saved):
        return
    names = ", ".join(saved.references)
    said = f"{saved.file} is of the project, and sends {names} to {server}.{saved.ref.name}"
    if not asker.present:
        detail: Json = {"asked": "secrets", "question": said, "references": list(saved.references)}
        raise MoreNeeded(f"{said}.", detail, hint="Look at it, then agree on a terminal, or with --yes.")
    if not await asker.agrees(said, "May it, as it is now? [y/N] "):
        raise StudioError("It was not run: you said no.")
    places.agree(saved)
