"""The rows of the table of actions that act in forms: id, keys, method, title, title in the footer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_studio.tui import aid_keys

if TYPE_CHECKING:
    from mcp_studio.tui.form.outline import Row as FormRow

Row = tuple[str, str, str, str, str]

FORM: tuple[Row, ...] = (
    ("form-add", "!insert,alt+o", "add_row", "Add an item to the list, or an entry to the map", ""),
    ("form-delete", "!delete", "delete_row", "Remove the item or entry, where nothing is typed in it", ""),
    ("form-remove", "!alt+delete", "remove_row", "Remove the item or entry, also while typing in it", ""),
    ("form-up", "!alt+up", "shift_row(-1)", "Move the item up", ""),
    ("form-down", "!alt+down", "shift_row(1)", "Move the item down; elsewhere: what can be taken here", ""),
    ("form-duplicate", "!alt+y", "duplicate_row", "Put a copy of the item behind it", ""),
    ("form-key", "!ctrl+l", "rename_key", "Change the key of the entry", ""),
    ("form-fold", "!alt+left", "fold_here", "Fold what the cursor is in", ""),
    ("form-unfold", "!alt+right", "unfold_here", "Unfold it", ""),
    ("form-fold-all", "!alt+z", "fold_all", "Fold or unfold everything in the list or object", ""),
    ("form-nothing", "!ctrl+d", "nothing", "Not sent, then empty, then null: what it can be without a value", ""),
    ("form-json", "!alt+m", "as_json", "Edit this part as JSON, or by its fields again", ""),
    ("form-problem", "!ctrl+g", "next_problem", "Go to the next problem", ""),
    ("form-sent", "!alt+v", "show_sent", "See the whole value: what will be sent", ""),
    ("form-undo", "!ctrl+z", "undo", "Undo", ""),
    ("form-redo", "!ctrl+y", "redo", "Redo what was undone", ""),
    *aid_keys.FORM,
)  # fmt: skip

SHORT: dict[str, str] = {
    "form-add": "Add",
    "form-delete": "Remove",
    "form-up": "Up",
    "form-down": "Down",
    "form-duplicate": "Copy",
    "form-key": "Key",
    "form-fold-all": "Fold all",
    "field-aids": "Assist",
    "field-insert": "Insert",
    "form-nothing": "Empty",
    "form-json": "JSON",
    "form-problem": "Problem",
    "form-sent": "Sent",
    "form-undo": "Undo",
}
"""Titles in the footer, which shows what fits the row with the cursor."""

_INSERTED = ("date", "time", "date-time", "duration", "uuid")
"""Formats that an aid makes texts of."""


def keys_of(row: FormRow, troubled: bool) -> tuple[str, ...]:
    """The actions worth knowing on a row, the most useful first; `troubled` where problems are told somewhere."""
    found: list[str] = ["form-problem"] if troubled else []
    kind = type(row.field).__name__
    if row.kind == "add" or kind in ("List", "Map"):
        found.append("form-add")
    if row.kind == "item":
        found += ["form-delete", "form-up", "form-duplicate"]
    elif row.kind == "entry":
        found += ["form-delete", "form-key"]
    if row.fold is not None and row.kind != "item":
        found += ["form-json", "form-fold-all"]
    if getattr(row.field, "format", "") in _INSERTED:
        found.append("field-insert")
    return tuple(dict.fromkeys((*found, "field-aids", "form-nothing", "form-sent", "form-undo")))
