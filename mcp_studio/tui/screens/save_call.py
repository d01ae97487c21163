"""Saving the call that is open: its name, where, what of it is asked for each time; and how it is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from textual.content import Content
from textual.widget import Widget
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
from mcp_studio.tui.screens.ask_dialog import AskDialog, Value

_ASKED, _KEYRING = "by asking each time", "from the keyring"
_LEAVES = 60
_NAMES: dict[Where, str] = {"project": "the project", "personal": "you alone"}


class Subject(NamedTuple):
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


class SaveCall(AskDialog):
    """Writes the file, and answers the value of the form.

    Args:
        write: writes it, replacing one of the same name or not; raises StudioError.
    """

    def __init__(self, subject: Subject, write: Callable[[SavedCall, bool], SavedCall]) -> None:
        self._subject = subject
        self._write = write
        opened, earlier = subject.opened, subject.earlier
        value = None if opened.entry.ref.kind == "resource" else opened.value
        self._arguments: Json = value
        self._rows = _rows(leaves(value, subject.keeper, opened.secrets)[:_LEAVES])
        self._replaces = earlier.name if earlier else ""
        self._text = Static(classes="gap")
        ref = opened.entry.ref
        super().__init__("Save this call", f"{ref.server}.{ref.name}", self._schema(), self._start())

    def _schema(self) -> Json:
        folders = self._subject.folders
        where = [{"const": one, "title": _NAMES[one]} for one in ("project", "personal")]
        properties: dict[str, Json] = {
            "name": {"type": "string", "minLength": 1, "maxLength": 80},
            "description": {"type": "string"},
            "for": {"oneOf": where, "description": f"the project: {folders.project}"},
        }
        for row in self._rows:
            if row.leaf.secret:
                choice = [_ASKED, _KEYRING]
                properties[row.title] = {"enum": choice, "description": "is secret, and is not written"}
                properties[row.entry] = {"type": "string", "description": "its name in the keyring"}
            else:
                about = f"each time; now {_shown(row.leaf)}"
                properties[row.title] = {"type": "boolean", "default": False, "description": about}
        return {"type": "object", "properties": properties, "required": ["name", "for"]}

    def _start(self) -> Value:
        earlier, ref = self._subject.earlier, self._subject.opened.entry.ref
        value: Value = {
            "name": earlier.name if earlier else file_stem(ref.name.rpartition("://")[2], "call"),
            **({"description": earlier.description} if earlier and earlier.description else {}),
            "for": earlier.where if earlier else self._subject.folders.usual,
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

    def below(self) -> Iterable[Widget]:
        """The file as it will be."""
        yield self._text

    def on_mount(self) -> None:
        """Show the file."""
        super().on_mount()
        self.typed()

    def typed(self) -> None:
        """Another choice: the file is another one."""
        saved = self.saved
        file = self._subject.folders.path(saved.where) / f"{saved.name or '…'}.toml"
        parts: list[str | tuple[str, str]] = [(f"{safe(file, 400)}\n", "$quiet")]
        parts.append(safe(saved_text(saved), 6_000, lines=True))
        for stored in self._stored().values():
            parts.append((f"\nPut it there: mcp-studio config secrets set {safe(stored, 100)}", "$state-busy"))
        self._text.update(Content.assemble(*parts))

    @property
    def saved(self) -> SavedCall:
        """The call as it is chosen."""
        value, opened = self.value, self._subject.opened
        chosen = [row.leaf.path for row in self._rows if value.get(row.title) is True]
        where: Where = "project" if value.get("for") == "project" else "personal"
        saved = made(
            str(value.get("name") or "").strip(), opened.entry.ref, self._arguments, opened.form,
            keeper=self._subject.keeper, hidden=opened.secrets, variables=chosen, keyring=self._stored(),
            description=str(value.get("description") or "").strip(), where=where,
        )  # fmt: skip
        return with_secrets_of(self._subject.earlier, saved)

    def _stored(self) -> Mapping[Path, str]:
        value = self.value
        rows = [row for row in self._rows if row.leaf.secret and value.get(row.title) == _KEYRING]
        names = {row.leaf.path: str(value.get(row.entry) or "").strip() for row in rows}
        return {path: name for path, name in names.items() if name}

    def done(self, value: Value) -> None:
        """Write it; one of the same name is replaced when the key is pressed again."""
        saved = self.saved
        try:
            check_name(saved.name)
            self._write(saved, saved.name == self._replaces)
        except UsageError as problem:
            if problem.message.endswith("already."):
                self._replaces = saved.name
                self.say(f"{problem.message} The same key again replaces it.")
            else:
                self.say(f"{problem.message} {problem.hint}")
        except StudioError as problem:
            self.say(f"Not saved: {problem.message} {problem.hint}")
        else:
            self.dismiss(value)


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
    text = leaf.value if isinstance(leaf.value, str) else str(leaf.value)
    return safe(text, 60)
