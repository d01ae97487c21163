"""The two metadata documents of a sign-in, as checked views over their JSON.

Protected resource metadata (RFC 9728) names the authorization servers of a server; authorization server metadata (RFC
8414, OpenID Connect Discovery) names their endpoints.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from mcp_studio.auth import discovery
from mcp_studio.auth.discovery import Challenge, check_url
from mcp_studio.auth.fetch import Fetcher, json_of
from mcp_studio.auth.model import AuthFailed, quoted
from mcp_studio.jsontext import Json, items_of, mapping

MOST = 200
"""The most entries of a list that are read."""
LONGEST = 2_000
"""The most characters of a text that are read."""


class Fields:
    """One document. An optional field with a wrong value counts as missing, and `notes` says so.

    Attributes:
        raw: the document.
        what: the document's name inside a sentence: `the metadata at https://…`.
        server: the address of the server that the sign-in is for.
        notes: sentences about mistakes in the document that do not matter, by the name of the field.
    """

    def __init__(self, raw: Json, what: str, server: str) -> None:
        self.raw = mapping(raw)
        self.what = what
        self.server = server
        self.notes: dict[str, str] = {}

    def wrong(self, name: str, should: str) -> AuthFailed:
        """The error for a wrong field. `should` says what the field has to be, as the end of a sentence."""
        state = f"is {quoted(self.raw[name])}" if name in self.raw else "is missing"
        return AuthFailed(f"{name} in {self.what} {state}.", hint=f"{name} has to be {should}.")

    def text(self, name: str, should: str) -> str:
        """A required text, which must not be empty.

        Raises:
            AuthFailed: the text is missing, empty or too long.
        """
        value = self.raw.get(name)
        if isinstance(value, str) and 0 < len(value) <= LONGEST:
            return value
        raise self.wrong(name, should)

    def url(self, name: str, should: str = "an https:// URL") -> str:
        """A required address that a sign-in may use (`discovery.check_url`).

        Raises:
            AuthFailed: the address is missing, or may not be used.
        """
        return check_url(self.text(name, should), self.server, f"{name} in {self.what}")

    def maybe_url(self, name: str) -> str:
        """An optional address; empty where it is missing or may not be used."""
        if self.raw.get(name) in (None, ""):
            return ""
        try:
            return self.url(name)
        except AuthFailed as problem:
            self.notes[name] = f"{problem.message} {problem.hint}"
            return ""

    def texts(self, name: str) -> tuple[str, ...] | None:
        """An optional list of texts; None where it is missing or no list."""
        value = self.raw.get(name)
        if value is None:
            return None
        if not isinstance(value, list):
            self.notes[name] = f"{self.wrong(name, '').message} It has to be a list of strings, and was left out."
            return None
        strings = [one for one in items_of(value)[:MOST] if isinstance(one, str) and 0 < len(one) <= LONGEST]
        return tuple(dict.fromkeys(strings))

    def flag(self, name: str) -> bool:
        """A boolean field; a missing one is false.

        Raises:
            AuthFailed: the value is no boolean. Nothing is guessed, because security depends on these fields.
        """
        value = self.raw.get(name)
        if value is None or isinstance(value, bool):
            return bool(value)
        raise self.wrong(name, "true or false")


def document(status: int, body: bytes, place: str) -> tuple[dict[str, Json] | None, str]:
    """The document that an answer contains, or a sentence that says why there is none.

    A page that a web server returns for any address (HTML with status 200) is no document; any JSON object is, valid or
    not.

    Raises:
        AuthFailed: the server failed. This does not prove that there is no document, so that no older flow may be used.
    """
    if status == 0 or status >= 500 or status == 429:
        raise AuthFailed(
            f"{place} failed with status {status}.", hint="Try again later: whether there is metadata is not known."
        )
    if not 200 <= status < 300:
        return None, f"{place} answered with status {status}."
    raw = json_of(body)
    return (mapping(raw), "") if isinstance(raw, dict) else (None, f"What is at {place} is not a JSON object.")


class ResourceMetadata(Fields):
    """Protected resource metadata (RFC 9728 2)."""

    def __init__(self, raw: Json, *, server: str, place: str) -> None:
        """Check a document that came from `place` for the server at the address `server`.

        Raises:
            AuthFailed: the document names another resource or no authorization server, or has fields of a wrong type.
        """
        super().__init__(raw, f"the protected resource metadata at {place}", server)
        self.resource = self._resource()
        """The server's resource identifier in token requests, exactly as the document has it (RFC 8707)."""
        self.servers = self._servers()
        """The issuers of the authorization servers, at least one."""
        self.scopes = self.texts("scopes_supported")
        self.dpop_required = self.flag("dpop_bound_access_tokens_required")
        self.dpop_algs = self.texts("dpop_signing_alg_values_supported")

    def chosen(self, issuer: str) -> str:
        """The authorization server that the configuration names, as the configuration writes it.

        Raises:
            AuthFailed: the document does not list it.
        """
        if any(one.rstrip("/") == issuer.rstrip("/") for one in self.servers):
            return issuer
        names = ", ".join(quoted(one) for one in self.servers[:3])
        raise AuthFailed(
            f"The configuration names the authorization server {quoted(issuer)}; the server names {names}.",
            hint="authorization_servers in its protected resource metadata has to list it; or change `issuer` in the "
            "[servers.NAME.auth] table.",
        )

    def _resource(self) -> str:
        """The resource (RFC 9728 3.3): the server's address or, as the SDKs allow, a parent of it."""
        server = discovery.canonical(self.server)
        should = f"{quoted(server)}, the address of the server, or what it is below (RFC 9728 3.3)"
        resource = self.text("resource", should)
        try:
            same = discovery.same_origin(resource, server)
        except AuthFailed:
            same = False
        path, own = (f"{urlsplit(url).path.rstrip('/')}/" for url in (resource if same else server, server))
        if not same or not own.startswith(path) or "#" in resource or "@" in urlsplit(resource).netloc:
            raise self.wrong("resource", should)
        return resource

    def _servers(self) -> tuple[str, ...]:
        name = "authorization_servers"
        good: list[str] = []
        for one in self.texts(name) or ():
            try:
                good.append(check_url(one, self.server, f"An entry of {name} in {self.what}"))
            except AuthFailed as problem:
                self.notes[name] = f"{problem.message} {problem.hint}"
        if not good:
            wrong = self.wrong(name, "a list of the issuers (https:// URLs) of one server at least")
            wrong.message = f"{wrong.message} {self.notes.get(name, '')}".strip()
            raise wrong
        return tuple(good)


