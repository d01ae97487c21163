"""The authorization server of the tests: metadata, registration, authorization, revocation, introspection."""

from __future__ import annotations

import asyncio
import html
import json
import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from tests.servers.auth_grants import Grants
from tests.servers.auth_options import ASSERTION, CODE, CREDENTIALS, EXCHANGE, REFRESH
from tests.servers.auth_proofs import Proofs, Wrong
from tests.servers.http_raw import Reply, Request

if TYPE_CHECKING:
    from tests.servers.auth_server import World

PLACES = ("metadata", "register", "authorize", "token", "idp/token", "revoke", "introspect")
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
PAGE = """<!doctype html><meta charset="utf-8"><title>Consent</title><h1>{client} wants to sign in</h1>
<p>It asks for: {scope}</p><form id="consent" method="post" action="{action}">{fields}
<button id="allow" name="answer" value="allow">Allow</button> <button id="deny" name="answer" value="deny">Deny</button>
</form>{script}"""
SCRIPT = "<script>document.getElementById('allow').click()</script>"


@dataclass
class Issuer:
    """An authorization server, with its clients, codes and tokens."""

    world: World
    name: str
    """`issuer1`, `issuer2`."""
    origin: str = ""
    clients: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """Registered clients; tests can add others before."""
    keys: dict[str, str] = field(default_factory=dict[str, str])
    """Public keys (PEM) of clients and of workloads, by client id, for private_key_jwt and jwt-bearer."""
    identity: str = ""
    """The identity token that the identity provider at `/idp/token` takes."""
    authorizations: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    """The query of each request to the authorization endpoint."""

    def __post_init__(self) -> None:
        self.key = secrets.token_bytes(32)
        self.proofs = Proofs(f"nonce-{self.name}-{secrets.token_hex(8)}" if self.world.options.nonces else "")
        self.grants = Grants(self)

    @property
    def url(self) -> str:
        """The issuer identifier."""
        return self.origin + self.world.options.issuer_path

    def metadata(self) -> dict[str, Any]:
        """RFC 8414 2."""
        options, base = self.world.options, self.url
        known = (*options.scopes, *(("offline_access",) if options.offline else ()))
        found: dict[str, Any] = {
            "issuer": base,
            "authorization_endpoint": f"{base}/authorize",
            "token_endpoint": f"{base}/token",
            "scopes_supported": list(known),
            "response_types_supported": ["code"],
            "grant_types_supported": [CODE, REFRESH, CREDENTIALS, ASSERTION, EXCHANGE],
            "token_endpoint_auth_methods_supported": list(options.methods),
            "token_endpoint_auth_signing_alg_values_supported": ["ES256"],
            "introspection_endpoint": f"{base}/introspect",
        }
        found |= {"registration_endpoint": f"{base}/register"} if options.registration else {}
        found |= {"revocation_endpoint": f"{base}/revoke"} if options.revocation else {}
        found |= {"code_challenge_methods_supported": ["S256"]} if options.pkce else {}
        found |= {"authorization_response_iss_parameter_supported": True} if options.iss else {}
        found |= {"client_id_metadata_document_supported": True} if options.documents else {}
        found |= {"dpop_signing_alg_values_supported": ["ES256"]} if options.dpop else {}
        return found

    def places(self) -> set[str]:
        """The paths at which the metadata is."""
        path = self.world.options.issuer_path
        known = {
            "oauth": f"/.well-known/oauth-authorization-server{path}",
            "oidc": f"/.well-known/openid-configuration{path}",
            "oidc-appended": f"{path}/.well-known/openid-configuration",
        }
        return {known[place] for place in self.world.options.metadata}

    async def handle(self, got: Request, reply: Reply) -> bool:
        """Answer one HTTP request; False if the path is none of ours."""
        path = urlsplit(got.path).path
        if path in self.places():
            place = "metadata"
        elif not path.startswith(self.world.options.issuer_path + "/"):
            return False
        else:
            place = path.removeprefix(self.world.options.issuer_path + "/")
        if place not in PLACES:
            return False
        answer = getattr(self, f"_{place.replace('/', '_')}")
        await asyncio.sleep(self.world.options.wait)
        if await self.world.takeover(place, got, reply):
            return True
        try:
            await answer(got, reply)
        except Wrong as wrong:
            nonce = (f"DPoP-Nonce: {self.proofs.nonce}",) if wrong.code == "use_dpop_nonce" else ()
            basic = ("WWW-Authenticate: Basic realm=test",) if wrong.status == 401 else ()
            await self._json(reply, {"error": wrong.code, "error_description": wrong.why}, wrong.status, *nonce, *basic)
        return True

    async def _metadata(self, got: Request, reply: Reply) -> None:
        await self._json(reply, self.world.hooked("metadata", self.metadata()))

    async def _register(self, got: Request, reply: Reply) -> None:
        """RFC 7591 3."""
        if not self.world.options.registration:
            raise Wrong("access_denied", "There is no registration.", 403)
        asked = got.json
        if not isinstance(asked.get("redirect_uris"), list) and CODE in asked.get("grant_types", [CODE]):
            raise Wrong("invalid_redirect_uri", "redirect_uris is missing.")
        method = self.world.options.registered_method or asked.get("token_endpoint_auth_method", "client_secret_basic")
        client = {**asked, "client_id": f"client-{secrets.token_hex(8)}", "token_endpoint_auth_method": method,
                  "client_id_issued_at": int(time.time())}  # fmt: skip
        if method.startswith("client_secret"):
            client |= {"client_secret": self.world.secret("client_secret", "cs"), "client_secret_expires_at": 0}
        self.clients[client["client_id"]] = client
        await self._json(reply, self.world.hooked("registered", dict(client)), 201)

    def client(self, name: str) -> dict[str, Any]:
        """A client by its id; raises Wrong."""
        if self.world.options.documents and name.startswith("https://") and urlsplit(name).path.strip("/"):
            return {"client_id": name, "client_name": name, "token_endpoint_auth_method": "none", "redirect_uris": None}
        if name not in self.clients:
            raise Wrong("invalid_client", "This client is not known.", 401)
        return self.clients[name]

    async def _authorize(self, got: Request, reply: Reply) -> None:
        """RFC 6749 4.1.1, with PKCE and resource; answers with a redirect, or with a page."""
        asked = dict(parse_qsl(urlsplit(got.path).query))
        if got.method == "POST":
            asked = dict(parse_qsl(got.body.decode()))
            answer = asked.pop("answer", "deny")
        else:
            self.authorizations.append(asked)
            answer = {"at once": "allow", "deny": "deny"}.get(self.world.options.consent, "")
        try:
            client = self.client(asked.get("client_id", ""))
            self._redirect_known(client, asked.get("redirect_uri", ""))
        except Wrong as wrong:  # nowhere to redirect to
            await reply.body("400 Bad Request", html.escape(str(wrong)).encode(), kind="text/html")
            return
        try:
            self._fine(asked)
            if not answer:
                await self._page(client, asked, reply)
                return
            if answer != "allow":
                raise Wrong("access_denied", "The person said no.")
            back = [("code", self.grants.code(asked))]
        except Wrong as wrong:
            back = [("error", wrong.code), ("error_description", wrong.why)]
        back += [("state", asked["state"])] if "state" in asked else []
        back += [("iss", self.url)] if self.world.options.iss else []
        back = self.world.hooked("redirect", back)
        joint = "&" if urlsplit(asked["redirect_uri"]).query else "?"
        await reply.body("302 Found", b"", f"Location: {asked['redirect_uri']}{joint}{urlencode(back)}")

    def _redirect_known(self, client: dict[str, Any], uri: str) -> None:
        if not uri:
            raise Wrong("invalid_request", "redirect_uri is missing.")
        known = client["redirect_uris"]
        if known is None and urlsplit(uri).hostname in LOOPBACK:
            return
        short = {(one, ":".join(one.split(":")[:2]) + urlsplit(one).path) for one in known or []}
        loose = self.world.options.any_port and urlsplit(uri).hostname in LOOPBACK
        mine = ":".join(uri.split(":")[:2]) + urlsplit(uri).path
        if not any(uri == whole or (loose and mine == cut) for whole, cut in short):
            raise Wrong("invalid_request", f"The redirect {uri} is not registered.")

    def _fine(self, asked: dict[str, str]) -> None:
        if asked.get("response_type") != "code":
            raise Wrong("unsupported_response_type")
        if asked.get("code_challenge_method") != "S256" or len(asked.get("code_challenge", "")) != 43:
            raise Wrong("invalid_request", "PKCE with S256 is required.")
        self.world.check_resource(asked.get("resource", ""))
        known = {*self.world.options.scopes, *(("offline_access",) if self.world.options.offline else ())}
        if unknown := set(asked.get("scope", "").split()) - known:
            raise Wrong("invalid_scope", f"Not known: {' '.join(sorted(unknown))}")

    async def _page(self, client: dict[str, Any], asked: dict[str, str], reply: Reply) -> None:
        fields = "".join(f'<input type="hidden" name="{html.escape(name)}" value="{html.escape(value)}">'
                         for name, value in asked.items())  # fmt: skip
        shown = {
            "client": html.escape(str(client.get("client_name", ""))),
            "scope": html.escape(asked.get("scope", "")),
        }
        script = SCRIPT if self.world.options.consent == "script" else ""
        page = PAGE.format(**shown, action=f"{self.url}/authorize", fields=fields, script=script)
        await reply.body("200 OK", page.encode(), kind="text/html; charset=utf-8")

    async def _token(self, got: Request, reply: Reply) -> None:
        answer = self.grants.answer(got)
        await self._json(reply, answer, 200, "Cache-Control: no-store")

    async def _idp_token(self, got: Request, reply: Reply) -> None:
        await self._json(reply, self.grants.exchange(dict(parse_qsl(got.body.decode()))))

    async def _revoke(self, got: Request, reply: Reply) -> None:
        """RFC 7009 2."""
        form = dict(parse_qsl(got.body.decode()))
        self.grants.authenticate(form, got.headers.get("authorization", ""))
        self.grants.revoke(form.get("token", ""))
        await reply.body("200 OK", b"")

    async def _introspect(self, got: Request, reply: Reply) -> None:
        """RFC 7662 2, open to everybody: this is a server for tests."""
        form = dict(parse_qsl(got.body.decode()))
        token = self.grants.tokens.get(form.get("token", ""))
        await self._json(reply, token.about() if token and token.live else {"active": False})

    async def _json(self, reply: Reply, value: Any, status: int = 200, *lines: str) -> None:
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        names = {200: "OK", 201: "Created", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden"}
        await reply.body(f"{status} {names.get(status, 'Status')}", body, *lines)
