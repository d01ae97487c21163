"""What the call pane shows: an entry, its form, and the value that the form edits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from mcp_studio.call.secrets import may_hold_secrets, secret_places
from mcp_studio.catalog.listing import Change, Entry
from mcp_studio.jsontext import Json
from mcp_studio.protocol.tasks import Support
from mcp_studio.protocol.views import PromptView, TemplateView, ToolView
from mcp_studio.record import record
from mcp_studio.schema.check import quick
from mcp_studio.schema.field import Field, Form, SchemaProblem, Text, defaults
from mcp_studio.schema.form import build, prompt_fields, template_fields
from mcp_studio.schema.text import to_text
from mcp_studio.schema.uritemplate import TemplateError, expand

_EMPTY = Form()


@record()
class Opened:
    """One open entry. `value` is the truth; form and JSON editor are views on it."""

    entry: Entry
    form: Form
    value: Json
    change: Change | None = None
    """How it differs from what it was when the person looked at it before."""
    mirrors: bool = False
    """Arguments that are marked so go into HTTP headers on this connection."""
    support: Support = ""
    """Whether it can be called as a task."""
    as_task: bool = False
    """It is to be called so, where that is left to us."""
    hides: bool | None = None
    """Whether anything secret can be in it; None before that is known."""

    @property
    def key(self) -> str:
        """Under which its draft is kept."""
        ref = self.entry.ref
        return f"{ref.kind}:{ref.server}:{ref.name}"

    @property
    def schema(self) -> Json:
        """The schema that the whole value is checked against, None where there is none."""
        view = self.entry.view
        return view.input_schema if isinstance(view, ToolView) else None

    @property
    def verb(self) -> str:
        """What running it means."""
        return {"tool": "call", "resource": "read", "template": "read", "prompt": "get"}[self.entry.ref.kind]

    @property
    def secrets(self) -> frozenset[str]:
        """The places, as JSON pointers, whose values are shown to nobody and written nowhere."""
        if self.hides is None:
            self.hides = may_hold_secrets(self.form)
        return secret_places(self.form, self.value) if self.hides else frozenset()

    def problems(self) -> tuple[SchemaProblem, ...]:
        """What the fields alone know to be wrong."""
        found = quick(self.form, self.value)
        if self.entry.ref.kind == "template" and not found:
            try:
                self.uri()
            except TemplateError as problem:
                return (SchemaProblem("", f"The URI cannot be made: {problem}."),)
        return found

    def uri(self) -> str:
        """The URI of a resource, or of a template filled with the value.

        Raises:
            TemplateError: the template cannot be expanded.
        """
        if isinstance(self.entry.view, TemplateView):
            return expand(self.entry.view.uri_template, cast("Mapping[str, Json]", self.value or {}))
        return self.entry.ref.name

    def words(self) -> dict[str, str]:
        """The value as prompt arguments: strings all of them (server/prompts)."""
        value = cast("dict[str, Json]", self.value) if isinstance(self.value, dict) else {}
        return {key: to_text(_field(self.form, key), item) for key, item in value.items()}


def open_entry(entry: Entry) -> Opened:
    """Open an entry with the defaults that its schema names."""
    form = form_of(entry)
    return Opened(entry, form, defaults(form), entry.change)


def form_of(entry: Entry) -> Form:
    """The form of an entry; empty for a resource."""
    match entry.view:
        case ToolView() as tool:
            return build(tool.input_schema)
        case TemplateView() as template:
            return template_fields(template.uri_template)
        case PromptView() as prompt:
            return prompt_fields(prompt.raw.get("arguments"))
        case _:
            return _EMPTY


def _field(form: Form, name: str) -> Field:
    return next((field for field in form.fields if field.name == name), Text(name))
