"""From a call's outcome to what is printed and the exit code."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Callable, Iterable, Iterator
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
    wants_handshake,
)
from mcp_studio.cli import late
from mcp_studio.cli.asking import Asker
from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output
from mcp_studio.errors import InputNeeded, LimitExceeded, StudioError, UsageError
from mcp_studio.jsontext import Json, JsonProblem, items_of, loads, mapping, pretty, printable
from mcp_studio.schema.check import equal
from mcp_studio.studio import Studio
from mcp_studio.trace import postmortem as words
from mcp_studio.trace.postmortem import Mortem
from mcp_studio.trace.stray import bursts, explain, language_of, launcher_of, text_of
from mcp_studio.trace.stray import words as sort_words


def result_text(result: Json) -> str:
    """The content of a tool's result, without its structured content."""
    return blocks_text(items_of(mapping(result).get("content")))


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


def block_text(block: Json) -> str:
    """One content block (specification, server/tools); what cannot be shown as text is named with its size."""
    known = mapping(block)
    match known.get("type"):
        case "text" if isinstance(known.get("text"), str):
            return known["text"]
        case "image" | "audio" as kind:
            return f"[{kind} {_word(known, 'mimeType')}{_size(known.get('data'))}]"
        case "resource":
            held = mapping(known.get("resource"))
            is_text = isinstance(held.get("text"), str)
            return f"{_named(held)}\n{held['text']}" if is_text else contents_text(held)
        case "resource_link":
            return f"[link {_word(known, 'uri')} {_word(known, 'title') or _word(known, 'name')}]".replace(" ]", "]")
        case _:
            return pretty(block)


def blocks_text(blocks: list[Json]) -> str:
    """Several blocks, each from a line of its own on."""
    return joined(block_text(block) for block in blocks)


def joined(parts: Iterable[str]) -> str:
    """Parts of a text, each from a line of its own on; the last one ends as it does."""
    found = list(parts)
    return "\n".join([*(part.removesuffix("\n") for part in found[:-1]), *found[-1:]])


def contents_text(item: Json) -> str:
    """One embedded or read resource."""
    known = mapping(item)
    return known["text"] if isinstance(known.get("text"), str) else _named(known)


def resource_text(result: Json) -> str:
    """What reading a resource gave."""
    return joined(contents_text(item) for item in items_of(mapping(result).get("contents")))


def messages_text(result: Json) -> str:
    """The messages of a prompt, each under the role that says it."""
    rows: list[str] = []
    for message in items_of(mapping(result).get("messages")):
        lines = (line for block in _blocks(message) for line in block_text(block).split("\n"))
        rows += [f"{_word(mapping(message), 'role') or '?'}:", *("  " + line for line in lines)]
    return "\n".join(rows)


def _blocks(message: Json) -> list[Json]:
    content = mapping(message).get("content")
    return items_of(content) if isinstance(content, list) else [content]


def write(result: Json, text: str, file: str) -> str:
    """Write a result to a new file; gives what is to be printed instead.

    Text is written as it is. What is binary is written as bytes, each further part to a file with a number, and the
    text around it is given back.

    Raises:
        StudioError: it cannot be written, or is no base64; a file that is there is left as it is.
    """
    path, binary = Path(file), list(_binaries(result))
    files = [path, *(path.with_stem(f"{path.stem}-{number}") for number in range(2, len(binary) + 1))]
    more = len(_parts(result)) > 1 or "structuredContent" in mapping(result)
    rows = [text] if binary and more else []
    for target, data in zip(files, binary or [text.encode("utf-8", "surrogatepass")], strict=True):
        try:
            with target.open("xb") as out:
                out.write(data)
        except OSError as problem:
            raise StudioError(f"{target} cannot be written: {problem.strerror or problem}.") from None
        rows.append(f"{len(data)} bytes written to {target}")
    return joined(rows)


def _parts(result: Json) -> list[Json]:
    known = mapping(result)
    messages = (block for message in items_of(known.get("messages")) for block in _blocks(message))
    return [*items_of(known.get("content")), *items_of(known.get("contents")), *messages]


def _binaries(result: Json) -> Iterator[bytes]:
    for part in map(mapping, _parts(result)):
        held = part.get("data") if part.get("type") in ("image", "audio") else None
        data = mapping(part.get("resource", part)).get("blob") if held is None else held
        try:
            if isinstance(data, str):
                yield base64.b64decode(data)
        except binascii.Error:
            raise StudioError("The server's content is not valid base64.") from None


def _named(known: dict[str, Json]) -> str:
    """An embedded or read resource by its type and address."""
    kind = _word(known, "mimeType") or ("text" if "text" in known else "binary")
    return f"[{kind} {_word(known, 'uri')}{_size(known.get('blob'))}]"


def _word(known: dict[str, Json], key: str) -> str:
    value = known.get(key)
    return value if isinstance(value, str) else ""


def _size(data: Json) -> str:
    """The size that base64 text stands for."""
    if not isinstance(data, str):
        return ""
    size = len(data) * 3 // 4 - data[-2:].count("=")
    return f", {size} B" if size < 1_000 else f", {size / 1_000:.1f} KB"


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


_SAID = ("stderr",)
"""What the error has said already."""
_LINES = 3


def lost(error: StudioError, ending: Mortem, sent: bool, out: Output) -> int:
    """Tell why a call was lost, and how its server ended; returns the exit code."""
    code = out.fail(error, {"sent": sent, "ending": words.as_json(ending)})
    for name, value in words.facts(ending):
        if name not in _SAID:
            out.note(f"  {name:<9}  {value}")
    return code


def ending_of(studio: Studio, name: str) -> Json:
    """How a server ended last, as JSON; None where it did not."""
    mortems = studio.manager.supervisor(name).mortems
    return words.as_json(mortems[-1]) if mortems else None


def ending_lines(ending: dict[str, Json]) -> Iterator[str]:
    """The same as text."""
    if ending["uptime"] is not None:
        yield f"  ran          for {words.span_text(ending['uptime'])}" + ("" if ending["ready"] else ", not ready yet")
    if ending["means"]:
        yield f"  which means  {ending['means']}"
    for one in ending["inFlight"]:
        what = f"{one['method']} {one['target']}".strip()
        yield f"  in flight    {what}, for {words.span_text(one['ms'] / 1000)}"


def stray_of(studio: Studio, name: str) -> Json:
    """What a server printed besides the protocol, sorted: how many lines of each kind, and where they come from."""
    config = studio.manager.config(name)
    if config.kind != "stdio":
        return []
    argv = (config.command, *config.args)
    language, launcher = language_of(argv), launcher_of(argv)
    found: dict[str, dict[str, Json]] = {}
    for burst in reversed(bursts(studio.trace, name)):
        before = f"{burst.before.method} {burst.before.target}".strip() if burst.before is not None else ""
        for line in burst.lines:
            one = found.setdefault(
                line.sort,
                {"kind": sort_words(line.sort), "count": 0, "explanation": explain(line.sort, language, launcher),
                 "after": before, "lines": []},
            )  # fmt: skip
            one["count"] += 1
            if len(one["lines"]) < _LINES:
                one["lines"].append(text_of(line.entry)[:300].decode("utf-8", "replace"))
    return list(found.values())


def stray_lines(found: list[Json]) -> Iterator[str]:
    """The same as text."""
    for one in found:
        after = f", first after {one['after']}" if one["after"] else ", before the first message"
        yield f"  stdout       {one['count']:,} times {one['kind']}{after}"
        yield f"      {one['explanation']}"
        yield from (f"      │ {line}" for line in one["lines"])
