"""What a session needs only once a server asks something, ends, is signed in to, or a frame is written by hand:
imported then.

Schemas and TOML cost a tenth of the start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mcp_studio.jsontext import Json
from mcp_studio.protocol.events import Outgoing

if TYPE_CHECKING:
    from mcp_studio.auth.accounts import Accounts
    from mcp_studio.config.model import Settings
    from mcp_studio.errors import StudioError
    from mcp_studio.paths import Paths
    from mcp_studio.redact import Redactor
    from mcp_studio.session.connection import Connection
    from mcp_studio.session.server_requests import ClientTasks
    from mcp_studio.session.state import Spawn
    from mcp_studio.trace.postmortem import Mortem
    from mcp_studio.trace.server_tap import ServerTap


def filled(schema: Json, given: Json) -> tuple[Json, str]:
    """See `forms.filled`."""
    from mcp_studio.session import rules

    return rules.filled(schema, given)


def secrets(schema: Json) -> frozenset[str]:
    """See `forms.secrets`."""
    from mcp_studio.session import rules

    return rules.secrets(schema)


def fingerprint(schema: Json) -> str:
    """See `config.answers.fingerprint`."""
    from mcp_studio.config import settings as answers

    return answers.fingerprint(schema)


def client_tasks(connection: Connection, declared: Callable[[], Json], most: int, spawn: Spawn) -> ClientTasks:
    """The tasks of ours that a connection has."""
    from mcp_studio.session.server_requests import ClientTasks

    return ClientTasks(connection, declared, most, spawn)


def modern_headers(out: Outgoing) -> list[tuple[str, str]]:
    """See `transport.http_headers.modern_headers`."""
    from mcp_studio.transport import http_wire

    return http_wire.modern_headers(out)


def ended(known: list[Mortem], tap: ServerTap, error: StudioError | None, *, first: int, ready: bool) -> bool:
    """See `mortems.ended`."""
    from mcp_studio.session import mortems

    return mortems.ended(known, tap, error, first=first, ready=ready)


def dropped(known: list[Mortem], tap: ServerTap, out: Outgoing, error: StudioError, *, first: int) -> bool:
    """See `mortems.dropped`."""
    from mcp_studio.session import mortems

    return mortems.dropped(known, tap, out, error, first=first)


def import_accounts() -> None:
    """Import what signing in needs; takes a while, so it is for a thread."""
    import mcp_studio.auth.accounts  # noqa: F401 # pyright: ignore[reportUnusedImport]


def accounts(settings: Settings, paths: Paths, redactor: Redactor) -> Accounts:
    """See `auth.accounts.Accounts`."""
    from mcp_studio.auth.accounts import Accounts

    return Accounts(settings, paths, settings.limits, redactor)
