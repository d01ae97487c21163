"""Saved calls: run by their name, and saved under one."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import cast

from mcp_studio.call.saved import Folders, SavedCall, Where, folders, schema_of, split
from mcp_studio.call.saved_arguments import fill, made, missing
from mcp_studio.call.secrets import secret_places
from mcp_studio.catalog.listing import Ref
from mcp_studio.cli.arguments import refuse_wrong, with_pairs
from mcp_studio.cli.entries import Plan, pairs_of
from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output
from mcp_studio.cli.questions import Asker
from mcp_studio.cli.targets import select, server_option
from mcp_studio.cli.terminal import EndOfInput, agrees, can_ask, say
from mcp_studio.config.model import Config
from mcp_studio.errors import InputNeeded, StudioError, UsageError
from mcp_studio.jsontext import Json
from mcp_studio.paths import Paths
from mcp_studio.safetext import safe
from mcp_studio.schema.check import quick
from mcp_studio.schema.field import Form
from mcp_studio.schema.form import build
from mcp_studio.session.inbox import InputRequest
from mcp_studio.studio import Studio


def saved_folders(config: Config) -> Folders:
    """Where saved calls are, seen from here."""
    return folders(Paths.default(), Path.cwd(), config.settings.calls)


def plan_saved(options: Options, config: Config) -> Plan:
    """What `call --saved NAME` is about.

    Raises:
        UsageError, ConfigError: there is no such call, its file is broken, or it cannot go with another option.
    """
    for option in ("--tool", "--args", "--last", "--save", "--example"):
        if options.flag(option):
            raise UsageError(
                f"--saved names a call with its arguments: {option} cannot be added.", hint="--set KEY=VALUE"
            )
    saved = saved_folders(config).find(options.value("--saved"))
    server = server_option(options) or saved.ref.server
    if options.command is not None or options.value("--url"):
        server = next(iter(config.servers))
    chosen = select(config, [server])
    return Plan(chosen, server, saved.ref.name, pairs_of(list(options.words)), saved=saved)


async def saved_arguments(
    studio: Studio, plan: Plan, saved: SavedCall, out: Output, form: Form
) -> tuple[Json, frozenset[str]]:
    """The arguments of a saved call, and the pointers of those that are secret.

    Raises:
        UsageError: a variable or `--set` has a value that cannot be.
        InputNeeded: a variable has none, or a secret may not be used, and nobody can be asked.
        StudioError: a secret is not there, or the person went away.
    """
    values = _values(saved, plan.pairs)
    if absent := missing(saved, values):
        values |= await _ask(saved, schema_of(absent), plan.server, out.asker)
    places = saved_folders(studio.config)
    if not (out.options.flag("--yes") or places.agreed(saved)):
        await _agree(saved, places, plan.server, out.asker)
    filled = await asyncio.to_thread(fill, saved, values)
    for secret in filled.secrets:
        studio.manager.learn(secret)
    arguments = filled.arguments
    if pairs := out.options.values("--set"):
        if arguments is not None and not isinstance(arguments, dict):
            raise UsageError("--set: the saved arguments are no JSON object.")
        arguments = with_pairs(form, cast("dict[str, Json]", arguments or {}), pairs)
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
    known = [one.name for one in saved.variables]
    given = [pair.partition("=")[0].removesuffix(":") for pair in pairs]
    if unknown := [name for name in given if name not in known]:
        hint = f"Its variables: {', '.join(known)}." if known else "It has none."
        error = f"{saved.name} has no variable `{unknown[0]}`."
        raise UsageError(error, hint=f"{hint} --set {unknown[0]}=… sets an argument.")
    form = build(schema_of(tuple(one for one in saved.variables if one.name in given)))
    values = with_pairs(form, {}, pairs)
    refuse_wrong(quick(form, values), values, saved.name)
    return values


async def _ask(saved: SavedCall, schema: dict[str, Json], server: str, asker: Asker) -> dict[str, Json]:
    """Ask for variables on the terminal.

    Raises:
        InputNeeded: there is none.
    """
    names = ", ".join(cast("dict[str, Json]", schema["properties"]))
    message = f"{saved.name} needs {names}."
    if not can_ask():
        detail: dict[str, Json] = {"asked": "variables", "question": saved.description or message, "schema": schema}
        raise _needed(message, f"Give them: mcp-studio call --saved {saved.name} NAME=VALUE", detail)
    request = InputRequest("elicitation", server, saved.description or message, schema=schema)
    content = await asker.fill(request)
    if not isinstance(content, dict):
        raise StudioError("It was cancelled.")
    return cast("dict[str, Json]", content)


async def _agree(saved: SavedCall, places: Folders, server: str, asker: Asker) -> None:
    """A project's file may send secrets of this computer once the person has agreed to it.

    Raises:
        InputNeeded: there is nobody who could.
    """
    names = ", ".join(saved.references)
    said = f"{saved.file} is of the project, and sends {names} to {server}.{saved.ref.name}"
    if not can_ask():
        detail: dict[str, Json] = {"asked": "secrets", "question": said, "references": list(saved.references)}
        raise _needed(f"{said}.", "Look at it, then agree on a terminal, or with --yes.", detail)
    say(safe(said))
    with suppress(EndOfInput):
        if await agrees(asker.lines, "May it, as it is now?"):
            places.agree(saved)
            return
    raise StudioError("It was not run: you said no.")


def _needed(message: str, hint: str, detail: dict[str, Json]) -> InputNeeded:
    error = InputNeeded(message, hint=hint)
    error.detail = detail
    return error
