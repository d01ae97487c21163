"""The half of a server's tap that takes HTTP exchanges: those of MCP, and those of signing in."""

from __future__ import annotations

from mcp_studio.redact import Redactor
from mcp_studio.trace.heads import request_text, response_text
from mcp_studio.trace.lint.linter import Linter
from mcp_studio.trace.store import TraceStore
from mcp_studio.transport.tap import HttpRequest, HttpResponse


class HttpTap:
    """See `transport.tap.Tap`."""

    store: TraceStore
    server: str
    _redactor: Redactor
    _lint: Linter

    def http_request(self, request: HttpRequest) -> None:
        """An HTTP request, secrets redacted; one of signing in says what it is for, and is nothing for the lint."""
        text = request_text(request, self._redactor)
        entry = self.store.add(self.server, "out", "http", text, exchange=request.exchange)
        entry.method, entry.target = request.method, request.purpose
        if not request.purpose:
            self._lint.http_request(request)

    def http_response(self, response: HttpResponse) -> None:
        """An HTTP response, or why there was none."""
        text = response_text(response, self._redactor)
        entry = self.store.add(self.server, "in", "http", text, exchange=response.exchange)
        entry.method, entry.target = text.split(b"\n", 1)[0].decode("utf-8", "replace")[:80], response.purpose
        self._lint.http_response(entry, response)
