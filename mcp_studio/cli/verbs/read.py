"""`read`: read a resource, or fill a template and read that."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path
from typing import cast

from mcp_studio.catalog.ref import Ref
from mcp_studio.cli.addresses import expanded, owner
from mcp_studio.cli.asking import Asker
from mcp_studio.cli.content import contents_text
from mcp_studio.cli.ending import end
from mcp_studio.cli.engine import connected, execute, outcome_of
from mcp_studio.cli.given_call import Given, given, save
from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output
from mcp_studio.cli.plan import Plan
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.schema.field import Form
from mcp_studio.schema.form import template_fields
from mcp_studio.studio import Studio


def run(plan: Plan, options: Options, out: Output) -> int:
    """Read, and return the exit code."""
    asker = Asker(options.values("--answer"))
    if (file := options.value("--output")) and Path(file).exists():
        raise UsageError(f"{file} exists; nothing is overwritten.")
    return execute(plan, out, lambda studio: _read(studio, plan, options, out, asker), asker=asker)


async def _read(studio: Studio, plan: Plan, options: Options, out: Output, asker: Asker) -> int:
    for name in plan.config.servers:
        await connected(studio, name, out)
    server = out.server = plan.server or owner(studio, plan.name, "read")
    file = options.value("--output")
    uri, what = plan.name, Given(Ref("resource", server, plan.name), Form(), {})
    filled = plan.pairs or options.value("--args") or options.flag("--last")
    if filled or (plan.saved and plan.saved.ref.kind == "template"):
        form = template_fields(plan.name)
        what = await given(studio, plan, options, out, asker, form, Ref("template", server, plan.name))
        uri = expanded(plan.name, form, what.arguments)
    save(studio, options, what, out)
    call = what.begun(studio, studio.read_resource(server, uri, fresh=options.flag("--fresh")))
    outcome = await outcome_of(call, out)
    return end(outcome, out, asker, lambda result: _saved(result, file) if file else _shown(result))


def _contents(result: Json) -> list[dict[str, Json]]:
    items = items_of(mapping(result).get("contents"))
    return [cast("dict[str, Json]", item) for item in items if isinstance(item, dict)]


def _shown(result: Json) -> str:
    return "\n".join(contents_text(item).removesuffix("\n") for item in _contents(result))


def _saved(result: Json, file: str) -> str:
    """Write the content byte for byte to a new file."""
    data = b"".join(_bytes(item) for item in _contents(result))
    try:
        with open(file, "xb") as out:
            out.write(data)
    except OSError as problem:
        raise StudioError(f"{file} cannot be written: {problem.strerror or problem}.") from None
    return f"{len(data)} bytes written to {file}"


def _bytes(item: dict[str, Json]) -> bytes:
    if isinstance(text := item.get("text"), str):
        return text.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(item["blob"]) if isinstance(item.get("blob"), str) else b""
    except binascii.Error:
        raise StudioError("The server's content is not valid base64.") from None
