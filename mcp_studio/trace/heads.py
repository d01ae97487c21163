"""HTTP exchanges as text, without secrets: the head of each message, and of those that are no part of MCP the body.

The frames of MCP are entries of their own. What signing in sends and gets stands behind its head, after an empty line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcp_studio.redact import Redactor

if TYPE_CHECKING:  # whoever reads a recording has nothing to do with transports
    from mcp_studio.transport.tap import Headers, HttpRequest, HttpResponse

_GAP = b"\n\n"
_KEPT = 64 * 1024
"""Bytes of a body: what signing in needs is much smaller, and looking for secrets takes its time."""
_BEYOND = 4 * 1024


class Told(NamedTuple):
    """One HTTP message as an entry of the trace has it."""

    line: str
    """The first line."""
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str:
        """A header's value, or nothing; named in lower case."""
        return next((value for key, value in self.headers if key.lower() == name), "")


def request_text(request: HttpRequest, redactor: Redactor) -> bytes:
    """`POST https://…`, the headers, and the body."""
    head = _head(f"{request.method} {redactor.url(request.url)}", request.headers, redactor)
    return _with_body(head, request.headers, request.body, redactor)


def response_text(response: HttpResponse, redactor: Redactor) -> bytes:
    """`200 OK`, the headers, and the body; or why there is no answer."""
    first = f"{response.status} {response.reason}".rstrip() if response.status else f"failed: {response.error}"
    head = _head(redactor.text(first), response.headers, redactor)
    return _with_body(head, response.headers, response.body, redactor)


def read(text: bytes) -> Told:
    """The parts of such an entry."""
    head, _, body = text.partition(_GAP)
    first, *rest = head.decode("utf-8", "surrogateescape").split("\n")
    lines = (line.partition(": ") for line in rest)
    return Told(first, [(name, value) for name, _, value in lines], body)


def cleaned(text: bytes, redactor: Redactor) -> bytes:
    """The same once more, for what leaves the trace: address, headers and body each have their own rules."""
    told = read(text)
    lines = zip(told.headers, redactor.headers(told.headers), strict=True)
    clean = (f"{name}: {value}" if given else name for (name, given), (_, value) in lines)
    head = "\n".join((redactor.url(told.line), *clean)).encode("utf-8", "surrogateescape")
    return head + _GAP + redactor.body(told.header("content-type"), told.body) if told.body else head


def _head(first: str, headers: Headers, redactor: Redactor) -> bytes:
    lines = (f"{name}: {value}" for name, value in redactor.headers(headers))
    return "\n".join((first, *lines)).encode("utf-8", "replace").replace(_GAP, b"\n")


def _with_body(head: bytes, headers: Headers, body: bytes, redactor: Redactor) -> bytes:
    if not body:
        return head
    kind = next((value for name, value in headers if name.lower() == "content-type"), "")
    if len(body) <= _KEPT + _BEYOND:
        return head + _GAP + redactor.body(kind, body)
    # What the cut leaves of a secret cannot be known for one: it goes with the end.
    clean = redactor.body(kind, body[: _KEPT + _BEYOND])[:-_BEYOND]
    return head + _GAP + clean + b"\n... %d bytes more" % (len(body) - _KEPT)
