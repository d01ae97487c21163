"""The redactor: whatever stores or shows traffic sends it through here first.

The redactor knows secrets in three ways: values it has learned (`learn`), names whose values are secret (`password`,
`api_key`, `Authorization` …), and shapes that only tokens have (`ghp_…`, JWT …).

The search has two steps, so that a frame without secrets costs a few microseconds per KB and any frame linear time: one
regular expression searches the lower-cased bytes for anchors, and only the neighbourhood of an anchor is examined. The
anchors start with rare letters (`ken` for token, `cret` for secret), because the engine stops at every possible first
letter.
"""

from __future__ import annotations

import binascii
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache, lru_cache
from itertools import chain
from json.encoder import encode_basestring, encode_basestring_ascii
from urllib.parse import quote, quote_plus, unquote_plus

from mcp_studio.jsontext import LARGE, SLICE

MARK = "‹redacted›"
"""The text that replaces a secret."""
SHORTEST = 6
"""Characters of the shortest secret that is searched for; shorter ones would be found everywhere."""
_BEGINNING = 48
"""Characters of a long token that are searched for; the rest of the token is found by the characters it may have."""
_FEW = 24
"""Secrets that are remembered of one series: some renewals of a sign-in, each with two or three tokens."""

Literal = tuple[bytes, bool]
"""Bytes to search for, and whether they are only the beginning of a long token."""


def _literals(secret: str) -> Iterator[Literal]:
    for value in (secret, *secret.splitlines()):
        value = value.strip()
        if len(value) > _BEGINNING and re.fullmatch(r"(?a)[\w.~+/=-]+", value):
            yield from ((form, True) for form in forms(value[:_BEGINNING]))
        elif len(value) >= SHORTEST:
            yield from ((form, False) for form in forms(value))


