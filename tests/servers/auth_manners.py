"""The table of misbehaviours: what each does, and how. `python -m tests.servers.auth_server --list` prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.servers import auth_manners_wire as wire
from tests.servers.auth_options import Hook, Manner

if TYPE_CHECKING:
    from tests.servers.auth_server import World

HOSTILE = (
    "\x1b[2J\x1b]0;owned\x07 \x9b31m \u202egnp.exe\u202c \u2066x\u2069 \u200bzero "
    "[@click=app.quit]quit[/] [/bold] \U000e0041"
)
"""Text that terminals or markup parsers would interpret."""
PUBLIC = "auth.example.com"


def puts(**values: Any) -> Hook:
    """A hook that sets members of an object: to what a callable returns for the world; None removes the member."""

    def hook(world: World, value: Any) -> Any:
        new = {name: one(world) if callable(one) else one for name, one in values.items()}
        return {name: one for name, one in {**value, **new}.items() if one is not None}

    return hook


def metadata(says: str, **values: Any) -> Manner:
    """A misbehaviour that changes the metadata of the authorization server."""
    return Manner(says, metadata=puts(**values))


def prm(says: str, **values: Any) -> Manner:
    """A misbehaviour that changes the metadata of the resource."""
    return Manner(says, prm=puts(**values))


def token(says: str, **values: Any) -> Manner:
    """A misbehaviour that changes token responses."""
    return Manner(says, token=puts(**values))


def back(says: str, *drop: str, options: dict[str, Any] | None = None, **add: Any) -> Manner:
    """A misbehaviour that changes the parameters of the redirect; a list repeats its parameter."""

    def hook(world: World, pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
        kept = [pair for pair in pairs if pair[0] not in drop]
        for name, value in add.items():
            found = value(world) if callable(value) else value
            kept += [(name, one) for one in (found if isinstance(found, list) else [found])]
        return kept

    return Manner(says, options or {}, redirect=hook)


def elsewhere(path: str) -> Any:
    """An address at an unrelated origin."""
    return lambda world: world.elsewhere + path


def userinfo(path: str) -> Any:
    """The right address, with a name and a password in it."""
    return lambda world: world.issuer.url.replace("://", "://ada:pass-in-url@") + path


def doubled(world: World, pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """`iss` twice: right, and wrong."""
    return [*pairs, ("iss", world.elsewhere)]


METADATA = {
    "wrong-issuer": metadata("metadata of another issuer", issuer=elsewhere("")),
    "issuer-slash": metadata("the issuer in the metadata ends in a slash", issuer=lambda w: w.issuer.url + "/"),
    "no-issuer": metadata("metadata without issuer", issuer=None),
    "no-pkce": Manner("metadata does not tell of PKCE", {"pkce": False}),
    "plain-pkce": metadata("PKCE with plain alone", code_challenge_methods_supported=["plain"]),
    "pkce-text": metadata("code_challenge_methods_supported is text", code_challenge_methods_supported="S256"),
    "no-authorize": metadata("metadata without authorization_endpoint", authorization_endpoint=None),
    "no-token": metadata("metadata without token_endpoint", token_endpoint=None),
    "token-number": metadata("token_endpoint is a number", token_endpoint=7),
    "authorize-elsewhere": metadata("authorization endpoint at another origin", authorization_endpoint=elsewhere("/a")),
    "token-elsewhere": metadata("token endpoint at another origin", token_endpoint=elsewhere("/token")),
    "register-elsewhere": metadata("registration at another origin", registration_endpoint=elsewhere("/register")),
    "authorize-http": metadata("authorization endpoint by http", authorization_endpoint=f"http://{PUBLIC}/authorize"),
    "token-http": metadata("token endpoint by http", token_endpoint=f"http://{PUBLIC}/token"),
    "authorize-javascript": metadata("authorization by javascript:", authorization_endpoint="javascript:alert(1)//x/"),
    "authorize-file": metadata("authorization by file:", authorization_endpoint="file:///etc/passwd"),
    "authorize-option": metadata("authorization that looks like an option", authorization_endpoint="--new-window"),
    "authorize-userinfo": metadata(
        "userinfo in the authorization address", authorization_endpoint=userinfo("/authorize")
    ),
    "token-userinfo": metadata("userinfo in the token address", token_endpoint=userinfo("/token")),
    "authorize-fragment": metadata(
        "a fragment in it", authorization_endpoint=lambda w: w.issuer.url + "/authorize#top"
    ),
    "token-private": metadata("token endpoint in a private network", token_endpoint="https://10.0.0.1/token"),
    "token-cloud": metadata("token endpoint at a cloud's metadata", token_endpoint="http://169.254.169.254/token"),
    "metadata-redirect": Manner("metadata redirects to another origin", reply={"metadata": wire.redirect_elsewhere}),
    "metadata-redirect-loop": Manner("metadata redirects to itself", reply={"metadata": wire.redirect_loop}),
    "metadata-hops": Manner("metadata redirects on and on within its origin", reply={"metadata": wire.many_hops}),
    "metadata-huge": Manner("metadata of 30 MB", reply={"metadata": wire.huge}),
    "metadata-endless": Manner("metadata without end", reply={"metadata": wire.endless}),
    "metadata-slow": Manner("metadata a byte at a time", reply={"metadata": wire.slow}),
    "metadata-silent": Manner("metadata never comes", reply={"metadata": wire.silent}),
    "metadata-deep": Manner("metadata nested 100,000 deep", reply={"metadata": wire.deep}),
    "metadata-bomb": Manner("a gzip bomb as metadata", reply={"metadata": wire.gzip_bomb}),
    "metadata-html": Manner("a page instead of metadata", reply={"metadata": wire.html}),
    "metadata-not-json": Manner("metadata that is no JSON", reply={"metadata": wire.not_json}),
    "metadata-list": Manner("metadata is a list", metadata=lambda world, value: [value]),
    "metadata-500": Manner("metadata: 500", reply={"metadata": wire.status("500 Internal Server Error")}),
    "metadata-429": Manner(
        "metadata: 429", reply={"metadata": wire.status("429 Too Many Requests", "Retry-After: 30")}
    ),
}
PRM = {
    "prm-wrong-resource": prm("metadata of another resource", resource=elsewhere("/mcp")),
    "prm-no-resource": prm("resource metadata without resource", resource=None),
    "prm-no-servers": prm("resource metadata without authorization servers", authorization_servers=None),
    "prm-empty-servers": prm("no authorization server in the list", authorization_servers=[]),
    "prm-servers-text": prm("authorization_servers is text", authorization_servers=lambda w: w.issuer.url),
    "prm-many-servers": prm(
        "10,000 of them", authorization_servers=[f"https://as{n}.example.com" for n in range(10_000)]
    ),
    "prm-http": prm("an authorization server by http", authorization_servers=[f"http://{PUBLIC}"]),
    "prm-javascript": prm("a javascript: authorization server", authorization_servers=["javascript:alert(1)"]),
    "prm-private": prm("one in a private network", authorization_servers=["https://10.0.0.1"]),
    "prm-cloud": prm("one at a cloud's metadata", authorization_servers=["http://169.254.169.254/latest"]),
    "prm-userinfo": prm("one with userinfo", authorization_servers=lambda w: [userinfo("")(w)]),
    "prm-query": prm("one with a query", authorization_servers=["https://auth.example.com/?a=b"]),
    "prm-hostile": prm(
        "control characters in it", authorization_servers=[f"https://{HOSTILE}"], scopes_supported=[HOSTILE]
    ),
    "prm-redirect": Manner("resource metadata redirects to another origin", reply={"prm": wire.redirect_elsewhere}),
    "prm-redirect-loop": Manner("resource metadata redirects to itself", reply={"prm": wire.redirect_loop}),
    "prm-huge": Manner("resource metadata of 30 MB", reply={"prm": wire.huge}),
    "prm-slow": Manner("resource metadata a byte at a time", reply={"prm": wire.slow}),
    "prm-bomb": Manner("a gzip bomb as resource metadata", reply={"prm": wire.gzip_bomb}),
    "prm-html": Manner("a page instead of resource metadata", reply={"prm": wire.html}),
    "prm-list": Manner("resource metadata is a list", prm=lambda world, value: [value]),
    "prm-500": Manner("resource metadata: 500", reply={"prm": wire.status("500 Internal Server Error")}),
    "prm-elsewhere": Manner(
        "the challenge names metadata at another origin",
        challenge=lambda world, line: f'Bearer resource_metadata="{world.elsewhere}/metadata"',
    ),
    "prm-cloud-challenge": Manner(
        "the challenge names a cloud's metadata",
        challenge=lambda world, line: 'Bearer resource_metadata="http://169.254.169.254/latest/meta-data"',
    ),
    "challenge-garbage": Manner(
        "a challenge that is none", challenge=lambda world, line: 'Bearer =,,"\\ resource_metadata=x"'
    ),
    "challenge-other": Manner(
        "a challenge for Basic and Negotiate", challenge=lambda world, line: 'Negotiate, Basic realm="x"'
    ),
    "challenge-long": Manner("a challenge of 30 KB", challenge=lambda world, line: f'{line}, junk="{"x" * 30_000}"'),
}
BACK = {
    "iss-wrong": back("iss of another issuer (mix-up)", "iss", iss=elsewhere("")),
    "iss-missing": back("iss is announced and missing", "iss"),
    "iss-double": Manner("iss twice, right and wrong", redirect=doubled),
    "iss-slash": back("iss ends in a slash", "iss", iss=lambda w: w.issuer.url + "/"),
    "iss-unannounced": back("a wrong iss that was not announced", options={"iss": False}, iss=elsewhere("")),
    "state-missing": back("state is missing", "state"),
    "state-wrong": back("another state", "state", state="of-somebody-else"),
    "state-double": back("state twice", state="of-somebody-else"),
    "code-missing": back("neither code nor error", "code"),
    "code-double": back("two codes", code="another-code"),
    "code-huge": back("a code of 60 KB", "code", code="c" * 60_000),
    "code-and-error": back("code and error at once", error="server_error"),
    "code-wrong": back("a code that is not known", "code", code="not-a-code-of-ours"),
    "authorize-denied": Manner("the person says no", {"consent": "deny"}),
    "authorize-error": back("an error redirect", "code", error="temporarily_unavailable", error_description="Not now."),
    "authorize-error-hostile": back("an error redirect with control characters", "code", error=HOSTILE,
                                    error_description=HOSTILE, error_uri="javascript:alert(1)"),
    "authorize-error-mix-up": back("an error redirect with a wrong iss", "code", "iss", error="access_denied",
                                   error_description="Call +1 555 0100 to unlock", iss=elsewhere("")),
    "authorize-html": Manner("a page that leads nowhere", reply={"authorize": wire.html}),
    "authorize-500": Manner("authorization: 500", reply={"authorize": wire.status("500 Internal Server Error")}),
    "callback-junk": Manner("junk and a wrong state hit the callback first", reply={"authorize": wire.callback_junk}),
}  # fmt: skip
REGISTRATION = {
    "register-redirect": Manner("registers another redirect", registered=puts(redirect_uris=["https://evil.example/cb"])),
    "register-no-id": Manner("registers without client_id", registered=puts(client_id=None)),
    "register-expired": Manner("the secret has expired", {"registered_method": "client_secret_basic"},
                               registered=puts(client_secret_expires_at=1)),
    "register-other": Manner("another client than the registered one", registered=puts(client_id="somebody-else")),
    "register-method": Manner("a method of nobody", registered=puts(token_endpoint_auth_method="tls_client_auth")),
    "register-hostile": Manner("control characters", registered=puts(client_name=HOSTILE, software_id=HOSTILE)),
    "register-html": Manner("a page instead of a registration", reply={"register": wire.html}),
    "register-500": Manner("registration: 500", reply={"register": wire.status("500 Internal Server Error")}),
    "register-403": Manner("registration: 403", reply={"register": wire.status("403 Forbidden")}),
    "register-error": Manner("registration is refused with control characters",
                             reply={"register": wire.bytes_of("400 Bad Request", {"error": "invalid_redirect_uri",
                                                                             "error_description": HOSTILE})}),
    "register-forgotten": Manner("the token endpoint has forgotten the client",
                                 reply={"token": wire.bytes_of("401 Unauthorized", {"error": "invalid_client"})}),
    "no-registration": Manner("no registration, no documents", {"registration": False}),
}  # fmt: skip


def echo(world: World, got: Any) -> Any:
    """The request's parameters, for an error that repeats them."""
    return {"error": "invalid_grant", "error_description": f"Cannot use {got.body.decode()}"}


