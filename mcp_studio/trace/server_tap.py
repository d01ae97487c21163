"""One server's end of the trace: takes what its transport sees, and later what the protocol made of it."""

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
    """Say on an entry what its frame is. `label` cleans foreign text."""
    if isinstance(message, (Request, Notification)):
        entry.kind, entry.method = "notification", label(message.method)
        subject = message.params.get(NAMED.get(message.method, ""))
        entry.target = label(subject) if isinstance(subject, str) else ""
    if isinstance(message, (Request, Response, Failure)):
        entry.kind, entry.id = _KINDS[type(message)], clean_id(message.id, label)


def clean_id(identity: RequestId | None, label: Callable[[str], str]) -> RequestId | None:
    """An id without secrets; the small numbers that most ids are cannot be any."""
    if identity is None or (isinstance(identity, int) and -100_000 < identity < 100_000):
        return identity
    text = label(str(identity))
    return identity if text == str(identity) else text


_CALLS = frozenset(("tools/call", "prompts/get", "resources/read", "tasks/result", "tasks/get", "completion/complete"))
"""Requests for which servers ask something."""
_REMEMBERED = 500
"""Requests that were answered or given up and are remembered."""
_ASKED = 1_000
"""Questions of the server that are remembered while they have no answer."""
_LABEL, _LINE = 1_000, 65_536
_STDERR = 200
"""Lines of standard error."""


def _remember(known: OrderedDict[RequestId, Any], key: RequestId, value: Any, most: int = _REMEMBERED) -> None:
    """Put it last; the first one goes where there are too many."""
    known[key] = value
    if len(known) > most:
        known.popitem(last=False)


def outgoing(frame: bytes, message: Message) -> Outgoing | None:
    """What a client says of its own frame when it sends it; None for what is no message."""
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
    """The newest requests of one connection that are over, for whoever comes back to them, and what is on whose behalf.

    Args:
        entry: finds an entry by its number.
    """

    def __init__(self, entry: Callable[[int], WireMessage | None]) -> None:
        self._entry = entry
        self._over: OrderedDict[RequestId, tuple[Span, bool]] = OrderedDict()
        """With each, whether the answer asks for input, so that another round follows."""
        self._follows: dict[RequestId, RequestId] = {}
        self._under: dict[RequestId, Span] = {}
        self._greeting: Span | None = None

    def begins(self, again: bool) -> None:
        """Another connection is about to be opened; `again` where the one before has failed."""
        if not again:
            self._greeting = None

    def expect(self, identity: RequestId | None, follows: RequestId | None, under: int = 0) -> None:
        """The request with this id will come after another: as its next round, or as the same once more.

        Or it is sent on behalf of the one with the number `under`.
        """
        if identity is not None and follows is not None:
            self._follows[identity] = follows
        elif identity is not None and under:
            if (entry := self._entry(under)) is not None and entry.span is not None:
                self._under[identity] = entry.span

    def opened(self, identity: RequestId, span: Span) -> bool:
        """A request goes out: link it to the round before, or to what it is sent for. Whether there is any."""
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
            if first is not None and first.outcome == "open":  # the probe is silent: this is part of finding the era
                span.request.probe |= first.request.probe
        return span.follows is not None or span.parent is not None

    def close(self, identity: RequestId, span: Span, message: Response | Failure | None = None) -> None:
        """A request is answered by this message, or nobody waits for its answer any more."""
        asks = False
        if isinstance(message, Failure):
            asks = message.code == URL_ELICITATION_REQUIRED
        elif message is not None and isinstance(message.result, dict):
            asks = cast("dict[str, object]", message.result).get("resultType") == "input_required"
        span.needs_input = asks
        _remember(self._over, identity, (span, asks))

    def get(self, identity: RequestId) -> Span | None:
        """The span of a request that has been over for not long."""
        return self._over.get(identity, (None, False))[0]

    def clear(self) -> None:
        """The connection is over."""
        for known in (self._over, self._follows, self._under):
            known.clear()


def asker(open: Collection[Span], exchange: int) -> Span | None:
    """For which of our open requests a server asks something, as far as can be known.

    Over HTTP it is the one on whose exchange the question came; else the newest call, or the newest of all.
    """
    newest: Span | None = None
    for span in reversed(tuple(open)):
        if exchange and span.request.exchange == exchange:
            return span
        if newest is None or (newest.method not in _CALLS and span.method in _CALLS):
            newest = span
    return newest


