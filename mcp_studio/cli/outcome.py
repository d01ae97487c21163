"""From a call's outcome to what is printed and the exit code."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from mcp_studio.call.call import (
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
from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output
from mcp_studio.errors import InputNeeded, LimitExceeded, StudioError, UsageError
from mcp_studio.jsontext import Json, JsonProblem, items_of, loads, mapping, printable
from mcp_studio.present import crashes
from mcp_studio.present.blocks import blocks_of, decode, joined, result_text
from mcp_studio.present.outcomes import wants_handshake
from mcp_studio.schema.check import equal


class ToolError(StudioError):
    """The tool ran and says that it failed."""

    exit_code = 5


def check_file(options: Options) -> None:
    """See that the result can go to the file of `--output`, before anything is done for it.

    Raises:
        UsageError: it is there already, or cannot be made.
    """
    file = options.value("--output")
    if file and os.path.lexists(file):
        raise UsageError(f"{file} exists; nothing is overwritten.", hint="Name another file, or remove this one first.")
    if file and not ((folder := Path(file).parent).is_dir() and os.access(folder, os.W_OK)):
        raise UsageError(f"{file} cannot be written: {folder} is no folder that can be written to.")


def end(outcome: CallOutcome, out: Output, show: Callable[[Json], str] = result_text) -> int:
    """Print how a call ended, or write its result to the file of `--output`; returns the exit code."""
    out.ms = outcome.ms
    for problem in outcome.problems:
        out.warn(problem)
    for note in outcome.notes:
        out.note(note)
    if out.asker.refused:
        return out.fail(out.asker.refused[0])
    match outcome:
        case Succeeded(result=result):
            return _succeeded(result, show(result), out)
        case InBackground(task=task):
            out.data(task)
            return out.done({"task": task})
        case ToolFailed(result=result):
            text = " ".join(filter(None, (result_text(result), structured_text(result, None))))
            error = ToolError(f"tool error: {text or 'the tool gives no reason'}", hint=_other_era(outcome, out))
            return out.fail(error, {"result": result})
        case Rejected(code=code, data=data):
            more = f" {printable(data, indent=None)}" if data is not None and not out.json else ""
            who = "the server refused it: " if code else ""
            error = StudioError(f"{who}{outcome.said}{more}", hint=_other_era(outcome, out))
            return out.fail(error, {"code": code, "data": data})
        case Lost(error=error, sent=sent):
            return _lost(error, sent, out)
        case Denied(rule=rule, unusable=True):
            return out.fail(StudioError(f"It cannot be called: {rule}."))
        case Denied(rule=rule):
            return out.fail(InputNeeded(f"It was not run: {rule}."))
        case TimedOut(limit=limit):
            return out.fail(StudioError(f"No answer within {limit}.", hint="--timeout SECONDS waits longer."))
        case Cancelled():
            return out.fail(StudioError("It was cancelled."))
        case _:
            return out.fail(StudioError(f"It ended in an unknown way: {type(outcome).__name__}."))


def _lost(error: StudioError, sent: bool, out: Output) -> int:
    """Tell why a call was lost, and how its server ended."""
    if out.ending is None:
        return out.fail(error, {"sent": sent})
    code = out.fail(error, {"sent": sent, "ending": crashes.as_json(out.ending)})
    for name, value in crashes.facts(out.ending):
        out.note(f"  {name:<9}  {value}")
    return code


def _succeeded(result: Json, text: str, out: Output) -> int:
    structured, file = structured_text(result), out.options.value("--output")
    failed: StudioError | None = None
    if file:
        try:
            out.data(write(result, joined(filter(None, (text, structured))), file))
            return out.done(result)
        except StudioError as error:  # what was called for is shown all the same
            failed = error
    if text or not structured:
        out.long_data(text.removesuffix("\n"))
    if text and structured:
        out.flush()
        out.note("structured content:")
    if structured:
        out.long_data(structured)
    return out.done(result) if failed is None else out.fail(failed, {"result": result})


def _other_era(outcome: CallOutcome, out: Output) -> str:
    """What to do about a server that still asks as in the handshake era; empty for any other."""
    manager = out.studio.manager
    if out.server not in manager.names() or not wants_handshake(outcome, manager.status(out.server)):
        return ""
    return 'The server still asks by requests of its own: --era legacy (in its entry, era = "legacy") makes it work.'


def write(result: Json, text: str, file: str) -> str:
    """Write a result to a new file; gives what is to be printed instead.

    Text is written as it is. What is binary is written as bytes, each further part to a file with a number, and the
    text around it is given back.

    Raises:
        StudioError: it cannot be written, or is no base64; a file that is there is left as it is.
    """
    path, blocks = Path(file), blocks_of(result)
    try:
        binary = [decode(block) for block in blocks if block.kind in ("image", "audio", "file")]
    except ValueError:
        raise StudioError("The server's content is not valid base64.") from None
    files = [path, *(path.with_stem(f"{path.stem}-{number}") for number in range(2, len(binary) + 1))]
    more = len(blocks) > 1 or "structuredContent" in mapping(result)
    rows = [text] if binary and more else []
    for target, data in zip(files, binary or [text.encode("utf-8", "surrogatepass")], strict=True):
        try:
            with target.open("xb") as out:
                out.write(data)
        except OSError as problem:
            raise StudioError(f"{target} cannot be written: {problem.strerror or problem}.") from None
        rows.append(f"{len(data)} bytes written to {target}")
    return joined(rows)


def structured_text(result: Json, indent: int | None = 2) -> str:
    """The structured content of a tool's result as JSON; empty where there is none, or the text says it already."""
    known = mapping(result)
    if "structuredContent" not in known:
        return ""
    blocks = map(mapping, items_of(known.get("content")))
    texts = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
    value = known["structuredContent"]
    # SDKs wrap what is no object: the text is then what is inside.
    inner = (value["result"],) if mapping(value).keys() == {"result"} else ()
    return "" if any(_says(texts, one) for one in (value, *inner)) else printable(value, indent=indent)


def _says(texts: list[str], value: Json) -> bool:
    """Whether texts are a value: as JSON, as it is, or an item each."""
    if len(texts) == 1:
        try:
            return texts[0] == value or equal(loads(texts[0]), value)
        except (JsonProblem, LimitExceeded):
            return False
    items = items_of(value)
    return len(texts) == len(items) > 0 and all(map(_says, ([text] for text in texts), items))
