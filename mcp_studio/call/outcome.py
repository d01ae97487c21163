"""How one operation ended. These are different things, and every front end shows which."""

from __future__ import annotations

import re

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.protocol.caching import Cached, Hint
from mcp_studio.protocol.events import refusal
from mcp_studio.protocol.versions import MISSING_CAPABILITY
from mcp_studio.record import record
from mcp_studio.schema.problem import SchemaProblem
from mcp_studio.session.state import Status

_PUSHED = re.compile(
    r"no back-?channel|server-(initiated|to-client) request|servers do not send requests|-32021"
    r"|missing required client capabilit",
    re.IGNORECASE,
)
"""What servers say, by their SDK, when their code still asks by a request, which 2026-07-28 does not have."""
_READ = 2_000
"""Characters of each text of a failed tool that are looked at."""


@record(frozen=True)
class CallOutcome:
    """What every outcome knows."""

    ms: float = 0.0
    """From sending to the outcome, in milliseconds, the time in which a person was asked included."""
    size: int = 0
    """Bytes of the frame that held the answer."""
    request_id: int | str | None = None
    violations: tuple[SchemaProblem, ...] = ()
    """Where `structuredContent` does not match the tool's outputSchema (server/tools#output-schema)."""
    problems: tuple[str, ...] = ()
    """What is wrong with the answer, in words; an answer with problems is still shown."""
    notes: tuple[str, ...] = ()
    """What is good to know about the answer, in words."""


@record(frozen=True)
class Succeeded(CallOutcome):
    """The server answered with a result."""

    result: Json = None
    """The raw `result` of the response."""
    hint: Hint | None = None
    """What the server says about keeping it (2026-07-28); None where it says nothing."""
    cached: Cached | None = None
    """It was not asked for now: how old it is."""


@record(frozen=True)
class ToolFailed(CallOutcome):
    """The tool ran and says that it failed (`isError`)."""

    result: Json = None


@record(frozen=True)
class Rejected(CallOutcome):
    """The server refused the request with a JSON-RPC error."""

    code: int = 0
    """0 where no error came, but a result that is none."""
    message: str = ""
    data: Json = None

    @property
    def said(self) -> str:
        """Message and code; foreign text."""
        return refusal(self.code, self.message) if self.code else self.message


@record(frozen=True)
class Denied(CallOutcome):
    """A rule or a person said no before anything was sent."""

    rule: str = ""
    unusable: bool = False
    """Nobody could approve it: the tool's definition forbids that it is called."""


@record(frozen=True)
class Cancelled(CallOutcome):
    """A person stopped it."""


@record(frozen=True)
class InBackground(CallOutcome):
    """A person let go of it; at the server it goes on as a task."""

    task: str = ""
    """The task's id."""


@record(frozen=True)
class TimedOut(CallOutcome):
    """No answer within the deadline; `limit` says which, in words."""

    limit: str = ""


@record(frozen=True)
class Lost(CallOutcome):
    """There is no usable answer: the connection failed, or what came cannot be read."""

    error: StudioError = StudioError("")
    sent: bool = False
    """It had left: whether the server did the work is unknown."""


def wants_handshake(outcome: CallOutcome, status: Status) -> bool:
    """Whether it failed since the server still pushes elicitation, sampling or roots: `era = "legacy"` has those."""
    if not status.modern:
        return False
    if isinstance(outcome, Rejected):
        needed = mapping(mapping(outcome.data).get("requiredCapabilities"))
        if outcome.code == MISSING_CAPABILITY:
            return needed.keys() <= mapping(status.declared).keys()  # what we do not have no era brings
        return bool(_PUSHED.search(outcome.message[:_READ]))
    if not isinstance(outcome, ToolFailed):
        return False
    texts = (mapping(block).get("text") for block in items_of(mapping(outcome.result).get("content")))
    return any(isinstance(text, str) and _PUSHED.search(text[:_READ]) for text in texts)
