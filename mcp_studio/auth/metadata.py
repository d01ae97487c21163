"""The two documents that signing in begins with, as checked views over the JSON as it came.

Protected resource metadata (RFC 9728) says who gives tokens for a server; authorization server metadata (RFC 8414,
OpenID Connect Discovery) says how.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from mcp_studio.auth import discovery
from mcp_studio.auth.discovery import Challenge, check_url
from mcp_studio.auth.fetch import Fetcher, json_of
from mcp_studio.auth.model import AuthFailed, quoted
from mcp_studio.jsontext import Json, items_of, mapping

MOST = 200
"""Entries of a list that are read."""
LONGEST = 2_000
"""Characters of a text that are read."""


class Fields:
    """One document. Fields that are only of use are left out where they are wrong, and `notes` says so.

    Attributes:
        raw: the document.
        what: names it, in the middle of a sentence: `the metadata at https://…`.
        server: the server that signing in is for.
        notes: what is wrong with it though it can be used: sentences by the name of the field.
    """

    def __init__(self, raw: Json, what: str, server: str) -> None:
        self.raw = mapping(raw)
        self.what = what
        self.server = server
        self.notes: dict[str, str] = {}

    def wrong(self, name: str, should: str) -> AuthFailed:
        """What is raised for a field. `should` ends a sentence: what the field has to be."""
        came = f"is {quoted(self.raw[name])}" if name in self.raw else "is missing"
        return AuthFailed(f"{name} in {self.what} {came}.", hint=f"{name} has to be {should}.")

    def text(self, name: str, should: str) -> str:
        """A text that has to be there and not empty.

        Raises:
            AuthFailed: it is not, or is too long.
        """
        value = self.raw.get(name)
        if isinstance(value, str) and 0 < len(value) <= LONGEST:
            return value
        raise self.wrong(name, should)

    def url(self, name: str, should: str = "an https:// URL") -> str:
        """An address that may be used for signing in and has to be there (`discovery.check_url`).

        Raises:
            AuthFailed: it is not there, or may not be used.
        """
        return check_url(self.text(name, should), self.server, f"{name} in {self.what}")

    def maybe_url(self, name: str) -> str:
        """An address that may be missing: empty where it is, or may not be used."""
        if self.raw.get(name) in (None, ""):
            return ""
        try:
            return self.url(name)
        except AuthFailed as problem:
            self.notes[name] = f"{problem.message} {problem.hint}"
            return ""

    def texts(self, name: str) -> tuple[str, ...] | None:
        """A list of texts that may be missing: None where it is, or is none."""
        value = self.raw.get(name)
        if value is None:
            return None
        if not isinstance(value, list):
            self.notes[name] = f"{self.wrong(name, '').message} It has to be a list of strings, and was left out."
            return None
        found = [one for one in items_of(value)[:MOST] if isinstance(one, str) and 0 < len(one) <= LONGEST]
        return tuple(dict.fromkeys(found))

    def flag(self, name: str) -> bool:
        """True or false; missing is false.

        Raises:
            AuthFailed: it is anything else: what is safe depends on it, so that nothing is guessed.
        """
        value = self.raw.get(name)
        if value is None or isinstance(value, bool):
            return bool(value)
        raise self.wrong(name, "true or false")


def document(status: int, body: bytes, place: str) -> tuple[dict[str, Json] | None, str]:
    """What an answer says about one place: the document, or why there is none, in a sentence.

    Pages that a web server gives for any address (HTML with status 200) are no document; an object is, wrong or not.

    Raises:
        AuthFailed: the server failed. That there is no document cannot be concluded, and no older way may be taken.
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
            AuthFailed: it cannot be used: another resource, no authorization server, wrong types.
        """
        super().__init__(raw, f"the protected resource metadata at {place}", server)
        self.resource = self._resource()
        """What the server is called in requests for tokens, exactly as published (RFC 8707)."""
        self.servers = self._servers()
        """The issuers of the authorization servers; one at least."""
        self.scopes = self.texts("scopes_supported")
        self.dpop_required = self.flag("dpop_bound_access_tokens_required")
        self.dpop_algs = self.texts("dpop_signing_alg_values_supported")

    def chosen(self, issuer: str) -> str:
        """The authorization server that the configuration names, as it is written there.

        Raises:
            AuthFailed: the server does not name it.
        """
        if any(one.rstrip("/") == issuer.rstrip("/") for one in self.servers):
            return issuer
        named = ", ".join(quoted(one) for one in self.servers[:3])
        raise AuthFailed(
            f"The configuration names the authorization server {quoted(issuer)}; the server names {named}.",
            hint="authorization_servers in its protected resource metadata has to list it; or change `issuer` in the "
            "[servers.NAME.auth] table.",
        )

    def _resource(self) -> str:
        """RFC 9728 3.3, as the SDKs take it: the server itself, or what it is below."""
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
            place: empty where there was none (specification 2025-03-26).
            legacy: the issuer is the server's own origin, which nobody wrote: it may end with a slash.

        Raises:
            AuthFailed: it cannot be used: another issuer, endpoints without TLS, wrong types, …
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
        """Redirects name the authorization server (RFC 9207 3)."""
        self.reads_documents = self.flag("client_id_metadata_document_supported")
        self.methods = self.texts("token_endpoint_auth_methods_supported")
        self.dpop_algs = self.texts("dpop_signing_alg_values_supported")

    def _issuer(self, issuer: str, legacy: bool) -> str:
        should = (
            f"exactly {quoted(issuer)}, with which this place was found (RFC 8414 3.3): another one could collect what "
            "is sent there"
        )
        named = self.text("issuer", should)
        if named == issuer or (legacy and named == f"{issuer}/"):
            return named
        problem = self.wrong("issuer", should)
        if named.rstrip("/") == issuer.rstrip("/"):
            problem.hint += f" If you know this one, set issuer = {quoted(named)} in the [servers.NAME.auth] table."
        raise problem

    @staticmethod
    def assumed(url: str) -> IssuerMetadata:
        """The endpoints of a server without any metadata (specification 2025-03-26, basic/authorization 2.3.3).

        Raises:
            AuthFailed: nothing may be sent there, as the server is reached without TLS.
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
        """The authorization endpoint, where a code may be asked for there.

        PKCE with S256 is required (specification 2026-07-28, basic/authorization, authorization code protection);
        nothing is known of a server without metadata, which gets the challenge all the same.

        Args:
            assume_pkce: go on where the metadata does not say anything about PKCE.

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
    """The protected resource metadata (RFC 9728), by the challenge or at the well-known places, and a sentence.

    There is none at a server of before it (2025-03-26).

    Raises:
        AuthFailed: there is some that cannot be used, or the server failed.
        StudioError: as `Fetcher.send`.
    """
    named, notes = Challenge.find(header).get("resource_metadata"), list[str]()
    if named:
        try:
            check_url(named, url, "resource_metadata in the header WWW-Authenticate")
            if not discovery.same_origin(named, url):
                raise AuthFailed(f"The server says that its metadata is at {quoted(named)}, on another origin.")
        except AuthFailed as problem:
            notes.append(f"{problem.message} {problem.hint} It was not asked.")
    for place in discovery.resource_urls("" if notes else named, url):
        raw, why = await _document(fetcher, place, "metadata of the server")
        if raw is not None:
            metadata = ResourceMetadata(raw, server=url, place=place)
            detail = f"{metadata.resource} takes tokens of {', '.join(metadata.servers[:5])}."
            return metadata, " ".join((detail, *notes, *metadata.notes.values()))
        notes.append(why)
    if named:
        raise AuthFailed(
            f"The server names its metadata, and there is none. {' '.join(notes)}",
            hint="Protected resource metadata (RFC 9728) has to be at the address that WWW-Authenticate names, on the "
            "server's own origin.",
        )
    old = "It says nothing about authorization servers, as servers before 2025-06-18; it is taken for its own."
    return None, " ".join((old, *notes))


async def find_issuer(fetcher: Fetcher, url: str, named: str) -> IssuerMetadata:
    """The metadata of an authorization server, at the first of its places (RFC 8414, OpenID).

    Where none is `named` the server is its own, and may have no metadata (specification 2025-03-26, 2.3).

    Raises:
        AuthFailed: there is none, or none that can be used.
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
