"""The rules of the lint, and findings: the problems of a message by these rules."""

import json
from typing import Literal, NamedTuple

from mcp_studio.jsontext import Json, items_of, mapping

Severity = Literal["error", "warning", "hint"]
"""`error`: the specification forbids it. `warning`: it should be avoided. `hint`: allowed, but worth a look."""
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "hint")
"""Worst first."""
_FINDINGS, _LONGEST = 200, 4_000
"""The most findings of one message that are read from a file, and the characters of each text."""


class Finding(NamedTuple):
    """One problem of a message."""

    severity: Severity
    rule: str
    """The id of the rule, such as `orphan-response`."""
    text: str
    """A sentence, which may quote foreign text: redacted, but not sanitized."""
    section: str
    """The page and heading of the specification, such as `server/tools#output-schema`."""
    pointer: str = ""
    """A JSON pointer into the message; empty for the whole message."""
    number: int = 0
    """The number of the message in the trace."""


class Spot(NamedTuple):
    """The observation of a rule in a message, which `found` turns into a finding."""

    rule: str
    text: str
    pointer: str = ""
    section: str = ""
    """The section of the specification, where the rule's own is not precise enough."""


def weight(findings: tuple[Finding, ...]) -> int:
    """The worst severity as a number: 1 hint, 2 warning, 3 error; 0 without findings."""
    return max((len(SEVERITIES) - SEVERITIES.index(finding.severity) for finding in findings), default=0)


def findings_to_json(findings: tuple[Finding, ...]) -> Json:
    """The findings of an entry, for storing."""
    return [[one.severity, one.rule, one.text, one.section, one.pointer] for one in findings]


def findings_from_json(value: Json, number: int) -> tuple[Finding, ...]:
    """The findings of an entry, from `findings_to_json` or an export; invalid ones are left out."""
    found: list[Finding] = []
    for item in items_of(value)[:_FINDINGS]:
        parts = [mapping(item).get(name) for name in Finding._fields[:5]] if isinstance(item, dict) else items_of(item)
        texts = [part[:_LONGEST] if isinstance(part, str) else "" for part in parts]
        if len(texts) == 5 and texts[0] in SEVERITIES:
            found.append(Finding(texts[0], texts[1], texts[2], texts[3], texts[4], number))
    return tuple(found)


class Rule(NamedTuple):
    """A rule of the lint."""

    severity: Severity
    section: str
    """The section in the handshake versions (2024-11-05 to 2025-11-25)."""
    modern: str
    """The section in the stateless versions (2026-07-28)."""
    about: str
    """The demand of the rule, in a few words."""


_STDIO = ("basic/transports#stdio", "basic/transports/stdio")
_POST = ("basic/transports#sending-messages-to-the-server", "basic/transports/streamable-http#sending-messages")
_HEADERS = ("basic/transports#protocol-version-header", "basic/transports/streamable-http#standard-request-headers")
_STATUS = (_POST[0], "basic/transports/streamable-http#protocol-version-header")
_SESSION = ("basic/transports#session-management", "basic/transports/streamable-http#backward-compatibility")
_PROGRESS = ("basic/utilities/progress", "basic/patterns/progress")
_NEGOTIATED = ("basic/lifecycle#capability-negotiation", "basic#meta")
_VERSION = ("basic/lifecycle#version-negotiation", "basic/versioning")
_LISTEN = "basic/patterns/subscriptions"
_MRTR = "basic/patterns/mrtr#inputrequiredresult"


def _rule(severity: Severity, sections: str | tuple[str, str], about: str) -> Rule:
    legacy, modern = (sections, sections) if isinstance(sections, str) else sections
    return Rule(severity, legacy, modern, about)


