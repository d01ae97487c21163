"""Facts about the running studio, which can be copied into a report."""

from __future__ import annotations

import dataclasses
import platform
from importlib.metadata import version
from typing import TYPE_CHECKING

from textual import work

import mcp_studio
from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.threads import beside
from mcp_studio.trace.disk.sessions import used
from mcp_studio.tui.screens.dialog import Choice, Dialog, Parts, section
from mcp_studio.vault.keyring import place_in_words

if TYPE_CHECKING:
    from mcp_studio.studio import Studio


class About(Dialog[None]):
    """Facts about the studio, which the person can copy into a report."""

    TITLE = "About mcp-studio"
    DEFAULT_CLASSES = "-large"
    choices = (Choice("back", "Close"), Choice("copy", "Copy all"))

    @work
    async def look(self) -> None:
        """Show the facts, in the background because a keyring is slow."""
        studio = self.app.studio
        store = studio.config.settings.secrets
        remote = any(studio.manager.config(name).url for name in studio.manager.names())
        now = studio.sign_ins.accounts.keeping if remote else store
        place = await beside(place_in_words, store, studio.paths.state)
        other = await beside(place_in_words, now, studio.paths.state) if now != store else ""
        self.put("facts", *_parts(studio, place, other))


def _parts(studio: Studio, store: str, now: str) -> Parts:
    """All facts. `store` says where secrets are stored; `now` where this studio stores tokens, if that differs."""
    config, paths, manager, trace = studio.config, studio.paths, studio.manager, studio.trace
    folder, settings = paths.state / "trace", config.settings
    on_disk = units.storage_line(*used(folder), settings.record, settings.record_bytes, settings.record_age)
    insecure = (name for name in manager.names() if manager.config(name).tls.insecure)
    sections: dict[str, list[tuple[str, str]]] = {
        "Not used from the configuration": [(str(problem), "$text-error") for problem in config.problems],
        "Files read": [(str(file), "") for file in config.files] or [("none", "")],
        "Folders": [(f"{name:<7} {getattr(paths, name)}", "") for name in ("config", "state", "cache")],
        "Secrets and tokens": [
            *((f"{name} is insecure: any certificate is accepted", "$text-error") for name in insecure),
            (f"now   {now} (tokens of this session)" if now else "", "$text-warning"),
            (f"kept  {store}", ""),
        ],
        "Trace": [
            (f"{trace.total:,} entries, {len(trace):,} kept, {trace.first_number - 1:,} dropped", ""),
            (trace.problem, "$text-warning"),
            (f"on disk: {on_disk}", ""),
            (str(folder), ""),
        ],
        "Limits": [
            (f"{field.name:<16} {_amount(getattr(studio.limits, field.name))}", "")
            for field in dataclasses.fields(studio.limits)
        ],
    }
    libraries = "".join(f", {name} {version(name)}" for name in ("textual", "mcp", "httpx2"))
    parts: Parts = [f"mcp-studio {mcp_studio.__version__}, Python {platform.python_version()}{libraries}"]
    parts.append(f" on {platform.system()} {platform.machine()}\n")
    for title, lines in sections.items():
        parts += section(title, ((safe(text, 1_000), look) for text, look in lines if text))
    return parts


def _amount(limit: float) -> str:
    """A limit as text: a number with a fraction is in seconds; an integer counts bytes or items."""
    return f"{limit:,g} s" if isinstance(limit, float) else f"{limit:,}"
