"""Requests to token endpoints say what their grant needs, and show the client in its way."""

from __future__ import annotations

import base64
from urllib.parse import parse_qsl, unquote_plus

import pytest

from mcp_studio.auth import tokens
from mcp_studio.auth.model import AuthFailed, Client

URL = "https://as.example/token"
ODD = "se cret:+%&=é"


def client(method: str, secret: str = ODD, client_id: str = "my id:1") -> Client:
    return Client("https://as.example", client_id, secret, method)


def form(request: tokens.TokenRequest) -> dict[str, str]:
    pairs = parse_qsl(request.body.decode("ascii"), keep_blank_values=True)
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


def test_every_grant_says_what_it_needs() -> None:
    assert dict(tokens.code_form("c", "v", "http://127.0.0.1/cb", "https://mcp")) == {
        "grant_type": "authorization_code",
        "code": "c",
        "redirect_uri": "http://127.0.0.1/cb",
        "code_verifier": "v",
        "resource": "https://mcp",
    }
    assert dict(tokens.refresh_form("r", "https://mcp", ("a", "b")))["scope"] == "a b"
    assert dict(tokens.credentials_form("", ()))["grant_type"] == "client_credentials"
    assert dict(tokens.bearer_form("jwt", ""))["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
    assert dict(tokens.exchange_form("idt", "https://as", "https://mcp", ("a",))) == {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "requested_token_type": "urn:ietf:params:oauth:token-type:id-jag",
        "subject_token": "idt",
        "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
        "audience": "https://as",
        "resource": "https://mcp",
        "scope": "a",
    }
    assert dict(tokens.revocation_form("t", "refresh_token")) == {"token": "t", "token_type_hint": "refresh_token"}


def test_what_is_empty_is_not_sent() -> None:
    assert form(tokens.post(URL, client("none"), tokens.refresh_form("r", ""))) == {
        "grant_type": "refresh_token",
        "refresh_token": "r",
        "client_id": "my id:1",
    }


def test_a_public_client_names_itself() -> None:
    request = tokens.post(URL, client("none"), tokens.code_form("the-code", "the-verifier", "x", ""))
    assert form(request)["client_id"] == "my id:1" and "client_secret" not in form(request)
    assert "Authorization" not in dict(request.headers)
    assert set(request.secrets) == {"the-code", "the-verifier"}


def test_basic_encodes_id_and_secret_first() -> None:
    request = tokens.post(URL, client("client_secret_basic"), tokens.credentials_form("https://mcp"))
    kind, _, value = dict(request.headers)["Authorization"].partition(" ")
    name, _, secret = base64.b64decode(value).decode("ascii").partition(":")
    assert kind == "Basic" and (unquote_plus(name), unquote_plus(secret)) == ("my id:1", ODD)
    assert not {"client_id", "client_secret"} & form(request).keys()
    assert ODD in request.secrets and value in request.secrets


def test_post_puts_both_into_the_form() -> None:
    request = tokens.post(URL, client("client_secret_post"), tokens.credentials_form(""))
    assert form(request) == {"grant_type": "client_credentials", "client_id": "my id:1", "client_secret": ODD}
    assert ODD in request.secrets and "Authorization" not in dict(request.headers)


def test_a_jwt_says_who_the_client_is() -> None:
    request = tokens.post(URL, client("private_key_jwt"), tokens.credentials_form(""), assertion="a.b.c")
    assert form(request) == {
        "grant_type": "client_credentials",
        "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        "client_assertion": "a.b.c",
    }
    assert "a.b.c" in request.secrets


@pytest.mark.parametrize(
    "method, secret", [("client_secret_basic", ""), ("client_secret_post", ""), ("private_key_jwt", "x"), ("tls", "x")]
)
def test_a_client_with_nothing_to_show_is_refused(method: str, secret: str) -> None:
    with pytest.raises(AuthFailed) as caught:
        tokens.post(URL, client(method, secret), tokens.credentials_form(""))
    assert method in caught.value.message and caught.value.hint


def test_a_workload_may_have_no_id() -> None:
    assert "client_id" not in form(tokens.post(URL, client("none", "", ""), tokens.bearer_form("j", "")))
