"""From a call's outcome to what is printed and the exit code."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

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
    wants_handshake,
)
from mcp_studio.cli import late
from mcp_studio.cli.asking import Asker
from mcp_studio.cli.content import joined, result_text, structured_text, write
from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output
from mcp_studio.errors import InputNeeded, StudioError, UsageError
from mcp_studio.jsontext import Json, printable


class ToolError(StudioError):
    """The tool ran and says that it failed."""

    exit_code = 5


def check_file(options: Options) -> None:
    """See that the result can go to the file that is named, before anything is done for it.

    Raises:
        UsageError: it is there already, or cannot be made.
    """
    file = options.value("--output")
    if file and os.path.lexists(file):
        raise UsageError(f"{file} exists; nothing is overwritten.", hint="Name another file, or remove this one first.")
    if file and not ((folder := Path(file).parent).is_dir() and os.access(folder, os.W_OK)):
        raise UsageError(f"{file} cannot be written: {folder} is no folder that can be written to.")


def end(outcome: CallOutcome, out: Output, asker: Asker, show: Callable[[Json], str], file: str = "") -> int:
    """Print how a call ended, or write its result to a new file; returns the exit code."""
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
            return _succeeded(result, show(result), file, out)
        case ToolFailed(result=result):
            text = (
                " ".join(filter(None, (result_text(result), structured_text(result, None))))
                or "the tool gives no reason"
            )
            return out.fail(ToolError(f"tool error: {text}", hint=_other_era(outcome, out)), {"result": result})
        case Rejected(code=code, data=data):
            more = f" {printable(data, indent=None)}" if data is not None and not out.json else ""
            who = "the server refused it: " if code else ""
            error = StudioError(f"{who}{outcome.said}{more}", hint=_other_era(outcome, out))
            return out.fail(error, {"code": code, "data": data})
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


def _succeeded(result: Json, text: str, file: str, out: Output) -> int:
    out.result, structured = result, structured_text(result)
    whole = joined(filter(None, (text, structured)))
    failed: StudioError | None = None
    if file:
        try:
            out.data(write(result, whole, file))
            return out.done()
        except StudioError as error:  # what was called for is shown all the same
            failed = error
    if out.too_long(whole):
        out.excerpt(whole)
    else:
        if text or not structured:
            out.data(text.removesuffix("\n"))
        if text and structured:
            out.flush()
            out.note("structured content:")
        if structured:
            out.data(structured)
    return out.done() if failed is None else out.fail(failed, {"result": result})


def _other_era(outcome: CallOutcome, out: Output) -> str:
    """What to do about a server that still asks as in the handshake era; empty for any other."""
    manager = out.manager
    if manager is None or out.server not in manager.names() or not wants_handshake(outcome, manager.status(out.server)):
        return ""
    return 'The server still asks by requests of its own: --era legacy (in its entry, era = "legacy") makes it work.'
