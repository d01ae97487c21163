"""From a call's outcome to what is printed and the exit code."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from mcp_studio.call.call import CallOutcome, InBackground, Lost, Succeeded, TimedOut, wants_handshake
from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.jsontext import Json, mapping
from mcp_studio.present import crashes
from mcp_studio.present.blocks import blocks_of, decode, joined, result_text, structured_text
from mcp_studio.present.outcomes import failure
from mcp_studio.session.sign_in import add_hint


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
        case _:
            return _failed(outcome, out)


def _failed(outcome: CallOutcome, out: Output) -> int:
    """Tell why a call was no success, and how its server ended where it was lost to that."""
    error, manager = failure(outcome), out.studio.manager
    if isinstance(outcome, TimedOut):
        error.hint = "--timeout SECONDS waits longer."
    elif out.server in manager.names():
        if wants_handshake(outcome, manager.status(out.server)):
            error.hint = 'It makes requests as in the older era: --era legacy (in its entry, era = "legacy").'
        add_hint(error, manager.config(out.server))
    if not isinstance(outcome, Lost) or out.ending is None:
        return out.fail(error)
    code = out.fail(error, {"ending": crashes.as_json(out.ending)})
    for name, value in crashes.facts(out.ending):
        out.note(f"  {name:<9}  {value}")
    return code


def _succeeded(result: Json, text: str, out: Output) -> int:
    structured, file = structured_text(result), out.options.value("--output")
    failed: StudioError | None = None
    if file:
        try:
            out.data(_written(result, joined(filter(None, (text, structured))), file))
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


def _written(result: Json, text: str, file: str) -> str:
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