class IssuerMetadata(Fields):
    """Authorization server metadata (RFC 8414 2)."""

    def __init__(self, raw: Json, *, issuer: str, server: str, place: str, legacy: bool = False) -> None:
        """Check a document that came from `place` for the authorization server `issuer`.

        Args:
            place: empty for a server without metadata (specification 2025-03-26).
            legacy: the issuer is the server's own origin, which no document named: it may end with a slash.

        Raises:
            AuthFailed: the document names another issuer, has endpoints without TLS or fields of a wrong type.
        """
        super().__init__(raw, f"the authorization server metadata at {place or 'nowhere'}", server)
        self.legacy = legacy
        self.issuer = self._issuer(issuer, legacy)
        self.place = place
        self.token_endpoint = self.url("token_endpoint", "the https:// URL where tokens are given out")
        self.authorization_endpoint = self.maybe_url("authorization_endpoint")
        self.registration_endpoint = self.maybe_url("registration_endpoint")
        self.revocation_endpoint = self.maybe_url("revocation_endpoint")
        self.scopes = self.texts("scopes_supported")
        self.sends_issuer = self.flag("authorization_response_iss_parameter_supported")
        """Whether its redirects name the authorization server (RFC 9207 3)."""
        self.reads_documents = self.flag("client_id_metadata_document_supported")
        self.methods = self.texts("token_endpoint_auth_methods_supported")
        self.dpop_algs = self.texts("dpop_signing_alg_values_supported")

    def _issuer(self, issuer: str, legacy: bool) -> str:
        should = (
            f"exactly {quoted(issuer)}, with which this place was found (RFC 8414 3.3): another one could collect what "
            "is sent there"
        )
        name = self.text("issuer", should)
        if name == issuer or (legacy and name == f"{issuer}/"):
            return name
        problem = self.wrong("issuer", should)
        if name.rstrip("/") == issuer.rstrip("/"):
            problem.hint += f" If you know this one, set issuer = {quoted(name)} in the [servers.NAME.auth] table."
        raise problem

    @staticmethod
    def assumed(url: str) -> IssuerMetadata:
        """The default endpoints of a server without metadata (specification 2025-03-26, basic/authorization 2.3.3).

        Raises:
            AuthFailed: nothing may be sent there, because the server's address has no TLS.
        """
        base = discovery.origin(url)
        raw = {
            "issuer": base,
            "authorization_endpoint": f"{base}/authorize",
            "token_endpoint": f"{base}/token",
            "registration_endpoint": f"{base}/register",
        }
        return IssuerMetadata(raw, issuer=base, server=url, place="", legacy=True)

    def for_code(self, *, assume_pkce: bool = False) -> str:
        """The authorization endpoint, if we may request a code there.

        PKCE with S256 is required (specification 2026-07-28, basic/authorization, authorization code protection). A
        server without metadata gets the challenge too, as we cannot know whether it supports PKCE.

        Args:
            assume_pkce: accept metadata that does not mention PKCE.

        Raises:
            AuthFailed: there is no such endpoint, or no PKCE.
        """
        if not self.authorization_endpoint:
            raise AuthFailed(
                self.notes.get("authorization_endpoint")
                or f"authorization_endpoint is missing in the authorization server metadata at {self.place}.",
                hint="It has to be the https:// URL of the page where a person signs in.",
            )
        name = "code_challenge_methods_supported"
        unsaid = self.raw.get(name) is None
        if not self.place or "S256" in (self.texts(name) or ()) or (unsaid and assume_pkce):
            return self.authorization_endpoint
        problem = self.wrong(name, 'a list with "S256" in it: without PKCE a stolen code may be of use to others')
        problem.hint += " If the server knows PKCE all the same: assume_pkce = true." if unsaid else ""
        raise problem


