"""Answers of token endpoints are taken only as far as they are right, and never quoted with a secret."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_studio.auth import tokens
from mcp_studio.auth.dpop import Dpop
from mcp_studio.auth.model import AuthFailed
from mcp_studio.jsontext import Json
from mcp_studio.redact import Redactor
from tests.auth.test_metadata import ANY_JSON

ENDPOINT = "https://as.example/token"
TOKEN = "access-token-0123456789"
GOOD: dict[str, Json] = {"access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600}
SENT = ("code-0123456789", "verifier-0123456789", "s3cret with blank")


def read(answer: Json, status: int = 200, **given: object) -> tokens.Tokens:
    body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    redactor = Redactor()
    for secret in (*SENT, TOKEN):  # as `Fetcher` does with what it sends, and what answers call secret
        redactor.learn(secret)
    return tokens.read(status, body, redactor, endpoint=ENDPOINT, **given)  # type: ignore[arg-type]


def test_tokens_are_read() -> None:
    found = read({**GOOD, "refresh_token": "rt-secret", "id_token": "a.b.c", "scope": "a b", "extra": 1}, asked=("a",))
    assert (found.access_token, found.refresh_token, found.id_token) == (TOKEN, "rt-secret", "a.b.c")
    assert (found.token_type, found.expires_in, found.scopes) == ("Bearer", 3600.0, ("a", "b"))


@pytest.mark.parametrize("kind", ["Bearer", "bearer", "BEARER"])
def test_the_type_is_compared_without_case(kind: str) -> None:
    assert read({**GOOD, "token_type": kind}).token_type == "Bearer"
    assert read({**GOOD, "token_type": "dPoP"}, dpop=Dpop.make(required=False)).token_type == "DPoP"


@pytest.mark.parametrize(
    "kind, dpop, words",
    [
        ("DPoP", "no", "DPoP"),
        ("Bearer", "must", "Bearer"),
        (None, "must", "DPoP"),
        ("mac", "no", '"mac"'),
        (5, "no", "type 5"),
        ("N_A", "may", "N_A"),
    ],
)
def test_a_token_of_another_type_is_refused(kind: Json, dpop: str, words: str) -> None:
    with pytest.raises(AuthFailed, match=words) as caught:
        read({**GOOD, "token_type": kind}, dpop=None if dpop == "no" else Dpop.make(required=dpop == "must"))
    assert "token_type" in caught.value.hint and TOKEN not in str(caught.value)


def test_a_missing_type_is_noted() -> None:
    found = read({"access_token": TOKEN})
    assert found.token_type == "Bearer" and "token_type" in found.notes and found.expires_in == 0


@pytest.mark.parametrize(
    "value, seconds, noted",
    [
        (3600, 3600, False),
        (0.5, 0.5, False),
        ("3600", 3600, False),
        (" 60 ", 60, False),
        (None, 0, False),
        ("", 0, False),
        (0, 0, True),
        (-5, 0, True),
        ("soon", 0, True),
        (True, 0, True),
        ([], 0, True),
        (10**400, 0, True),
        (1e300, tokens.LATEST, False),
        ("9" * 14, tokens.LATEST, False),
        ("9" * 400, tokens.LATEST, False),
    ],
)
def test_the_life_of_a_token_is_a_sane_number(value: Json, seconds: float, noted: bool) -> None:
    found = read({**GOOD, "expires_in": value})
    assert found.expires_in == seconds and ("expires_in" in found.notes) is noted


def test_a_number_beyond_all_floats_is_read() -> None:
    assert read(b'{"access_token": "x", "token_type": "bearer", "expires_in": 1e999}').expires_in == tokens.LATEST


@pytest.mark.parametrize(
    "value, scopes, noted",
    [
        (..., ("x",), False),
        (None, ("x",), False),
        ("", (), True),
        ("x b x", ("x", "b"), False),
        (["a", "x", 1], ("a", "x"), False),
        (5, ("x",), True),
    ],
)
def test_scopes_are_what_was_granted_or_asked_for(value: Json, scopes: tuple[str, ...], noted: bool) -> None:
    answer = {**GOOD, "scope": value} if value is not ... else GOOD
    found = read(answer, asked=("x",))
    assert found.scopes == scopes and ("scope" in found.notes) is noted


@pytest.mark.parametrize("name", ["access_token", "refresh_token", "id_token"])
@pytest.mark.parametrize(
    "value", [f"{TOKEN}\r\nX: y", f"{TOKEN} b", f"{TOKEN}é", 5, [TOKEN], {"a": TOKEN}, "t" * 70_000]
)
def test_a_token_that_no_header_can_carry_is_refused(name: str, value: Json) -> None:
    with pytest.raises(AuthFailed, match=name) as caught:
        read({**GOOD, name: value})
    assert TOKEN not in f"{caught.value}{caught.value.hint}" and "ttttt" not in str(caught.value)


def test_a_number_in_place_of_a_token_is_not_shown() -> None:
    with pytest.raises(AuthFailed, match="a header can carry") as caught:
        read({**GOOD, "access_token": 4711_4711})
    assert "4711" not in str(caught.value)


@pytest.mark.parametrize(
    "granted, words",
    [("a", "not granted: b"), ("a b", ""), ("a c", "not granted: b")],
)
def test_scopes_that_differ_from_what_was_asked_are_noted(granted: str, words: str) -> None:
    told = read({**GOOD, "scope": granted}, asked=("a", "b")).notes.get("scope", "")
    assert words in told and bool(told) is bool(words)


def test_a_refresh_token_is_what_offline_access_asks_for() -> None:
    asked = ("tools", "offline_access")
    assert "offline_access" in read({**GOOD, "scope": "tools"}, asked=asked).notes["scope"]
    assert not read({**GOOD, "scope": "tools", "refresh_token": "r"}, asked=asked).notes


def test_a_missing_token_is_said() -> None:
    with pytest.raises(AuthFailed, match="access_token is missing"):
        read({"token_type": "Bearer"})
    with pytest.raises(AuthFailed, match="access_token"):
        read({"access_token": "", "token_type": "Bearer"})


@pytest.mark.parametrize("error", ["invalid_grant", "invalid_client", "invalid_scope", "own_error", "use_dpop_nonce"])
@pytest.mark.parametrize("status", [200, 400, 401, 500])
def test_an_error_is_said_in_words(error: str, status: int) -> None:
    with pytest.raises(AuthFailed) as caught:
        read({"error": error, "error_description": "told so"}, status)
    problem = caught.value
    assert problem.error == error
    assert error in problem.message and "told so" in problem.message
    assert problem.hint, "there is something to do or to look at for any code"


@pytest.mark.parametrize("field", ["error", "error_description"])
@pytest.mark.parametrize("secret", SENT)
def test_what_was_sent_is_never_echoed(field: str, secret: str) -> None:
    with pytest.raises(AuthFailed) as caught:
        read({"error": "invalid_grant", field: f"bad {secret}, {secret}"}, 400)
    assert secret not in f"{caught.value.message}{caught.value.hint}{caught.value.error}"


def test_tokens_within_an_error_are_not_shown() -> None:
    with pytest.raises(AuthFailed) as caught:
        read({"error": "server_error", "error_description": f"made {TOKEN}", "access_token": TOKEN}, 500)
    assert TOKEN not in f"{caught.value.message}{caught.value.hint}"


@pytest.mark.parametrize(
    "status, body, words",
    [
        (200, b"<html>sign in</html>", "no JSON object"),
        (200, b"", "no JSON object"),
        (502, b"Bad Gateway", r"refused \(status 502"),
        (429, b"", r"refused \(status 429"),
        (429, b'{"error": "slow_down"}', "slow_down"),
        (404, b'{"detail": "Not found"}', r"refused \(status 404"),
        (200, b"access_token=x&token_type=bearer", "no JSON object"),
        (200, b'"text"', "no JSON object"),
        (200, b"[]", "no JSON object"),
        (200, b"{" * 100_000, "no JSON object"),
        (302, b"", r"refused \(status 302"),
        (400, b"{}", r"refused \(status 400"),
        (400, b'{"error": 5}', r"refused \(status 400"),
        (503, b'{"message": "boom"}', r"refused \(status 503"),
    ],
)
def test_what_is_no_answer_is_said(status: int, body: bytes, words: str) -> None:
    with pytest.raises(AuthFailed, match=words) as caught:
        read(body, status)
    assert ENDPOINT in caught.value.message and caught.value.hint


def test_an_assertion_is_no_access_token() -> None:
    answer = {"access_token": "a.b.c", "token_type": "N_A", "issued_token_type": "urn:x", "expires_in": 300}
    found = read(answer, exchange=True)
    assert (found.token_type, found.issued_token_type, found.access_token) == ("N_A", "urn:x", "a.b.c")


NAMES = st.sampled_from(["access_token", "token_type", "expires_in", "scope", "refresh_token", "id_token", "error",
                         "error_description"])  # fmt: skip


@given(st.dictionaries(NAMES, ANY_JSON), ANY_JSON, st.sampled_from([200, 201, 400, 401, 500]))
def test_no_answer_makes_another_error(changes: dict[str, Json], other: Json, status: int) -> None:
    for answer in ({**GOOD, **changes}, other):
        try:
            found = read(answer, status)
            assert found.access_token.isprintable() and 0 <= found.expires_in <= tokens.LATEST
        except AuthFailed as problem:
            assert len(problem.message) < 1000


@given(st.binary(max_size=60), st.integers(100, 599))
def test_no_bytes_make_another_error(body: bytes, status: int) -> None:
    with pytest.raises(AuthFailed):
        read(body, status)


@pytest.mark.parametrize("answer", [{**GOOD, "error": None}, {**GOOD, "error": ""}, {**GOOD, "token_type": "Bearer "}])
def test_what_frameworks_add_to_tokens_does_no_harm(answer: Json) -> None:
    assert read(answer).access_token == TOKEN and read(b"\xef\xbb\xbf" + json.dumps(answer).encode())
