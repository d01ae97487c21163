"""How the kinds of questions are put on the terminal, and what is remembered: imported for the first of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from mcp_studio.call.call import Call
    from mcp_studio.catalog.listing import EntryKind, Ref
    from mcp_studio.cli.asking import Asker
    from mcp_studio.cli.call_arguments import Given
    from mcp_studio.cli.options import Options
    from mcp_studio.cli.output import Output
    from mcp_studio.cli.plan import Plan
    from mcp_studio.cli.terminal import Lines
    from mcp_studio.config.model import Config
    from mcp_studio.errors import SignInNeeded, StudioError
    from mcp_studio.jsontext import Json
    from mcp_studio.redact import Redactor
    from mcp_studio.schema.field import Form
    from mcp_studio.session.inbox import Inbox, InputRequest
    from mcp_studio.session.manager import ConnectionManager
    from mcp_studio.session.state import Status
    from mcp_studio.studio import Studio
    from mcp_studio.trace.disk.session import Session
    from mcp_studio.trace.message import Recording
    from mcp_studio.trace.postmortem import Mortem
    from mcp_studio.trace.query.parser import Query


_MODULES = {"list": "listing"}
"""Verbs whose module in `cli.verbs` has another name."""


def perform(plan: Plan, options: Options, out: Output) -> int:
    """Have the module of a verb do what was planned; returns the exit code."""
    from importlib import import_module

    if options.flag("--as"):
        return copy_call(plan, options, out)
    verb = plan.verb or options.verb
    return import_module(f"mcp_studio.cli.verbs.{_MODULES.get(verb, verb)}").run(plan, options, out)


async def fill(request: InputRequest, lines: Lines, redactor: Redactor | None) -> None:
    """See `asking_form.fill`."""
    from mcp_studio.cli import questions as asking_form

    await asking_form.fill(request, lines, redactor)


async def visit(request: InputRequest, inbox: Inbox, lines: Lines) -> None:
    """See `asking_page.visit`."""
    from mcp_studio.cli import questions as asking_page

    await asking_page.visit(request, inbox, lines)


async def sample(request: InputRequest, lines: Lines) -> None:
    """See `asking_sampling.sample`."""
    from mcp_studio.cli import questions as asking_sampling

    await asking_sampling.sample(request, lines)


async def sign_in(request: InputRequest, studio: Studio, lines: Lines, note: Callable[[str], None]) -> None:
    """See `asking_sign_in.put`."""
    from mcp_studio.cli import sign_in as asking_sign_in

    await asking_sign_in.put(request, studio, lines, note)


async def no_sign_in(request: InputRequest, studio: Studio) -> SignInNeeded:
    """See `asking_sign_in.nobody`."""
    from mcp_studio.cli import sign_in as asking_sign_in

    return await asking_sign_in.nobody(request, studio)


async def sign_in_first(studio: Studio, name: str, status: Status, asker: Asker, out: Output) -> Status:
    """See `asking_sign_in.first`."""
    from mcp_studio.cli import sign_in as asking_sign_in

    return await asking_sign_in.first(studio, name, status, asker, out)


def saved_plan(options: Options, config: Config) -> Plan:
    """See `saved_call.saved_plan`."""
    from mcp_studio.cli import call_arguments

    return call_arguments.saved_plan(options, config)


async def saved_arguments(
    studio: Studio, plan: Plan, options: Options, asker: Asker, form: Form
) -> tuple[Json, frozenset[str]]:
    """See `saved_call.saved_arguments`."""
    from mcp_studio.cli import call_arguments

    return await call_arguments.saved_arguments(studio, plan, options, asker, form)


def save_call(studio: Studio, name: str, ref: Ref, arguments: Json, form: Form, out: Output) -> None:
    """See `saved_call.save_call`."""
    from mcp_studio.cli import call_arguments

    call_arguments.save_call(studio, name, ref, arguments, form, out)


async def run_load(studio: Studio, given: Given, options: Options, out: Output, asker: Asker, task: bool) -> int:
    """See `loading.run`."""
    from mcp_studio.cli import loading

    return await loading.run(studio, given, options, out, asker, task)


def counts(options: Options) -> tuple[int, int]:
    """See `loading.counts`."""
    from mcp_studio.cli import loading

    return loading.counts(options)


def replay_plan(options: Options, config: Config) -> Plan:
    """See `replaying.planned`."""
    from mcp_studio.cli.verbs import replay

    return replay.planned(options, config)


def holders(config: Config, name: str, kinds: Sequence[EntryKind]) -> tuple[list[str], tuple[str, ...]]:
    """See `remembered.holders`."""
    from mcp_studio.cli import remembered

    return remembered.holders(config, name, kinds)


def search_plan(options: Options, config: Config) -> Plan:
    """See `searching.planned`."""
    from mcp_studio.cli.verbs import search

    return search.planned(options, config)


def list_remembered(plan: Plan, out: Output) -> int:
    """See `remembered`."""
    from mcp_studio.cli import remembered

    return remembered.history(plan, out) if plan.name == "history" else remembered.saved(plan, out)


def made_up(options: Options, form: Form, given: dict[str, Json], ref: Ref, out: Output) -> dict[str, Json]:
    """See `made_up.fill`."""
    from mcp_studio.cli import call_arguments as examples

    return examples.fill_examples(options, form, given, ref, out)


def take_pasted(options: Options, config: Config) -> None:
    """See `pasting.take`."""
    from mcp_studio.cli import call_arguments

    call_arguments.take(options, config)


def without_calling(plan: Plan, options: Options) -> Plan:
    """See `copying.planned`."""
    from mcp_studio.cli import copying

    return copying.planned(plan, options)


def copy_call(plan: Plan, options: Options, out: Output) -> int:
    """See `copying.run`."""
    from mcp_studio.cli import copying

    return copying.run(plan, options, out)


async def ending(manager: ConnectionManager, call: Call) -> Mortem | None:
    """See `sending.learned`."""
    from mcp_studio.call import sending

    return await sending.learned(manager, call)


def lost(error: StudioError, ending: Mortem, sent: bool, out: Output) -> int:
    """See `ended.lost`."""
    from mcp_studio.cli import outcome

    return outcome.lost(error, ending, sent, out)


async def follow(session: Session, query: Query, limit: int, raw: bool, out: Output) -> int:
    """See `recorded_out.follow`."""
    from mcp_studio.cli import recording as recorded_out

    return await recorded_out.follow(session, query, limit, raw, out)


async def export(
    recording: Recording, numbers: Sequence[int] | None, format: str, target: Path | None, title: str, out: Output
) -> int:
    """See `recorded_out.export`."""
    from mcp_studio.cli import recording as recorded_out

    return await recorded_out.export(recording, numbers, format, target, title, out)


def check_collector(format: str, output: str, to: str) -> None:
    """See `exporting.check`."""
    from mcp_studio.cli import recording as exporting

    exporting.check(format, output, to)


async def to_collector(
    recording: Recording, numbers: Sequence[int] | None, to: str, headers: Sequence[tuple[str, str]], out: Output
) -> int:
    """See `exporting.to_collector`; returns the exit code."""
    from mcp_studio.cli import recording as exporting

    sent = await exporting.to_collector(recording, numbers, to, headers, out)
    return out.done({"sent": sent.spans, "rejected": sent.rejected, "message": sent.message or None})


def statistics(recording: Recording, numbers: Sequence[int] | None, out: Output) -> int:
    """See `recorded_out.statistics`."""
    from mcp_studio.cli import recording as recorded_out

    return recorded_out.statistics(recording, numbers, out)


async def differences(before: bytes, after: bytes) -> list[str]:
    """See `recorded_out.differences`."""
    from mcp_studio.cli import recording as recorded_out

    return await recorded_out.differences(before, after)


def learn_secrets(options: Options, out: Output) -> None:
    """What the configuration says is secret goes out of nothing; where it cannot be read, that is told."""
    from mcp_studio.cli import targets
    from mcp_studio.errors import ConfigError
    from mcp_studio.paths import Paths

    try:
        config = targets.configuration(options, Paths.default(), None)
    except ConfigError as error:
        out.warn(error.message)
        return
    targets.learn(config, out)
