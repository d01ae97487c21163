"""`--as FORMAT`: a call printed as something else instead of being made."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from mcp_studio.call.copying.formats import IDS, Copy, copy_as
from mcp_studio.call.copying.subject import Subject, subject_of
from mcp_studio.catalog.listing import EntryKind, Ref
from mcp_studio.catalog.remembered import Memories
from mcp_studio.cli.arguments import filled, gather, owner, texts
from mcp_studio.cli.asking import Asker
from mcp_studio.cli.call_arguments import given
from mcp_studio.cli.engine import connected, execute, located
from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output
from mcp_studio.cli.plan import Plan
from mcp_studio.config.model import ServerConfig
from mcp_studio.config.table import nearest
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.jsontext import Json, mapping
from mcp_studio.paths import Paths
from mcp_studio.protocol.views import PromptView, ToolView
from mcp_studio.schema.field import Form
from mcp_studio.schema.form import build, prompt_fields
from mcp_studio.studio import CLIENT_INFO, Studio

_NEEDS_VERSION = ("curl", "json-rpc")


def planned(plan: Plan, options: Options) -> Plan:
    """The plan without a connection, where nothing has to be asked of the server.

    Raises:
        UsageError: there is no such format.
    """
    form = options.value("--as")
    if form not in IDS:
        raise UsageError(f"--as: there is no form `{form}`.", hint=nearest(form, IDS) or f"One of {', '.join(IDS)}.")
    if options.flag("--output"):
        raise UsageError("--as prints the call and does not make it: there is no result for --output.")
    server = plan.config.servers.get(plan.server)
    sure = server is not None and (server.protocol_version or server.era != "auto")
    unsure = form in _NEEDS_VERSION and not sure
    typed = any(":=" not in pair for pair in plan.pairs) and (plan.verb or options.verb) != "read"
    remembered = plan.saved is not None or options.flag("--last") or options.flag("--save") or options.flag("--task")
    asked = typed or remembered or options.flag("--example")
    return replace(plan, connects=not server or unsure or asked)


def run(plan: Plan, options: Options, out: Output) -> int:
    """Print the call in the form that is wanted; returns the exit code."""
    out.server = plan.server
    asker = Asker(options.values("--answer"))
    if not plan.connects:
        return _told(_alone(plan, options), asker, options, out)
    return execute(plan, out, lambda studio: _asked(studio, plan, options, out, asker), asker=asker)


def _kind(plan: Plan, options: Options) -> EntryKind:
    kinds: dict[str, EntryKind] = {"call": "tool", "get": "prompt"}
    return kinds.get(plan.verb or options.verb, "resource")


def _alone(plan: Plan, options: Options) -> Subject:
    """The call as far as the command line and the configuration tell of it."""
    kind = _kind(plan, options)
    server = plan.config.servers[plan.server]
    ref = Ref(kind, plan.server, plan.name)
    if kind == "resource":
        return Subject(ref, None, _uri(plan, options), server, info=CLIENT_INFO)
    value: Json = gather(options, plan.pairs, Form(whole=True))
    tool = _remembered(server, ref) if kind == "tool" else {}
    return Subject(ref, texts(value) if kind == "prompt" else value, "", server, info=CLIENT_INFO, tool=tool)


def _remembered(server: ServerConfig, ref: Ref) -> dict[str, Json]:
    """The tool as its server listed it last: what only its schema calls secret is known from there."""
    listed = map(mapping, Memories(Paths.default().state / "servers").recall(server).listings.get(ref.kind, []))
    return next((tool for tool in listed if tool.get("name") == ref.name), {})


def _uri(plan: Plan, options: Options) -> str:
    return filled(plan.name, options, plan.pairs)


async def _asked(studio: Studio, plan: Plan, options: Options, out: Output, asker: Asker) -> int:
    """The same with what the server says of the entry, and the version that it speaks."""
    kind = _kind(plan, options)
    if kind == "resource":
        for name in plan.config.servers:
            await connected(studio, name, out)
        out.server = plan.server or owner(studio, plan.name, "read")
        ref = Ref(kind, out.server, plan.name)
        uri = plan.name if plan.saved is not None else _uri(plan, options)
        return _told(subject_of(studio.manager, studio.catalog, ref, None, uri=uri), asker, options, out)
    ref = Ref(kind, plan.server, plan.name)
    if plan.saved is None:
        ref = await located(studio, plan, out, kind, verb=options.verb)
    else:
        await connected(studio, plan.server, out)
    found = await given(studio, plan, options, out, asker, _form(studio, ref), ref)
    value: Json = texts(found.arguments) if kind == "prompt" else found.arguments
    subject = subject_of(studio.manager, studio.catalog, ref, value, task=options.flag("--task"))
    return _told(replace(subject, hidden=found.hidden), asker, options, out)


def _form(studio: Studio, ref: Ref) -> Form:
    found = studio.catalog.find(ref)
    view = found[0].view if found else None
    if isinstance(view, PromptView):
        return prompt_fields(list(view.arguments))
    return build(view.input_schema if isinstance(view, ToolView) else {"type": "object"})


def _told(subject: Subject, asker: Asker, options: Options, out: Output) -> int:
    """Print it; what is good to know about it goes to standard error.

    Raises:
        StudioError: there is no such form of this call.
    """
    subject = replace(subject, rules=asker.rules)
    made: Copy = copy_as(subject, options.value("--as"), secrets=options.flag("--with-secrets"))
    if made.why_not:
        raise StudioError(made.why_not)
    for remark in made.remarks:
        out.note(remark)
    out.data(made.text.removesuffix("\n"))
    out.result = cast("Json", {"form": made.id, "text": made.text, "remarks": list(made.remarks)})
    return out.done()
