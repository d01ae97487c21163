"""The heads of HTTP exchanges as text, without secrets."""

from __future__ import annotations

from mcp_studio.redact import Redactor
from mcp_studio.transport.tap import Headers, HttpRequest, HttpResponse


def request_head(request: HttpRequest, redactor: Redactor) -> bytes:
    """`POST https://…` and the headers."""
    return _text(f"{request.method} {redactor.url(request.url)}", request.headers, redactor)


def response_head(response: HttpResponse, redactor: Redactor) -> bytes:
    """`200 OK` and the headers, or why there is no answer."""
    first = f"{response.status} {response.reason}" if response.status else f"failed: {response.error}"
    return _text(first, response.headers, redactor)


def _text(first: str, headers: Headers, redactor: Redactor) -> bytes:
    lines = (f"{name}: {value}" for name, value in redactor.headers(headers))
    return "\n".join((first, *lines)).encode("utf-8", "replace")
