"""What is secret never reaches a sink, what is not stays as it was, and looking for it is cheap."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_studio import redact
from mcp_studio.redact import MARK, Redactor, is_reference, is_secret_name

PLAIN = Redactor()


@pytest.mark.parametrize(
    "name",
    "password PASSWORD db_password token accessToken refresh_token api_key x-api-key OPENAI_API_KEY client_secret "
    "code_verifier Authorization Proxy-Authorization Cookie Set-Cookie privateKey "
    "pw db_pw userPw otp pwd passcode secret_word private_key_pem password_confirm password2".split(),
)
def test_names_that_hold_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "progressToken",
        "nextPageToken",
        "key",
        "monkey",
        "tokens",
        "max_tokens",
        "passport",
        "author",
        "http",
        "robotp",
        "PWD",
    ],
)
def test_names_that_do_not(name: str) -> None:
    assert not is_secret_name(name)


def test_a_reference_to_a_secret_is_none() -> None:
    for text in ("${TOKEN}", "${env:TOKEN}", "${keyring:my token}", "Bearer ${keyring:x}", "${keyr", "${"):
        assert is_reference(text)
    for text in ("", "abc", "${A:-hunter2}", "${A}hunter2", "hunter-2 ${A", "$TOKEN", "Bearer hunter2"):
        assert not is_reference(text)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ('{"password":"hunter2","a":1}', '{"password":"‹redacted›","a":1}'),
        ('{"a":{"Access_Token" : "x"}}', '{"a":{"Access_Token" : "‹redacted›"}}'),
        ('{"apiKey":"with \\" quote\\\\"}', '{"apiKey":"‹redacted›"}'),
        (r'{"text":"{\"password\":\"hun\\\"ter2\",\"b\":1}"}', r'{"text":"{\"password\":\"‹redacted›\",\"b\":1}"}'),
        ('{"text":"Authorization: Bearer abc-123-def!"}', '{"text":"Authorization: Bearer ‹redacted›!"}'),
        ("curl -H 'authorization: Basic dXNlcjpwYXNz'", "curl -H 'authorization: Basic ‹redacted›'"),
        ("TOKEN=abc123 next", "TOKEN=‹redacted› next"),
        ("connecting to postgres://ada:pw@db.example/x", "connecting to postgres://‹redacted›@db.example/x"),
        ("GET /cb?code=1&access_token=abc&b=2", "GET /cb?code=1&access_token=‹redacted›&b=2"),
        ('{"k":"line\\nghp_0123456789abcdefghij"}', '{"k":"line\\n‹redacted›"}'),
        ("key sk-proj-0123456789abcdef.", "key ‹redacted›."),
        ("AKIAIOSFODNN7EXAMPLE", "‹redacted›"),
        ("xoxb-1234567890-abcdef", "‹redacted›"),
        ("jwt eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0 end", "jwt ‹redacted› end"),
        ("GET /cb?code=SplxlOBeZQ1&state=af0ifjsldkj 200", "GET /cb?code=‹redacted›&state=‹redacted› 200"),
        ("code=SplxlOBeZQ1&grant_type=authorization_code", "code=‹redacted›&grant_type=authorization_code"),
        ("grant_type=x&code=SplxlOBeZQ1&code_verifier=abc", "grant_type=x&code=‹redacted›&code_verifier=‹redacted›"),
        (r'{"b":"a\r\ncode=SplxlOBeZQ1&x=1"}', r'{"b":"a\r\ncode=‹redacted›&x=1"}'),
        ('{"b":"assertion=ey_J1.eyJ&x=1"}', '{"b":"assertion=‹redacted›&x=1"}'),
        (
            r'{"u":"http:\/\/h\/?code=Splxl1eZQ\u0026sig=1234567890"}',
            r'{"u":"http:\/\/h\/?code=‹redacted›\u0026sig=‹redacted›"}',
        ),
        (r'{"u":"http://h/?code\u003dSplxl1eZQ\u0026a=1"}', r'{"u":"http://h/?code\u003d‹redacted›\u0026a=1"}'),
        ("<a href='/cb?x=1&amp;code=SplxlOBeZQ1'>", "<a href='/cb?x=1&amp;code=‹redacted›'>"),
        (
            "to=%2Fcb%3Fcode%3DSplxl1eZQ%26access_token%3Dabc",
            "to=%2Fcb%3Fcode%3D‹redacted›%26access_token%3D‹redacted›",
        ),
        (
            'login {"pw":"abcdef12","my_passcode":"1234","pem":"x"}',
            'login {"pw":"‹redacted›","my_passcode":"‹redacted›","pem":"x"}',
        ),
        ('{"token":"never closed', '{"token":"‹redacted›'),
    ],
)
@pytest.mark.parametrize("large", [1 << 20, 0])
def test_secrets_are_replaced(given: str, kept: str, large: int) -> None:
    with patch.object(redact, "LARGE", large):
        assert PLAIN.text(given) == kept


@pytest.mark.parametrize(
    "text",
    [
        '{"_meta":{"progressToken":"abc"},"nextCursor":"xyz"}',
        '{"properties":{"password":{"type":"string"}},"required":["password","token"]}',
        '{"password":""}',
        '{"token":null,"secret":17}',
        "basic usage of the bearer of news",
        "Basic authentication and bearer tokens are supported",
        "Token: expected a word",
        "risk-averse task-oriented disk-0",
        "http://localhost:3000/mcp?a=b",
        "https://h/issues?state=closed&key=title&code=python",
        "exit code=12345678, then x.code=12345678",
        '{"a":"100%3d","b":"decode\\u003d12345678"}',
        "",
    ],
)
def test_what_is_not_secret_stays_the_same_object(text: str) -> None:
    data = text.encode()
    assert PLAIN.bytes(data) is data


def test_told_secrets_are_found_in_all_their_forms() -> None:
    redactor = Redactor()
    secret = 'pa"ss\\wörd/+& x'
    redactor.learn(secret)
    forms = [
        secret,
        json.dumps(secret),
        json.dumps(json.dumps(secret)),
        json.dumps(secret, ensure_ascii=False),
        quote(secret, safe=""),
        quote(secret, safe="").lower(),
        quote(secret),
        quote_plus(secret, safe="!'()*"),
        quote(quote(secret, safe=""), safe=""),
        json.dumps(secret, ensure_ascii=False).replace("/", "\\/"),
        json.dumps(secret, ensure_ascii=False).replace("&", "\\u0026"),
    ]
    for form in forms:
        assert redactor.text(f"<{form}>").count(MARK) == 1
        assert "ss\\w" not in redactor.text(form) and "rd%2F" not in redactor.text(form)


@pytest.mark.parametrize("before", ["", "u", "us", "user:", "a longer name:"])
def test_told_secrets_are_found_inside_base64(before: str) -> None:
    redactor = Redactor()
    redactor.learn("correct-horse-battery")
    encoded = base64.b64encode(f"{before}correct-horse-battery".encode()).decode()
    clean = redactor.text(f'"{encoded}"')
    assert MARK in clean
    left = "".join(clean.strip('"').split(MARK))
    assert len(left) <= len(base64.b64encode(before.encode())) + 3


def test_the_token_of_a_told_authorization_header_is_found_alone() -> None:
    redactor = Redactor()
    redactor.learn("Bearer opaquevalue")
    assert redactor.text("got opaquevalue here") == f"got {MARK} here"


def test_every_line_of_a_told_key_is_found() -> None:
    redactor = Redactor()
    redactor.learn("first line of it\nsecond line of it\n")
    assert redactor.text("x second line of it y") == f"x {MARK} y"


def test_short_values_are_not_told() -> None:
    redactor = Redactor()
    redactor.learn("true")
    redactor.learn("     1     ")
    assert redactor.text("true and 1") == "true and 1"


def test_names_of_the_settings_are_secret_too() -> None:
    redactor = Redactor(["x-internal", "(?i)^pin$", "hush.*"])
    assert redactor.text('{"x-internal":"a","PIN":"1234","hush_hush":"b","pinned":"c"}') == (
        f'{{"x-internal":"{MARK}","PIN":"{MARK}","hush_hush":"{MARK}","pinned":"c"}}'
    )
    slow, name = Redactor(["(a|aa)+$"]), "a" * 60 + "!"
    assert slow.headers([(name, "b"), ("c", "d")]) == ((name, MARK), ("c", "d")), "rather too much than for minutes"
    assert redactor.headers([("X-Internal", "a"), ("X-Other", "b")]) == (("X-Internal", MARK), ("X-Other", "b"))


def test_headers_keep_their_names_and_the_scheme() -> None:
    given = [
        ("Authorization", "Bearer abc"),
        ("Cookie", "a=b"),
        ("Accept", "text/plain"),
        ("Location", "https://u:p@h/?code=1"),
    ]
    assert PLAIN.headers(given) == (
        ("Authorization", f"Bearer {MARK}"),
        ("Cookie", MARK),
        ("Accept", "text/plain"),
        ("Location", f"https://{MARK}@h/?code={MARK}"),
    )


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("https://h/mcp?a=1&b=2#c", "https://h/mcp?a=1&b=2#c"),
        ("https://ada:pw@h:1/x?api_key=1&q=token&state=9", f"https://{MARK}@h:1/x?api_key={MARK}&q=token&state={MARK}"),
        ("http://127.0.0.1/cb#access_token=abc", f"http://127.0.0.1/cb#access_token={MARK}"),
    ],
)
def test_urls(given: str, kept: str) -> None:
    assert PLAIN.url(given) == kept


@given(st.text(min_size=6).filter(lambda text: len(text.strip()) >= 6 and "redacted" not in text), st.text())
def test_no_told_secret_survives_in_json(secret: str, around: str) -> None:
    redactor = Redactor()
    redactor.learn(secret)
    clean = redactor.text(json.dumps({"a": around + secret + around}))
    assert secret.strip() not in json.loads(clean)["a"] or secret.strip() in around


@given(st.dictionaries(st.sampled_from(["password", "a", "token", "x_secret"]), st.text() | st.integers(), max_size=4))
def test_redacted_json_is_the_same_json_but_for_the_secrets(value: dict[str, str | int]) -> None:
    for frame in (value, {"inner": json.dumps(value)}):
        clean = json.loads(PLAIN.text(json.dumps(frame)))
        for key, item in (json.loads(clean["inner"]) if frame is not value else clean).items():
            if key != "a" and isinstance(value[key], str):
                assert item == (MARK if value[key] else "")


@pytest.mark.parametrize("before", range(0, 400, 37))
def test_a_long_parameter_where_two_slices_meet_is_found_whole(before: int) -> None:
    around = b"x" * ((1 << 20) - before)
    clean = PLAIN.bytes(around + b"?code=" + b"a1" * 300 + b" " + around)
    assert clean == around + b"?code=" + MARK.encode() + b" " + around


@given(st.binary())
def test_any_bytes_go_through(data: bytes) -> None:
    assert isinstance(PLAIN.bytes(data), bytes)


def test_a_frame_without_secrets_costs_at_most_a_hundred_times_its_lowering() -> None:
    frame = json.dumps(
        {"result": {"text": "The quick brown fox reads a file inside the allowed roots. " * 17}}
    ).encode()

    def cost(function: object, rounds: int = 200) -> float:
        start = time.process_time()
        for _ in range(rounds):
            function(frame)  # type: ignore[operator]
        return time.process_time() - start

    assert min(cost(PLAIN.bytes) for _ in range(5)) < 100 * min(cost(bytes.lower) for _ in range(5))


@pytest.mark.parametrize(
    "piece",
    [
        b"token=a ",
        b"keykey",
        b"eyJ-",
        b'\\"token\\":\\"a\\",',
        b"://a",
        b"\\",
        b"sk-",
        b"token:",
        b"?code=",
        b"?code=a1",
        b"&key%3d",
    ],
)
def test_hostile_repetition_stays_linear(piece: bytes) -> None:
    def cost(size: int) -> float:
        data = piece * (size // len(piece))
        start = time.process_time()
        PLAIN.bytes(data)
        return time.process_time() - start

    small, large = min(cost(10_000) for _ in range(3)), cost(200_000)
    assert large < 20 * small * 4 + 0.05


LONG = "".join(f"{number:x}-Zq_" for number in range(4000))


@pytest.mark.parametrize("write", [str, lambda text: quote(text, safe=""), lambda text: json.dumps({"a": text})[1:-1]])
def test_a_long_token_is_found_wherever_it_stands_and_also_its_beginning_alone(write: Callable[[str], str]) -> None:
    redactor = Redactor()
    redactor.learn(LONG)
    for filling in (0, (1 << 20) - 30, 3 << 20):
        clean = redactor.text(f"{'x' * filling} {write(LONG)}, and then {write(LONG[:200])}… more")
        assert "Zq_" not in clean and clean.endswith("… more") and ", and then" in clean
    assert "Zq" not in redactor.text(f"cut: {LONG[:60]}")
    encoded = base64.b64encode(f"me:{LONG}".encode()).decode()
    assert encoded[30:60] not in redactor.text(f"seen {encoded}!")


def test_many_long_tokens_are_learned_and_looked_for_in_no_time() -> None:
    redactor = Redactor()
    began = time.thread_time()
    for number in range(300):
        redactor.learn(f"{number:04}{LONG}")
    assert time.thread_time() - began < 2
    frame = b"nothing of it in here, " * 50
    began = time.thread_time()
    for _ in range(20):
        assert redactor.bytes(frame) is frame
    assert time.thread_time() - began < 1


def test_of_secrets_that_replace_each_other_only_those_of_long_ago_are_forgotten() -> None:
    redactor = Redactor()
    redactor.learn("token-number-3-of-me")
    for number in range(500):
        for word in ("access", "refresh"):
            redactor.learn(f"{word}-{number:04}-of-me", "one")
        redactor.learn("the-secret-of-the-client", "one")
        redactor.learn(f"access-{number // 100:04}-of-you", "other")
    for known in ("access-0499-of-me", "refresh-0495-of-me", "the-secret-of-the-client", "access-0000-of-you"):
        assert redactor.text(f"<{known}>") == f"<{MARK}>"
    assert redactor.text("token-number-3-of-me") == MARK, "what was told for good"
    assert redactor.text("<access-0003-of-me>") == "<access-0003-of-me>"


def test_what_stands_in_two_series_is_known_as_long_as_one_knows_it() -> None:
    redactor = Redactor()
    redactor.learn("the-token-that-is-used", "kept")
    for number in range(100):
        redactor.learn(f"hostile-answer-{number}", "answers")
        redactor.learn("the-token-that-is-used" if number == 3 else f"hostile-again-{number}", "answers")
    assert redactor.text("<the-token-that-is-used>") == f"<{MARK}>"


def test_secrets_are_learned_in_several_threads_at_once() -> None:
    redactor = Redactor()

    def learn(thread: int) -> None:
        for number in range(40):
            redactor.learn(f"secret-{thread}-{number}", f"series {thread}" * (number % 2))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(learn, range(8)))
    assert redactor.text("secret-7-38 secret-0-39") == f"{MARK} {MARK}"


def test_what_a_challenge_says_can_be_read() -> None:
    line = 'Bearer scope="mcp:tools", error="invalid_token", resource_metadata="https://mcp.example/x"'
    assert Redactor().headers([("WWW-Authenticate", line)]) == (("WWW-Authenticate", line),)
    assert Redactor().text(json.dumps({"header": line})) == json.dumps({"header": line})
    assert "abcdef123" not in Redactor().text("Bearer abcdef123==")


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_what_follows_a_long_token_in_json_or_a_url_stays_as_it_is(levels: int) -> None:
    redactor = Redactor()
    redactor.learn(LONG)

    def wrapped(token: str) -> str:
        text = f'{{"t":"{token}","u":"?t={token}%26next=1"}}\n{token}\nthen'
        for _ in range(levels):
            text = json.dumps({"inner": text})
        return text

    assert redactor.text(wrapped(LONG)) == wrapped("MARK").replace("MARK", MARK)


@pytest.mark.parametrize("levels", [1, 2, 3])
@pytest.mark.parametrize(
    "text",
    [
        "a key beginning with `-----BEGIN RSA PRIVATE KEY-----`",
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\r\nhkiG9w0B/AQ==\n-----END PRIVATE KEY-----\n",
        '"-----BEGIN PRIVATE KEY-----" and \\ more',
        "-----BEGIN PRIVATE KEY-----\\",
    ],
)
def test_a_private_key_in_json_ends_with_its_string(text: str, levels: int) -> None:
    def wrapped(text: str) -> str:
        found: object = text
        for _ in range(levels):
            found = json.dumps([{"description": found}, {"name": "next_tool"}])
        return str(found)

    redacted = PLAIN.text(wrapped(text))
    assert "MIIEvQ" not in redacted and "hkiG9w0B" not in redacted
    for _ in range(levels):
        first, second = json.loads(redacted)
        assert second == {"name": "next_tool"}
        redacted = first["description"]


def test_a_parameter_in_the_user_of_an_address_is_hidden_to_its_end() -> None:
    assert Redactor().text("x://x&code=AAAAAAA1@rest y") == f"x://{MARK} y"
