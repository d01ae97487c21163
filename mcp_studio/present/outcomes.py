"""How calls ended, and the rounds of a conversation, in words."""

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
    """The tool ran and says that it failed."""

    exit_code = 5


def failure(outcome: calls.CallOutcome) -> StudioError:
    """Why an operation was no success, as an error; `detail` has what the server sent. Foreign text."""
    match outcome:
        case calls.ToolFailed(result=result):
            structured = (printable(value, indent=None) for value in structured_content(result))
            text = " ".join(filter(None, (result_text(result), *structured)))
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
    """Which members of its group a call went to before the last one, and why it went on."""
    nexts = [*(one.server for one in call.tried[1:]), call.ref.server]
    pairs = zip(call.tried, nexts, strict=False)  # there may be none
    return [f"{one.server} could not serve it, so it went on to {other}: {one.why}" for one, other in pairs]


def kept(outcome: calls.CallOutcome) -> str:
    """How old a result is that was kept, or for how long one is fresh; empty where nothing is to be said."""
    if not isinstance(outcome, calls.Succeeded):
        return ""
    if outcome.cached is not None:
        age, hint = outcome.cached
        return f"from the cache, {seconds(age)} old, ttl {seconds(hint.ttl)}, {hint.scope}"
    if outcome.hint is not None and outcome.hint.ttl:
        return f"fresh for {seconds(outcome.hint.ttl)}, {outcome.hint.scope}"
    return ""


def outcome_short(outcome: calls.CallOutcome) -> tuple[Tone, str]:
    """How an operation ended in a few words, for beside a result: `ok · 8 ms round trip · 2.1 KB`.

    A round trip has an answer, and a person's time is none of the server's.
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
    """How an operation ended, in a sentence where it was no success."""
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
    """What an answer asks for, one line each."""
    result = _part(entry, "result")
    asked = result.get("inputRequests")
    found: list[str] = []
    for key, request in list(mapping(asked).items())[:_MOST]:
        body = mapping(request)
        said = mapping(body.get("params")).get("message")
        quote = f': "{safe(said, 80)}"' if isinstance(said, str) else ""
        found.append(f"{safe(key, 40)} = {safe(body.get('method', 'nothing'), 60)}{quote}")
    if not found and result.get("resultType") == "input_required":
        found.append("nothing; to be asked again with its state")
    error = _part(entry, "error")
    if "elicitations" in mapping(error.get("data")):
        found.append("pages to be opened first")
    return found


def answers(entry: WireMessage | None) -> list[str]:
    """What a request brings of that, one line each."""
    given = mapping(_part(entry, "params").get("inputResponses"))
    found: list[str] = []
    for key, answer in list(given.items())[:_MOST]:
        known = mapping(answer)
        what = known.get("action")
        if not isinstance(what, str):
            what = next((name for name in ("roots", "content", "role") if name in known), "a result")
            what = {"role": "a reply", "content": "a reply"}.get(what, what)
        found.append(f"{safe(key, 40)} = {safe(what, 40)}")
    return found


def _part(entry: WireMessage | None, key: str) -> dict[str, Json]:
    return {} if entry is None or entry.size > _READ else mapping(mapping(loads_or(entry.body)).get(key))
