"""The roots of a server: folders or other places that the server gets when it asks (specification, client/roots)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from textual import on, work

from mcp_studio.config.expand import effective_roots
from mcp_studio.config.model import Problem, Root
from mcp_studio.config.servers import read_roots
from mcp_studio.config.table import Table
from mcp_studio.errors import ConfigError, StudioError
from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.safetext import safe
from mcp_studio.schema.field import Form, SchemaProblem
from mcp_studio.schema.form import build
from mcp_studio.studio import Studio
from mcp_studio.tui.app import failure_text
from mcp_studio.tui.form.view import FormView
from mcp_studio.tui.screens.save_call import FillIn
from mcp_studio.tui.screens.server_entry import sound, table_schema
from mcp_studio.tui.server_files import keep_roots
from mcp_studio.tui.views.rows import glyphs


def roots_form() -> Form:
    roots: Json = {"type": "array", "items": table_schema(Root(""), ("uri", "name"), ("uri",)), "maxItems": 50}
    return build({"type": "object", "properties": {"roots": roots}, "required": ["roots"]}, strict=True)


def roots_value(roots: Iterable[Root]) -> Json:
    """The form's value for some roots."""
    return {"roots": [{"uri": root.uri, "name": root.name} if root.name else {"uri": root.uri} for root in roots]}


def roots_of(value: Json) -> tuple[Root, ...]:
    """The roots that the form describes, without empty ones.

    Raises:
        ConfigError: a root cannot be used; `key` is its JSON pointer.
    """
    items = items_of(mapping(value).get("roots"))
    entries: list[Json] = [root for root in items if not isinstance(root, dict) or any(root.values())]
    sound(roots_form(), {"roots": entries})
    rows: list[Json] = [{key: str(text).strip() for key, text in mapping(root).items()} for root in entries]
    problems: list[Problem] = []
    roots = read_roots(Table({"roots": rows}, "", "", problems))
    for wrong in problems:
        raise ConfigError(f"{wrong.key} {wrong.message}", key=_pointer(wrong.key))
    return roots


def _pointer(key: str) -> str:
    """The JSON pointer in the form for `roots[2]` or `roots[2].uri`."""
    return f"/roots/{number[1]}/uri" if (number := re.match(r"roots\[(\d+)\]", key)) else key


class Roots(FillIn):
    """Edits them as they are written; what the server gets stands below."""

    def __init__(self, server: str) -> None:
        self._server, studio = server, self.app.studio
        self._warned: tuple[Root, ...] = ()
        """The roots of which the person was told that something is odd."""
        config = studio.manager.config(server)
        value = roots_value((config.written or config).roots)
        super().__init__(f"Roots of {server}", _about(studio, server), roots_form(), value)

    @on(FormView.Changed)
    def look(self) -> None:
        """What the server will get, and what is odd about it."""
        self.note("")
        try:
            roots = effective_roots(roots_of(self.form.value), self.app.studio.manager.config(self._server))
        except StudioError as error:
            self.put("below")
            self.note(error.message, "bad")
            return
        lines = [f"\n{safe(root.uri, 200)}{_odd(root)}" for root in roots]
        said = "".join(["The server gets:", *lines]) if lines else "The server gets no roots."
        self.put("below", (said, "$quiet"))

    @work(exclusive=True)
    async def action_submit(self) -> None:
        try:
            roots, config = roots_of(self.form.value), self.app.studio.manager.config(self._server)
            if self._warned != roots and any(map(_odd, effective_roots(roots, config))):
                self._warned = roots
                self.note("The marked roots look wrong. Save again to keep them as they are.", "warn")
                return
            self.app.say(await keep_roots(self.app.studio, self._server, roots))
            self.dismiss(None)
        except StudioError as error:
            if isinstance(error, ConfigError) and error.key:
                self.form.show_problems([SchemaProblem(_pointer(error.key), error.message)])
                self.form.focus_field(_pointer(error.key))
            self.note(failure_text(error), "bad")


def _about(studio: Studio, server: str) -> str:
    capabilities = studio.manager.config(server).capabilities
    if isinstance(capabilities, dict) and "roots" not in capabilities:
        return "Its entry declares capabilities without roots: the server gets no answer when it asks for them."
    if studio.manager.status(server).modern:
        return "The server asks for them during a call (2026-07-28); it is not told when they change."
    return "The server is told at once that they have changed, and may ask for them."


def _odd(root: Root) -> str:
    parts = urlsplit(root.uri)
    if parts.scheme != "file":
        return f"  {glyphs().warning} the protocol knows file:// roots only"
    if parts.netloc in ("", "localhost") and not Path(unquote(parts.path)).exists():
        return f"  {glyphs().warning} does not exist"
    return ""
