"""Secrets: the passphrase of the vault, and where secrets in clear in servers' entries are to be stored."""

from __future__ import annotations

from textual import on
from textual.content import Content
from textual.widgets import Input, Static

from mcp_studio.config.model import ServerConfig
from mcp_studio.config.secrets import offers
from mcp_studio.errors import VaultRefused
from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.threads import beside
from mcp_studio.tui import server_files
from mcp_studio.tui.app import StudioApp
from mcp_studio.tui.screens.dialog import Choice, Choose, Dialog, Item, Widgets
from mcp_studio.vault.file import SHORTEST
from mcp_studio.vault.keyring import move, named


class Passphrase(Dialog[str]):
    """Answers the passphrase; None if the person gave none.

    Args:
        reason: a sentence on what the passphrase is for.
        new: whether the person chooses it now, so that it must be typed twice.
    """

    DEFAULT_CLASSES = "-small"

    def __init__(self, reason: str, *, new: bool) -> None:
        self.choices = (Choice("submit", "Set it" if new else "Unlock", "primary"), Choice("back", "Cancel"))
        super().__init__("New passphrase" if new else "Passphrase")
        self._reason, self._new = reason, new

    def body(self) -> Widgets:
        yield Static(Content(safe(self._reason, 800, lines=True)), classes="gap")
        for hint in ("passphrase", "once more") if self._new else ("passphrase",):
            yield Input(placeholder=hint, password=True, compact=True)

    @on(Input.Submitted)
    def action_submit(self) -> None:
        typed = [field.value for field in self.query(Input)]
        if not typed[0]:
            problem = "A passphrase is required."
        elif self._new and len(typed[0]) < SHORTEST:
            problem = f"A passphrase must have at least {SHORTEST} characters."
        elif not typed[-1]:
            problem = ""
            self.query(Input).last().focus()
        elif typed[0] != typed[-1]:
            problem = "The two are not the same."
        else:
            self.dismiss(typed[0])
            return
        self.note(problem, "bad")


async def offered(app: StudioApp, servers: list[ServerConfig]) -> list[ServerConfig] | None:
    """Ask about secrets in clear; returns the entries as they should be written, or None if the person cancels.

    Where there is no keyring, an encrypted file is offered instead.

    Raises:
        ConfigError: the secrets cannot be stored; the hint offers another way.
    """
    found = [one for server in servers for one in offers(server)]
    if not found:
        return servers
    them = "it" if len(found) == 1 else "them"
    try:
        way, place = "keep", await beside(lambda: named().place)
    except VaultRefused:
        way, place = "file", "an encrypted file from now on, under a passphrase"
    options = (
        Item(f"Store {them} in {place}, and write ${{keyring:{found[0].name}}}", way),
        Item(f"Write {them} into the file in clear", "clear"),
    )
    places = ", ".join(dict.fromkeys(safe(one.key, 60) for one in found))
    title = f"{units.plural(len(found), 'secret')} in clear: {places}"
    chosen = await app.push_screen_wait(Choose(title, options, way))
    if chosen == "file":
        await server_files.keep_secrets_in_file(app.studio)
    if chosen == way:
        return await beside(move, servers, app.studio.redactor)
    return servers if chosen == "clear" else None
