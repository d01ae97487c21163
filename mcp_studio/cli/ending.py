"""From a call's outcome to what is printed and the exit code."""

from __future__ import annotations

from collections.abc import Callable

from mcp_studio.call.outcome import (
    CallOutcome,
    Cancelled,
    Denied,
    InBackground,
    Lost,
    Rejected,
    Succeeded,
    TimedOut,
    ToolFailed,
)
from mcp_studio.cli import late
from mcp_studio.cli.asking import Asker
from mcp_studio.cli.content import result_text
from mcp_studio.cli.output import Output
from mcp_studio.errors import InputNeeded, StudioError
from mcp_studio.jsontext import Json, printable


class ToolError(StudioError):
    """The tool ran and says that it failed."""

    exit_code = 5


def end(outcome: CallOutcome, out: Output, asker: Asker, show: Callable[[Json], str]) -> int:
    """Print how a call ended; returns the exit code."""
    out.ms = outcome.ms
    for problem in outcome.problems:
        out.warn(problem)
    for note in outcome.notes:
        out.note(note)
    if asker.refused:
        first = asker.refused[0]
        return out.fail(first.error, first.detail)
    match outcome:
        case Succeeded(result=result):
            out.data(show(result))
            out.result = result
            return out.done()
        case ToolFailed(result=result):
            text = result_text(result) or "the tool gives no reason"
            return out.fail(ToolError(f"tool error: {text}"), {"result": result})
        case Rejected(code=code, message=message, data=data):
            more = f" {printable(data, indent=None)}" if data is not None and not out.json else ""
            return out.fail(
                StudioError(f"the server refused it: {message} ({code}){more}" if code else f"{message}{more}"),
                {"code": code, "data": data},
            )
        case Denied(rule=rule, unusable=True):
            return out.fail(StudioError(f"It cannot be called: {rule}."))
        case Denied(rule=rule):
            return out.fail(InputNeeded(f"It was not run: {rule}."))
        case InBackground(task=task):
            out.data(task)
            out.result = {"task": task}
            return out.done()
        case TimedOut(limit=limit):
            return out.fail(StudioError(f"No answer within {limit}.", hint="--timeout SECONDS waits longer."))
        case Lost(error=error, sent=sent):
            if out.ending is not None:
                return late.lost(error, out.ending, sent, out)
            return out.fail(error, {"sent": sent})
        case Cancelled():
            return out.fail(StudioError("It was cancelled."))
        case _:
            return out.fail(StudioError(f"It ended in an unknown way: {type(outcome).__name__}."))
