"""The token endpoint of the tests' authorization server: all grants, and the tokens that they give."""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote_plus

from tests.servers.auth_options import ASSERTION, CLIENT_ASSERTION, EXCHANGE, ID_JAG, REFRESH
from tests.servers.auth_proofs import Wrong, assertion, challenge_of, signed
from tests.servers.http_raw import Request

if TYPE_CHECKING:
    from tests.servers.auth_issuer import Issuer


@dataclass
class Token:
    """An access token."""

    value: str
    client: str
    scopes: tuple[str, ...]
    resource: str
    expires: float
    """On the monotonic clock."""
    family: str
    """The sign-in that it came from; all tokens of a family end together."""
    key: str = ""
    """The thumbprint of the DPoP key that it is bound to."""
    ended: bool = False

    @property
    def live(self) -> bool:
        """Whether it is still valid."""
        return not self.ended and time.monotonic() < self.expires

    def about(self) -> dict[str, Any]:
        """RFC 7662 2.2."""
        return {"active": True, "client_id": self.client, "scope": " ".join(self.scopes), "aud": self.resource}


@dataclass
class Refresh:
    """A refresh token."""

    value: str
    client: str
    scopes: tuple[str, ...]
    resource: str
    family: str
    key: str = ""
    used: bool = False
    ended: bool = False


