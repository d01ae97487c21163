"""Questions for a passphrase wait until there is a screen to ask them on."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_studio.vault.base import AskPassphrase


class Gate:
    """Servers are started before the screen is there: nobody else may read the terminal meanwhile."""

    def __init__(self) -> None:
        self._opened = threading.Event()
        self._ask: AskPassphrase | None = None

    def ask(self, new: bool) -> str:
        """Ask once it is open; empty where nobody can be asked. For other threads than that of the app."""
        self._opened.wait()
        return self._ask(new) if self._ask is not None else ""

    def open(self, ask: AskPassphrase | None) -> None:
        """From now on questions go to `ask`, or, with None, nobody answers them any more."""
        self._ask = ask
        self._opened.set()