def forms(secret: str) -> Iterator[bytes]:
    """The spellings of a secret: as it is, escaped in JSON, quoted in URLs, and as base64 at any position of a text."""
    raw = secret.encode("utf-8", "surrogatepass")
    yield raw
    json = encode_basestring(secret)[1:-1]
    ascii_json = encode_basestring_ascii(secret)[1:-1]
    inner_json = (encode_basestring(text)[1:-1] for text in (json, ascii_json))
    html_safe = json.translate({ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&"})
    for text in (json, ascii_json, *inner_json, json.replace("/", "\\/"), html_safe):
        yield text.encode("utf-8", "surrogatepass")
    for safe in ("", "/", "!'()*"):  # libraries differ in what they quote
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
"""Names that are secret as a query parameter or as a field of a form, though not elsewhere."""
_SESSION = frozenset(("sessionid", "mcpsessionid"))
"""Names of session ids: whoever has one speaks in that session (2025-06-18, basic/transports; HTTP+SSE in the URL)."""
_SESSIONS = 10_000
"""Sessions that get a number each, so that a person sees which messages belong together."""
_FORM_TYPE = "application/x-www-form-urlencoded"


@lru_cache(1_024)
def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", unquote_plus(name).lower())


_ENDINGS = tuple(
    "password passwd passphrase secret secrets token apikey accesskey privatekey secretkey signingkey encryptionkey "
    "authkey credential credentials authorization cookie codeverifier clientassertion secretword passcode pwd".split()
)
_REPEATED = re.compile(r"(?:confirm(?:ation)?|repeat|again|value|pem|\d+)$")
"""What may follow such a name: `password_confirm`, `private_key_pem`."""
_SHORT = re.compile(r"(?:^|[^A-Za-z])(?i:pw|otp)$|[a-z](?:Pw|Otp)$")
"""Names that are too short to be the end of any word."""
_FOLDERS = ("PWD", "OLDPWD")
"""Variables of every shell, which hold no passwords."""
_HARMLESS = re.compile(
    r"(?:progress|page|next|prev(?:ious)?|continuation|cursor|sync|resumption|start|end|stop|bos|eos|pad|unk|mask)token$"
)


def is_secret_name(name: str) -> bool:
    """Whether a variable, header, key or field of this name usually holds a secret."""
    plain = _REPEATED.sub("", _plain(name))
    return (plain.endswith(_ENDINGS) or _SHORT.search(name) is not None) and not (
        _HARMLESS.search(plain) or name in _FOLDERS
    )


def is_reference(text: str) -> bool:
    """Whether a text only says where a secret is stored, such as `${TOKEN}` or `Bearer ${keyring:x}`.

    The text may be incomplete. A reference with a default counts as a secret, because the default may be one.
    """
    return re.fullmatch(r"(?:[A-Za-z]+ )?\$\{(?:[A-Za-z]+:)?(?:\w[\w .-]*)?\}?", text) is not None


_MARK = MARK.encode()
_PATIENCE = 0.05
"""Seconds that the patterns of the settings may take for a name."""
_REACH = 120
"""The most bytes between the beginning of a name and its anchor."""
_BEHIND = 16
"""The most bytes before an anchor that its pattern looks at."""
_ASSIGNS = (b"=", b"%3d", b"\\u003d")

_ANCHOR = re.compile(
    # Each alternative begins with a letter, so that the engine looks for those. The sign after a name is part of the
    # anchor (`~`): otherwise each `word` of a text would be examined.
    rb"k(?:(?:(?<!progresstok)en|ey)~|ia[0-9a-z]{16}|-[\w-]{16})|c(?:ret|redential|ookie|lient_?assertion|ode(?<=passcode))~|w(?:(?:or)?d|(?<=pw))~"
    rb"|z(?:ation~|a[\w-]{20})|b(?:earer |asic )|phrase~|verifier~|g(?:h[pousr]_|ithub_pat_|lpat-)"
    rb"|yj[\w-]{9}|/(?<=:/)/|-(?:----begin|(?<=xox[a-z]-))"
    # The engine sees `=` before it looks back at the name: most `=` have no such letter before them.
    rb"|=(?<=[eghnty]=)(?:(?<=code=)|(?<=key=)|(?<=sig=)|(?<=signature=)|(?<=auth=)|(?<=state=)|(?<=session=)"
    rb"|(?<=ticket=)|(?<=jwt=)|(?<=assertion=))|%3d(?<=[eghnty]%3d)|\\u003d(?<=[eghnty]\\u003d)"
    .replace(b"~", rb"""(?=[\w.-]{0,80}+(?:(?:\\{0,80}+["'])?\s{0,20}+[:=]|%3[dD]|\\u003[dD]))""")
)  # fmt: skip
_NEAR = (
    # The same anchors with slightly wider patterns, for the engine of `_near`.
    r"(?:ken|key|cret|redential|ookie|lient_?assertion|wo?r?d|pw|passcode|zation|phrase|verifier)[\w.-]*(?:\\*[\"'])?\s*"
    r"(?:[:=]|%3d|\\u003d)|(?:code|key|sig|signature|auth|state|session|ticket|jwt|assertion)(?:=|%3d|\\u003d)"
    r"|kia[0-9a-z]{16}|k-[\w-]{16}|za[\w-]{20}|bearer |basic |gh[pousr]_|github_pat_|glpat-|yj[\w-]{9}|://"
    r"|-----begin|xox[a-z]-"
)


@cache
def _near() -> Callable[[str], bool]:
    """Whether a text may have an anchor, by the engine of pydantic: a tenth of the time of `re`."""
    from pydantic_core import SchemaValidator

    return SchemaValidator({"type": "str", "pattern": _NEAR}).isinstance_python


_TOKEN_REST = re.compile(rb"(?:(?!%26)[\w.~+/=%-]|\\{1,80}+(?:/|u00(?:2[bBdDeEfF]|3[dD])))*+")
"""The rest of a token, as it is or escaped in a URL or JSON."""
_PARAMETER = re.compile(
    rb"(?i)(?:(?:[?#]|&(?:amp;)?|%(?:3f|26|23)|\\u0026)\w*"
    rb"(?:code|key|sig|signature|auth|state|session|ticket|jwt|assertion)"
    rb"|(?P<first_of_form>(?:\A|[\s\"']|\\[nrt])(?:code|assertion)))\Z"
)
_PARAMETER_VALUE = re.compile(
    # Neither a short value nor a word, as in `?state=closed`.
    rb"(?i)(?=[^\s&'\"#;,\\<>]{0,200}?[0-9]|[^\s&'\"#;,\\<>]{20})(?:(?!%26)[^\s&'\"#;,\\<>]){8,}+"
)
_AFTER = re.compile(rb"""[\w.-]{0,80}+(?=(?:\\{0,80}+["'])?\s{0,20}+[:=]|%3[dD]|\\u003[dD])""")
_QUOTED = re.compile(rb"""(?:\\*["'])?\s*[:=]\s*(\\*)\"""")
_BARE = re.compile(
    rb"""=(?!=)(?:'([^'\n]+)|([^\s&'"#;,\\]+))|(?:%3[dD]|\\u003[dD])((?:(?!%26)[^\s&'"#;,\\])+)"""
    rb"""|:[ \t]*(?=\S{0,80}\d)([^\s&'"#;,\\{}\[\]]{8,})"""
)
_CUT = re.compile(rb"(?P<lead>(?<!\\)(?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?\Z")
_CLOSING = re.compile(rb'(\\*)"')
_USERINFO = re.compile(rb'[^\s/?#@"\'\\<>]{1,400}+(?=@)')
_BEARER = re.compile(rb"(?i)bearer +(?!\w{1,40}=\\*\")(?=\S{0,80}[-0-9._~+/=])([\w.~+/=-]{6,})")  # no challenge
_BASIC = re.compile(rb"(?i)basic +([A-Za-z0-9+/]{4,}={0,2})")
_SHAPES = re.compile(
    # A shape does not begin inside a word; but an escaped line end or tab of a JSON string may precede it.
    rb"(?:(?<![\w-])|(?<=\\[nrt]))(?:sk-[\w-]{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}"
    rb"|xox[abeoprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"
    # A key ends where its text does: at the quote of a JSON string, which may be nested in another string.
    rb"|-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:[^-\"\\]|\\++(?:[nrt/]|u[0-9a-fA-F]{4}))+)"
)


_Span = tuple[int, int]
"""The first byte of a secret and the byte after its last."""


class Redactor:
    """Replaces secrets by `‹redacted›`.

    `names` are further header or key names, or regular expressions over them (`redact` in the settings).

    Raises:
        regex.error: one of `names` is not a regular expression.
    """

    def __init__(self, names: Collection[str] = ()) -> None:
        self._secrets: dict[tuple[str, str], tuple[Literal, ...]] = {}
        self._literals: tuple[Literal, ...] = ()
        self._guard = threading.Lock()
        self._sessions: dict[str, int] = {}
        plain = [name for name in names if re.fullmatch(r"[\w.-]+", name)]
        patterns = [name.removeprefix("(?i)") for name in names if name not in plain]
        parts = [f"^{re.escape(name)}$" for name in plain] + [f"(?:{pattern})" for pattern in patterns]
        self._names = None
        if parts:
            import regex

            self._names = regex.compile("|".join(parts), regex.IGNORECASE)
        anchors = [_ANCHOR.pattern, *(re.escape(name.lower().encode()) for name in plain)]
        if patterns:  # patterns give no anchor, so the last letter of every name becomes one
            anchors.append(rb'\w(?=(?:\\*")?\s?[:=])')
        self._anchor = re.compile(b"|".join(anchors))

    def learn(self, secret: str, series: str = "") -> None:
        """Redact this value from now on, also as base64, URL-quoted and JSON-escaped; values that are too short are
        ignored.

        Values that replace one another, as the tokens of a sign-in do, form a `series`: only its newest values are
        remembered. What was recorded earlier has been redacted at that time. Safe to call from any thread.
        """
        scheme, _, rest = secret.strip().partition(" ")
        if scheme.lower() in ("bearer", "basic", "token") and rest:
            return self.learn(rest, series)
        literals = tuple(_literals(secret))
        with self._guard:
            self._secrets.pop((series, secret), None)
            self._secrets[series, secret] = literals
            of_series = [key for key in self._secrets if series and key[0] == series]
            for old in of_series[:-_FEW]:
                del self._secrets[old]
            self._literals = tuple(dict.fromkeys(chain.from_iterable(self._secrets.values())))

    def is_secret(self, name: str) -> bool:
        """Whether values of this header, key or variable are secret, by the name itself or by the settings."""
        try:
            return is_secret_name(name) or bool(self._names and self._names.search(name, timeout=_PATIENCE))
        except TimeoutError:  # rather a value too much than a secret too little
            return True

    def bytes(self, data: bytes) -> bytes:
        """Replace secrets in bytes; JSON stays JSON, and bytes without secrets are returned as the same object."""
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
        """Replace secrets in a text."""
        data = text.encode("utf-8", "surrogatepass")
        clean = self.bytes(data)
        return text if clean is data else clean.decode("utf-8", "surrogatepass")

    def headers(self, headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        """Replace secrets in header lines and session ids by numbers; the rest of a value stays readable."""
        return tuple((name, self._header(name, value)) for name, value in headers)

    def _header(self, name: str, value: str) -> str:
        if _plain(name) in _SESSION:
            return self._session(value)
        if not self.is_secret(name) and name.lower() != "dpop":
            return self.url(value) if "://" in value else self.text(value)
        scheme, space, _ = value.partition(" ")
        return f"{scheme} {MARK}" if space and name.lower().endswith("authorization") else MARK

    def _session(self, session: str) -> str:
        """The name that replaces a session id: `‹session 2›`."""
        if re.match(r"‹session [0-9]+›\Z", session):
            return session
        if session not in self._sessions and len(self._sessions) < _SESSIONS:
            self._sessions[session] = len(self._sessions) + 1
            if re.fullmatch(r"(?=\D*\d)[\x21-\x7e]{16,200}", session):
                self.learn(session, "sessions")  # servers repeat the id in their errors
        number = self._sessions.get(session)
        return f"‹session {number}›" if number else MARK

    def url(self, url: str) -> str:
        """Remove user information and secret query values from a URL; session ids become numbers."""
        without_user = re.sub(r"(?<=://)[^/?#@\s]*(?=@)", MARK, url)
        return self.text(re.sub(r"([?&#;])([^=&#;?]+)=([^&#;]+)", self._named, without_user))

    def body(self, media_type: str, body: bytes) -> bytes:
        """Redact the body of an HTTP exchange outside of MCP; the fields of a form are redacted by their names."""
        if media_type.split(";", 1)[0].strip().lower() == _FORM_TYPE:
            form = body.decode("utf-8", "surrogateescape")
            body = re.sub(r"(\A|&)([^=&]+)=([^&]+)", self._named, form).encode("utf-8", "surrogateescape")
        return self.bytes(body)

    def _named(self, found: re.Match[str]) -> str:
        """Replace the value of a URL's parameter or a form's field where its name says that it is secret."""
        before, name, value = found.groups()
        if _plain(name) in _SESSION:
            value = self._session(value)
        elif _plain(name) in _QUERY or self.is_secret(unquote_plus(name)):
            value = MARK
        return f"{before}{name}={value}"

    def _learned(self, data: bytes) -> Iterator[_Span]:
        # One literal after the other: a pattern of all tokens of a day is slow to compile and to search.
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
            # One slice at a time is lower-cased, so that large data is not copied as a whole.
            since = max(0, start - _BEHIND)
            low = data[since : start + SLICE + 2 * _REACH].lower()
            if self._names is None and len(data) > LARGE and not _near()(low.decode("latin-1")):
                continue
            for found in self._anchor.finditer(low, start - since):
                if since + found.end() <= done:
                    continue
                if span := self._secret_at(data, found[0], since + found.start()):
                    yield span
                    if found[0] != b"//":  # a parameter's value may continue after the user information of a URL
                        done = span[1]

    def _secret_at(self, data: bytes, word: bytes, start: int) -> _Span | None:
        """The secret value that the anchor `word` at `start` announces; None where it announces none."""
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
        head = re.search(rb"[\w.-]*$", data[max(0, start - _REACH) : start])
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
    """The value of a URL's parameter or a form's field that is secret there, though its name alone does not say so."""
    name = _PARAMETER.search(data, max(0, start - _REACH), start)
    value = _PARAMETER_VALUE.match(data, end) if name else None
    if name and name["first_of_form"] and value and data[value.end() : value.end() + 1] not in (b"&", b"\\"):
        return None
    return _span(value)


def _whole(data: bytes, start: int, end: int) -> _Span:
    """The span, made wider where it would split an escape sequence of a JSON string."""
    if cut := _CUT.search(data, max(0, start - 40), start):
        start -= cut.end() - cut.end("lead")
    if len(re.search(rb"\\*\Z", data[start:end])[0]) % 2:  # type: ignore[index]
        end = min(end + 1, len(data))
    return start, end


def _quoted_value(data: bytes, start: int, escapes: int) -> _Span | None:
    """The JSON string that begins after its opening quote, which `escapes` backslashes precede (JSON inside JSON)."""
    for closing in _CLOSING.finditer(data, start):
        run = len(closing[1])
        if any(run >> level & 1 == 0 for level in range(escapes.bit_length() + 1)):
            end = closing.end() - 1 - escapes
            return (start, end) if end > start else None
    return (start, len(data)) if start < len(data) else None


def _is_basic(value: bytes) -> bool:
    """Whether a value is base64 of `user:password` (RFC 7617), not just a word after "basic"."""
    try:
        return b":" in binascii.a2b_base64(value + b"=" * (-len(value) % 4))
    except binascii.Error:
        return False
