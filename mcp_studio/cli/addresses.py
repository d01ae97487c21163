"""Resources as a command line names them: templates filled with what is given, and the server that lists one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mcp_studio.cli.arguments import gather
from mcp_studio.cli.options import Options
from mcp_studio.errors import LimitExceeded, UsageError
from mcp_studio.jsontext import Json, JsonProblem, dumps, loads
from mcp_studio.schema.field import Form
from mcp_studio.schema.form import template_fields
from mcp_studio.schema.uritemplate import TemplateError, expand
from mcp_studio.studio import Studio


def template_form(uri: str) -> Form | None:
    """The form of a template's variables; None where this is an address: none has braces in it (RFC 3986 2).

    Raises:
        UsageError: it has braces, and is no template.
    """
    if not set("{}") & set(uri):
        return None
    form = template_fields(uri)
    if form.problems:
        raise UsageError(form.problems[0], hint="RFC 6570 says how they are written: {x}, {+x}, {/x*}, {?x,y}.")
    return form


def template_pairs(pairs: Sequence[str]) -> list[str]:
    """`key=value` pairs for a template: a value that is a JSON list or object is one, and so is a repeated key."""
    found: dict[str, list[str]] = {}
    for pair in pairs:
        found.setdefault(pair.partition("=")[0], []).append(pair)
    done: list[str] = []
    for key, same in found.items():
        texts = [pair[len(key) + 1 :] for pair in same]
        if key.endswith((":", "]")):
            done += same
        elif texts[1:]:
            done.append(f"{key}:={dumps(texts).decode()}")
        else:
            done.append(f"{key}:={texts[0]}" if _composite(texts[0]) else same[0])
    return done


def _composite(text: str) -> bool:
    try:
        return text[:1] in ("[", "{") and isinstance(loads(text), (list, dict))
    except (JsonProblem, LimitExceeded):
        return False


def filled(uri: str, options: Options, pairs: Sequence[str]) -> str:
    """An address as it is, or that of a template with the values of `key=value` pairs and of `--args`.

    Raises:
        UsageError: a value is missing or cannot be used, or the template is none.
    """
    form = template_form(uri) or Form()
    values = gather(options, template_pairs(pairs) if form.fields else pairs, form)
    return expanded(uri, form, values) if form.fields else uri


def expanded(template: str, form: Form, values: Mapping[str, Json]) -> str:
    """The URI of a template with these values.

    Raises:
        UsageError: as `filled`.
    """
    if missing := [field.name for field in form.fields if field.required and values.get(field.name) in (None, [], {})]:
        hint = f"Give each a value: {' '.join(f'{name}=…' for name in missing)}"
        raise UsageError(f"The template {template} needs {', '.join(missing)}.", hint=hint)
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
