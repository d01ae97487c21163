"""What state a connection is in, as a frozen value."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json

ConnectionState = Literal["disabled", "idle", "connecting", "ready", "retrying", "needs_auth", "failed", "stopping"]
"""`disabled`: not started by itself; `idle`: waiting for its turn; `retrying`: ended by itself and starts again."""


@dataclass(frozen=True, slots=True)
class Step:
    """One phase of connecting, for `doctor`."""

    name: str
    """`resolved`, `started`, `negotiated`, `listed`."""
    ms: float
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Status:
    """Everything a front end shows about one connection."""

    server: str
    state: ConnectionState = "idle"
    error: StudioError | None = None
    """Why it failed or is retrying, in words."""
    attempt: int = 0
    retry_at: float = 0.0
    """Monotonic time of the next attempt, while retrying."""
    version: str = ""
    """The negotiated protocol version."""
    modern: bool = False
    capabilities: Json = field(default=None)
    """What the server declared."""
    server_info: Json = field(default=None)
    instructions: str = ""
    pid: int = 0
    steps: tuple[Step, ...] = ()
    warnings: tuple[str, ...] = ()
    """What the server does wrong, in plain words: prints to stdout, answers twice, wrong ids."""

    def having(self, **changes: object) -> Status:
        """A copy with some fields changed."""
        return replace(self, **changes)  # type: ignore[arg-type]
