"""Messages at the corner of the screen, whose time never runs backwards; what they tell of by themselves."""

from __future__ import annotations

import time
from typing import Any, Literal, cast

from textual.app import App
from textual.message import Message
from textual.message_pump import MessagePump
from textual.notifications import Notification, Notify

from mcp_studio.errors import StudioError
from mcp_studio.safetext import safe

Severity = Literal["information", "warning", "error"]

_SHORTEST = 0.01
"""Seconds."""


class Saying(Notification):
    """One that Textual may draw anew as its time ends, as on another screen.

    Textual asks whether it is over, and then starts a timer for the time that is left. Where time passes between the
    two it would be less than none, and a timer like that never gives the screen back.
    """

    @property
    def time_left(self) -> float:
        """Seconds until it goes: more than none."""
        return max(_SHORTEST, super().time_left)

    @property
    def has_expired(self) -> bool:
        """Whether it is over."""
        return super().time_left <= 0


class Telling(MessagePump):
    """An app or screen that tells why something cannot be done, wherever that turns out.

    A key may ask for something on a row whose server was removed a moment ago: that is no mistake to end the studio.
    """

    async def _dispatch_message(self, message: Message) -> None:
        try:
            await super()._dispatch_message(message)
        except StudioError as error:
            cast("SayingApp", self.app).fail(error)


class SayingApp(Telling, App[int]):
    """An app that tells the person what has happened in a few words."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self._said: dict[str, float] = {}

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: Severity = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Show a message for some seconds; as plain text, whatever is asked for."""
        self.post_message(Notify(Saying(message, title, severity, timeout or self.NOTIFICATION_TIMEOUT)))

    def say(self, text: str, severity: Severity = "information") -> None:
        """A short message at the corner of the screen; foreign text in it does no harm."""
        shown, now = safe(text, 600), time.monotonic()
        timeout = 4 if severity == "information" else 8
        self._said = {old: until for old, until in self._said.items() if until > now}
        if shown not in self._said:  # the same words once more would only cover more
            self._said[shown] = now + timeout
            self.notify(shown, severity=severity, timeout=timeout, markup=False)

    def fail(self, error: StudioError | OSError) -> None:
        """Say what went wrong, and what to try."""
        text = f"{error.message} {error.hint}".strip() if isinstance(error, StudioError) else str(error)
        self.say(text, "error")
