"""What servers write into `WWW-Authenticate` is read as it is meant, in linear time, whatever it is."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_studio.auth.discovery import Challenge

META = "https://mcp.example/.well-known/oauth-protected-resource"
CASES = {
    "nothing": ("", []),
    "a scheme alone": ("Bearer", [("bearer", {})]),
    "quoted": ('Bearer realm="a", scope="x y"', [("bearer", {"realm": "a", "scope": "x y"})]),
    "a comma within quotes": ('Bearer realm="a, b=c"', [("bearer", {"realm": "a, b=c"})]),
    "escapes": (r'Bearer realm="a \"b\" \\"', [("bearer", {"realm": 'a "b" \\'})]),
    "tokens without quotes": ("Bearer error=invalid_token", [("bearer", {"error": "invalid_token"})]),
    "an address without quotes": (
        f"Bearer resource_metadata={META}, error=x",
        [("bearer", {"resource_metadata": META, "error": "x"})],
    ),
    "blanks around the sign": ('Bearer realm = "a"', [("bearer", {"realm": "a"})]),
    "no comma between": ('Bearer realm="a" error="b"', [("bearer", {"realm": "a", "error": "b"})]),
    "names in capitals": ('BEARER Realm="A"', [("bearer", {"realm": "A"})]),
    "the first of two": ('Bearer scope="a", scope="b"', [("bearer", {"scope": "a"})]),
    "token68": ("Negotiate YWJj+/==", [("negotiate", {})]),
    "token68, then more": (
        'Basic YWJj, Bearer error="x"',
        [("basic", {}), ("bearer", {"error": "x"})],
    ),
    "several (RFC 9110 11.6.1)": (
        'Basic realm="simple", Newauth realm="apps", type=1, title="Login to \\"apps\\""',
        [
            ("basic", {"realm": "simple"}),
            ("newauth", {"realm": "apps", "type": "1", "title": 'Login to "apps"'}),
        ],
    ),
    "empty entries": (", ,Bearer realm=a,, ,", [("bearer", {"realm": "a"})]),
    "no scheme": ('realm="a"', [("", {"realm": "a"})]),
    "a quote that is never closed": ('Bearer realm="abc', [("bearer", {"realm": "abc"})]),
    "a comma missing between challenges": (
        'Bearer DPoP algs="ES256"',
        [("bearer", {}), ("dpop", {"algs": "ES256"})],
    ),
    "rubbish before": ('@@ {} Bearer error="x"', [("bearer", {"error": "x"})]),
}


@pytest.mark.parametrize("text, found", CASES.values(), ids=CASES)
def test_a_header_is_read(text: str, found: list[tuple[str, dict[str, str]]]) -> None:
    assert [(one.scheme, dict(one.params)) for one in Challenge.parse(text)] == found


def test_the_challenge_of_oauth_is_found_among_others() -> None:
    text = f'Basic realm="x", Bearer error="a", DPoP algs="ES256 RS256", error="b", resource_metadata="{META}"'
    found = Challenge.find(text)
    assert (found.scheme, found.get("resource_metadata"), found.get("error")) == ("dpop", META, "b")
    assert Challenge.dpop(text) == found
    assert Challenge.find("Basic realm=x") == Challenge()
    assert Challenge.find('error_description="no", scope="a b"').get("scope") == "a b"
    assert Challenge.find('Bearer error_description="no"').get("error_description") == "no"
    assert Challenge.dpop("Bearer x=y").get("error") == ""


@given(st.one_of(st.text(max_size=300), st.text('Ba =,"\\\t\n;é', max_size=300)))
def test_anything_is_read_without_an_error(text: str) -> None:
    Challenge.parse(text)
    assert isinstance(Challenge.find(text), Challenge)


@given(
    st.dictionaries(
        st.from_regex(r"[a-z][a-z0-9_-]{0,12}", fullmatch=True),
        st.text(st.characters(min_codepoint=32), max_size=40),
        min_size=1,
        max_size=8,
    )
)
def test_what_is_quoted_comes_back(params: dict[str, str]) -> None:
    escaped = {name: value.replace("\\", "\\\\").replace('"', '\\"') for name, value in params.items()}
    text = "Bearer " + ", ".join(f'{name}="{value}"' for name, value in escaped.items())
    assert dict(Challenge.parse(text)[0].params) == params


@pytest.mark.parametrize("piece", ['a="', 'a="\\', "Bearer ", ",", '"', "a=b,", "\\", "a=", "ab==", " ", "é"])
def test_hostile_headers_take_no_time(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    began = time.thread_time()
    Challenge.parse(text)
    assert time.thread_time() - began < 2
