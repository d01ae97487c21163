"""Faults on the wire: what is sent instead of the answer to a tool call, or besides it."""

from __future__ import annotations

import json
import time

from raw_server import text_result

ORPHAN = 999_999_999


def _response(request, **members):
    return {"jsonrpc": "2.0", "id": request["id"], **members}


def _raw(server, request, result_text):
    """Answer with hand-written JSON as the result."""
    server.write(b'{"jsonrpc":"2.0","id":' + json.dumps(request["id"]).encode() + b',"result":' + result_text + b"}\n")


def _text(body):
    """A hand-written result of one text; `body` is the part between its quotes."""
    return b'{"resultType":"complete","content":[{"type":"text","text":"' + body + b'"}]}'


def stray(server, request, result):
    """Debugging output between the messages."""
    server.write(b"DEBUG handling a call\n{'a': 1}\n  \n[info] nearly done\n\x1b[31mred\x1b[0m\n")
    server.answer_well(request, result)


def stray_flood(server, request, result):
    """50,000 lines of debugging output before the answer."""
    for number in range(0, 50_000, 1_000):
        server.write(b"".join(b"DEBUG line %d\n" % line for line in range(number, number + 1_000)))
    server.answer_well(request, result)


def crlf(server, request, result):
    """A byte order mark, empty lines, and lines that end in CRLF."""
    server.write(b"\r\n\r\n\xef\xbb\xbf")
    _raw(server, request, _text(b"crlf"))
    server.write(b"\r\n")


def split_writes(server, request, result):
    """The answer one byte at a time."""
    line = json.dumps(_response(request, result={"resultType": "complete", **result})).encode() + b"\n"
    for at in range(len(line)):
        server.write(line[at : at + 1])


def batch(server, request, result):
    """The answer in a batch, together with a notification and an orphan."""
    note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "in a batch"}}
    answer = _response(request, result={"resultType": "complete", **result})
    server.send([note, answer, {"jsonrpc": "2.0", "id": ORPHAN, "result": {}}])


