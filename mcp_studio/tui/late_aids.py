"""Help for fields, imported when it is first asked for; as `late` for everything else."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_studio.tui.form.form_view import FormView
    from mcp_studio.tui.form.json_editor import JsonEditor


def aid(form: FormView, name: str) -> None:
    """Help with the current field of a form."""
    from mcp_studio.tui.aids.helper import help_with

    help_with(form, name)


def edit_outside(editor: JsonEditor) -> None:
    """The text of a JSON editor in the person's own editor."""
    from mcp_studio.tui.aids.json_help import edit_outside as edit

    edit(editor)
