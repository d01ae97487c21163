"""What the browser brings back counts only for the sign-in that sent it off, and only from who was asked."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_studio.auth.authorize import Expected, NotOurs, judge, query_of
from mcp_studio.auth.model import AuthFailed
from mcp_studio.errors import UsageError

STATE = "state-of-this-flow-0123456789"
ISSUER = "https://as.example"
REDIRECT = "http://127.0.0.1:7338/callback"


def expected(*, sends_issuer: bool = False) -> Expected:
    return Expected(STATE, ISSUER, sends_issuer)


def query(**values: str) -> str:
    return urlencode({"state": STATE, "code": "the-code", **values})


def test_a_code_comes_back() -> None:
    assert judge(query(), expected()) == "the-code"
    assert judge(query(session_state="x", iss=ISSUER), expected(sends_issuer=True)) == "the-code"


@pytest.mark.parametrize("kind", [{"code": "the-code"}, {"error": "access_denied", "error_description": "FOREIGN"}])
@pytest.mark.parametrize(
    "promised, iss, good",
    [
        (True, ISSUER, True),
        (True, None, False),
        (False, ISSUER, True),
        (False, None, True),
        (True, "https://evil.example", False),
        (False, "https://evil.example", False),
        (True, f"{ISSUER}/", False),
        (True, "https://AS.example", False),
        (True, "https://as.example:443", False),
        (True, "", False),
        (False, "", False),
    ],
)
def test_the_issuer_is_checked_for_codes_and_errors(
    kind: dict[str, str], promised: bool, iss: str | None, good: bool
) -> None:
    text = urlencode({"state": STATE, **kind, **({} if iss is None else {"iss": iss})})
    if good and "code" in kind:
        assert judge(text, expected(sends_issuer=promised)) == "the-code"
        return
    with pytest.raises(AuthFailed) as caught:
        judge(text, expected(sends_issuer=promised))
    assert not isinstance(caught.value, NotOurs)
    # The text of an error that may come from somebody else is not shown.
    assert ("FOREIGN" in str(caught.value)) is (good and "error" in kind)
    assert (caught.value.error == "access_denied") is (good and "error" in kind)
    assert "the-code" not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "code=the-code",
        "code=the-code&state=",
        "code=the-code&state=other",
        f"code=the-code&state={STATE}x",
        f"code=the-code&state={STATE[:-1]}",
        f"code=the-code&state={STATE.upper()}",
        "error=access_denied",
        "error=access_denied&state=other",
        f"code=a&state={STATE}&" + "&".join(f"p{n}=1" for n in range(200)),
        f"code={'a' * 20_000}&state=other",
        f"code={'a' * 20_000}&state={STATE}",
        "state=\udc80&code=a",
        "state=%ff%fe&code=a",
    ],
)
def test_what_is_not_ours_is_turned_away_and_waiting_goes_on(text: str) -> None:
    waiting = expected()
    with pytest.raises(NotOurs) as caught:
        judge(text, waiting)
    assert STATE not in f"{caught.value} {caught.value.hint}"
    assert judge(query(), waiting) == "the-code"


@pytest.mark.parametrize(
    "text, words",
    [
        (f"code=a&code=b&state={STATE}", "code more than once"),
        (f"code=a&state={STATE}&state={STATE}", "state more than once"),
        (f"code=a&state=other&state={STATE}", "state more than once"),
        (f"code=a&state={STATE}&iss={ISSUER}&iss={ISSUER}", "iss more than once"),
        (f"code=a&state={STATE}&error=x&error=y", "error more than once"),
    ],
)
def test_what_is_ours_and_wrong_ends_the_sign_in(text: str, words: str) -> None:
    waiting = expected()
    with pytest.raises(AuthFailed, match=words) as caught:
        judge(text, waiting)
    assert not isinstance(caught.value, NotOurs)


@pytest.mark.parametrize(
    "error, words",
    [
        ("access_denied", "refused"),
        ("invalid_scope", "scopes"),
        ("invalid_target", "this server"),
        ("temporarily_unavailable", "later"),
        ("something_else", "Only the authorization server knows"),
        ("", "Only the authorization server knows"),
        ("x" * 5000, "Only the authorization server knows"),
    ],
)
def test_errors_are_said_in_words(error: str, words: str) -> None:
    with pytest.raises(AuthFailed, match="refused permission") as caught:
        judge(urlencode({"state": STATE, "error": error, "error_description": "why so"}), expected())
    assert "why so" in caught.value.message and words in caught.value.hint and len(str(caught.value)) < 500


def test_a_code_that_is_empty_or_missing_is_none() -> None:
    for text in (f"state={STATE}", f"state={STATE}&code="):
        with pytest.raises(AuthFailed, match="neither"):
            judge(text, expected())


def test_an_error_beside_a_code_counts_as_an_error() -> None:
    with pytest.raises(AuthFailed, match="access_denied"):
        judge(query(error="access_denied"), expected())


NAMES = st.sampled_from(["code", "state", "iss", "error", "error_description", "x"])
VALUES = st.one_of(st.text(max_size=20), st.sampled_from([STATE, ISSUER, "", "the-code"]))


@given(st.lists(st.tuples(NAMES, VALUES), max_size=8), st.booleans())
def test_whatever_comes_only_a_code_of_ours_gets_through(pairs: list[tuple[str, str]], promised: bool) -> None:
    text = "&".join(urlencode({name: value.encode("utf-8", "replace")}) for name, value in pairs)
    try:
        code = judge(text, expected(sends_issuer=promised))
    except (AuthFailed, NotOurs):
        return
    values = dict(pairs)
    assert len(values) == len(pairs) or [name for name, _ in pairs].count("x") > 1
    assert code and values["state"] == STATE and "error" not in values
    assert values.get("iss", None if promised else ISSUER) == ISSUER


@given(st.text(max_size=100))
def test_any_text_is_judged(text: str) -> None:
    with pytest.raises(NotOurs):
        judge(text, expected())


@pytest.mark.parametrize(
    "text",
    [
        f"{REDIRECT}?code=a&state=b",
        f"  {REDIRECT}?code=a&\n state=b \n",
        "code=a&state=b",
        "?code=a&state=b",
        "HTTP://127.0.0.1:7338/callback?code=a&state=b",
        "127.0.0.1:7338/callback?code=a&state=b",
        f"{REDIRECT}?code=a&state=b#",
        f"{REDIRECT}#code=a&state=b",
        f'"{REDIRECT}?code=a&state=b"',
        f"<{REDIRECT}?code=a&state=b>",
    ],
)
def test_a_pasted_address_is_understood(text: str) -> None:
    assert query_of(text, REDIRECT) == "code=a&state=b"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "hello",
        "https://as.example/authorize?client_id=x&state=b",
        "http://127.0.0.1:7339/callback?code=a&state=b",
        "http://127.0.0.1:7338/other?code=a&state=b",
        "http://[::1?code=a&state=b",
        REDIRECT,
        f"code={'x' * 20_000}&state=b",
    ],
)
def test_a_pasted_text_that_is_no_redirect_is_refused_with_what_it_has_to_be(text: str) -> None:
    with pytest.raises(UsageError, match="not the address") as caught:
        query_of(text, REDIRECT)
    assert REDIRECT in caught.value.hint


def test_a_redirect_without_anything_may_have_it_after_a_number_sign() -> None:
    with pytest.raises(NotOurs) as caught:
        judge("", expected())
    assert "after a #" in caught.value.hint
