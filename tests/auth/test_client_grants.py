"""Grants without a person send what they have to, once, to whom it is for; a nonce is the only second chance."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import NamedTuple, cast
from urllib.parse import parse_qsl

import jwt
import pytest

from mcp_studio.auth import tokens
from mcp_studio.auth.dpop import Dpop
from mcp_studio.auth.fetch import Fetched
from mcp_studio.auth.metadata import IssuerMetadata
from mcp_studio.auth.model import AuthFailed, Client
from mcp_studio.config.model import Auth, ServerConfig
from mcp_studio.errors import ConfigError
from mcp_studio.jsontext import Json
from mcp_studio.redact import Redactor
from tests.auth.test_assertions import pem, private
from tests.auth.test_claims import jwt as made
from tests.support import run

ISSUER = "https://as.example"
SERVER = "https://mcp.example/mcp"
IDP = "https://idp.example/token"
SECRET = "the-client-secret"


Obtained = tuple[Client, tokens.Tokens]


class Sent(NamedTuple):
    url: str
    headers: dict[str, str]
    form: dict[str, str]
    secrets: tuple[str, ...]


class Wire:
    """Answers in turn, and remembers what was sent."""

    def __init__(self, *given: Fetched) -> None:
        self.given = list(given)
        self.sent: list[Sent] = []
        self.redactor = Redactor()
        self.config = ServerConfig("s", url=SERVER)

    async def send(
        self,
        purpose: str,
        method: str,
        url: str,
        *,
        headers: list[tuple[str, str]] | None = None,
        body: bytes = b"",
        secrets: Iterable[str] = (),
    ) -> Fetched:
        assert purpose and method == "POST"
        self.sent.append(Sent(url, dict(headers or []), dict(parse_qsl(body.decode())), tuple(secrets)))
        return self.given.pop(0)


def answer(raw: Json, status: int = 200, **headers: str) -> Fetched:
    lines = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Fetched("", status, lines, json.dumps(raw).encode())


GOOD = answer({"access_token": "the-token", "token_type": "Bearer", "expires_in": 60})


def metadata(**changes: Json) -> IssuerMetadata:
    raw = {"issuer": ISSUER, "token_endpoint": f"{ISSUER}/token", **changes}
    return IssuerMetadata(raw, issuer=ISSUER, server=SERVER, place="p")


def obtain(wire: Wire, auth: Auth, issuer: IssuerMetadata | None = None, **given: object) -> Obtained:
    config = wire.config = replace(wire.config, auth=auth)
    call = cast("Callable[..., Awaitable[Obtained]]", tokens.obtain)

    async def go() -> Obtained:
        return await call(wire, config, issuer or metadata(), resource=SERVER, scopes=("a", "b"), **given)

    return run(go())


CREDENTIALS = Auth(kind="client_credentials", client_id="me", client_secret=SECRET)


def test_a_client_gets_a_token_for_its_secret() -> None:
    wire = Wire(GOOD)
    client, got = obtain(wire, CREDENTIALS)
    assert got.access_token == "the-token" and got.scopes == ("a", "b")
    assert client == Client(ISSUER, "me", SECRET, "client_secret_basic")
    assert "client_id" not in wire.sent[0].form
    (sent,) = wire.sent
    assert sent.url == f"{ISSUER}/token" and sent.headers["Authorization"].startswith("Basic ")
    assert sent.form == {"grant_type": "client_credentials", "scope": "a b", "resource": SERVER}
    assert SECRET in sent.secrets


def test_the_method_is_the_one_that_the_server_takes() -> None:
    wire = Wire(GOOD)
    obtain(wire, CREDENTIALS, metadata(token_endpoint_auth_methods_supported=["client_secret_post"]))
    assert wire.sent[0].form["client_secret"] == SECRET


def test_a_client_gets_a_token_for_its_key() -> None:
    wire = Wire(GOOD)
    takes = metadata(token_endpoint_auth_methods_supported=["private_key_jwt"])
    obtain(wire, Auth(kind="private_key_jwt", client_id="me", key=pem("P-256")), takes)
    form = wire.sent[0].form
    assert form["grant_type"] == "client_credentials" and form["resource"] == SERVER
    shown = jwt.decode(form["client_assertion"], private("P-256").public_key(), algorithms=["ES256"], audience=ISSUER)
    assert shown["sub"] == "me"


def test_a_workload_gets_a_token_for_its_jwt() -> None:
    workload = made({"iss": "https://k8s", "aud": ISSUER, "exp": time.time() + 60})
    for client_id in ("", "me"):
        wire = Wire(GOOD)
        client, _ = obtain(wire, Auth(kind="workload", assertion=workload, client_id=client_id))
        form = wire.sent[0].form
        assert (form["grant_type"], form["assertion"], form["resource"]) == (tokens.JWT_BEARER, workload, SERVER)
        assert form.get("client_id", "") == client_id and client.method == "none"
        assert len(wire.sent) == 1


@pytest.mark.parametrize("error", ["invalid_grant", "invalid_scope", "unauthorized_client", "unsupported_grant_type"])
def test_a_workload_that_is_refused_tries_nothing_else(error: str) -> None:
    workload = made({"iss": "https://k8s", "aud": "https://other.example", "exp": time.time() + 600})
    wire = Wire(answer({"error": error, "error_description": "no"}, 400))
    with pytest.raises(AuthFailed, match=error) as caught:
        obtain(wire, Auth(kind="workload", assertion=workload))
    assert len(wire.sent) == 1 and caught.value.error == error
    assert workload not in f"{caught.value}{caught.value.hint}"
    assert ("https://other.example" in caught.value.hint) is (error in ("invalid_grant", "unauthorized_client"))


IDENTITY = made({"aud": "idp-client", "exp": time.time() + 600})
GRANT = made({"aud": ISSUER, "exp": time.time() + 300}, {"typ": "oauth-id-jag+jwt"})
ENTERPRISE = replace(
    CREDENTIALS, kind="enterprise", idp_token_endpoint=IDP, idp_client_id="idp-client", idp_id_token=IDENTITY
)
ASSERTED = answer({"access_token": GRANT, "issued_token_type": tokens.ID_JAG, "token_type": "N_A", "expires_in": 300})


def test_an_enterprise_exchanges_the_identity_first() -> None:
    wire = Wire(ASSERTED, GOOD)
    assert obtain(wire, ENTERPRISE)[1].access_token == "the-token"
    first, second = wire.sent
    assert (first.url, second.url) == (IDP, f"{ISSUER}/token")
    assert first.form == {
        "grant_type": tokens.TOKEN_EXCHANGE,
        "requested_token_type": tokens.ID_JAG,
        "subject_token": IDENTITY,
        "subject_token_type": tokens.ID_TOKEN,
        "audience": ISSUER,
        "resource": SERVER,
        "scope": "a b",
        "client_id": "idp-client",
    }
    assert SECRET not in str(first), "the secret for the authorization server is nothing for the identity provider"
    assert (second.form["grant_type"], second.form["assertion"]) == (tokens.JWT_BEARER, GRANT)
    assert second.headers["Authorization"].startswith("Basic ")


def test_the_identity_provider_gets_its_own_secret() -> None:
    wire = Wire(ASSERTED, GOOD)
    obtain(wire, replace(ENTERPRISE, idp_client_secret="idp-secret"))
    assert "idp-secret" in wire.sent[0].secrets and "idp-secret" not in str(wire.sent[1])


@pytest.mark.parametrize(
    "given, words",
    [
        (answer({"error": "invalid_grant"}, 400), "idp.example"),
        (answer({"access_token": GRANT, "issued_token_type": tokens.ID_TOKEN, "token_type": "N_A"}), "id_token"),
        (answer({"token_type": "N_A"}), "access_token is missing"),
        (answer("text"), "no JSON object"),
    ],
)
def test_what_the_identity_provider_refuses_ends_it(given: Fetched, words: str) -> None:
    wire = Wire(given)
    with pytest.raises(AuthFailed) as caught:
        obtain(wire, ENTERPRISE)
    assert words in caught.value.message and len(wire.sent) == 1 and GRANT not in str(caught.value)


LACKING = {
    "key": Auth(kind="private_key_jwt", client_id="me"),
    "assertion": Auth(kind="workload"),
    "idp_id_token": replace(ENTERPRISE, idp_id_token=""),
}


@pytest.mark.parametrize("name", LACKING)
def test_what_the_configuration_lacks_is_said_before_anything_is_sent(name: str) -> None:
    wire = Wire()
    with pytest.raises(ConfigError) as caught:
        obtain(wire, LACKING[name])
    assert caught.value.key == name and f"`{name}`" in caught.value.message and not wire.sent


def test_an_identity_provider_without_tls_gets_nothing() -> None:
    wire = Wire()
    with pytest.raises(AuthFailed, match="idp_token_endpoint"):
        obtain(wire, replace(ENTERPRISE, idp_token_endpoint="http://idp.example/token"))
    assert not wire.sent


# A key for the token, and its nonce.

NONCE = answer({"error": "use_dpop_nonce"}, 400, DPoP_Nonce="n1")
BOUND = answer({"access_token": "the-token", "token_type": "DPoP"})


def claims(sent: Sent) -> dict[str, Json]:
    return jwt.decode(sent.headers["DPoP"], options={"verify_signature": False})


def test_a_nonce_that_is_wanted_is_sent_once_more() -> None:
    wire, dpop = Wire(NONCE, BOUND), Dpop.make(required=True)
    _, got = obtain(wire, CREDENTIALS, dpop=dpop)
    assert got.token_type == "DPoP" and len(wire.sent) == 2
    first, second = map(claims, wire.sent)
    assert "nonce" not in first and second["nonce"] == "n1" and first["jti"] != second["jti"]
    assert second["htu"] == f"{ISSUER}/token" and second["htm"] == "POST"


def test_an_assertion_is_good_for_one_request() -> None:
    wire = Wire(NONCE, BOUND)
    obtain(wire, Auth(kind="private_key_jwt", client_id="me", key=pem("P-256")), dpop=Dpop.make(required=True))
    first, second = (sent.form["client_assertion"] for sent in wire.sent)
    assert first != second


@pytest.mark.parametrize(
    "given",
    [
        [NONCE, answer({"error": "use_dpop_nonce"}, 400, DPoP_Nonce="n2")],
        [NONCE, NONCE],
        [answer({"error": "use_dpop_nonce"}, 400)],
        [answer({"error": "invalid_dpop_proof"}, 400, DPoP_Nonce="n1")],
        [answer({"error": "invalid_client"}, 401, DPoP_Nonce="n1")],
    ],
)
def test_a_server_cannot_ask_for_nonces_without_end(given: list[Fetched]) -> None:
    wire = Wire(*given)
    with pytest.raises(AuthFailed, match="refused"):
        obtain(wire, CREDENTIALS, dpop=Dpop.make(required=True))
    assert not wire.given


def test_a_nonce_is_known_from_the_challenge_too() -> None:
    wanted = Fetched(
        "", 401, (("WWW-Authenticate", 'DPoP error="use_dpop_nonce"'), ("DPoP-Nonce", "n1")), b'{"error": "x"}'
    )
    wire = Wire(wanted, BOUND)
    obtain(wire, CREDENTIALS, dpop=Dpop.make(required=False))
    assert claims(wire.sent[1])["nonce"] == "n1"


def test_a_server_that_overlooks_the_header_is_told_the_client_in_the_form_too() -> None:
    wire = Wire(answer({"error": "invalid_client", "error_description": "Missing client_id"}, 401), GOOD)
    assert obtain(wire, CREDENTIALS)[1].access_token == "the-token"
    first, second = wire.sent
    assert second.headers == first.headers and second.form == {**first.form, "client_id": "me"}
    wire = Wire(answer({"error": "invalid_client", "error_description": "Wrong secret"}, 401))
    with pytest.raises(AuthFailed):
        obtain(wire, CREDENTIALS)
    assert len(wire.sent) == 1
