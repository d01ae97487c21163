"""An operation that ended in another way than by an answer or an error."""

from __future__ import annotations

from mcp_studio.call.outcome import CallOutcome


class Ended(Exception):
    """Carries the outcome to whoever runs the call; its time is put in there."""

    def __init__(self, outcome: CallOutcome) -> None:
        super().__init__(type(outcome).__name__)
        self.outcome = outcome
