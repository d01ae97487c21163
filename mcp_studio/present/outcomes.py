"""The outcomes of calls, and the rounds of a conversation, in words."""

from __future__ import annotations

from mcp_studio.call import call as calls
from mcp_studio.errors import ConnectionLost, InputNeeded, LimitExceeded, StudioError
from mcp_studio.jsontext import Json, loads_or, mapping, printable
from mcp_studio.present.blocks import result_text, structured_content
from mcp_studio.present.connections import Tone, hint
from mcp_studio.present.units import duration, seconds, size
from mcp_studio.safetext import safe
from mcp_studio.trace.message import WireMessage


class ToolError(StudioError):
    """The tool ran and reports an error."""

    exit_code = 5


def failure(outcome: calls.CallOutcome) -> StudioError:
    """The error of an operation that did not succeed; `detail` has what the server sent. Foreign text."""
    match outcome:
        case calls.ToolFailed(result=result):
            structured = (printable(value, indent=None) for value in structured_content(result))
            text = " ".join(filter(None, ("".join(result_text(result)), *structured)))
            return ToolError(f"tool error: {text or 'the tool gives no reason'}", detail={"result": result})
        case calls.Rejected(code=code, data=data):
            more = "" if data is None else f" {printable(data, indent=None)}"
            who = "the server refused it: " if code else ""
            return StudioError(f"{who}{outcome.said}{more}", detail={"code": code, "data": data})
        case calls.Denied(rule=rule, unusable=True):
            return StudioError(f"It cannot be called: {rule}.")
        case calls.Denied(rule=rule):
            return InputNeeded(f"It was not run: {rule}.")
        case calls.TimedOut(limit=limit):
            return StudioError(f"No answer within {limit}.")
        case calls.Cancelled():
            return StudioError("It was cancelled.")
        case calls.Lost(error=error, sent=sent):
            error.detail["sent"] = sent
            return error
        case _:
            return StudioError(f"It ended in an unknown way: {type(outcome).__name__}.")


def attempts(call: calls.Call) -> list[str]:
    """The servers of a group that a call tried before the last one, and why each could not serve it."""
    nexts = [*(one.server for one in call.tried[1:]), call.ref.server]
    pairs = zip(call.tried, nexts, strict=False)  # a call may have tried no other server
    return [f"{one.server} could not serve it, so it went on to {other}: {one.why}" for one, other in pairs]


def freshness(outcome: calls.CallOutcome) -> str:
    """The age of a cached result, or how long a result stays fresh; empty if neither applies."""
    if not isinstance(outcome, calls.Succeeded):
        return ""
    if outcome.cached is not None:
        age, hint = outcome.cached
        return f"from the cache, {seconds(age)} old, ttl {seconds(hint.ttl)}, {hint.scope}"
    if outcome.hint is not None and outcome.hint.ttl:
        return f"fresh for {seconds(outcome.hint.ttl)}, {outcome.hint.scope}"
    return ""


def outcome_short(outcome: calls.CallOutcome) -> tuple[Tone, str]:
    """An outcome in a few words, to stand beside a result: `ok · 8 ms round trip · 2.1 KB`.

    A round trip has an answer; it does not include the time that a person took to answer.
    """
    tone: Tone = "bad"
    match outcome:
        case calls.Succeeded(cached=cached):
            tone, word = "ok", "ok, cached" if cached else "ok"
        case calls.ToolFailed():
            word = "tool error"
        case calls.Rejected(code=code):
            word = f"error {code}"
        case calls.Denied():
            return "off", "not sent"
        case calls.Cancelled():
            tone, word = "off", "cancelled"
        case calls.InBackground():
            return "off", "in the background"
        case calls.TimedOut():
            word = "timed out"
        case calls.Lost(sent=True):
            word = "no reply"
        case calls.Lost(error=error):
            return tone, "not sent" if error.http is None else f"HTTP {error.http.status}"
        case _:
            tone, word = "off", ""
    answered = isinstance(outcome, (calls.Succeeded, calls.ToolFailed, calls.Rejected))
    took = duration(max(0.0, outcome.ms - outcome.asked_ms)) if outcome.ms else ""
    waited = f"{duration(outcome.asked_ms)} waiting for you" if outcome.asked_ms else ""
    parts = (word, f"{took} round trip" if took and answered else took, waited)
    return tone, " · ".join(filter(None, (*parts, size(outcome.size) if outcome.size else "")))


def outcome_line(outcome: calls.CallOutcome) -> tuple[Tone, str]:
    """An outcome in a line; a sentence unless it is a success."""
    tone, short = outcome_short(outcome)
    match outcome:
        case calls.Succeeded() | calls.Cancelled():
            return tone, short
        case calls.ToolFailed():
            return tone, "The tool ran and reports an error."
        case calls.InBackground():
            return tone, "It goes on as a task: tab Tasks of pane 2."
        case calls.Lost(error=LimitExceeded() as error):
            return tone, f"{safe(error.message, 300)} {error.hint}"
        case calls.Lost(error=error, sent=True):
            what = "The connection was lost" if isinstance(error, ConnectionLost) else "There is no usable reply"
            return tone, f"{what}: {safe(error.message, 300).rstrip('.')}. Whether the server did the work is unknown."
        case calls.Lost(error=error):
            return tone, f"{safe(error.message, 300)} {hint(error)}".rstrip()
        case _:
            return tone, safe(failure(outcome).message, 300)


_READ = 256 * 1024
_MOST = 20


def questions(entry: WireMessage | None) -> list[str]:
    """The requests in an answer for further input, one line each."""
    result = _part(entry, "result")
    requests = result.get("inputRequests")
    lines: list[str] = []
    for key, request in list(mapping(requests).items())[:_MOST]:
        body = mapping(request)
        message = mapping(body.get("params")).get("message")
        quote = f': "{safe(message, 80)}"' if isinstance(message, str) else ""
        lines.append(f"{safe(key, 40)} = {safe(body.get('method', 'nothing'), 60)}{quote}")
    if not lines and result.get("resultType") == "input_required":
        lines.append("nothing; the client repeats the request with its state")
    error = _part(entry, "error")
    if "elicitations" in mapping(error.get("data")):
        lines.append("pages that a person has to open first")
    return lines


def answers(entry: WireMessage | None) -> list[str]:
    """The answers in a request to an earlier demand for input, one line each."""
    responses = mapping(_part(entry, "params").get("inputResponses"))
    lines: list[str] = []
    for key, answer in list(responses.items())[:_MOST]:
        fields = mapping(answer)
        what = fields.get("action")
        if not isinstance(what, str):
            what = next((name for name in ("roots", "content", "role") if name in fields), "a result")
            what = {"role": "a reply", "content": "a reply"}.get(what, what)
        lines.append(f"{safe(key, 40)} = {safe(what, 40)}")
    return lines


def _part(entry: WireMessage | None, key: str) -> dict[str, Json]:
    return {} if entry is None or entry.size > _READ else mapping(mapping(loads_or(entry.body)).get(key))