RULES: dict[str, Rule] = {
    # the frame
    "not-json": _rule("error", "basic#messages", "a message is JSON"),
    "too-deep": _rule("warning", "basic#messages", "a message is not nested deeper than its reader can follow"),
    "invalid-utf8": _rule("error", "basic/transports", "messages are encoded as UTF-8"),
    "byte-order-mark": _rule("warning", "basic/transports", "a message does not begin with a byte order mark"),
    "duplicate-key": _rule("warning", "basic#messages", "the keys of an object are different"),
    "stdout-noise": _rule("error", _STDIO, "standard output carries messages and nothing else"),
    "batch": _rule("error", "basic#messages", "batches exist in 2025-03-26 alone"),
    # the envelope
    "not-a-message": _rule("error", "basic#messages", "a message is a request, a notification or a response"),
    "jsonrpc-version": _rule("error", "basic#messages", 'every message says "jsonrpc": "2.0"'),
    "id-type": _rule("error", "basic#requests", "an id is a string or an integer, never null"),
    "id-long": _rule("warning", "basic#requests", "an id is short enough to be sent back"),
    "params-type": _rule("error", "basic#requests", "params is an object"),
    "method-type": _rule("error", "basic#requests", "method is a string"),
    "notification-id": _rule("error", "basic#notifications", "notifications have no id"),
    "result-and-error": _rule("error", "basic#responses", "a response has either a result or an error"),
    "result-object": _rule("error", "basic#responses", "a result is an object"),
    "error-object": _rule("error", ("basic#responses", "basic#error-responses"), "an error has a code and a message"),
    "error-code": _rule("error", ("basic#responses", "basic#error-codes"), "an error code is an integer"),
    "error-code-reserved": _rule("error", ("basic#responses", "basic#error-codes"), "reserved codes are left alone"),
    "error-code-legacy": _rule("hint", ("basic#responses", "basic#error-codes"), "new servers leave -32000 to -32019"),
    "unknown-member": _rule("hint", "basic#messages", "a message has the members of its kind only"),
    # which answer belongs to which request
    "orphan-response": _rule("error", "basic#responses", "a response answers a request that was sent"),
    "duplicate-response": _rule("error", "basic#responses", "a request is answered once"),
    "response-id-type": _rule("error", "basic#responses", "a response has the id of its request, of the same type"),
    "response-without-id": _rule("warning", "basic#responses", "a response names the request it answers"),
    "request-id-reused": _rule("error", "basic#requests", "a request id is not used twice"),
    # progress
    "progress-type": _rule("error", _PROGRESS, "token, progress and total have the right types"),
    "progress-without-token": _rule("error", _PROGRESS, "progress is told for tokens that were given"),
    "progress-after-end": _rule("error", _PROGRESS, "progress stops when the request is answered"),
    "progress-not-increasing": _rule("error", _PROGRESS, "progress increases with each notification"),
    "progress-beyond-total": _rule("hint", _PROGRESS, "progress stays within the total"),
    # what was declared
    "undeclared-notification": _rule("error", _NEGOTIATED, "a server sends what it declared"),
    "undeclared-request": _rule("error", _NEGOTIATED, "a server asks for what the client declared"),
    "undeclared-use": _rule("warning", _NEGOTIATED, "a client uses what the server declared"),
    "not-subscribed": _rule("warning", ("server/resources#subscriptions", _LISTEN), "updates are sent to subscribers"),
    "log-not-asked": _rule("error", "server/utilities/logging", "a modern server logs for requests that ask for it"),
    "log-level": _rule("error", "server/utilities/logging#log-levels", "a log message has one of the eight levels"),
    "subscription-id": _rule("error", _LISTEN, "notices of a subscription carry its id"),
    "subscription-ack": _rule("error", _LISTEN, "the acknowledgement comes before any notice"),
    "subscription-filter": _rule("error", _LISTEN, "only notices that were asked for are sent"),
    # the version
    "method-not-in-version": _rule("error", _VERSION, "a method belongs to the negotiated version"),
    "unknown-method": _rule("warning", _VERSION, "a method is one that the specification knows"),
    "unknown-notification": _rule("hint", _VERSION, "a notification is one that the specification knows"),
    "unknown-version": _rule("error", _VERSION, "the negotiated version is one that the client offered"),
    "server-request": _rule("error", _MRTR.split("#")[0], "servers send no requests in 2026-07-28"),
    # results
    "missing-field": _rule("error", "schema", "what is required is there"),
    "wrong-type": _rule("error", "schema", "values have the types of the schema"),
    "not-in-schema": _rule("error", "schema", "a message is valid by its version's schema"),
    "result-type": _rule("error", "basic#resulttype", "a result says its type, one that is known"),
    "cache-hints": _rule("error", "server/utilities/caching", "what can be cached says ttlMs and cacheScope"),
    "input-required": _rule("error", _MRTR, "input is asked for where that is allowed, and says what"),
    "cursor-type": _rule("error", "server/utilities/pagination", "a cursor is a string"),
    "tool-name": _rule("hint", ("server/tools#tool", "server/tools#tool-names"), "1 to 128 of A-Z a-z 0-9 _ - ."),
    "tool-schema": _rule("error", "server/tools#tool", "inputSchema is a JSON Schema of type object"),
    "output-schema": _rule("error", "server/tools#output-schema", "outputSchema is a JSON Schema"),
    "header-annotation": _rule("error", "server/tools#x-mcp-header", "x-mcp-header annotations are valid"),
    "duplicate-name": _rule("warning", ("server/tools#tool", "server/tools#tool-names"), "names are unique in a list"),
    "output-mismatch": _rule("error", "server/tools#output-schema", "structured content matches the outputSchema"),
    "structured-content": _rule("error", "server/tools#structured-content", "structured content is an object"),
    "structured-text": _rule("hint", "server/tools#structured-content", "structured content comes as text too"),
    "content-block": _rule("error", "server/tools#tool-result", "content blocks have a known type and its fields"),
    "completion-values": _rule("error", "server/utilities/completion", "at most 100 values, all strings"),
    "resource-uri": _rule("error", "server/resources#resource", "a URI has a scheme"),
    "icon-source": _rule("warning", ("basic#icons", "basic#icons"), "icons are https or data URIs"),
    "meta-key": _rule("hint", "basic#meta", "keys of _meta are named as the specification says"),
    "own-meta": _rule("error", "basic#meta", "our own requests say version and capabilities"),
    # HTTP
    "http-header-mismatch": _rule("error", _HEADERS, "headers say what the body says"),
    "http-content-type": _rule("error", _POST, "a request is answered with JSON or an event stream"),
    "http-accepted": _rule("error", _POST, "what needs no answer gets 202 without a body, a request never"),
    "http-session": _rule("error", _SESSION, "session ids are visible ASCII, and exist in the handshake era only"),
    "http-status": _rule("warning", _STATUS, "a status fits its error"),
    "sse-event": _rule("hint", _POST, "events of a stream are messages"),
}  # fmt: skip
"""Rules by id."""


