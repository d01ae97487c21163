"""`--as FORM`: a call printed as something else instead of being made."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from mcp_studio.call.copying.formats import copy_as
from mcp_studio.call.copying.subject import Subject, subject_of
from mcp_studio.catalog.listing import EntryKind, Ref
from mcp_studio.catalog.remembered import Memories
from mcp_studio.cli.arguments import filled, gather, texts
from mcp_studio.cli.call_arguments import form_of, intent_of
from mcp_studio.cli.engine import connected, execute
from mcp_studio.cli.entries import Plan, located, owner
from mcp_studio.cli.output import Output
from mcp_studio.cli.targets import with_secrets
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.jsontext import Json, mapping
from mcp_studio.paths import Paths
from mcp_studio.schema.field import Form
from mcp_studio.studio import CLIENT_INFO, Studio

_NEEDS_VERSION = ("curl", "json-rpc")
_KINDS: dict[str, EntryKind] = {"call": "tool", "get": "prompt", "read": "resource"}


def run(verb: str, plan: Plan, out: Output) -> int:
    """Print the call in the form that is wanted; returns the exit code. Connects only where the server has to say."""
    options = out.options
    if options.flag("--output"):
        raise UsageError("--as prints the call and does not make it: there is no result for --output.")
    server = plan.config.servers.get(plan.server)
    known = server is not None and (server.protocol_version or server.era != "auto")
    unsure = options.value("--as") in _NEEDS_VERSION and not known
    typed = verb != "read" and any(":=" not in pair for pair in plan.pairs)
    if (
        typed
        or unsure
        or plan.saved
        or any(map(options.flag, ("--last", "--save", "--task", "--example")))
        or not server
    ):
        return execute(plan.config, out, lambda studio: _connected(studio, verb, plan, out))
    server = with_secrets(plan.config, options, out).servers[plan.server]
    return _print(_alone(Ref(_KINDS[verb], plan.server, plan.name), plan, server, out), out)


def _alone(ref: Ref, plan: Plan, server: ServerConfig, out: Output) -> Subject:
    """The call as far as the command line and the configuration tell of it."""
    if ref.kind == "resource":
        return Subject(ref, None, filled(plan.name, out.options, plan.pairs), server, info=CLIENT_INFO)
    value = gather(out.options, plan.pairs, Form(whole=True))
    if ref.kind == "prompt":
        return Subject(ref, cast("Json", texts(value)), "", server, info=CLIENT_INFO)
    # What only its schema calls secret is known from the list of last time.
    listed = map(mapping, Memories(Paths.default().state / "servers").recall(server).listings.get(ref.kind, []))
    tool = next((one for one in listed if one.get("name") == ref.name), {})
    return Subject(ref, value, "", server, info=CLIENT_INFO, tool=tool)


async def _connected(studio: Studio, verb: str, plan: Plan, out: Output) -> int:
    """The same with what the server says of the entry, and the version that it speaks."""
    kind, options = _KINDS[verb], out.options
    if kind == "resource":
        for name in plan.config.servers:
            await connected(studio, name, out)
        out.server = plan.server or owner(studio, plan.name, "read")
        uri = plan.name if plan.saved else filled(plan.name, options, plan.pairs)
        subject = subject_of(studio.manager, studio.catalog, Ref(kind, out.server, plan.name), None, uri=uri)
        return _print(subject, out)
    ref = Ref(kind, plan.server, plan.name)
    if plan.saved is None:
        ref = await located(studio, plan, out, kind)
    else:
        await connected(studio, plan.server, out)
    intent = await intent_of(studio, plan, out, form_of(studio, ref), ref)
    value = cast("Json", texts(intent.arguments) if kind == "prompt" else intent.arguments)
    subject = subject_of(studio.manager, studio.catalog, ref, value, task=options.flag("--task"))
    return _print(replace(subject, hidden=intent.hidden), out)


def _print(subject: Subject, out: Output) -> int:
    """Print it; what is good to know about it goes to standard error.

    Raises:
        StudioError: there is no such form of this call.
    """
    options = out.options
    made = copy_as(subject, options.value("--as"), secrets=options.flag("--with-secrets"))
    if made.why_not:
        raise StudioError(made.why_not)
    for remark in made.remarks:
        out.note(remark)
    out.data(made.text.removesuffix("\n"))
    return out.done({"form": made.id, "text": made.text, "remarks": list(made.remarks)})
