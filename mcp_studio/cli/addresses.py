"""Resources as a command line names them: templates filled with what is given, and the server that lists one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mcp_studio.cli.arguments import gather
from mcp_studio.cli.options import Options
from mcp_studio.errors import UsageError
from mcp_studio.jsontext import Json
from mcp_studio.schema.field import Form
from mcp_studio.schema.form import template_fields
from mcp_studio.schema.uritemplate import TemplateError, expand
from mcp_studio.studio import Studio


def filled(template: str, options: Options, pairs: Sequence[str]) -> str:
    """The URI of a template with the values of `key=value` pairs and of `--args`.

    Raises:
        UsageError: a value is missing or cannot be used, or the template is none.
    """
    form = template_fields(template)
    return expanded(template, form, gather(options, pairs, form))


def expanded(template: str, form: Form, values: Mapping[str, Json]) -> str:
    """The URI of a template with these values.

    Raises:
        UsageError: as `filled`.
    """
    if missing := [field.name for field in form.fields if field.required and field.name not in values]:
        raise UsageError(f"The template {template} needs {', '.join(missing)}.")
    try:
        return expand(template, values)
    except TemplateError as problem:
        raise UsageError(f"The URI template cannot be used: {problem}.") from None


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