TOKEN = {
    "token-html": Manner("a page instead of tokens", reply={"token": wire.html}),
    "token-500": Manner("token: 500", reply={"token": wire.status("500 Internal Server Error")}),
    "token-429": Manner("token: 429", reply={"token": wire.status("429 Slow Down", "Retry-After: 1")}),
    "token-silent": Manner("tokens never come", reply={"token": wire.silent}),
    "token-huge": Manner("a token answer of 30 MB", reply={"token": wire.huge}),
    "token-bomb": Manner("a gzip bomb as token answer", reply={"token": wire.gzip_bomb}),
    "token-not-json": Manner("a token answer that is no JSON", reply={"token": wire.not_json}),
    "token-list": Manner("the token answer is a list", token=lambda world, value: [value]),
    "token-redirect": Manner("tokens redirect to another origin", reply={"token": wire.redirect_elsewhere}),
    "token-echo": Manner("an error that repeats what came", reply={"token": wire.bytes_of("400 Bad Request", echo)}),
    "token-error-hostile": Manner("an error with control characters", reply={
        "token": wire.bytes_of("400 Bad Request", {"error": HOSTILE, "error_description": HOSTILE})}),
    "token-missing": token("no access_token", access_token=None),
    "token-number-value": token("access_token is a number", access_token=12345678),
    "token-control": token("line ends in access_token", access_token="at-with\r\nX-Injected: yes"),
    "token-unicode": token("access_token beyond ASCII", access_token="at-töken-☃"),
    "token-long": token("an access_token of 100 KB", access_token="t" * 100_000),
    "type-missing": token("no token_type", token_type=None),
    "type-wrong": token("token_type mac", token_type="mac"),
    "type-lower": token("token_type bearer in lower case, which is right", token_type="bearer"),
    "type-hostile": token("control characters in token_type", token_type=HOSTILE),
    "expires-missing": token("no expires_in", expires_in=None),
    "expires-negative": token("expires_in below zero", expires_in=-5),
    "expires-zero": token("expires_in 0", expires_in=0),
    "expires-huge": token("expires_in of 400 digits", expires_in=int("9" * 400)),
    "expires-text": token("expires_in as text", expires_in="3600"),
    "expires-null": Manner("expires_in null", token=lambda world, value: {**value, "expires_in": None}),
    "scope-narrow": Manner("not all scopes are granted", {"withheld": ("notes:write", "admin")}),
    "scope-none": token("the answer does not tell the scope", scope=None),
    "scope-wide": token("more scopes than asked for", scope="mcp:tools notes:read notes:write admin root"),
    "scope-list": token("scope is a list", scope=["mcp:tools"]),
    "scope-hostile": token("control characters in scope", scope=f"mcp:tools {HOSTILE}"),
    "refresh-number": token("refresh_token is a number", refresh_token=7),
    "no-refresh": Manner("no refresh tokens", {"refresh": False}),
}  # fmt: skip
REFRESH = {
    "refresh-refused": Manner(
        "invalid_grant for every refresh",
        reply={"token": wire.bytes_of("400 Bad Request", {"error": "invalid_grant"}, only="refresh_token")},
    ),
    "refresh-client-forgotten": Manner(
        "invalid_client for every refresh",
        reply={"token": wire.bytes_of("401 Unauthorized", {"error": "invalid_client"}, only="refresh_token")},
    ),
    "refresh-500": Manner(
        "500 for every refresh", reply={"token": wire.bytes_of("500 Internal Server Error", {}, only="refresh_token")}
    ),
    "refresh-kept": Manner("refreshes give no new refresh token", {"rotate": False}),
    "refresh-narrow": Manner("refreshes give fewer scopes", refreshed=puts(scope="")),
    "refresh-type": Manner("refreshes change the type", refreshed=puts(token_type="mac")),
    "refresh-empty": Manner("refreshes give nothing", refreshed=lambda world, value: {}),
    "revoke-500": Manner("revocation: 500", reply={"revoke": wire.status("500 Internal Server Error")}),
    "revoke-silent": Manner("revocation never answers", reply={"revoke": wire.silent}),
}
RESOURCE = {
    "401-for-ever": Manner("401 whatever comes", reply={"mcp": wire.unauthorized}),
    "403-for-ever": Manner("403 insufficient_scope whatever comes with a token", reply={"mcp": wire.forbidden}),
    "401-bare": Manner("401 without WWW-Authenticate", {"challenge": False, "prm": "path"}),
    "mcp-redirect": Manner("the MCP server redirects to another origin", reply={"mcp": wire.redirect_elsewhere}),
    "several-issuers": Manner("two authorization servers, both good", {"issuers": 2}),
    "issuer-changes": Manner("two, and World.migrate() goes from one to the other", {"issuers": 2}),
    "hostile-text": Manner(
        "control characters, bidi and markup in every text there is",
        prm=puts(resource_name=HOSTILE, resource_documentation=HOSTILE),
        metadata=puts(service_documentation=HOSTILE, op_policy_uri=HOSTILE, ui_locales_supported=[HOSTILE]),
        registered=puts(client_name=HOSTILE, software_id=HOSTILE),
        token=puts(scope=f"mcp:tools {HOSTILE}", note=HOSTILE),
    ),
    "metadata-extras": Manner("well-behaved, with members of every kind besides", metadata=puts(
        x_null=None, x_list=[[]], x_text="x", jwks_uri="http://169.254.169.254/jwks"), prm=puts(jwks_uri="http://10.0.0.1")),
}  # fmt: skip
MANNERS: dict[str, Manner] = METADATA | PRM | BACK | REGISTRATION | TOKEN | REFRESH | RESOURCE
