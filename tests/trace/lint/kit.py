"""A conversation with a server for the lint: what we send, what comes in, and which rules that breaks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mcp_studio.protocol.events import Outgoing
from mcp_studio.protocol.message import parse
from mcp_studio.redact import Redactor
from mcp_studio.trace.lint.examiner import Job, check
from mcp_studio.trace.lint.ledger import Ledger
from mcp_studio.trace.lint.rules import Finding
from mcp_studio.trace.message import WireMessage
from mcp_studio.trace.server_tap import ServerTap
from mcp_studio.trace.store import TraceStore
from mcp_studio.transport.base import HttpRequest, HttpResponse

META = "io.modelcontextprotocol/"
EVERYTHING: dict[str, Any] = {
    "tools": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
    "prompts": {"listChanged": True},
    "completions": {},
    "logging": {},
}
"""What a server declares that declares all there is."""
CLIENT: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {}}
MODERN = "2026-07-28"


class Talk:
    """One connection, negotiated with this version; with `close`, rules are those of a closer look too."""

    def __init__(
        self,
        version: str = "2025-11-25",
        *,
        server: Mapping[str, Any] = EVERYTHING,
        client: Mapping[str, Any] = CLIENT,
        negotiate: bool = True,
        close: bool = False,
    ) -> None:
        self.redactor = Redactor()
        self.store = TraceStore(self.redactor)
        self.tap = ServerTap(self.store, self.redactor, "s")
        self.tap.begins()
        self.version = version
        self.modern = version == MODERN
        self.client = client
        self.close = close
        self._id = 0
        if not negotiate:
            return
        if self.modern:
            self.ask("server/discover", {})
            self.answer({"supportedVersions": [version], "capabilities": server, "ttlMs": 0, "cacheScope": "public"})
        else:
            self.ask("initialize", {"protocolVersion": version, "capabilities": client})
            info = {"name": "s", "version": "1"}
            self.answer({"protocolVersion": version, "capabilities": server, "serverInfo": info})

    @property
    def ledger(self) -> Ledger:
        return self.store.ledger("s")

    @property
    def newest(self) -> WireMessage:
        return self.store[len(self.store) - 1]

    def ask(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        meta: Mapping[str, Any] | None = None,
        exchange: int = 0,
        stamped: bool = True,
        target: str = "",
        follows: int | None = None,
    ) -> list[str]:
        """Send a request; the rules that it breaks."""
        self._id += 1
        stamp = {META + "protocolVersion": self.version, META + "clientCapabilities": self.client}
        whole = {**(stamp if self.modern and stamped else {}), **(meta or {})}
        body = {**(params or {}), **({"_meta": whole} if whole else {})}
        frame = json.dumps({"jsonrpc": "2.0", "id": self._id, "method": method, "params": body}).encode()
        version = self.version if self.modern else ""
        out = Outgoing(frame, "request", self._id, method, target, version, self.modern, (), body)
        self.tap.expect(out, follows)
        self.tap.sent(frame, exchange)
        return self.rules()

    def tell(self, method: str, exchange: int = 0) -> None:
        """Send a notification."""
        frame = json.dumps({"jsonrpc": "2.0", "method": method}).encode()
        self.tap.expect(Outgoing(frame, "notification", None, method, "", self.version, self.modern))
        self.tap.sent(frame, exchange)

    def write(self, frame: bytes) -> list[str]:
        """Send what somebody has written by hand."""
        self.tap.sent(frame)
        return self.rules()

    def hear(self, message: Any, exchange: int = 0) -> list[str]:
        """A message comes in: JSON as bytes, or a value; the rules that it breaks."""
        frame = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.tap.received(frame, exchange)
        entry = self.newest
        self.tap.understood(parse(frame))
        rules = {finding.rule for finding in entry.findings}
        if self.close:
            job = Job(entry.direction, entry.kind, entry.method, self.ledger.version_at(entry.number), entry.body)
            rules |= {spot.rule for spot in check(job)}
        return sorted(rules)

    def answer(self, result: Any, *, id: Any = None, exchange: int = 0) -> list[str]:
        """The newest request is answered; in the stateless era with a resultType."""
        if self.modern and isinstance(result, dict) and "resultType" not in result:
            result = {"resultType": "complete", **result}
        identity = self._id if id is None else id
        return self.hear({"jsonrpc": "2.0", "id": identity, "result": result}, exchange)

    def called(self, method: str, result: Any, params: Mapping[str, Any] | None = None) -> list[str]:
        """Ask, and be answered."""
        self.ask(method, params)
        return self.answer(result)

    def fail(self, code: Any, exchange: int = 0) -> list[str]:
        """The newest request is refused."""
        error = {"code": code, "message": "m"}
        return self.hear({"jsonrpc": "2.0", "id": self._id, "error": error}, exchange)

    def notice(self, method: str, **params: Any) -> list[str]:
        """A notification comes in."""
        return self.hear({"jsonrpc": "2.0", "method": method, "params": params})

    def asked(self, method: str, id: Any = "q", **params: Any) -> list[str]:
        """A request comes in."""
        return self.hear({"jsonrpc": "2.0", "id": id, "method": method, "params": params})

    def post(self, exchange: int, *headers: tuple[str, str]) -> None:
        """An HTTP request head goes out."""
        self.tap.http_request(HttpRequest(exchange, "POST", "http://h/mcp", headers))

    def status(self, exchange: int, status: int, *headers: tuple[str, str]) -> list[str]:
        """An HTTP response head comes in; the rules that it breaks."""
        self.tap.http_response(HttpResponse(exchange, status, "", headers))
        return self.rules()

    def rules(self) -> list[str]:
        """The rules that the newest message breaks."""
        return sorted({finding.rule for finding in self.newest.findings})

    def found(self, rule: str) -> Finding:
        """The first finding of a rule."""
        return next(one for entry in self.store for one in entry.findings if one.rule == rule)


def text(*more: Any, **members: Any) -> dict[str, Any]:
    """A tool result of one text."""
    return {"content": [{"type": "text", "text": "x"}, *more], **members}


def tool(**members: Any) -> dict[str, Any]:
    """A list of one tool."""
    return {"tools": [{"name": "t", "inputSchema": {"type": "object"}, **members}]}