def found(spot: Spot, number: int, modern: bool) -> Finding:
    """The finding for a rule's observation, with the section of one era."""
    rule = RULES[spot.rule]
    section = spot.section or (rule.modern if modern else rule.section)
    return Finding(rule.severity, spot.rule, spot.text, section, spot.pointer, number)


_KINDS = {dict: "an object", list: "an array", str: "a string", bool: "true or false", type(None): "null"}


def kind_of(value: Json) -> str:
    """The kind of a JSON value, with its article."""
    if isinstance(value, float):
        return "a fraction" if value % 1 else "a number with a point"
    return _KINDS.get(type(value), "a number")


def kind_in(members: dict[str, Json], name: str) -> str:
    """The kind of a member, or "missing"."""
    return kind_of(members[name]) if name in members else "missing"


def quoted(value: Json, most: int = 60) -> str:
    """A value as JSON, cut after `most` characters."""
    if isinstance(value, str):
        value = value[:most] + ("…" if len(value) > most else "")
        return json.dumps(value, ensure_ascii=False)
    return kind_of(value) if isinstance(value, (dict, list)) else json.dumps(value)[:most]


def escaped(step: str) -> str:
    """One step of a JSON pointer (RFC 6901), cut."""
    return step[:80].replace("~", "~0").replace("/", "~1")
