"""A form in a form, where two schemas have definitions of their own and cannot be put together. Pure."""

from __future__ import annotations

from dataclasses import replace

from mcp_studio.schema.field import Form, Object


def joined(form: Form, name: str, part: Form, *, at: int, required: bool) -> Form:
    """The form with another one as its property `name`, at this place among the others."""
    field = replace(part.top, name=name, required=required, title="", description="")
    fields = (*form.fields[:at], field, *form.fields[at:])
    problems = (*form.problems, *part.problems)
    return Form(
        fields,
        root=Object("", required=True, fields=lambda: fields),
        problems=problems,
        strict=form.strict or part.strict,
    )
