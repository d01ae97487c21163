"""`send`: send hand-written messages, and print what comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from mcp_studio.cli.engine import connected, execute
from mcp_studio.cli.options import Options
from mcp_studio.cli.targets import of_server
from mcp_studio.cli.terminal import Output
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.jsontext import Json, dumps, items_of, loads_or, mapping, pretty
from mcp_studio.present.outcomes import ToolError
from mcp_studio.protocol.events import NONE, request
from mcp_studio.session.raw import RawExchange, RawSender
from mcp_studio.studio import Studio

Frames = Callable[[RawSender], Iterator[bytes]]
_BESIDE = {"stderr": "stderr", "stray": "stdout", "note": "note"}
"""Kinds of entries that go to standard error, and their labels."""


def run(out: Output) -> int:
    """Send the messages. Returns the exit code."""
    options = out.options
    frames = options.values("--frame")
    chosen, server, words = of_server(out, 0 if frames else 1)
    if not server or not (words or frames):
        what = "server" if words or frames else "method"
        raise UsageError(f"Which {what}?", hint="mcp-studio send [SERVER] METHOD|--frame TEXT")
    if options.flag("--no-handshake"):
        chosen = replace(chosen, servers={server: replace(chosen.servers[server], enabled=False)})
    making = _written(options) if frames else _composed(words[0], options)
    return execute(chosen, out, lambda studio: _send(studio, server, making, out), answers=False)


def _written(options: Options) -> Frames:
    given = [(text, options.read("--frame", text)) for text in options.values("--frame")]
    # A file's last newline is not part of the message.
    frames = [data.removesuffix(b"\n") if text == "-" or text.startswith("@") else data for text, data in given]
    return lambda sender: iter(frames)


def _composed(method: str, options: Options) -> Frames:
    params, meta, identity = options.json("--params", NONE), options.object("--meta"), options.json("--id", NONE)
    notification = options.flag("--notification")
    if meta and params is not NONE and not isinstance(params, dict):
        raise UsageError("--meta needs params that are an object.")

    def frames(sender: RawSender) -> Iterator[bytes]:
        stamp = {} if notification or options.flag("--no-stamp") else sender.stamp
        mine = NONE if notification else sender.spare_id() if identity is NONE else identity
        yield dumps(request(method, params, identity=mine, meta={**stamp, **meta}))

    return frames


async def _send(studio: Studio, server: str, frames: Frames, out: Output) -> int:
    options = out.options
    if options.flag("--no-handshake"):
        sender: RawSender = await studio.open_raw(studio.manager.config(server))
    else:
        await connected(studio, server, out)
        sender = studio.manager.by_hand(server)
    wait = options.seconds("--wait")
    reports: list[Json] = []
    for frame in frames(sender):
        exchange = sender.send(frame, wait=wait, newlines=options.flag("--newlines"))
        await exchange.wait()
        reports.append(_report(exchange, out))
        out.ms = exchange.ms
        if (error := _verdict(exchange, wait or studio.limits.call_idle)) is not None:
            return out.fail(error, {"exchanges": reports})
    return out.done(reports)


def _report(exchange: RawExchange, out: Output) -> Json:
    """Print what came back, and return it as JSON."""
    if exchange.problem:
        out.note(f"what was sent is not a message: {exchange.problem}")
    came: list[Json] = []
    for entry in exchange.came_back():
        body = entry.body
        if entry.kind == "http":
            if entry.direction == "in":
                out.note(f"http: {entry.method}")
                came.append({"kind": "http", "status": entry.method})
            continue
        text = body.decode("utf-8", "replace")
        if entry.direction == "out":
            came.append({"kind": "sent", "message": loads_or(body, text, exact=True)})
        elif entry.kind in _BESIDE:
            if exchange.error is None or text != exchange.error.message:
                out.note(f"{_BESIDE[entry.kind]}: {text}")
            came.append({"kind": entry.kind, "text": out.redactor.text(text)})
        else:
            message = loads_or(body, text, exact=True)
            out.data(message if isinstance(message, str) else pretty(message))
            came.append({"kind": entry.kind, "message": message})
    return {
        "sent": out.redactor.text(exchange.frame.decode("utf-8", "replace")), "answered": bool(exchange.answers),
        "problem": exchange.problem or None, "came": came,
    }  # fmt: skip


def _verdict(exchange: RawExchange, waited: float) -> StudioError | None:
    """Return what went wrong as an error with the usual exit code.

    An error in answer to an invalid message is expected.
    """
    if exchange.error is not None:
        return exchange.error
    if not exchange.wants_answer or exchange.problem:
        return None
    if not exchange.answered.is_set():
        return StudioError(f"No answer within {waited:g} s.", hint="--wait SECONDS waits longer.")
    for answer in exchange.answers:
        value = loads_or(answer, "", exact=True)
        for message in map(mapping, items_of(value) if isinstance(value, list) else [value]):
            if "error" in message:
                return StudioError("The server answered with an error.")
            if mapping(message.get("result")).get("isError") is True:
                return ToolError("The tool says that it failed.")
    return None