@dataclass
class Grants:
    """All codes and tokens that one issuer has given."""

    issuer: Issuer
    codes: dict[str, tuple[dict[str, str], float]] = field(default_factory=dict[str, tuple[dict[str, str], float]])
    """By code: the authorization request, and until when the code is valid."""
    spent: dict[str, str] = field(default_factory=dict[str, str])
    """By used code: the family of its tokens."""
    tokens: dict[str, Token] = field(default_factory=dict[str, Token])
    refreshes: dict[str, Refresh] = field(default_factory=dict[str, Refresh])
    jags: set[str] = field(default_factory=set[str])

    def code(self, asked: dict[str, str]) -> str:
        """A code for an authorization request."""
        code = self.issuer.world.secret("code", "code")
        self.codes[code] = (asked, time.monotonic() + self.issuer.world.options.code_lifetime)
        return code

    def answer(self, got: Request) -> Any:
        """The answer to a token request; raises Wrong."""
        form = dict(parse_qsl(got.body.decode()))
        client = self.authenticate(form, got.headers.get("authorization", ""))
        key = self._key(got)
        match form.get("grant_type"):
            case "authorization_code":
                given = self._code(form, client, key)
            case "refresh_token":
                given = self._refresh(form, client, key)
            case "client_credentials":
                given = self._client(form, client, key)
            case kind if kind == ASSERTION:
                given = self._assertion(form, client, key)
            case kind if kind == EXCHANGE:
                return self.exchange(form)
            case kind:
                raise Wrong("unsupported_grant_type", f"Not known: {kind}")
        given = self.issuer.world.hooked("token", given)
        return self.issuer.world.hooked("refreshed", given) if form["grant_type"] == REFRESH else given

    def authenticate(self, form: dict[str, str], header: str) -> str:
        """The client's id; raises Wrong unless it authenticates as registered (RFC 6749 2.3, RFC 7523 2.2)."""
        name, secret, shown = form.get("client_id", ""), form.get("client_secret", ""), "none"
        if header.startswith("Basic "):
            try:
                name, _, secret = (unquote_plus(part) for part in base64.b64decode(header[6:]).decode().partition(":"))
            except (binascii.Error, UnicodeError):
                raise Wrong("invalid_client", "No Basic credentials.", 401) from None
            shown = "client_secret_basic"
        elif secret:
            shown = "client_secret_post"
        elif form.get("client_assertion_type") == CLIENT_ASSERTION:
            shown, name = "private_key_jwt", self._signer(form)
        client = self.issuer.client(name)
        if client.get("token_endpoint_auth_method", "client_secret_basic") != shown:
            raise Wrong("invalid_client", f"The client is registered for {client['token_endpoint_auth_method']}.", 401)
        if shown.startswith("client_secret") and not hmac.compare_digest(secret, client.get("client_secret", "")):
            raise Wrong("invalid_client", "The secret is wrong.", 401)
        return name

    def _signer(self, form: dict[str, str]) -> str:
        found = form.get("client_assertion", "")
        for name, key in self.issuer.keys.items():
            try:
                claims = assertion(found, key, (self.issuer.url, f"{self.issuer.url}/token"), iss=name, sub=name)
            except Wrong:
                continue
            if claims.get("jti") in self.issuer.proofs.used:
                raise Wrong("invalid_client", "The assertion was used before.", 401)
            self.issuer.proofs.used.add(claims["jti"])
            return name
        raise Wrong("invalid_client", "No key verifies the assertion.", 401)

    def _key(self, got: Request) -> str:
        options = self.issuer.world.options
        proof = got.headers.get("dpop", "")
        if proof and options.dpop:
            return self.issuer.proofs.check(proof, "POST", f"{self.issuer.url}/token")
        if options.dpop == "required":
            raise Wrong("invalid_dpop_proof", "A DPoP proof is required.")
        return ""

    def _code(self, form: dict[str, str], client: str, key: str) -> dict[str, Any]:
        """RFC 6749 4.1.3, RFC 7636 4.5, RFC 8707 2.2."""
        code = form.get("code", "")
        if code in self.spent:
            self.end(self.spent[code])
            raise Wrong("invalid_grant", "The code was used before.")
        asked, until = self.codes.pop(code, ({}, 0.0))
        verifier = form.get("code_verifier", "")
        self.issuer.world.issued["verifier"].append(verifier)
        self.spent[code] = family = secrets.token_hex(8)
        wrong = [
            name
            for name, right in {
                "code": asked and time.monotonic() < until,
                "client": asked.get("client_id") == client,
                "redirect_uri": asked.get("redirect_uri") == form.get("redirect_uri"),
                "code_verifier": asked.get("code_challenge") == challenge_of(verifier),
                "resource": asked.get("resource", "") == form.get("resource", ""),
            }.items()
            if not right
        ]
        if wrong:
            raise Wrong("invalid_grant", f"Wrong: {', '.join(wrong)}.")
        self.issuer.world.check_resource(form.get("resource", ""))
        scopes = tuple(asked.get("scope", "").split()) or self.issuer.world.options.prm_scopes
        return self.give(client, scopes, form.get("resource", ""), family, key, refresh=True)

    def _refresh(self, form: dict[str, str], client: str, key: str) -> dict[str, Any]:
        """RFC 6749 6; with rotation a token that was used before ends its family (RFC 9700 4.14.2)."""
        found = self.refreshes.get(form.get("refresh_token", ""))
        if found is None or found.ended or found.client != client or found.key != key:
            raise Wrong("invalid_grant", "The refresh token is not valid.")
        if found.used:
            self.end(found.family)
            raise Wrong("invalid_grant", "The refresh token was used before.")
        found.used = self.issuer.world.options.rotate
        if form.get("resource", found.resource) != found.resource:
            raise Wrong("invalid_target")
        scopes = tuple(form.get("scope", "").split()) or found.scopes
        if not set(scopes) <= set(found.scopes):
            raise Wrong("invalid_scope")
        renew = self.issuer.world.options.rotate
        return self.give(client, scopes, found.resource, found.family, key, refresh=renew)

    def _client(self, form: dict[str, str], client: str, key: str) -> dict[str, Any]:
        """RFC 6749 4.4."""
        if self.issuer.client(client).get("token_endpoint_auth_method") == "none":
            raise Wrong("unauthorized_client", "Not for public clients.")
        self.issuer.world.check_resource(form.get("resource", ""))
        scopes = tuple(form.get("scope", "").split()) or self.issuer.world.options.prm_scopes
        return self.give(client, scopes, form.get("resource", ""), secrets.token_hex(8), key)

    def _assertion(self, form: dict[str, str], client: str, key: str) -> dict[str, Any]:
        """RFC 7523 2.1, with an ID-JAG from our identity provider or a JWT that a workload signed."""
        token = form.get("assertion", "")
        if token not in self.jags:
            assertion(token, self.issuer.keys.get(client, ""), (self.issuer.url, f"{self.issuer.url}/"))
        self.jags.discard(token)
        scopes = tuple(form.get("scope", "").split()) or self.issuer.world.options.prm_scopes
        return self.give(client, scopes, self.issuer.world.url, secrets.token_hex(8), key)

    def exchange(self, form: dict[str, str]) -> dict[str, Any]:
        """RFC 8693 2: an identity provider exchanges an identity token for an ID-JAG."""
        if form.get("requested_token_type") != ID_JAG or form.get("audience") != self.issuer.url:
            raise Wrong("invalid_request", "requested_token_type or audience is wrong.")
        if not self.issuer.identity or form.get("subject_token") != self.issuer.identity:
            raise Wrong("invalid_grant", "The identity token is not known.")
        self.issuer.world.check_resource(form.get("resource", ""))
        jag = self.issuer.world.secret("jag", "jag")
        self.jags.add(jag)
        return {"access_token": jag, "issued_token_type": ID_JAG, "token_type": "N_A", "expires_in": 300}

    def give(
        self, client: str, scopes: tuple[str, ...], resource: str, family: str, key: str = "", *, refresh: bool = False
    ) -> dict[str, Any]:
        """A token answer (RFC 6749 5.1)."""
        world = self.issuer.world
        options = world.options
        scopes = tuple(scope for scope in scopes if scope not in options.withheld)
        now = time.time()
        claims = {"iss": self.issuer.url, "sub": "ada", "aud": resource, "client_id": client, "scope": " ".join(scopes),
                  "iat": int(now), "exp": int(now + options.lifetime), "jti": secrets.token_hex(8)}  # fmt: skip
        claims |= {"cnf": {"jkt": key}} if key else {}
        value = world.secret("access_token", "at") if options.opaque else signed(claims, self.issuer.key)
        world.issued["access_token"].append(value)
        until = time.monotonic() + options.lifetime
        self.tokens[value] = Token(value, client, scopes, resource, until, family, key)
        answer = {"access_token": value, "token_type": "DPoP" if key else "Bearer", "expires_in": int(options.lifetime),
                  "scope": " ".join(scopes)}  # fmt: skip
        if refresh and options.refresh and (not options.offline or "offline_access" in scopes):
            again = world.secret("refresh_token", "rt")
            self.refreshes[again] = Refresh(again, client, scopes, resource, family, key)
            answer["refresh_token"] = again
        return answer

    def revoke(self, value: str) -> None:
        """End the whole family of a refresh token, or a single access token."""
        if found := self.refreshes.get(value):
            self.end(found.family)
        elif token := self.tokens.get(value):
            token.ended = True

    def end(self, family: str) -> None:
        """End all tokens of one sign-in."""
        for one in (*self.tokens.values(), *self.refreshes.values()):
            one.ended = one.ended or one.family == family