def beginning(data: bytes, width: int) -> str:
    """What text begins with, `width` characters of it at the least where it has them; indentation is left out."""
    return data[: 4 * width + 200].decode("utf-8", "replace").strip().rstrip("\ufffd")


_GAP = b"\n\n"
_KEPT = 64 * 1024
"""Bytes of a body: what signing in needs is much smaller, and looking for secrets takes its time."""
_BEYOND = 4 * 1024


class HttpEntry(NamedTuple):
    """One HTTP message as an entry of the trace has it."""

    line: str
    """The first line."""
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str:
        """A header's value, or nothing; named in lower case."""
        return next((value for key, value in self.headers if key.lower() == name), "")


def read(text: bytes) -> HttpEntry:
    """The parts of such an entry."""
    head, _, body = text.partition(_GAP)
    first, *rest = head.decode("utf-8", "surrogateescape").split("\n")
    return HttpEntry(first, [(name, value) for name, _, value in (line.partition(": ") for line in rest)], body)


def redacted(text: bytes, redactor: Redactor) -> bytes:
    """The same once more, for what leaves the trace: address, headers and body each have their own rules."""
    entry = read(text)
    return http_text(redactor.url(entry.line), entry.headers, entry.body, redactor)


def http_text(first: str, headers: Headers, body: bytes, redactor: Redactor) -> bytes:
    """The first line, the headers, and the body."""
    lines = (f"{name}: {value}" for name, value in redactor.headers(headers))
    head = "\n".join((first, *lines)).encode("utf-8", "replace").replace(_GAP, b"\n")
    if not body:
        return head
    kind = next((value for name, value in headers if name.lower() == "content-type"), "")
    if len(body) <= _KEPT + _BEYOND:
        return head + _GAP + redactor.body(kind, body)
    # What the cut leaves of a secret cannot be known for one: it goes with the end.
    clean = redactor.body(kind, body[: _KEPT + _BEYOND])[:-_BEYOND]
    return head + _GAP + clean + b"\n... %d bytes more" % (len(body) - _KEPT)


E = TypeVar("E", bound=StudioError)


