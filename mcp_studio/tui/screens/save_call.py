"""Saving the call that is shown: its name, where, what of it is asked for each time; and how it is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from textual.content import Content
from textual.widgets import Static

from mcp_studio.call.saved import REFERENCE, Folders, SavedCall, Where, check_name, saved_text
from mcp_studio.call.saved_arguments import Leaf, leaves, made, with_secrets_of
from mcp_studio.call.secrets import SecretFilter
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.jsontext import Json
from mcp_studio.paths import file_stem
from mcp_studio.safetext import safe
from mcp_studio.schema.place import Path, get_or_none
from mcp_studio.tui.opened import Opened
from mcp_studio.tui.screens.fill_in import FillIn, Value

_ASKED, _KEYRING = "by asking each time", "from the keyring"
_LEAVES = 60
_NAMES: dict[Where, str] = {"project": "the project", "personal": "you alone"}


class Draft(NamedTuple):
    """What is saved."""

    opened: Opened
    earlier: SavedCall | None
    """The saved call with which the form was filled."""
    keeper: SecretFilter
    folders: Folders


class _Row(NamedTuple):
    """An argument in the form of the dialog."""

    leaf: Leaf
    title: str
    entry: str
    """Where the name under which the keyring has it is typed."""


class SaveCall(FillIn):
    """Writes the file, and answers the value of the form.

    Args:
        write: writes it, replacing one of the same name or not; raises StudioError.
    """

    def __init__(self, draft: Draft, write: Callable[[SavedCall, bool], SavedCall]) -> None:
        self._draft = draft
        self._write = write
        opened, earlier = draft.opened, draft.earlier
        self._arguments: Json = None if opened.entry.ref.kind == "resource" else opened.value
        self._rows = _rows(leaves(self._arguments, draft.keeper, opened.secrets)[:_LEAVES])
        self._replaces = earlier.name if earlier else ""
        super().__init__("Save the call", str(opened.entry.ref), self._fields(), self._values(), self._finish)

    def _fields(self) -> Json:
        folders = self._draft.folders
        where = [{"const": one, "title": _NAMES[one]} for one in ("project", "personal")]
        properties: dict[str, Json] = {
            "name": {"type": "string", "minLength": 1, "maxLength": 80},
            "description": {"type": "string"},
            "for": {"oneOf": where, "description": f"the project: {folders.project}"},
        }
        for row in self._rows:
            if row.leaf.secret:
                properties[row.title] = {"enum": [_ASKED, _KEYRING], "description": "is secret, and is not written"}
                properties[row.entry] = {"type": "string", "description": "its name in the keyring"}
            else:
                about = f"each time; now {_shown(row.leaf)}"
                properties[row.title] = {"type": "boolean", "default": False, "description": about}
        return {"type": "object", "properties": properties, "required": ["name", "for"]}

    def _values(self) -> Value:
        earlier, ref = self._draft.earlier, self._draft.opened.entry.ref
        value: Value = {
            "name": earlier.name if earlier else file_stem(ref.name.rpartition("://")[2], "call"),
            **({"description": earlier.description} if earlier and earlier.description else {}),
            "for": earlier.where if earlier else self._draft.folders.usual,
        }
        for row in self._rows:
            before = _reference(earlier, row.leaf.path)
            if row.leaf.secret:
                stored = before.removeprefix("keyring:") if before.startswith("keyring:") else ""
                value[row.title] = _KEYRING if stored else _ASKED
                value[row.entry] = stored or f"{ref.server}-{row.leaf.path[-1] if row.leaf.path else 'value'}"
            elif before and ":" not in before:
                value[row.title] = True
        return value

    def show_below(self) -> None:
        """The file as it will be."""
        saved = self.saved
        file = self._draft.folders.path(saved.where) / f"{saved.name or '…'}.toml"
        parts: list[str | tuple[str, str]] = [(f"{safe(file, 400)}\n", "$quiet")]
        parts.append(safe(saved_text(saved), 6_000, lines=True))
        for stored in self._stored().values():
            parts.append((f"\nPut it there: mcp-studio config secrets set {safe(stored, 100)}", "$state-busy"))
        self.query_one("#below", Static).update(Content.assemble(*parts))

    @property
    def saved(self) -> SavedCall:
        """The call as it is chosen."""
        value, opened = self.value, self._draft.opened
        chosen = [row.leaf.path for row in self._rows if value.get(row.title) is True]
        where: Where = "project" if value.get("for") == "project" else "personal"
        saved = made(
            str(value.get("name") or "").strip(), opened.entry.ref, self._arguments, opened.form,
            keeper=self._draft.keeper, hidden=opened.secrets, variables=chosen, keyring=self._stored(),
            description=str(value.get("description") or "").strip(), where=where,
        )  # fmt: skip
        return with_secrets_of(self._draft.earlier, saved)

    def _stored(self) -> Mapping[Path, str]:
        value = self.value
        rows = [row for row in self._rows if row.leaf.secret and value.get(row.title) == _KEYRING]
        names = {row.leaf.path: str(value.get(row.entry) or "").strip() for row in rows}
        return {path: name for path, name in names.items() if name}

    def _finish(self, value: Value) -> str:
        """Write it; one of the same name is replaced when the button is pressed again."""
        saved = self.saved
        try:
            check_name(saved.name)
            self._write(saved, saved.name == self._replaces)
        except UsageError as problem:
            if problem.message.endswith("already."):
                self._replaces = saved.name
                return f"{problem.message} Save again to replace it."
            return f"{problem.message} {problem.hint}"
        except StudioError as problem:
            return f"Not saved: {problem.message} {problem.hint}"
        return ""


def _reference(earlier: SavedCall | None, path: Path) -> str:
    """What an earlier file says at a place, where that is a reference alone: `NAME` or `keyring:NAME`."""
    text = get_or_none(earlier.arguments, path) if earlier else None
    whole = REFERENCE.fullmatch(text) if isinstance(text, str) else None
    if whole is None or whole[1]:
        return ""
    return f"{whole[2]}:{whole[3]}" if whole[2] else whole[3]


def _rows(found: Sequence[Leaf]) -> list[_Row]:
    """Names for arguments in the form, none twice."""
    rows: list[_Row] = []
    for leaf in found:
        place = ".".join(str(part + 1 if isinstance(part, int) else part) for part in leaf.path) or "the value"
        title = f"get {place}" if leaf.secret else f"ask for {place}"
        same = sum(row.title == title or row.title.startswith(f"{title} (") for row in rows)
        rows.append(_Row(leaf, f"{title} ({same + 1})" if same else title, f"entry {len(rows) + 1}"))
    return rows


def _shown(leaf: Leaf) -> str:
    return safe(leaf.value if isinstance(leaf.value, str) else str(leaf.value), 60)
