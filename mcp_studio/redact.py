"""The redactor: every sink that stores or shows what crossed the wire sends it through here first.

It knows secrets in three ways: values it was told (`learn`), names whose values are secret (`password`, `api_key`,
`Authorization` …), and shapes that only tokens have (`ghp_…`, JWT …).

Finding is in two steps, so that a frame without secrets costs a few microseconds per KB and any frame linear time: one
regular expression looks for anchors in the lower-cased bytes, and only around an anchor is looked closely. The anchors
start with rare letters (`ken` for token, `cret` for secret): the search engine stops at every possible first letter.
"""

from __future__ import annotations

import binascii
import re
import threading
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from itertools import chain
from json.encoder import encode_basestring, encode_basestring_ascii
from urllib.parse import quote, quote_plus, unquote_plus

from mcp_studio.jsontext import LARGE, SLICE, matcher

MARK = "‹redacted›"
"""What stands in the place of a secret."""
SHORTEST = 6
"""Told secrets with fewer characters are not looked for: they would be found everywhere."""
_BEGINNING = 48
"""Characters of a long token that are looked for; what follows them in a text goes with them."""
_TOKEN = re.compile(r"[\w.~+/=-]+", re.ASCII)
_FEW = 24
"""Secrets of one series that are known: some renewals of a sign-in, each with two or three tokens."""

Literal = tuple[bytes, bool]
"""What is looked for, and whether that is only the beginning of a long one."""


def _literals(secret: str) -> Iterator[Literal]:
    for value in (secret, *secret.splitlines()):
        value = value.strip()
        if len(value) > _BEGINNING and _TOKEN.fullmatch(value):
            yield from ((one, True) for one in forms(value[:_BEGINNING]))
        elif len(value) >= SHORTEST:
            yield from ((one, False) for one in forms(value))


