"""What is done with servers on the main screen."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from mcp_studio.call.call import wants_handshake
from mcp_studio.errors import StudioError
from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.tui import late, late_auth
from mcp_studio.tui.screens.ending import Endings
from mcp_studio.tui.screens.facts import server_rows

if TYPE_CHECKING:
    from mcp_studio.call.call import Call
    from mcp_studio.config.model import ServerConfig, Untrusted
    from mcp_studio.tui.app import StudioApp
    from mcp_studio.tui.screens.main import MainScreen
    from mcp_studio.tui.screens.signing import Signing


class Serving:
    """Connects, edits, removes; asks first where that is due."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self._studio = screen.studio
        self.ending = Endings(screen)
        screen.result.advice = self.advice
        self._told: set[str] = set()
        """Servers of which the person was told that they want a sign-in."""

    @cached_property
    def signing(self) -> Signing:
        """Signing in."""
        return late_auth.signing(self._screen)

    def show(self) -> None:
        """Show every server as it is now, and what has ended since."""
        rows = server_rows(self._studio)
        self._told -= {row.status.server for row in rows if row.status.state == "ready"}
        self._tell_of_sign_in({row.status.server for row in rows if row.status.state == "needs_auth"})
        self._screen.servers.show(self.ending.marked(rows))

    def _tell_of_sign_in(self, wanting: set[str]) -> None:
        for name in sorted(wanting - self._told):
            key = self._app.spell("server-sign-in")
            self._app.say(f"{safe(name, 60)} wants a sign-in: {key} on it in the servers (1).", "warning")
        self._told |= wanting

    @property
    def _app(self) -> StudioApp:
        return self._screen.studio_app

    def wanted(self, what: str, name: str) -> None:
        """Do what the servers pane asks for; a row is there a little longer than its server."""
        if what != "add":
            self._studio.manager.config(name)
        match what:
            case "toggle":
                self.toggle(name)
            case "restart":
                self._studio.manager.restart(name)
            case "add":
                self.add()
            case "edit":
                self.edit(name)
            case "delete":
                self.delete(name)
            case "copy":
                self._app.copy(name, name=True)
            case "roots":
                self._app.push_screen(late.roots_dialog(self._studio, name))
            case "console":
                self._app.push_screen(late.console(self._studio, name))
            case "ending":
                self.ending.open(name)
            case "stray":
                self.ending.stray(name)
            case "sign_in":
                self.signing.open(name)
            case "token":
                self.signing.token(name)
            case "logs":
                self._app.push_screen(late.log_view(self._studio, name))
            case _:
                self.details(name)

    def toggle(self, name: str) -> None:
        """Connect what is off or failed, disconnect everything else."""
        if self._studio.manager.status(name).state in ("disabled", "failed", "needs_auth"):
            self._studio.manager.start(name)
        else:
            self._screen.run_worker(self._studio.manager.stop(name), group="servers")

    def refresh(self) -> None:
        """List again what the server under the cursor, or of the open entry, offers; else of all."""
        manager = self._studio.manager
        ready = [name for name in manager.names() if manager.status(name).state == "ready"]
        if not ready:
            self._app.say("No server is connected, so there is nothing to list again.", "warning")
            return
        for name in ready:
            manager.refresh(name)
        self._app.say(f"Listing again what {units.plural(len(ready), 'server')} offer{'s' if len(ready) == 1 else ''}.")

    def details(self, name: str) -> None:
        """Everything about one server."""
        self._app.push_screen(late.server_details(self._studio, name))

    def add(self) -> None:
        """Ask for a server."""
        self._open_dialog("")

    def edit(self, name: str) -> None:
        """Change a server's entry."""
        source = self._studio.manager.config(name).source
        if source.origin in ("file", "project") and not late.server_files().ours(source):
            self._app.say(f"{name} comes from {source.file}; change it there.", "warning")
        else:
            self._open_dialog(name)

    def _open_dialog(self, name: str) -> None:
        def saved(config: ServerConfig | None) -> None:
            if config is not None:
                self._screen.refresh_servers()
                self._screen.servers.go_to(config.name)
                self._screen.arranging.show_keys()
                self._app.say(
                    f"{config.name} is saved in {late.server_files().place_of(self._studio, config.name).file}."
                )

        old = self._studio.manager.config(name) if name else None
        self._app.push_screen(late.server_dialog(self._studio, old), saved)

    def delete(self, name: str) -> None:
        """Remove a server after asking."""

        def answered(yes: bool | None) -> None:
            if yes:
                self._screen.run_worker(self._forget(name), group="servers")

        source, shown = self._studio.manager.config(name).source, safe(name, 60)
        if source.origin in ("file", "project") and not late.server_files().ours(source):
            text = f"Put {shown} away until the next start? Its entry stays in {source.file}."
        else:
            text = f"Remove {shown}?" + (f" Its entry goes from {source.file}." if source.file else "")
        self._app.push_screen(late.confirm("Remove a server", text), answered)

    async def _forget(self, name: str) -> None:
        try:
            await late.server_files().forget(self._studio, name)
        except StudioError as error:
            self._app.fail(error)
        else:
            self._app.say(f"{name} is removed.")
            self._screen.refresh_servers()
            self._screen.arranging.show_keys()

    # Servers that still ask by requests of their own

    def advice(self, call: Call) -> str:
        """What makes a call work that failed since its server does so."""
        name = call.ref.server
        if name not in self._studio.manager.names() or call.outcome is None:
            return ""
        if not wants_handshake(call.outcome, self._studio.manager.status(name)):
            return ""
        key = self._app.spell("result-legacy")
        return f'\nThe server still asks by requests of its own: era = "legacy" makes it work. {key} restarts it so.'

    def offer_legacy(self, call: Call | None) -> None:
        """Restart the server of a call in the older era, for now or for good."""
        if call is None or call.ref.server not in self._studio.manager.names():
            return self._app.say("There is no result of a server here.", "warning")
        name = call.ref.server
        if not self._studio.manager.status(name).modern:
            return self._app.say(f"{safe(name, 60)} does not speak the modern era.", "warning")

        def chosen(where: str | None) -> None:
            if where is not None:
                self._screen.run_worker(self._speak_legacy(name, save=where == "file"), group="servers")

        options = [("now", "until you quit")]
        if late.server_files().ours(source := self._studio.manager.config(name).source):
            options.append(("file", f"from now on: saved in {source.file}"))
        self._app.push_screen(late.choose(f'Restart {name} with era = "legacy"', options, "now"), chosen)

    async def _speak_legacy(self, name: str, *, save: bool) -> None:
        try:
            await late.server_files().keep_legacy(self._studio, name, save=save)
        except StudioError as error:
            return self._app.fail(error)
        self._app.say(
            f"{safe(name, 60)} is restarted in the legacy era. {self._app.spell('result-again')} runs it again."
        )

    # Project files that nobody has agreed to yet

    def first_questions(self) -> None:
        """Ask about project files, one after another."""
        waiting = list(self._studio.config.untrusted)
        if waiting:
            self._ask_trust(waiting)

    def _ask_trust(self, waiting: list[Untrusted]) -> None:
        file = waiting.pop(0)

        def answered(yes: bool | None) -> None:
            if yes:
                self._screen.run_worker(self._agree(file), group="servers")
            if waiting:
                self._ask_trust(waiting)

        self._app.push_screen(late.trust(file), answered)

    async def _agree(self, file: Untrusted) -> None:
        try:
            await late.server_files().agree(self._studio, file)
        except StudioError as error:
            self._app.fail(error)
