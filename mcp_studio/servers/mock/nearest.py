"""What a request is told that was never recorded: which recorded one is nearest."""

from __future__ import annotations

from mcp_studio.jsontext import Json, dumps, loads
from mcp_studio.protocol.versions import NAMED
from mcp_studio.redact import Redactor
from mcp_studio.servers.mock.tape import Tape, plain
from mcp_studio.trace.diff import diff
from mcp_studio.trace.diff_ignore import Ignore
from mcp_studio.trace.diff_text import shown

_LINES = 5


def unknown(tape: Tape, method: str, params: dict[str, Json]) -> tuple[str, Json]:
    """The message and the data of the error."""
    subject = params.get(NAMED.get(method, ""))
    what = f"{method} {subject}" if isinstance(subject, str) else method
    near = tape.nearest(method, params)
    if near is None:
        return f"The recording has no {what}", None
    # It is told on a terminal and in an answer: what a client sends may be secret.
    redactor = Redactor()
    before, now = (loads(redactor.bytes(dumps(one))) for one in (near.params, plain(params)))
    found = diff(before, now, Ignore(usual=False))
    lines = [shown(one, 60).line for one in found[:_LINES]]
    more = f" and {len(found) - _LINES} more" if len(found) > _LINES else ""
    text = f"The recording has no {what} like this; from the nearest it differs in: {'; '.join(lines)}{more}"
    return text, {"nearest": before}