def forms(secret: str) -> Iterator[bytes]:
    """As it is, escaped as in JSON, quoted as in URLs by whoever quotes, and as base64 wherever it begins there."""
    raw = secret.encode("utf-8", "surrogatepass")
    yield raw
    json = encode_basestring(secret)[1:-1]
    ascii_json = encode_basestring_ascii(secret)[1:-1]
    inner_json = (encode_basestring(text)[1:-1] for text in (json, ascii_json))
    html_safe = json.translate({ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&"})
    for text in (json, ascii_json, *inner_json, json.replace("/", "\\/"), html_safe):
        yield text.encode("utf-8", "surrogatepass")
    for safe in ("", "/", "!'()*"):  # what is quoted depends on who quotes
        for quoted in (quote(raw, safe=safe), quote_plus(raw, safe=safe)):
            yield quoted.encode()
            yield re.sub("%..", lambda found: found[0].lower(), quoted).encode()
    yield quote(quote(raw, safe=""), safe="").encode()
    for shift in range(3):
        # Inside a longer text the secret starts at any of three positions of a base64 group; the outer groups vary.
        whole = binascii.b2a_base64(b"\0" * shift + raw, newline=False)
        inner = whole[(0, 2, 3)[shift] : len(whole) - (0, 3, 2)[(shift + len(raw)) % 3]]
        if shift == 0:
            yield whole
        if len(inner) >= SHORTEST:
            yield inner
            yield inner.translate(bytes.maketrans(b"+/", b"-_"))


_QUERY = frozenset(
    "key code sig signature auth state session ticket jwt assertion devicecode usercode clientassertion subjecttoken"
    " actortoken".split()
)
"""Secret as the name of a query parameter or of a field of a form, though not elsewhere."""
_SESSION = frozenset(("sessionid", "mcpsessionid"))
"""Whoever has one speaks in its session (specification 2025-06-18, basic/transports; HTTP+SSE has it in an address)."""
_SESSIONS = 10_000
"""Sessions that have a name each, so that a person sees which are the same."""
_ID = r"(?=\D*\d)[\x21-\x7e]{16,200}"
_MARKED = r"‹session [0-9]+›\Z"
_PAIR = r"([?&#;])([^=&#;?]+)=([^&#;]+)"
_FIELD = r"(\A|&)([^=&]+)=([^&]+)"
_USER = r"(?<=://)[^/?#@\s]*(?=@)"
_FORM_TYPE = "application/x-www-form-urlencoded"


@lru_cache(1_024)
def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", unquote_plus(name).lower())


_ENDINGS = tuple(
    "password passwd passphrase secret secrets token apikey accesskey privatekey secretkey signingkey encryptionkey "
    "authkey credential credentials authorization cookie codeverifier clientassertion".split()
)
_HARMLESS = re.compile(
    r"(?:progress|page|next|prev(?:ious)?|continuation|cursor|sync|resumption|start|end|stop|bos|eos|pad|unk|mask)token$"
)


def is_secret_name(name: str) -> bool:
    """Whether a variable, header, key or field of this name usually holds a secret."""
    plain = _plain(name)
    return plain.endswith(_ENDINGS) and not _HARMLESS.search(plain)


def is_reference(text: str) -> bool:
    """Whether a text only says where a secret is kept, such as `${TOKEN}` or `Bearer ${keyring:x}`; it need not be
    typed to its end. With a default it may be a secret itself.
    """
    return re.fullmatch(r"(?:[A-Za-z]+ )?\$\{(?:[A-Za-z]+:)?(?:\w[\w .-]*)?\}?", text) is not None


_MARK = MARK.encode()
_REACH = 120
"""How far from its anchor a name may begin."""
_BEHIND = 16
"""How far an anchor looks back."""
_ASSIGNS = (b"=", b"%3d", b"\\u003d")

_ANCHOR = re.compile(
    # Each alternative begins with a letter, so that the engine looks for those. What a name is followed by is part of
    # its anchor (`~`): else each `word` of a text would be looked at closely.
    rb"k(?:(?:(?<!progresstok)en|ey)~|ia[0-9a-z]{16}|-[\w-]{16})|c(?:ret|redential|ookie|lient_?assertion)~|w(?:or)?d~"
    rb"|z(?:ation~|a[\w-]{20})|b(?:earer |asic )|phrase~|verifier~|g(?:h[pousr]_|ithub_pat_|lpat-)"
    rb"|yj[\w-]{9}|/(?<=:/)/|-(?:----begin|(?<=xox[a-z]-))"
    # What follows `=` is looked at before what precedes it: most have no such letter before them.
    rb"|=(?<=[eghnty]=)(?:(?<=code=)|(?<=key=)|(?<=sig=)|(?<=signature=)|(?<=auth=)|(?<=state=)|(?<=session=)"
    rb"|(?<=ticket=)|(?<=jwt=)|(?<=assertion=))|%3d(?<=[eghnty]%3d)|\\u003d(?<=[eghnty]\\u003d)"
    .replace(b"~", rb"""(?=[\w.-]{0,80}+(?:(?:\\{0,80}+["'])?\s{0,20}+[:=]|%3[dD]|\\u003[dD]))""")
)  # fmt: skip
_NEAR = (
    # The same, with some more around it, for the engine of `matcher`.
    r"(?:ken|key|cret|redential|ookie|lient_?assertion|wo?r?d|zation|phrase|verifier)[\w.-]*(?:\\*[\"'])?\s*"
    r"(?:[:=]|%3d|\\u003d)|(?:code|key|sig|signature|auth|state|session|ticket|jwt|assertion)(?:=|%3d|\\u003d)"
    r"|kia[0-9a-z]{16}|k-[\w-]{16}|za[\w-]{20}|bearer |basic |gh[pousr]_|github_pat_|glpat-|yj[\w-]{9}|://"
    r"|-----begin|xox[a-z]-"
)
_TOKEN_REST = re.compile(rb"(?:(?!%26)[\w.~+/=%-]|\\{1,80}+(?:/|u00(?:2[bBdDeEfF]|3[dD])))*+")
"""The rest of one, as it is or escaped in a URL or JSON."""
_PARAMETER = re.compile(
    rb"(?i)(?:(?:[?#]|&(?:amp;)?|%(?:3f|26|23)|\\u0026)\w*"
    rb"(?:code|key|sig|signature|auth|state|session|ticket|jwt|assertion)"
    rb"|(?P<first_of_form>(?:\A|[\s\"']|\\[nrt])(?:code|assertion)))\Z"
)
_PARAMETER_VALUE = re.compile(
    # Not a short one or a word, as in `?state=closed`.
    rb"(?i)(?=[^\s&'\"#;,\\<>]{0,200}?[0-9]|[^\s&'\"#;,\\<>]{20})(?:(?!%26)[^\s&'\"#;,\\<>]){8,}+"
)
_BEFORE = re.compile(rb"[\w.-]*$")
_AFTER = re.compile(rb"""[\w.-]{0,80}+(?=(?:\\{0,80}+["'])?\s{0,20}+[:=]|%3[dD]|\\u003[dD])""")
_QUOTED = re.compile(rb"""(?:\\*["'])?\s*[:=]\s*(\\*)\"""")
_BARE = re.compile(
    rb"""=(?!=)(?:'([^'\n]+)|([^\s&'"#;,\\]+))|(?:%3[dD]|\\u003[dD])((?:(?!%26)[^\s&'"#;,\\])+)"""
    rb"""|:[ \t]*(?=\S{0,80}\d)([^\s&'"#;,\\{}\[\]]{8,})"""
)
_CUT = re.compile(rb"(?P<lead>(?<!\\)(?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?\Z")
_RUN = re.compile(rb"\\*\Z")
_CLOSING = re.compile(rb'(\\*)"')
_USERINFO = re.compile(rb'[^\s/?#@"\'\\<>]{1,400}+(?=@)')
_BEARER = re.compile(rb"(?i)bearer +(?!\w{1,40}=\\*\")(?=\S{0,80}[-0-9._~+/=])([\w.~+/=-]{6,})")  # no challenge
_BASIC = re.compile(rb"(?i)basic +([A-Za-z0-9+/]{4,}={0,2})")
_SHAPES = re.compile(
    # Not inside a word; but an escaped line end or tab of a JSON string may stand before it.
    rb"(?:(?<![\w-])|(?<=\\[nrt]))(?:sk-[\w-]{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}"
    rb"|xox[abeoprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"
    # A key ends where its text does: at the quote of a JSON string, which may stand in another one.
    rb"|-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:[^-\"\\]|\\++(?:[nrt/]|u[0-9a-fA-F]{4}))+)"
)


_Span = tuple[int, int]
"""Where a secret begins and ends."""


class Redactor:
    """Replaces what is secret by `‹redacted›`.

    `names` are further header or key names, or regular expressions over them (`redact` in the settings).

    Raises:
        re.error: one of `names` is not a regular expression.
    """

    def __init__(self, names: Collection[str] = ()) -> None:
        self._told: dict[tuple[str, str], tuple[Literal, ...]] = {}
        self._literals: tuple[Literal, ...] = ()
        self._guard = threading.Lock()
        self._sessions: dict[str, int] = {}
        plain = [name for name in names if re.fullmatch(r"[\w.-]+", name)]
        patterns = [name.removeprefix("(?i)") for name in names if name not in plain]
        parts = [f"^{re.escape(name)}$" for name in plain] + [f"(?:{pattern})" for pattern in patterns]
        self._names = re.compile("|".join(parts), re.IGNORECASE) if parts else None
        anchors = [_ANCHOR.pattern, *(re.escape(name.lower().encode()) for name in plain)]
        if patterns:  # they give no anchor: then the last letter of every name is one
            anchors.append(rb'\w(?=(?:\\*")?\s?[:=])')
        self._anchor = re.compile(b"|".join(anchors))

    def learn(self, secret: str, series: str = "") -> None:
        """Redact this value from now on, also as base64, URL-quoted and JSON-escaped; too short ones are ignored.

        What is replaced again and again, as the tokens of a sign-in are, is a `series`: its newest values are known,
        and those from long ago forgotten. Whatever was recorded before was redacted then. From any thread.
        """
        scheme, _, rest = secret.strip().partition(" ")
        if scheme.lower() in ("bearer", "basic", "token") and rest:
            return self.learn(rest, series)
        literals = tuple(_literals(secret))
        with self._guard:
            self._told.pop((series, secret), None)
            self._told[series, secret] = literals
            known = [key for key in self._told if series and key[0] == series]
            for old in known[:-_FEW]:
                del self._told[old]
            self._literals = tuple(dict.fromkeys(chain.from_iterable(self._told.values())))

    def is_secret(self, name: str) -> bool:
        """Whether values of this header, key or variable are secret, by its looks or by the settings."""
        return is_secret_name(name) or bool(self._names and self._names.search(name))

    def bytes(self, data: bytes) -> bytes:
        """The same bytes with secrets replaced; JSON stays JSON, and bytes without secrets are the same object."""
        found = self._found(data) if len(data) > SLICE or self._anchor.search(data.lower()) else ()
        spans = sorted((*found, *(self._learned(data) if self._literals else ())))
        if not spans:
            return data
        parts: list[bytes] = []
        at = 0
        for start, end in spans:
            if start >= at:
                parts += (data[at:start], _MARK)
            at = max(at, end)
        return b"".join((*parts, data[at:]))

    def text(self, text: str) -> str:
        """The same text with secrets replaced."""
        data = text.encode("utf-8", "surrogatepass")
        clean = self.bytes(data)
        return text if clean is data else clean.decode("utf-8", "surrogatepass")

    def headers(self, headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        """Header lines with secret values replaced, sessions by names; what else of one can be read stays readable."""
        return tuple((name, self._header(name, value)) for name, value in headers)

    def _header(self, name: str, value: str) -> str:
        if _plain(name) in _SESSION:
            return self._session(value)
        if not self.is_secret(name) and name.lower() != "dpop":
            return self.url(value) if "://" in value else self.text(value)
        scheme, space, _ = value.partition(" ")
        return f"{scheme} {MARK}" if space and name.lower().endswith("authorization") else MARK

    def _session(self, session: str) -> str:
        """The name of a session: `‹session 2›`."""
        if re.match(_MARKED, session):
            return session
        if session not in self._sessions and len(self._sessions) < _SESSIONS:
            self._sessions[session] = len(self._sessions) + 1
            if re.fullmatch(_ID, session):
                self.learn(session, "sessions")  # servers repeat it in their errors
        number = self._sessions.get(session)
        return f"‹session {number}›" if number else MARK

    def url(self, url: str) -> str:
        """A URL without its user information and secret query values; sessions have names."""
        return self.text(re.sub(_PAIR, self._named, re.sub(_USER, MARK, url)))

    def body(self, media_type: str, body: bytes) -> bytes:
        """The body of an HTTP exchange that is no part of MCP: the fields of a form go by their names."""
        if media_type.split(";", 1)[0].strip().lower() == _FORM_TYPE:
            form = body.decode("utf-8", "surrogateescape")
            body = re.sub(_FIELD, self._named, form).encode("utf-8", "surrogateescape")
        return self.bytes(body)

    def _named(self, found: re.Match[str]) -> str:
        """A parameter of a URL or a field of a form, its value replaced where its name says so."""
        before, name, value = found.groups()
        if _plain(name) in _SESSION:
            value = self._session(value)
        elif _plain(name) in _QUERY or self.is_secret(unquote_plus(name)):
            value = MARK
        return f"{before}{name}={value}"

    def _learned(self, data: bytes) -> Iterator[_Span]:
        # One after the other: a regular expression of as many as tokens make in a day is slow to make and to search.
        for literal, begins in self._literals:
            start = data.find(literal)
            while start >= 0:
                end = start + len(literal)
                if begins and (rest := _TOKEN_REST.match(data, end)):
                    end = rest.end()
                yield _whole(data, start, end)
                start = data.find(literal, end)

    def _found(self, data: bytes) -> Iterator[_Span]:
        done = 0
        for start in range(0, len(data), SLICE):
            # Lower-cased a slice at a time: what is large is not held once more.
            since = max(0, start - _BEHIND)
            low = data[since : start + SLICE + 2 * _REACH].lower()
            if self._names is None and len(data) > LARGE and not matcher(_NEAR)(low.decode("latin-1")):
                continue
            for found in self._anchor.finditer(low, start - since):
                if since + found.end() <= done:
                    continue
                if span := self._secret_at(data, found[0], since + found.start()):
                    yield span
                    if found[0] != b"//":  # the value of a parameter may go on behind the user of an address
                        done = span[1]

    def _secret_at(self, data: bytes, word: bytes, start: int) -> _Span | None:
        """The secret value that an anchor at a place announces, if it does."""
        end = start + len(word)
        if word == b"//":
            return _span(_USERINFO.match(data, end))
        if word == b"bearer ":
            return _span(_BEARER.match(data, start), 1)
        if word == b"basic ":
            basic = _BASIC.match(data, start)
            return _span(basic, 1) if basic and _is_basic(basic[1]) else None
        if word in _ASSIGNS:
            return _parameter(data, start, end)
        for back in range(5):
            # An anchor may begin at the second to fifth letter of its shape (`AKIA`, `AIza`, `xoxb-`).
            if shape := _SHAPES.match(data, max(0, start - back)):
                return shape.span()
        return self._value_of_name(data, start, end)

    def _value_of_name(self, data: bytes, start: int, end: int) -> _Span | None:
        tail = _AFTER.match(data, end)
        if tail is None:
            return None
        head = _BEFORE.search(data[max(0, start - _REACH) : start])
        name = data[start - len(head[0] if head else b"") : tail.end()]
        if not self.is_secret(name.decode("ascii", "replace")):
            return None
        if quoted := _QUOTED.match(data, tail.end()):
            return _quoted_value(data, quoted.end(), len(quoted[1]))
        bare = _BARE.match(data, tail.end())
        return _span(bare, bare.lastindex or 0) if bare else None


def _span(found: re.Match[bytes] | None, group: int = 0) -> _Span | None:
    return found.span(group) if found else None


def _parameter(data: bytes, start: int, end: int) -> _Span | None:
    """The value in the query of a URL or in a form that is secret there, though its name alone does not say so."""
    name = _PARAMETER.search(data, max(0, start - _REACH), start)
    value = _PARAMETER_VALUE.match(data, end) if name else None
    if name and name["first_of_form"] and value and data[value.end() : value.end() + 1] not in (b"&", b"\\"):
        return None
    return _span(value)


def _whole(data: bytes, start: int, end: int) -> _Span:
    """The span widened where it would cut an escape sequence of a JSON string in two."""
    if cut := _CUT.search(data, max(0, start - 40), start):
        start -= cut.end() - cut.end("lead")
    if len(_RUN.search(data[start:end])[0]) % 2:  # type: ignore[index]
        end = min(end + 1, len(data))
    return start, end


def _quoted_value(data: bytes, start: int, escapes: int) -> _Span | None:
    """A JSON string from after its opening quote, which `escapes` backslashes precede: JSON inside JSON strings."""
    for closing in _CLOSING.finditer(data, start):
        run = len(closing[1])
        if any(run >> level & 1 == 0 for level in range(escapes.bit_length() + 1)):
            end = closing.end() - 1 - escapes
            return (start, end) if end > start else None
    return (start, len(data)) if start < len(data) else None


def _is_basic(value: bytes) -> bool:
    """Whether it is base64 of `user:password` (RFC 7617), not just a word after "basic"."""
    try:
        return b":" in binascii.a2b_base64(value + b"=" * (-len(value) % 4))
    except binascii.Error:
        return False
