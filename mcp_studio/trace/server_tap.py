"""One server's end of the trace: takes what its transport sees, and later what the protocol made of it."""

from __future__ import annotations

from collections.abc import Callable

from mcp_studio.limits import DEFAULT, Limits
from mcp_studio.protocol.message import Failure, Message, Notification, Request, Response
from mcp_studio.protocol.outgoing import Outgoing, RequestId
from mcp_studio.protocol.versions import NAMED
from mcp_studio.redact import Redactor
from mcp_studio.safetext import safe
from mcp_studio.trace.lines import Lines
from mcp_studio.trace.message import Span, WireMessage
from mcp_studio.trace.store import TraceStore
from mcp_studio.transport.tap import Headers, HttpRequest, HttpResponse


class ServerTap:
    """Implements `transport.tap.Tap` for one server."""

    def __init__(self, store: TraceStore, redactor: Redactor, server: str, limits: Limits = DEFAULT) -> None:
        self._store = store
        self._redactor = redactor
        self._server = server
        self._coming: dict[bytes, Outgoing] = {}
        self._open: dict[RequestId, Span] = {}
        self._asked: dict[RequestId, Span] = {}
        self._last: WireMessage | None = None
        self.stderr_lines = Lines(limits.stderr)
        self.stray_lines: list[str] = []
        self.stray_count = 0
        self._stray_kept = limits.stray
        self.on_stray: Callable[[str], None] = lambda line: None
        """Told each stray line that is kept."""

    # ------------------------------------------------------------------ told by the transport

    def sent(self, frame: bytes, exchange: int = 0) -> None:
        """A frame goes out."""
        entry = self._store.add(self._server, "out", "invalid", frame, exchange=exchange)
        out = self._coming.pop(frame, None)
        if out is None:
            return
        entry.method, entry.target, entry.id = out.method, out.target, out.id
        entry.probe = out.method == "server/discover"
        if out.kind == "request" and out.id is not None:
            entry.kind = "request"
            self._open[out.id] = self._store.opened(entry)
        elif out.kind == "response" and out.id is not None:
            entry.kind = (
                "error" if frame.startswith(b'{"jsonrpc":"2.0","id":') and b',"error":{' in frame[:300] else "result"
            )
            self._answered(self._asked, out.id, entry)
        else:
            entry.kind = "notification"

    def received(self, frame: bytes, exchange: int = 0) -> None:
        """A frame came in; `understood` sorts it right after."""
        self._last = self._store.add(self._server, "in", "invalid", frame, exchange=exchange)

    def stray(self, line: bytes) -> None:
        """A stray line on standard output."""
        self.stray_count += 1
        if len(self.stray_lines) < self._stray_kept:
            text = safe(self._redactor.text(line.decode("utf-8", "replace")), 500)
            self.stray_lines.append(text)
            self.on_stray(text)
        self._store.add(self._server, "in", "stray", line)

    def stderr(self, line: bytes) -> None:
        """A line of standard error."""
        self.stderr_lines.add(self._redactor.text(line.decode("utf-8", "replace")))
        self._store.add(self._server, "in", "stderr", line)

    def http_request(self, request: HttpRequest) -> None:
        """An HTTP request head, secrets redacted."""
        text = f"{request.method} {self._redactor.url(request.url)}\n{self._headers(request.headers)}"
        entry = self._store.add(self._server, "out", "http", text.encode("utf-8", "replace"), exchange=request.exchange)
        entry.method = request.method

    def http_response(self, response: HttpResponse) -> None:
        """An HTTP response head, or why there was none."""
        head = f"{response.status} {response.reason}" if response.status else f"failed: {response.error}"
        text = f"{head}\n{self._headers(response.headers)}"
        entry = self._store.add(self._server, "in", "http", text.encode("utf-8", "replace"), exchange=response.exchange)
        entry.method = head[:80]

    def note(self, text: str) -> None:
        """A lifecycle event."""
        self._store.add(self._server, "none", "note", text.encode("utf-8", "replace"))

    # ------------------------------------------------------------------ told by the session

    def expect(self, out: Outgoing) -> None:
        """This message is about to be sent: the next frame with the same bytes is it."""
        self._coming[out.frame] = out

    def understood(self, messages: tuple[Message, ...]) -> None:
        """What the frame that was received last turned out to be."""
        entry = self._last
        if entry is None or not messages:
            return
        first = messages[0]
        if isinstance(first, Request):
            entry.kind, entry.id, entry.method = "request", first.id, first.method
            entry.target = str(first.params.get(NAMED.get(first.method, ""), ""))
            self._asked[first.id] = self._store.opened(entry, self._newest())
        elif isinstance(first, Notification):
            entry.kind, entry.method = "notification", first.method
        for message in messages:
            if isinstance(message, (Response, Failure)):
                entry.kind = "result" if isinstance(message, Response) else "error"
                entry.id = message.id
                if message.id is not None:
                    self._answered(self._open, message.id, entry, _tool_failed(message))

    def gave_up(self, identity: RequestId, lost: bool = False) -> None:
        """Nobody waits for this request any more."""
        if span := self._open.pop(identity, None):
            span.outcome = "lost" if lost else "cancelled"
            self._store.revision += 1

    def ended(self) -> None:
        """The connection is over: what is open stays without an answer."""
        for identity in tuple(self._open):
            self.gave_up(identity, lost=True)
        self._asked.clear()
        self._coming.clear()

    # ------------------------------------------------------------------ helpers

    def _answered(
        self, spans: dict[RequestId, Span], identity: RequestId, entry: WireMessage, tool: bool = False
    ) -> None:
        if span := spans.pop(identity, None):
            self._store.settled(span, entry, entry.kind == "error")
            entry.probe = span.request.probe
            if tool:
                span.outcome = "tool error"

    def _newest(self) -> Span | None:
        return next(reversed(self._open.values()), None)

    def _headers(self, headers: Headers) -> str:
        return "\n".join(f"{name}: {value}" for name, value in self._redactor.headers(headers))


def _tool_failed(message: Response | Failure) -> bool:
    return isinstance(message, Response) and isinstance(message.result, dict) and message.result.get("isError") is True
