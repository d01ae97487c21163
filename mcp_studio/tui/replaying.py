"""What is done with a message of a trace wherever it is shown: sending it again, editing it, copying it as a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from mcp_studio.tui import late, late_copy, late_trace

if TYPE_CHECKING:
    from mcp_studio.trace.message import Recording, WireMessage
    from mcp_studio.tui.app import StudioApp


class Shown(NamedTuple):
    """A message where it is shown."""

    recording: Recording
    entry: WireMessage | None
    filtered: Sequence[int] | None = None
    """The numbers of what a filter shows; None without one."""


class Replaying:
    """Actions of a pane or dialog that shows a message."""

    def shown(self) -> Shown:
        """What is shown."""
        raise NotImplementedError

    @property
    def _studio_app(self) -> StudioApp:
        return cast("StudioApp", getattr(self, "app"))  # noqa: B009

    def action_by_hand(self) -> None:
        """Edit the message and send it again."""
        late.edit_by_hand(self._studio_app, self.shown().entry)

    def action_copy_call(self, choose: bool) -> None:
        """Copy the call as a command line, or as what the person chooses."""
        late_copy.copy_message(self._studio_app, self.shown(), choose=choose)

    def action_replay_edit(self) -> None:
        """Fill the form with what the call was sent with."""
        late_trace.replays().edit(self._studio_app, self.shown())

    def action_replay_now(self) -> None:
        """Send the same once more, and compare the answers."""
        late_trace.replays().now(self._studio_app, self.shown())

    def action_replay_many(self) -> None:
        """Choose what is sent once more, and where."""
        late_trace.replays().many(self._studio_app, self.shown())