def truncated(server, request, result):
    """Half of an answer and a newline; the rest never comes."""
    line = json.dumps(_response(request, result=result)).encode()
    server.write(line[: len(line) // 2] + b"\n")


def duplicate(server, request, result):
    """The answer twice."""
    server.answer_well(request, result)
    server.answer_well(request, result)


def orphan(server, request, result):
    """An answer to no request, then the right one."""
    server.send({"jsonrpc": "2.0", "id": ORPHAN, "result": {}})
    server.answer_well(request, result)


def null_id(server, request, result):
    """An error that names no request."""
    server.send({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "what?"}})


def null_id_first(server, request, result):
    """An error that names no request, then the right answer."""
    null_id(server, request, result)
    server.answer_well(request, result)


def big_progress(server, request, result):
    """Unusable progress numbers, then the answer."""
    token = json.dumps(request["params"].get("_meta", {}).get("progressToken", 0)).encode()
    for number in (b"9" * 400, b"1e999", b"9" * 5_000, b'"ten"', b"null", b"-1", b"true", b"[1]"):
        head = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":'
        server.write(head + token + b',"progress":' + number + b',"total":' + number + b"}}\n")
    server.answer_well(request, result)


def endless_progress(server, request, result):
    """`--count` reports of progress, and never an answer."""
    token = request["params"].get("_meta", {}).get("progressToken", 0)
    for done in range(server.count):
        server.notify("notifications/progress", progressToken=token, progress=done)
        time.sleep(0.01)


def notification_flood(server, request, result):
    """`--count` log messages, then the answer."""
    for number in range(server.count):
        server.notify("notifications/message", level="info", logger="flood", data=f"message {number}")
    server.answer_well(request, result)


def list_changed_flood(server, request, result):
    """`--count` notifications that the tools have changed, then the answer."""
    for _ in range(server.count):
        server.notify("notifications/tools/list_changed")
    server.answer_well(request, result)


def server_requests(server, request, result):
    """`--count` requests to the client, some with the same id, some unknown, then the answer."""
    for number in range(server.count):
        kind = ("sampling/createMessage", "elicitation/create", "roots/list", "no/such")[number % 4]
        params = {"message": "?", "requestedSchema": {"type": "object", "properties": {}}} if number % 4 == 1 else {}
        server.send({"jsonrpc": "2.0", "id": number // 2, "method": kind, "params": params})
    server.answer_well(request, result)


def unknown_requests(server, request, result):
    """`--count` requests that nobody knows, then the answer."""
    for number in range(server.count):
        server.send({"jsonrpc": "2.0", "id": f"r{number}", "method": "no/such", "params": {}})
    server.answer_well(request, result)


def big_result(server, request, result):
    """A text of `--size` bytes."""
    _raw(server, request, _text(b"x" * server.size))


def big_result_id_last(server, request, result):
    """The same with the id at the end of the message, as some servers write it."""
    ending = b',"jsonrpc":"2.0","id":' + json.dumps(request["id"]).encode() + b"}\n"
    server.write(b'{"result":' + _text(b"x" * server.size) + ending)


INSTEAD = {
    "stray": stray,
    "stray-flood": stray_flood,
    "crlf": crlf,
    "split-writes": split_writes,
    "batch": batch,
    "truncated": truncated,
    "duplicate-response": duplicate,
    "orphan-response": orphan,
    "big-progress": big_progress,
    "endless-progress": endless_progress,
    "notification-flood": notification_flood,
    "list-changed-flood": list_changed_flood,
    "server-requests": server_requests,
    "unknown-requests": unknown_requests,
    "big-result": big_result,
    "big-result-id-last": big_result_id_last,
    "silent-call": lambda server, request, result: None,
    "invalid-utf8": lambda s, request, _: _raw(s, request, _text(b"caf\xe9 \xff\xfe \xf0\x28 \xed\xa0\x80")),
    "lone-surrogate": lambda s, request, _: _raw(s, request, _text(rb"\ud800 and \udfff")),
    "nul": lambda s, request, _: _raw(s, request, _text(b"a\\u0000b")),
    "raw-control": lambda s, request, _: _raw(s, request, _text(b"a\x00\x1b[31mb")),
    "deep-json": lambda s, request, _: _raw(s, request, b"[" * s.depth + b"]" * s.depth),
    "huge-number": lambda s, request, _: _raw(s, request, b'{"structuredContent":' + b"9" * 5_000 + b',"content":[]}'),
    "nan": lambda s, request, _: _raw(s, request, b'{"structuredContent":NaN,"content":[]}'),
    "duplicate-keys": lambda s, request, _: _raw(s, request, b'{"content":[],"content":[{"type":"text","text":"b"}]}'),
    "wrong-id": lambda s, request, result: s.send(_response(request, result=result) | {"id": request["id"] + 1_000}),
    "string-id": lambda s, request, result: s.send(_response(request, result=result) | {"id": str(request["id"])}),
    "null-id": null_id,
    "null-id-first": null_id_first,
    "object-id": lambda s, request, result: s.send(_response(request, result=result) | {"id": {}}),
    "result-and-error": lambda s, request, result: s.send(
        _response(request, result=result, error={"code": -1, "message": "both"})
    ),
    "no-result": lambda s, request, _: s.send(_response(request)),
    "no-jsonrpc": lambda s, request, result: s.send({"id": request["id"], "result": result}),
    "bad-error": lambda s, request, _: s.send(_response(request, error="it broke")),
    "bad-error-code": lambda s, request, _: s.send(_response(request, error={"code": "E1", "message": ["no"]})),
    "null-result": lambda s, request, _: s.send(_response(request, result=None)),
    "list-result": lambda s, request, _: s.send(_response(request, result=[1, 2])),
    "empty-result": lambda s, request, _: s.send(_response(request, result={})),
    "unknown-result-type": lambda s, request, result: s.send(
        _response(request, result={**result, "resultType": "hologram"})
    ),
    "unknown-content": lambda s, request, _: s.answer_well(
        request, {"content": [*text_result("known")["content"], {"type": "hologram", "data": [1]}, "bare", None]}
    ),
    "schema-mismatch": lambda s, request, _: s.answer_well(
        request, {**text_result("structured"), "structuredContent": {"sum": "not a number"}}
    ),
    "unknown-notification": lambda s, request, result: (
        s.notify("notifications/hologram", x=1),
        s.answer_well(request, result),
    ),
}
"""Called instead of sending the answer to a tool call: `(server, request, result)`."""
