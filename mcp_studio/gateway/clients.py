"""The clients of the gateway: clients by their tokens, their permissions, and the sessions of the handshake era."""

from __future__ import annotations

import hmac
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from dataclasses import field

from mcp.server.session import ServerSession
from mcp_types import ClientCapabilities

from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import GatewayClient, Root
from mcp_studio.errors import StudioError
from mcp_studio.gateway.directory import matches
from mcp_studio.record import record
from mcp_studio.session.inbox import Recent

_OPEN = 64
"""Open requests of one client at a time."""
_SESSIONS = 1_000
"""Sessions of the handshake era that get notifications; the gateway forgets the oldest first."""


@record(eq=False)
class Client:
    """One client, identified by its token; over standard input and output there is only one."""

    name: str
    rules: GatewayClient
    calls: int
    """Requests per minute; 0 means any number."""
    recent: Recent = field(default_factory=Recent)
    open: int = 0
    """Requests that have no answer yet."""
    total: int = 0
    """Requests so far."""
    read: int = 0
    """Tokens that the client got for finding tools: lists, searches, definitions."""
    spared: int = 0
    """Tokens of all definitions, counted once for each list of tools that the client got instead."""

    def sees(self, ref: Ref) -> bool:
        """Whether the client may know of an entry."""
        return not self.rules.tools or matches(str(ref), self.rules.tools)

    @contextmanager
    def request(self) -> Generator[None]:
        """Count one request, from its arrival to the answer.

        Raises:
            StudioError: the client has too many requests open, or sends them too often.
        """
        if self.open >= _OPEN:
            raise StudioError(f"{self.name} has {_OPEN} open requests already; wait for one of them.")
        if self.calls and self.recent.too_often(self.name, self.calls):
            raise StudioError(f"{self.name} sends more than {self.calls:,} requests a minute ([gateway] calls).")
        self.open += 1
        self.total += 1
        try:
            yield
        finally:
            self.open -= 1


def client_of(header: str, tokens: Mapping[str, Client]) -> Client | None:
    """The client of an Authorization header; the time of the comparison reveals nothing about the tokens."""
    scheme, _, token = header.partition(" ")
    candidate = token.strip().encode("utf-8", "replace")
    found = [client for known, client in tokens.items() if hmac.compare_digest(known.encode(), candidate)]
    return found[0] if found and scheme.lower() == "bearer" else None


@record(eq=False)
class Session:
    """One session of a client of the handshake era."""

    client: Client
    channel: ServerSession
    """The channel to the client that needs no open request."""
    identity: str = ""
    """The session's id over HTTP."""
    level: str = "info"
    """The least severe level of the log messages that the client wants (logging/setLevel)."""
    watched: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Server and URI of the resources that the client subscribed to."""
    news: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Notifications that are still to be sent: the kind of change, and the address of the resource."""
    telling: bool = False
    roots: tuple[Root, ...] | None = None
    """The client's roots; None until the client has named them."""
    roots_due: bool = False
    """Ask for the roots with the next request: over HTTP, only an open request is sure to reach the client."""


class Sessions:
    """The sessions of the handshake era. The parameters of its `initialize` identify a session."""

    def __init__(self) -> None:
        self._known: dict[int, Session] = {}

    @property
    def all(self) -> Collection[Session]:
        """All sessions, the oldest first."""
        return self._known.values()

    def of(self, channel: ServerSession) -> Session | None:
        """The session of a request; None in the stateless era, and before the session is initialized."""
        # Each request has its own channel; the parameters of `initialize` are one object per connection.
        return self._known.get(id(channel.client_params))

    def begin(self, session: Session) -> Session | None:
        """Add a session that is ready for notifications; returns the session that is forgotten for it, if any."""
        self._known[id(session.channel.client_params)] = session
        return self._known.pop(next(iter(self._known))) if len(self._known) > _SESSIONS else None

    def end(self, identity: str) -> Session | None:
        """Remove a session that its client has ended; returns the session if it is known."""
        key = next((key for key, one in self._known.items() if one.identity == identity), 0)
        return self._known.pop(key, None)


def can(capabilities: ClientCapabilities, kind: str) -> bool:
    """Whether a client can answer requests of a kind (`elicitation`, `url`, `sampling`, `roots`)."""
    asked = capabilities.elicitation
    if kind == "url":
        return asked is not None and asked.url is not None
    if kind == "elicitation":  # before 2025-11-25 there were no modes: an empty object means forms
        return asked is not None and (asked.form is not None or asked.url is None)
    return (capabilities.sampling if kind == "sampling" else capabilities.roots) is not None
