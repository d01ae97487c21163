"""One server's side of the trace: records what the transport passes, and what the protocol makes of it."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import mapping
from mcp_studio.limits import DEFAULT, Limits
from mcp_studio.protocol.events import Outgoing, RequestId
from mcp_studio.protocol.message import Failure, Message, Notification, Parsed, Request, Response, parse, tool_failed
from mcp_studio.protocol.versions import META_VERSION, NAMED, URL_ELICITATION_REQUIRED, Params, continued
from mcp_studio.redact import Redactor
from mcp_studio.safetext import safe
from mcp_studio.trace.lint.ledger import Ledger
from mcp_studio.trace.lint.linter import Linter
from mcp_studio.trace.lint.rules import weight
from mcp_studio.trace.message import GREETINGS, LISTEN, MessageKind, Span, WireMessage
from mcp_studio.trace.store import TraceStore
from mcp_studio.transport.base import Headers, HttpRequest, HttpResponse

_KINDS: dict[type, MessageKind] = {Request: "request", Response: "result", Failure: "error"}


def describe(entry: WireMessage, message: Message, label: Callable[[str], str]) -> None:
    """Set kind, method, target and id of an entry from its message. `label` redacts foreign text."""
    if isinstance(message, (Request, Notification)):
        entry.kind, entry.method = "notification", label(message.method)
        subject = message.params.get(NAMED.get(message.method, ""))
        entry.target = label(subject) if isinstance(subject, str) else ""
    if isinstance(message, (Request, Response, Failure)):
        entry.kind, entry.id = _KINDS[type(message)], clean_id(message.id, label)


def clean_id(identity: RequestId | None, label: Callable[[str], str]) -> RequestId | None:
    """An id without secrets; small numbers, as most ids are, cannot be secret."""
    if identity is None or (isinstance(identity, int) and -100_000 < identity < 100_000):
        return identity
    text = label(str(identity))
    return identity if text == str(identity) else text


_CALLS = frozenset(("tools/call", "prompts/get", "resources/read", "tasks/result", "tasks/get", "completion/complete"))
"""Requests during which servers ask something."""
_REMEMBERED = 500
"""The ended requests that are remembered."""
_ASKED = 1_000
"""The open requests of the server that are remembered."""
_LABEL, _LINE = 1_000, 65_536
_STDERR = 200
"""The lines of standard error that are kept."""


def _remember(known: OrderedDict[RequestId, Any], key: RequestId, value: Any, most: int = _REMEMBERED) -> None:
    """Add a value as the last one; beyond `most` the first one is dropped."""
    known[key] = value
    if len(known) > most:
        known.popitem(last=False)


def outgoing(frame: bytes, message: Message) -> Outgoing | None:
    """The outgoing message that a client makes of a frame; None where it is not a message."""
    if isinstance(message, Request):
        version = mapping(message.params.get("_meta")).get(META_VERSION)
        subject = message.params.get(NAMED.get(message.method, ""))
        target, version = (text if isinstance(text, str) else "" for text in (subject, version))
        method, known = message.method[:_LABEL], bool(version)
        return Outgoing(frame, "request", message.id, method, target[:_LABEL], version, known, params=message.params)
    if isinstance(message, Notification):
        return Outgoing(frame, "notification", None, message.method[:_LABEL])
    return Outgoing(frame, "response", message.id) if isinstance(message, (Response, Failure)) else None


class Rounds:
    """The newest ended requests of one connection, for later rounds, and the parents of requests.

    Args:
        entry: returns an entry by its number.
    """

    def __init__(self, entry: Callable[[int], WireMessage | None]) -> None:
        self._entry = entry
        self._over: OrderedDict[RequestId, tuple[Span, bool]] = OrderedDict()
        """The spans, each with whether its answer asks for input, so that another round follows."""
        self._follows: dict[RequestId, RequestId] = {}
        self._under: dict[RequestId, Span] = {}
        self._greeting: Span | None = None

    def begins(self, again: bool) -> None:
        """Prepare for another connection; `again` after a failed attempt."""
        if not again:
            self._greeting = None

    def expect(self, identity: RequestId | None, follows: RequestId | None, under: int = 0) -> None:
        """Announce that the request with this id follows another one: as its next round or as a retry.

        Without `follows`, `under` is the number of the request that it is sent for.
        """
        if identity is not None and follows is not None:
            self._follows[identity] = follows
        elif identity is not None and under:
            if (entry := self._entry(under)) is not None and entry.span is not None:
                self._under[identity] = entry.span

    def opened(self, identity: RequestId, span: Span) -> bool:
        """Link a new request to its earlier round or to its parent; returns whether there is one."""
        if (follows := self._follows.pop(identity, None)) is not None:
            earlier, asks = self._over.get(follows, (None, False))
            if earlier is not None and asks:
                span.follows, span.round = earlier, earlier.round + 1
                self._over[follows] = earlier, False
            else:
                span.parent = earlier
        elif (above := self._under.pop(identity, None)) is not None:
            span.parent = above
        elif span.method in GREETINGS:
            first = span.parent = self._greeting
            self._greeting = first or span
            if first is not None and first.outcome == "open":  # this belongs to finding the era
                span.request.probe |= first.request.probe
        return span.follows is not None or span.parent is not None

    def close(self, identity: RequestId, span: Span, message: Response | Failure | None = None) -> None:
        """Record that a request was answered by this message, or that nobody waits for its answer any more."""
        asks = False
        if isinstance(message, Failure):
            asks = message.code == URL_ELICITATION_REQUIRED
        elif message is not None and isinstance(message.result, dict):
            asks = cast("dict[str, object]", message.result).get("resultType") == "input_required"
        span.needs_input = asks
        _remember(self._over, identity, (span, asks))

    def get(self, identity: RequestId) -> Span | None:
        """The span of a recently ended request, or None."""
        return self._over.get(identity, (None, False))[0]

    def clear(self) -> None:
        """Forget everything, because the connection has ended."""
        for known in (self._over, self._follows, self._under):
            known.clear()


def asker(open: Collection[Span], exchange: int) -> Span | None:
    """The open request of ours for which a server asks something, as far as it can be known.

    Over HTTP it is the request on whose exchange the question came; otherwise the newest call, or the newest request.
    """
    newest: Span | None = None
    for span in reversed(tuple(open)):
        if exchange and span.request.exchange == exchange:
            return span
        if newest is None or (newest.method not in _CALLS and span.method in _CALLS):
            newest = span
    return newest


def beginning(data: bytes, width: int) -> str:
    """The beginning of a text, at least `width` characters without its indentation."""
    return data[: 4 * width + 200].decode("utf-8", "replace").strip().rstrip("\ufffd")


_GAP = b"\n\n"
_KEPT = 64 * 1024
"""Bytes of a body that are kept: a sign-in needs much less, and redaction takes time."""
_BEYOND = 4 * 1024


class HttpEntry(NamedTuple):
    """An HTTP message in the form of a trace's entry."""

    line: str
    """The request line or status line."""
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str:
        """The value of a header, by its lower-case name; empty where it is missing."""
        return next((value for key, value in self.headers if key.lower() == name), "")


