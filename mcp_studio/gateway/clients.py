"""Who talks to the gateway: clients by their tokens, what each may do, and the sessions of the handshake era."""

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
"""Requests of one client at a time."""
_SESSIONS = 1_000
"""Sessions of the handshake era that hear of changes; the oldest is forgotten first."""


class TooMany(StudioError):
    """A client asks too often, or for too much at once."""


@record(eq=False)
class Client:
    """One client, by the token that it shows; over stdio there is one."""

    name: str
    rules: GatewayClient
    calls: int
    """Requests a minute; 0 is any number."""
    recent: Recent = field(default_factory=Recent)
    open: int = 0
    """Its requests that have no answer yet."""
    total: int = 0
    """Its requests so far."""
    read: int = 0
    """Tokens of what it was given to find tools: lists, searches, definitions."""
    spared: int = 0
    """Tokens of all definitions, for each list that it was given without them."""

    def sees(self, ref: Ref) -> bool:
        """Whether it may know of an entry."""
        return not self.rules.tools or matches(str(ref), self.rules.tools)

    @contextmanager
    def request(self) -> Generator[None]:
        """One request of it, from its arrival to the answer.

        Raises:
            TooMany: it is not to be served now.
        """
        if self.open >= _OPEN:
            raise TooMany(f"More than {_OPEN} requests of {self.name} are open at a time.")
        if self.calls and self.recent.too_often(self.name, self.calls):
            raise TooMany(f"{self.name} asks for more than {self.calls:,} things a minute ([gateway] calls).")
        self.open += 1
        self.total += 1
        try:
            yield
        finally:
            self.open -= 1


def client_of(header: str, tokens: Mapping[str, Client]) -> Client | None:
    """The client of an Authorization header; the time that this takes tells nothing of the tokens."""
    scheme, _, token = header.partition(" ")
    given = token.strip().encode("utf-8", "replace")
    found = [client for known, client in tokens.items() if hmac.compare_digest(known.encode(), given)]
    return found[0] if found and scheme.lower() == "bearer" else None


@record(eq=False)
class Session:
    """One session of a client of the handshake era."""

    client: Client
    channel: ServerSession
    """The way to it that no request has to be open for."""
    identity: str = ""
    """Its id over HTTP."""
    level: str = "info"
    """The least severe log messages that it wants (logging/setLevel)."""
    watched: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Server and URI of the resources that it subscribed to."""
    news: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """What it has to be told and was not yet: what changed, and the resource's address."""
    telling: bool = False
    roots: tuple[Root, ...] | None = None
    """Its roots, once it has told them."""
    roots_due: bool = False
    """It is to be asked for them on the way of its next request: over HTTP no other is sure to be open."""


class Sessions:
    """The sessions of the handshake era. A session is known by the parameters of its `initialize`."""

    def __init__(self) -> None:
        self._known: dict[int, Session] = {}

    @property
    def all(self) -> Collection[Session]:
        """All of them, the oldest first."""
        return self._known.values()

    def of(self, channel: ServerSession) -> Session | None:
        """The session that a request came in; None for the stateless era, and before it is initialized."""
        # Each request has a channel of its own; the parameters of `initialize` are one object per connection.
        return self._known.get(id(channel.client_params))

    def begin(self, session: Session) -> Session | None:
        """A client is ready: it will hear of changes. Gives the session that is forgotten for it."""
        self._known[id(session.channel.client_params)] = session
        return self._known.pop(next(iter(self._known))) if len(self._known) > _SESSIONS else None

    def end(self, identity: str) -> Session | None:
        """A client has ended its session; gives it, where it is known."""
        key = next((key for key, one in self._known.items() if one.identity == identity), 0)
        return self._known.pop(key, None)


def can(capabilities: ClientCapabilities, kind: str) -> bool:
    """Whether a client answers questions of a kind (`elicitation`, `url`, `sampling`, `roots`)."""
    asked = capabilities.elicitation
    if kind == "url":
        return asked is not None and asked.url is not None
    if kind == "elicitation":  # before 2025-11-25 there were no modes: a bare object stands for forms
        return asked is not None and (asked.form is not None or asked.url is None)
    return (capabilities.sampling if kind == "sampling" else capabilities.roots) is not None
