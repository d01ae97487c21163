"""What the parts of a session need from each other, so that none has to know the other's whole."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json
from mcp_studio.limits import Limits
from mcp_studio.protocol.outgoing import Outgoing
from mcp_studio.session.inbox import Inbox
from mcp_studio.session.inflight import InFlight
from mcp_studio.session.rules import AnswerRules
from mcp_studio.session.signer import Clock
from mcp_studio.session.state import Status
from mcp_studio.trace.server_tap import ServerTap
from mcp_studio.transport.base import Transport

if TYPE_CHECKING:
    from mcp_studio.session.connection import Connection


class Seat(Protocol):
    """The place of one server: its configuration, its tap, its live connection."""

    config: ServerConfig
    tap: ServerTap
    status: Status

    @property
    def connection(self) -> Connection | None:
        """The ready connection, or None."""
        ...

    def warn(self, text: str) -> None:
        """Note what the server does wrong; starts with a verb."""
        ...

    def dropped(self, out: Outgoing, error: StudioError) -> None:
        """A request got no answer on the transport's level, while the connection goes on."""
        ...


class Owner(Protocol):
    """What one server's supervisor needs from whoever runs them all."""

    limits: Limits
    inbox: Inbox
    can_ask: bool
    client_info: Json
    traced: bool
    """Requests say which trace they belong to."""
    rules: AnswerRules
    inflight: InFlight

    def transport(self, config: ServerConfig, tap: ServerTap, clock: Clock | None = None) -> Transport:
        """Make the transport of a server; the clock stands still while its credentials are fetched."""
        ...

    def tap(self, config: ServerConfig) -> ServerTap:
        """Make the tap of a server."""
        ...

    def learn(self, secret: str) -> None:
        """Have a secret taken out of everything that is recorded from now on."""
        ...

    def slots(self, config: ServerConfig) -> asyncio.Semaphore:
        """The bound on how many may be connecting at a time."""
        ...

    def era_of(self, config: ServerConfig) -> str:
        """The era that worked last time, or an empty string."""
        ...

    def on_ready(self, seat: Seat) -> None:
        """A connection is ready; `serve` begins shortly."""
        ...

    def on_discovered(self, seat: Seat) -> None:
        """A server speaks the modern era, but said so too late for this connection."""
        ...

    async def serve(self, seat: Seat) -> None:
        """Runs beside a ready connection: lists what the server offers, listens for changes."""
        ...

    def on_notification(self, seat: Seat, method: str, params: dict[str, Json]) -> None:
        """A notification came."""
        ...

    def on_status(self, name: str) -> None:
        """A status changed."""
        ...