def read(text: bytes) -> HttpEntry:
    """Split an entry's text into its parts."""
    head, _, body = text.partition(_GAP)
    first, *rest = head.decode("utf-8", "surrogateescape").split("\n")
    return HttpEntry(first, [(name, value) for name, _, value in (line.partition(": ") for line in rest)], body)


def redacted(text: bytes, redactor: Redactor) -> bytes:
    """Redact an entry once more before export: address, headers and body each have their own rules."""
    entry = read(text)
    return http_text(redactor.url(entry.line), entry.headers, entry.body, redactor)


def http_text(first: str, headers: Headers, body: bytes, redactor: Redactor) -> bytes:
    """The text of an entry: the first line, the headers, and the body."""
    lines = (f"{name}: {value}" for name, value in redactor.headers(headers))
    head = "\n".join((first, *lines)).encode("utf-8", "replace").replace(_GAP, b"\n")
    if not body:
        return head
    kind = next((value for name, value in headers if name.lower() == "content-type"), "")
    if len(body) <= _KEPT + _BEYOND:
        return head + _GAP + redactor.body(kind, body)
    # The cut may leave an unrecognizable part of a secret at the end, so more bytes are redacted and then dropped.
    clean = redactor.body(kind, body[: _KEPT + _BEYOND])[:-_BEYOND]
    return head + _GAP + clean + b"\n... %d bytes more" % (len(body) - _KEPT)


