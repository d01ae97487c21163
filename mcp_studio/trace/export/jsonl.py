"""A recording as JSON lines, plain or compressed into a bundle."""

from __future__ import annotations

import binascii
import time
import zlib
from collections.abc import Iterator, Mapping
from typing import cast

from mcp_studio import __version__
from mcp_studio.errors import LimitExceeded, UsageError
from mcp_studio.jsontext import Json, JsonProblem, dumps, has_more_values, loads, loads_or, mapping
from mcp_studio.protocol.views import text_of
from mcp_studio.trace.export.item import Item, Source
from mcp_studio.trace.lint.rules import Finding, findings_from_json
from mcp_studio.trace.message import ASKED, BY_HAND, DIRECTIONS, KINDS, MARKED, OUTCOMES, PROBE

FORMAT = "mcp-studio-trace"
VERSION = 1
_FRAME = b',"frame":'
_FLAGS = (("probe", PROBE), ("by_hand", BY_HAND), ("asked", ASKED), ("marked", MARKED))
_MOST = 0xFFFFFFFF
_GZIP_BITS = 31
"""The window bits of zlib: the largest window, in the format of gzip."""
_LATEST = 253_402_300_800
"""Seconds from which on years have five digits."""
_WORDS = 4_000
_PARTS = 300_000
"""The most values and members of a line, because a small compressed file may have millions of them."""


class BadLine(ValueError):
    """A line is invalid; the message says why."""


def head_line(title: str, servers: Mapping[str, Json]) -> bytes:
    """The first line of a file."""
    head = {"format": FORMAT, "version": VERSION, "made": time.time(), "by": f"mcp-studio {__version__}"}
    return dumps({**head, "title": title, "servers": dict(servers)}) + b"\n"


def line_of(item: Item) -> bytes:
    """The line of an entry."""
    known: dict[str, Json] = {
        "n": item.number, "time": item.time, "server": item.server, "direction": item.direction, "kind": item.kind,
        "size": item.size,
    }  # fmt: skip
    asks = item.kind == "request"
    further: dict[str, Json] = {
        "method": item.method, "target": item.target, "answer" if asks else "request": item.link,
        "outcome": item.outcome, "under": item.under, "follows": item.follows, "exchange": item.exchange,
    }  # fmt: skip
    known.update((name, value) for name, value in further.items() if value)
    if item.ms is not None and not asks:
        known["ms"] = round(item.ms, 3)
    known.update((name, True) for name, flag in _FLAGS if item.flags & flag)
    if item.comment:
        known["comment"] = item.comment
    if item.findings:
        facts = (zip(Finding._fields[:5], finding, strict=False) for finding in item.findings)
        known["findings"] = [{name: text for name, text in pairs if text} for pairs in facts]
    return _with_body(known, item.body)


def _with_body(known: dict[str, Json], body: bytes) -> bytes:
    if not body:
        return dumps(known) + b"\n"
    if b"\n" not in body and b"\r" not in body and _is_json(body, known["kind"] in ("request", "result", "error")):
        return b"%b%b%b}\n" % (dumps(known)[:-1], _FRAME, body)
    try:
        known["text"] = body.decode()
    except UnicodeDecodeError:
        known["base64"] = binascii.b2a_base64(body, newline=False).decode()
    return dumps(known) + b"\n"


def _is_json(body: bytes, read: bool) -> bool:
    """Whether a body is JSON. One with too many values is not parsed again: `read` says if it was JSON on arrival."""
    if body[:1] not in b"{[" or body[-1:] not in b"}]":
        return False
    if has_more_values(body, _PARTS):
        return read
    try:
        loads(body.decode(), most=500)
    except (UnicodeDecodeError, JsonProblem, LimitExceeded):
        return False
    return True


def read_head(line: bytes, place: str) -> dict[str, Json]:
    """The content of the first line.

    Raises:
        UsageError: the file has another format or a newer version.
    """
    head = mapping(loads_or(line))
    version = head.get("version")
    if head.get("format") != FORMAT or type(version) is not int:
        raise UsageError(f"{place} is no recording of mcp-studio.", hint="A recording begins with a line that says so.")
    if version > VERSION:
        raise UsageError(
            f"{place} was written by a newer mcp-studio: its format is version {version}, known here is {VERSION}.",
            hint="Update mcp-studio, or export it there as JSONL of this version.",
        )
    return head


def read_line(line: bytes) -> Item:
    """The entry of a line.

    Raises:
        BadLine: the line is invalid.
    """
    known, body = _split(line)
    number, moment = known.get("n"), known.get("time")
    kind, direction, outcome = known.get("kind"), known.get("direction"), known.get("outcome", "")
    if (
        isinstance(number, bool) or not isinstance(number, int) or not 0 < number <= _MOST
        or isinstance(moment, bool) or not isinstance(moment, (int, float)) or not 0 <= moment < _LATEST
        or kind not in KINDS or direction not in DIRECTIONS or outcome not in ("", *OUTCOMES)
    ):  # fmt: skip
        raise BadLine("its `n`, `time`, `kind`, `direction` or `outcome` is missing or makes no sense")
    return Item(
        number, float(moment), text_of(known, "server", _WORDS), direction, kind, body,
        _number(known, "size") or len(body), text_of(known, "method", _WORDS), text_of(known, "target", _WORDS),
        _number(known, "answer" if kind == "request" else "request"), outcome,
        _number(known, "under"), _number(known, "follows"), _number(known, "exchange"),
        sum(flag for name, flag in _FLAGS if known.get(name) is True),
        findings=findings_from_json(known.get("findings"), number), comment=text_of(known, "comment", _WORDS),
    )  # fmt: skip


def _split(line: bytes) -> tuple[dict[str, Json], bytes]:
    """The members of a line, and the body of its entry."""
    line = line.strip()
    at = line.find(_FRAME)
    try:
        body = line[at + len(_FRAME) : -1]
        if at > 0 and line.endswith(b"}") and _is_json(body, True):  # the frame is the last member
            return _object(line[:at] + b"}"), body
        known = _object(line)
    except (UnicodeDecodeError, JsonProblem, LimitExceeded):
        raise BadLine("it is invalid JSON") from None
    return known, _body(known)


def _object(line: bytes) -> dict[str, Json]:
    if has_more_values(line, _PARTS):
        raise BadLine("it has too many parts")
    value = loads(line.decode(), exact=True, most=600)
    if not isinstance(value, dict):
        raise BadLine("it is not a JSON object")
    return cast("dict[str, Json]", value)


def _body(known: dict[str, Json]) -> bytes:
    if "frame" in known:  # another program has rewritten the line
        return dumps(known.pop("frame"))
    if isinstance(text := known.get("text"), str):
        return text.encode("utf-8", "surrogatepass")
    if isinstance(coded := known.get("base64"), str):
        try:
            return binascii.a2b_base64(coded, strict_mode=True)
        except ValueError:
            raise BadLine("its `base64` cannot be read") from None
    return b""


def _number(known: Mapping[str, Json], name: str) -> int:
    value = known.get(name, 0)
    fits = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST
    return value if fits else 0


def write(source: Source) -> Iterator[bytes]:
    """The first line, and one line for each entry."""
    yield head_line(source.title, source.servers)
    yield from map(line_of, map(source.item, source.paced()))


def write_bundle(source: Source) -> Iterator[bytes]:
    """The lines of `write`, compressed with gzip; `bundle.open_file` opens them."""
    packer = zlib.compressobj(6, zlib.DEFLATED, _GZIP_BITS)
    for line in write(source):
        yield packer.compress(line)
    yield packer.flush()