async def find_resource(fetcher: Fetcher, url: str, header: str) -> tuple[ResourceMetadata | None, str]:
    """Find the protected resource metadata (RFC 9728), by the challenge or at the well-known addresses.

    Returns the metadata, None for a server older than RFC 9728 (2025-03-26), and a sentence about it.

    Raises:
        AuthFailed: the metadata cannot be used, or the server failed.
        StudioError: as `Fetcher.send`.
    """
    address, notes = Challenge.find(header).get("resource_metadata"), list[str]()
    if address:
        try:
            check_url(address, url, "resource_metadata in the header WWW-Authenticate")
            if not discovery.same_origin(address, url):
                raise AuthFailed(f"The server says that its metadata is at {quoted(address)}, on another origin.")
        except AuthFailed as problem:
            notes.append(f"{problem.message} {problem.hint} It was not asked.")
    for place in discovery.resource_urls("" if notes else address, url):
        raw, why = await _document(fetcher, place, "metadata of the server")
        if raw is not None:
            metadata = ResourceMetadata(raw, server=url, place=place)
            detail = f"{metadata.resource} takes tokens of {', '.join(metadata.servers[:5])}."
            return metadata, " ".join((detail, *notes, *metadata.notes.values()))
        notes.append(why)
    if address:
        raise AuthFailed(
            f"The server names its metadata, and there is none. {' '.join(notes)}",
            hint="Protected resource metadata (RFC 9728) has to be at the address that WWW-Authenticate names, on the "
            "server's own origin.",
        )
    old = "It says nothing about authorization servers, as servers before 2025-06-18; it is taken for its own."
    return None, " ".join((old, *notes))


async def find_issuer(fetcher: Fetcher, url: str, named: str) -> IssuerMetadata:
    """Find the metadata of an authorization server, at the first of its addresses that has it (RFC 8414, OpenID).

    If no issuer is `named`, the server is its own authorization server, and may have no metadata (specification
    2025-03-26, 2.3).

    Raises:
        AuthFailed: there is no metadata, or it cannot be used.
        StudioError: as `Fetcher.send`.
    """
    issuer = named or discovery.origin(url)
    notes: list[str] = []
    for place in discovery.issuer_urls(issuer):
        raw, why = await _document(fetcher, place, "metadata of the authorization server")
        if raw is not None:
            return IssuerMetadata(raw, issuer=issuer, server=url, place=place, legacy=not named)
        notes.append(why)
    if not named:
        return IssuerMetadata.assumed(url)
    raise AuthFailed(
        f"The authorization server {quoted(issuer)} has no metadata. {' '.join(notes)}",
        hint="It has to publish RFC 8414 or OpenID Connect metadata at one of these places.",
    )


async def _document(fetcher: Fetcher, place: str, purpose: str) -> tuple[dict[str, Json] | None, str]:
    answer = await fetcher.send(purpose, "GET", place)
    return document(answer.status, answer.body, place)
