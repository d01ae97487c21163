"""What is remembered of a person's work: drafts, and the calls that were made with them."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_studio.call import late
from mcp_studio.call.drafts import Drafts
from mcp_studio.call.private import Keeper
from mcp_studio.catalog.ref import Ref
from mcp_studio.redact import Redactor
from mcp_studio.signal import Signal

if TYPE_CHECKING:
    from mcp_studio.call.history import History


class Memory:
    """Drafts from the start, the history when it is first needed."""

    def __init__(self, folder: Path, redactor: Redactor, keep: int) -> None:
        self._folder = folder
        self._keep = keep
        self.keeper = Keeper(redactor.text, redactor.is_secret)
        self.changed: Signal[Ref] = Signal()
        """The earlier calls of an entry are others than before."""
        self.drafts = Drafts(folder / "drafts.json", self.keeper.redact, self.keeper.hides)

    @cached_property
    def history(self) -> History:
        """Calls that have ended."""
        history = late.history(self._folder / "history.jsonl", self._keep, self.keeper)
        history.changed.connect(self.changed.emit)
        return history

    async def close(self) -> None:
        """Write what has not been written yet."""
        await self.drafts.close()
        if "history" in self.__dict__:
            await self.history.close()