class ServerTap:
    """Implements `transport.base.Tap` for one server; findings are counted in `ledger`, else with the server's."""

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
        self._coming: dict[bytes, Outgoing] = {}
        self._by_hand: dict[bytes, tuple[Parsed, Callable[[WireMessage], None]]] = {}
        self._open: dict[RequestId, Span] = {}
        self._asked: OrderedDict[RequestId, Span] = OrderedDict()
        self._last: WireMessage | None = None
        self.newest: WireMessage | None = None
        """The frame that is being understood, or was last."""
        self._beginning = b""
        self.plain = False
        """The frame that came last has no secret in it, and no character that is written with an escape."""
        self._rounds = Rounds(store.entry)
        self._lint = Linter(ledger or store.ledger(server), redactor.text, store.judged)
        self.stderr_lines: deque[str] = deque(maxlen=_STDERR)
        """The newest lines, the oldest of them first; all together as long as the limit says."""
        self._stderr_width = limits.stderr // _STDERR
        self.stray_lines: list[str] = []
        self.stray_count = 0
        self._stray_kept = limits.stray
        self.on_stray: Callable[[str], None] = lambda line: None  # told each stray line that is kept

    # ------------------------------------------------------------------ told by the transport

    def sent(self, frame: bytes, exchange: int = 0) -> None:
        """A frame goes out."""
        out = self._coming.pop(frame, None)
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
            self._answered(self._asked, out.id, entry)
        self._lint.sent(entry, out)

    def received(self, frame: bytes, exchange: int = 0) -> None:
        """A frame came in; `understood` sorts it right after."""
        if self._last is not None:
            self._leftover()
        self._last = self.store.add(self.server, "in", "invalid", frame, exchange=exchange)
        self._beginning = frame[:32]
        self.plain = self._last.held is frame and b"\\" not in frame
        if not frame.isascii():
            self._lint.received(self._last, frame)

    def http_request(self, request: HttpRequest) -> None:
        """An HTTP request, secrets redacted; one of signing in says what it is for, and is nothing for the lint."""
        first = f"{request.method} {self._redactor.url(request.url)}"
        text = http_text(first, request.headers, request.body, self._redactor)
        self.store.add(self.server, "out", "http", text, request.method, request.purpose, exchange=request.exchange)
        if not request.purpose:
            self._lint.http_request(request)

    def http_response(self, response: HttpResponse) -> None:
        """An HTTP response, or why there was none."""
        first = f"{response.status} {response.reason}".rstrip() if response.status else f"failed: {response.error}"
        text = http_text(self.clean(first), response.headers, response.body, self._redactor)
        line = text.split(b"\n", 1)[0].decode("utf-8", "replace")[:80]
        entry = self.store.add(self.server, "in", "http", text, line, response.purpose, exchange=response.exchange)
        self._lint.http_response(entry, response)

    def stray(self, line: bytes) -> None:
        """A stray line on standard output."""
        self.stray_count += 1
        self.store.wronged.emit(self.server)
        self.newest = self.store.add(self.server, "in", "stray", line)
        self._lint.stray(self.newest)
        if len(self.stray_lines) < self._stray_kept:
            text = safe(self._redactor.text(line[:_LINE].decode("utf-8", "replace")), 500)
            self.stray_lines.append(text)
            self.on_stray(text)

    def stderr(self, line: bytes) -> None:
        """A line of standard error."""
        self.stderr_lines.append(self._redactor.text(line.decode("utf-8", "replace"))[: self._stderr_width])
        self.store.add(self.server, "in", "stderr", line)

    def note(self, text: str) -> None:
        """A lifecycle event."""
        self.store.add(self.server, "none", "note", text.encode("utf-8", "replace"))

    # ------------------------------------------------------------------ told by the session

    def begins(self, *, again: bool = False) -> None:
        """Another connection is about to be opened, after one that failed `again`: what was printed counts anew."""
        self._rounds.begins(again)
        self.stray_lines, self.stray_count = [], 0
        self._lint.begins(self.store.total + 1)

    def clean(self, text: str) -> str:
        """The text without secrets."""
        return self._redactor.text(text)

    def cleaned(self, error: E) -> E:
        """The same error with secrets taken out of its words, which may quote the server."""
        error.message, error.hint = self.clean(error.message), self.clean(error.hint)
        error.args = (error.message,)
        if (http := error.http) is not None:
            headers = self._redactor.headers(http.headers)
            error.http = http._replace(reason=self.clean(http.reason), headers=headers, body=self.clean(http.body))
        return error

    def expect(self, out: Outgoing, follows: RequestId | None = None, under: int = 0) -> None:
        """This message is about to be sent: the next frame with the same bytes is it.

        Args:
            out: the message.
            follows: the request that asked for what this one brings, or that is sent once more.
            under: the number of the request on behalf of which this one is sent.
        """
        self._coming[out.frame] = out
        if follows is not None or under:
            self._rounds.expect(out.id, follows, under)

    @property
    def unanswered(self) -> list[RequestId]:
        """Requests of the client that have no answer yet."""
        return list(self._open)

    def number_of(self, identity: RequestId | None) -> int:
        """Where a request of ours stands that is open, or was answered not long ago; 0 where it is not known."""
        span = None if identity is None else self._open.get(identity) or self._rounds.get(identity)
        return span.number if span else 0

    def continued(self, params: Params, follows: RequestId | None, under: int) -> Params:
        """The parameters of a request, in the trace context of the one that it goes on with."""
        earlier = self.store.entry(self.number_of(follows) or under) if follows is not None or under else None
        return params if earlier is None else continued(params, earlier.body)

    def expect_by_hand(self, frame: bytes, parsed: Parsed, told: Callable[[WireMessage], None]) -> None:
        """The next frame with these bytes was written by hand; `told` gets its entry."""
        self._by_hand[frame] = parsed, told

    def _sent_by_hand(self, entry: WireMessage, frame: bytes) -> None:
        parsed, told = self._by_hand.pop(frame, (Parsed(()), lambda entry: None))
        message = parsed.messages[0] if len(parsed.messages) == 1 else None
        entry.by_hand = True
        if message is not None:
            describe(entry, message, self._label)
        if isinstance(message, Request) and message.id not in self._open:
            self._open[message.id] = self.store.opened(entry)
        elif isinstance(message, (Response, Failure)) and message.id is not None:
            self._answered(self._asked, message.id, entry)
        self.store.revised(entry)
        self._lint.sent_by_hand(entry, frame, parsed)
        told(entry)

    def understood(self, parsed: Parsed) -> None:
        """What the frame that was received last turned out to be."""
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
                _remember(self._asked, message.id, self.store.opened(entry, parent), _ASKED)
                self.store.revised(entry)
            elif isinstance(message, (Response, Failure)) and message.id is not None:
                if span := self._open.get(message.id):
                    self._rounds.close(message.id, span, message)
                self._answered(self._open, message.id, entry, tool_failed(message))
            else:
                self.store.revised(entry)
        self._lint.understood(entry, parsed)

    def judged(self, identity: RequestId | None, problems: Sequence[tuple[str, str]]) -> None:
        """What is wrong, by the tool's schema, with the structured content that answers a request."""
        span = self._rounds.get(identity) if identity is not None else None
        if span is not None and span.response is not None:
            self._lint.judged(span.response, problems)

    def says(self, warning: str) -> bool:
        """Whether a finding on the newest frame says already what this warning about it says."""
        found = self.newest is not None and weight(self.newest.findings) > 1
        if found:
            self.store.ledger(self.server).cover(warning)
        return found

    @property
    def carrier(self) -> Span | None:
        """The request of ours on whose HTTP exchange that frame came, where there is one."""
        exchange = self.newest.exchange if self.newest is not None else 0
        return next((one for one in self._open.values() if exchange and one.request.exchange == exchange), None)

    def matched(self, identity: RequestId) -> Span | None:
        """The newest frame answers this request, though its id may not be quite the same, or it cannot be read."""
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
        """A person is asked to sign in: their time is in that of every request of ours that is open."""
        for span in self._open.values():
            if not span.asked:
                span.asked = True
                self.store.revised(span.request)

    def withdrawn(self, identity: RequestId) -> None:
        """The server no longer wants an answer to what it asked."""
        if span := self._asked.pop(identity, None):
            self.store.gave_up(span, "cancelled")

    def gave_up(self, identity: RequestId, lost: bool = False) -> None:
        """Nobody waits for this request any more."""
        self._lint.settled(identity)
        for frame in [one for one, out in self._coming.items() if out.kind == "request" and out.id == identity]:
            del self._coming[frame]  # given up before it left
        if span := self._open.pop(identity, None):
            lost = lost and span.method != LISTEN  # a subscription has no answer to lose
            self._rounds.close(identity, span)
            self.store.gave_up(span, "lost" if lost else "cancelled")

    def ended(self) -> None:
        """The connection is over: what is open stays without an answer."""
        self._leftover()
        for identity in tuple(self._open):
            self.gave_up(identity, lost=True)
        for span in self._asked.values():
            self.store.gave_up(span, "lost")
        for kept in (self._asked, self._coming, self._by_hand, self._rounds):
            kept.clear()
        self._last = self.newest = None

    # ------------------------------------------------------------------ helpers

    def _leftover(self) -> None:
        if (entry := self._last) is not None:
            self._lint.leftover(entry, self._beginning)
            if not entry.exchange and entry.size <= _LINE:  # it came while the connection was being closed
                self.understood(parse(entry.body))

    def _answered(self, spans: dict[RequestId, Span], name: RequestId, entry: WireMessage, tool: bool = False) -> None:
        if span := spans.pop(name, None):
            self.store.settled(span, entry, "tool error" if tool else "error" if entry.kind == "error" else "ok")
            return
        if spans is self._open and (late := self._rounds.get(name)) is not None:
            entry.method, entry.target, entry.probe = late.method, late.target, late.request.probe
        self.store.revised(entry)

    def _label_of_plain(self, text: str) -> str:
        return text if len(text) <= _LABEL else self._label(text)

    def _label(self, text: str) -> str:
        """Foreign text beside the body: short, and without secrets."""
        return self._redactor.text(text[:_LABEL]) if text else ""
