"""Headers, addresses and bodies of signing in: what is secret in them goes, what a person debugs with stays."""

from __future__ import annotations

import json

import pytest

from mcp_studio.redact import MARK, Redactor

FORM = "application/x-www-form-urlencoded; charset=utf-8"
TOKEN_REQUEST = (
    b"grant_type=authorization_code&code=s3cr-code&redirect_uri=http%3A%2F%2F127.0.0.1%3A7338%2Fcallback&client_id=me"
    b"&code_verifier=s3cr-verifier&resource=https%3A%2F%2Fmcp.example%2Fmcp"
)


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        (TOKEN_REQUEST, [b"grant_type=authorization_code", b"127.0.0.1%3A7338", b"client_id=me", b"mcp.example"]),
        (b"grant_type=refresh_token&refresh_token=s3cr&scope=a+b", [b"scope=a+b"]),
        (b"grant_type=client_credentials&client_id=me&client_secret=s3cr", [b"client_id=me"]),
        (b"client_assertion_type=urn%3Aietf&client_assertion=s3cr", [b"client_assertion_type=urn%3Aietf"]),
        (b"assertion=s3cr&grant_type=urn%3Aietf", [b"grant_type=urn%3Aietf"]),
        (b"subject_token=s3cr&subject_token_type=urn%3Aid&actor_token=s3cr", [b"subject_token_type=urn%3Aid"]),
        (b"token=s3cr&token_type_hint=refresh_token", [b"token_type_hint=refresh_token"]),
        (b"code=s3cr", []),
        (b"co%64e=s3cr&Client%5FSecret=s3cr", []),
        (b"&&=&code=&a", [b"&&=&code=&a"]),
        (b"\xff\xfe=1&password=s3cr", [b"\xff\xfe=1"]),
    ],
)
def test_fields_of_a_form_go_by_their_names_however_short_they_are(body: bytes, kept: list[bytes]) -> None:
    clean = Redactor().body(FORM, body)
    assert b"s3cr" not in clean
    assert all(part in clean for part in kept)


@pytest.mark.parametrize(
    "answer",
    [
        {"access_token": "s3cr", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "s3cr", "scope": "a b"},
        {"client_id": "me", "client_secret": "s3cr", "registration_access_token": "s3cr", "redirect_uris": ["x"]},
        {"id_token": "s3cr", "access_token": "a\"s3cr\\", "issued_token_type": "urn:ietf"},
        {"error": "invalid_grant", "error_description": "The code_verifier=s3cr is wrong"},
    ],
)  # fmt: skip
def test_tokens_of_an_answer_go_and_what_they_are_stays(answer: dict[str, object]) -> None:
    body = json.dumps(answer).encode()
    clean = Redactor().body("application/json", body)
    assert b"s3cr" not in clean
    assert json.loads(clean).keys() == answer.keys()


def test_an_answer_that_is_cut_or_calls_itself_something_else_is_clean_all_the_same() -> None:
    redactor = Redactor()
    for body in (b'{"access_token":"s3cr', b'<p>{"refresh_token": "s3cr"}</p>', b"access_token=s3cr&token_type=bearer"):
        for kind in ("application/json", "text/html", "", FORM):
            assert b"s3cr" not in redactor.body(kind, body), (kind, body)


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("Location", "http://127.0.0.1:7338/callback?code=s3cr&state=s3cr&iss=https%3A%2F%2Fas.example", "iss=https"),
        ("Location", "http://127.0.0.1:7338/callback#id_token=s3cr&access_token=s3cr&token_type=b", "token_type=b"),
        ("Location", "http://127.0.0.1:7338/callback?error=access_denied&state=s3cr", "error=access_denied"),
        ("Location", "https://as.example/authorize?code_challenge=abc&state=s3cr&client_id=me", "code_challenge=abc"),
        ("Location", "https://as.example/logout?id_token_hint=eyJhbGciOiJI.eyJzM2NyIjoi.s3cr", "logout"),
        ("Authorization", "Basic czNjcjpzM2Ny", "Basic"),
        ("Authorization", "DPoP s3cr", "DPoP"),
        ("Set-Cookie", "session=s3cr; Path=/", ""),
        ("WWW-Authenticate", 'Bearer resource_metadata="https://x.example/prm", scope="a"', "https://x.example/prm"),
        ("DPoP-Nonce", "abc-nonce", "abc-nonce"),
    ],
)
def test_headers_keep_what_says_something(name: str, value: str, kept: str) -> None:
    ((_, clean),) = Redactor().headers([(name, value)])
    assert "s3cr" not in clean and kept in clean


def test_a_session_has_the_same_name_wherever_it_is_met_and_another_has_another() -> None:
    redactor = Redactor()
    first = redactor.headers([("Mcp-Session-Id", "abc-1"), ("MCP-SESSION-ID", "abc-2"), ("mcp-session-id", "abc-1")])
    assert [value for _, value in first] == ["‹session 1›", "‹session 2›", "‹session 1›"]
    assert redactor.url("https://x.example/messages?session_id=abc-2&a=1") == (
        "https://x.example/messages?session_id=‹session 2›&a=1"
    )
    assert redactor.url("/messages/?sessionId=abc-1") == "/messages/?sessionId=‹session 1›"
    again = Redactor().headers([("Mcp-Session-Id", "‹session 7›")])
    assert again[0][1] == "‹session 7›", "a name stays when it is exported"


def test_what_a_server_says_of_a_session_does_not_have_its_id() -> None:
    redactor = Redactor()
    for session in ("3f2b8c1e-9d41-4a6e-8f55-0c1d2e3f4a5b", "default", "a-session-of-words"):
        redactor.headers([("Mcp-Session-Id", session)])
    error = b'{"message":"3f2b8c1e-9d41-4a6e-8f55-0c1d2e3f4a5b is unknown; default is a-session-of-words"}'
    assert redactor.bytes(error) == '{"message":"‹redacted› is unknown; default is a-session-of-words"}'.encode()
    ((_, again),) = redactor.headers([("Mcp-Session-Id", "3f2b8c1e-9d41-4a6e-8f55-0c1d2e3f4a5b")])
    assert again == "‹session 1›"


def test_a_flood_of_sessions_is_not_remembered_for_ever() -> None:
    redactor = Redactor()
    names = {redactor.headers([("Mcp-Session-Id", f"s-{n}")])[0][1] for n in range(10_050)}
    assert len(names) == 10_001 and MARK in names


def test_a_proof_is_not_shown() -> None:
    assert Redactor().headers([("DPoP", "eyJhbGciOiJFUzI1NiJ9.eyJodG0iOiJQT1NUIn0.c2lnbmF0dXJl")])[0][1] == MARK