E = TypeVar("E", bound=StudioError)


class ServerTap:
    """Implements `transport.base.Tap` for one server; findings go to `ledger`, by default the server's."""

    def __init__(
        self,
        store: TraceStore,
        redactor: Redactor,
        server: str,
        limits: Limits = DEFAULT,
        *,
        ledger: Ledger | None = None,
    ) -> None:
        self.store = store
        self._redactor = redactor
        self.server = server
        self._announced: dict[bytes, Outgoing] = {}
        self._by_hand: dict[bytes, tuple[Parsed, Callable[[WireMessage], None]]] = {}
        self._open: dict[RequestId, Span] = {}
        self._questions: OrderedDict[RequestId, Span] = OrderedDict()
        self._last: WireMessage | None = None
        self.newest: WireMessage | None = None
        """The newest frame."""
        self._beginning = b""
        self.plain = False
        """Whether the newest frame contains neither secrets nor escape sequences."""
        self._rounds = Rounds(store.entry)
        self._lint = Linter(ledger or store.ledger(server), redactor.text, store.judged)
        self.stderr_lines: deque[str] = deque(maxlen=_STDERR)
        """The newest lines, oldest first; together within the limit."""
        self._stderr_width = limits.stderr // _STDERR
        self.stray_lines: list[str] = []
        self.stray_count = 0
        self._stray_kept = limits.stray
        self.on_stray: Callable[[str], None] = lambda line: None  # called with each stray line that is kept

    # ------------------------------------------------------------------ called by the transport

    def sent(self, frame: bytes, exchange: int = 0) -> None:
        """Record an outgoing frame."""
        out = self._announced.pop(frame, None)
        if out is None:
            self._sent_by_hand(self.store.add(self.server, "out", "invalid", frame, exchange=exchange), frame)
            return
        kind: MessageKind = "error" if out.kind == "response" else out.kind
        if kind == "error" and not isinstance(parse(frame).messages[0], Failure):
            kind = "result"
        entry = self.store.add(
            self.server, "out", kind, frame, out.method, out.target, out.id, exchange=exchange,
            probe=out.method == "server/discover",
        )  # fmt: skip
        if out.kind == "request" and out.id is not None:
            span = self._open[out.id] = self.store.opened(entry)
            if self._rounds.opened(out.id, span):
                self.store.revised(entry)
        elif out.kind == "response" and out.id is not None:
            self._settle(self._questions, out.id, entry)
        self._lint.sent(entry, out)

    def received(self, frame: bytes, exchange: int = 0) -> None:
        """Record an incoming frame; `understood` classifies it right afterwards."""
        if self._last is not None:
            self._leftover()
        self._last = self.store.add(self.server, "in", "invalid", frame, exchange=exchange)
        self._beginning = frame[:32]
        self.plain = self._last.held is frame and b"\\" not in frame
        if not frame.isascii():
            self._lint.received(self._last, frame)

    def http_request(self, request: HttpRequest) -> None:
        """Record an HTTP request without secrets; the lint ignores requests of the sign-in, which have a purpose."""
        first = f"{request.method} {self._redactor.url(request.url)}"
        text = http_text(first, request.headers, request.body, self._redactor)
        self.store.add(self.server, "out", "http", text, request.method, request.purpose, exchange=request.exchange)
        if not request.purpose:
            self._lint.http_request(request)

    def http_response(self, response: HttpResponse) -> None:
        """Record an HTTP response, or why there was none."""
        first = f"{response.status} {response.reason}".rstrip() if response.status else f"failed: {response.error}"
        text = http_text(self.clean(first), response.headers, response.body, self._redactor)
        line = text.split(b"\n", 1)[0].decode("utf-8", "replace")[:80]
        entry = self.store.add(self.server, "in", "http", text, line, response.purpose, exchange=response.exchange)
        self._lint.http_response(entry, response)

    def stray(self, line: bytes) -> None:
        """Record a stray line on standard output."""
        self.stray_count += 1
        self.store.wronged.emit(self.server)
        self.newest = self.store.add(self.server, "in", "stray", line)
        self._lint.stray(self.newest)
        if len(self.stray_lines) < self._stray_kept:
            text = safe(self._redactor.text(line[:_LINE].decode("utf-8", "replace")), 500)
            self.stray_lines.append(text)
            self.on_stray(text)

    def stderr(self, line: bytes) -> None:
        """Record a line of standard error."""
        self.stderr_lines.append(self._redactor.text(line.decode("utf-8", "replace"))[: self._stderr_width])
        self.store.add(self.server, "in", "stderr", line)

    def note(self, text: str, method: str = "", target: str = "") -> None:
        """Record a lifecycle event; see `transport.base.Tap.note`."""
        self.store.add(self.server, "none", "note", text.encode("utf-8", "replace"), method, target)

    # ------------------------------------------------------------------ called by the session

    def begins(self, *, again: bool = False) -> None:
        """Prepare for another connection, `again` after a failed attempt: stray lines and findings count anew."""
        self._rounds.begins(again)
        self.stray_lines, self.stray_count = [], 0
        self._lint.begins(self.store.total + 1)

    def clean(self, text: str) -> str:
        return self._redactor.text(text)

    def cleaned(self, error: E) -> E:
        """Remove secrets from the words of an error, which may quote the server; returns the same error."""
        error.message, error.hint = self.clean(error.message), self.clean(error.hint)
        error.args = (error.message,)
        if (http := error.http) is not None:
            headers = self._redactor.headers(http.headers)
            error.http = http._replace(reason=self.clean(http.reason), headers=headers, body=self.clean(http.body))
        return error

    def expect(self, out: Outgoing, follows: RequestId | None = None, under: int = 0) -> None:
        """Announce a message: the next frame with the same bytes is this message.

        Args:
            out: the message.
            follows: the request that asked for the content of this one, or that this one repeats.
            under: the number of the request for which this one is sent.
        """
        self._announced[out.frame] = out
        if follows is not None or under:
            self._rounds.expect(out.id, follows, under)

    @property
    def unanswered(self) -> list[RequestId]:
        """The open requests of the client."""
        return list(self._open)

    def number_of(self, identity: RequestId | None) -> int:
        """The number of an open or recently answered request of ours; 0 where it is unknown."""
        span = None if identity is None else self._open.get(identity) or self._rounds.get(identity)
        return span.number if span else 0

    def continued(self, params: Params, follows: RequestId | None, under: int) -> Params:
        """The parameters of a request, in the trace context of the request that it follows or is sent for."""
        earlier = self.store.entry(self.number_of(follows) or under) if follows is not None or under else None
        return params if earlier is None else continued(params, earlier.body)

    def expect_by_hand(self, frame: bytes, parsed: Parsed, notify: Callable[[WireMessage], None]) -> None:
        """Announce a frame that a person wrote by hand; `notify` gets its entry."""
        self._by_hand[frame] = parsed, notify

    def _sent_by_hand(self, entry: WireMessage, frame: bytes) -> None:
        parsed, notify = self._by_hand.pop(frame, (Parsed(()), lambda entry: None))
        message = parsed.messages[0] if len(parsed.messages) == 1 else None
        entry.by_hand = True
        if message is not None:
            describe(entry, message, self._label)
        if isinstance(message, Request) and message.id not in self._open:
            self._open[message.id] = self.store.opened(entry)
        elif isinstance(message, (Response, Failure)) and message.id is not None:
            self._settle(self._questions, message.id, entry)
        self.store.revised(entry)
        self._lint.sent_by_hand(entry, frame, parsed)
        notify(entry)

    def understood(self, parsed: Parsed) -> None:
        """Record the messages of the newest frame."""
        entry, self._last = self._last, None
        self.newest = entry
        messages = parsed.messages
        if entry is None or not messages:
            return
        for message in messages:
            if message is messages[0] or isinstance(message, (Response, Failure)):
                describe(entry, message, self._label_of_plain if self.plain else self._label)
            if isinstance(message, Request) and message is messages[0]:
                parent = asker(self._open.values(), entry.exchange)
                _remember(self._questions, message.id, self.store.opened(entry, parent), _ASKED)
                self.store.revised(entry)
            elif isinstance(message, (Response, Failure)) and message.id is not None:
                if span := self._open.get(message.id):
                    self._rounds.close(message.id, span, message)
                self._settle(self._open, message.id, entry, tool_failed(message))
            else:
                self.store.revised(entry)
        self._lint.understood(entry, parsed)

    def judged(self, identity: RequestId | None, problems: Sequence[tuple[str, str]]) -> None:
        """Record the problems, by the tool's schema, of the structured content in an answer."""
        span = self._rounds.get(identity) if identity is not None else None
        if span is not None and span.response is not None:
            self._lint.judged(span.response, problems)

    def says(self, warning: str) -> bool:
        """Whether a finding on the newest frame repeats this warning of the session."""
        found = self.newest is not None and weight(self.newest.findings) > 1
        if found:
            self.store.ledger(self.server).cover(warning)
        return found

    @property
    def carrier(self) -> Span | None:
        """The request of ours on whose HTTP exchange the newest frame came, or None."""
        exchange = self.newest.exchange if self.newest is not None else 0
        return next((one for one in self._open.values() if exchange and one.request.exchange == exchange), None)

    def matched(self, identity: RequestId) -> Span | None:
        """Record that the newest frame answers a request although it differs in its id or is unreadable."""
        span = self._open.get(identity)
        if span is None:
            return self._rounds.get(identity)
        self._lint.settled(identity)
        if self.newest is None:
            self.gave_up(identity, lost=True)
        else:
            del self._open[identity]
            self.store.settled(span, self.newest, "ok" if self.newest.kind == "result" else "error")
        return span

    def person_asked(self) -> None:
        """Record that a person is asked to sign in: the duration of every open request contains their time."""
        for span in self._open.values():
            if not span.asked:
                span.asked = True
                self.store.revised(span.request)

    def withdrawn(self, identity: RequestId) -> None:
        """Record that the server withdrew a request of its own."""
        if span := self._questions.pop(identity, None):
            self.store.gave_up(span, "cancelled")

    def gave_up(self, identity: RequestId, lost: bool = False) -> None:
        """Record that nobody waits for a request any more."""
        self._lint.settled(identity)
        for frame in [one for one, out in self._announced.items() if out.kind == "request" and out.id == identity]:
            del self._announced[frame]  # given up before it was sent
        if span := self._open.pop(identity, None):
            lost = lost and span.method != LISTEN  # a subscription has no answer that could be lost
            self._rounds.close(identity, span)
            self.store.gave_up(span, "lost" if lost else "cancelled")

    def ended(self) -> None:
        """Record the end of the connection: open requests get no answer."""
        self._leftover()
        for identity in tuple(self._open):
            self.gave_up(identity, lost=True)
        for span in self._questions.values():
            self.store.gave_up(span, "lost")
        for table in (self._questions, self._announced, self._by_hand, self._rounds):
            table.clear()
        self._last = self.newest = None

    # ------------------------------------------------------------------ helpers

    def _leftover(self) -> None:
        if (entry := self._last) is not None:
            self._lint.leftover(entry, self._beginning)
            if not entry.exchange and entry.size <= _LINE:  # the frame came while the connection closed
                self.understood(parse(entry.body))

    def _settle(self, spans: dict[RequestId, Span], name: RequestId, entry: WireMessage, tool: bool = False) -> None:
        if span := spans.pop(name, None):
            self.store.settled(span, entry, "tool error" if tool else "error" if entry.kind == "error" else "ok")
            return
        if spans is self._open and (late := self._rounds.get(name)) is not None:
            entry.method, entry.target, entry.probe = late.method, late.target, late.request.probe
        self.store.revised(entry)

    def _label_of_plain(self, text: str) -> str:
        return text if len(text) <= _LABEL else self._label(text)

    def _label(self, text: str) -> str:
        """Redact and cut foreign text that is kept beside a body."""
        return self._redactor.text(text[:_LABEL]) if text else ""
