"""The two documents are used only as far as they are right, and what is wrong is said by its name."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_studio.auth.metadata import IssuerMetadata, ResourceMetadata, document
from mcp_studio.auth.model import AuthFailed
from mcp_studio.jsontext import Json

SERVER = "https://mcp.example/a/mcp"
PLACE = "https://mcp.example/.well-known/oauth-protected-resource/a/mcp"
ISSUER = "https://as.example/t1"
ASPLACE = "https://as.example/.well-known/oauth-authorization-server/t1"
RESOURCE: dict[str, Json] = {"resource": SERVER, "authorization_servers": [ISSUER], "scopes_supported": ["a", "b"]}
METADATA: dict[str, Json] = {
    "issuer": ISSUER,
    "authorization_endpoint": f"{ISSUER}/authorize",
    "token_endpoint": f"{ISSUER}/token",
    "registration_endpoint": f"{ISSUER}/register",
    "code_challenge_methods_supported": ["plain", "S256"],
}
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.just("https://as.example/x"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)


def resource(server: str = SERVER, **changes: Json) -> ResourceMetadata:
    return ResourceMetadata({**RESOURCE, **changes}, server=server, place=PLACE)


def issuer(issuer: str = ISSUER, server: str = SERVER, **changes: Json) -> IssuerMetadata:
    raw = {name: value for name, value in {**METADATA, **changes}.items() if value is not ...}
    return IssuerMetadata(raw, issuer=issuer, server=server, place=ASPLACE)


def test_what_is_right_is_read_and_the_rest_is_kept() -> None:
    found = resource(dpop_bound_access_tokens_required=True)
    assert (found.resource, found.servers, found.scopes) == (SERVER, (ISSUER,), ("a", "b"))
    assert found.dpop_required and not found.notes
    metadata = issuer(authorization_response_iss_parameter_supported=True, scopes_supported=["openid"])
    assert (metadata.token_endpoint, metadata.sends_issuer, metadata.scopes) == (f"{ISSUER}/token", True, ("openid",))
    assert metadata.for_code() == f"{ISSUER}/authorize" and not metadata.notes


@pytest.mark.parametrize(
    "published",
    [
        SERVER,
        f"{SERVER}/",
        "https://mcp.example/a",
        "https://mcp.example/a/",
        "https://mcp.example",
        "HTTPS://MCP.example:443/a/mcp",
    ],
)
def test_a_resource_is_the_server_or_what_it_is_below(published: str) -> None:
    assert resource(resource=published).resource == published


@pytest.mark.parametrize(
    "published",
    [
        "https://evil.example/a/mcp",
        "https://mcp.example.evil/a/mcp",
        "http://mcp.example/a/mcp",
        "https://mcp.example:8443/a/mcp",
        "https://mcp.example/a/mcp/more",
        "https://mcp.example/a/mc",
        "https://mcp.example/A/mcp",
        "https://mcp.example/a/mcp#x",
        "https://x@mcp.example/a/mcp",
        "mcp.example/a/mcp",
        "",
        "urn:x",
    ],
)
def test_another_resource_is_refused(published: str) -> None:
    with pytest.raises(AuthFailed) as caught:
        resource(resource=published)
    assert "resource in the protected resource metadata" in caught.value.message and SERVER in caught.value.hint


def test_a_server_is_not_its_query() -> None:
    assert resource(server=f"{SERVER}?key=1").resource == SERVER


BAD_RESOURCE: dict[str, tuple[dict[str, Json], str]] = {
    "no resource": ({"resource": None}, "resource"),
    "a number": ({"resource": 5}, "is 5"),
    "a huge resource": ({"resource": "https://mcp.example/" + "a" * 9000}, "characters"),
    "no servers": ({"authorization_servers": None}, "authorization_servers"),
    "no server in it": ({"authorization_servers": []}, "is []"),
    "text for a list": ({"authorization_servers": ISSUER}, ISSUER),
    "numbers in it": ({"authorization_servers": [1, 2]}, "[1, 2]"),
    "an issuer without TLS": ({"authorization_servers": ["http://as.example"]}, "Only https"),
    "an issuer with a fragment": ({"authorization_servers": ["https://as.example/#x"]}, "fragment"),
    "two bad issuers": ({"authorization_servers": ["http://as.example", "ftp://x/"]}, "authorization_servers"),
    "a flag that is text": ({"dpop_bound_access_tokens_required": "yes"}, "dpop_bound_access_tokens_required"),
}


@pytest.mark.parametrize("changes, words", BAD_RESOURCE.values(), ids=BAD_RESOURCE)
def test_wrong_resource_metadata_is_said_by_field(changes: dict[str, Json], words: str) -> None:
    with pytest.raises(AuthFailed) as caught:
        resource(**changes)
    assert words in caught.value.message and PLACE in caught.value.message
    assert len(str(caught.value)) < 600


def test_what_is_only_of_use_is_left_out_and_noted() -> None:
    found = resource(scopes_supported="a b", authorization_servers=["http://no.example", ISSUER])
    assert found.scopes is None and found.servers == (ISSUER,)
    assert "list of strings" in found.notes["scopes_supported"]
    assert "http://no.example" in found.notes["authorization_servers"]
    found = resource(scopes_supported=["a", 1, "a", "b"])
    assert found.scopes == ("a", "b")
    found = resource(scopes_supported=[f"s{n}" for n in range(5000)])
    assert found.scopes is not None and len(found.scopes) == 200


def test_the_configured_authorization_server_has_to_be_named() -> None:
    found = resource(authorization_servers=["https://one.example", "https://two.example/"])
    assert found.chosen("https://two.example") == "https://two.example"
    with pytest.raises(AuthFailed, match=r"three.*one"):
        found.chosen("https://three.example")


@pytest.mark.parametrize(
    "came",
    ["https://as.example/t1/", "https://AS.example/t1", "https://as.example:443/t1", "https://evil.example", None, 7],
)
def test_the_issuer_is_compared_character_by_character(came: Json) -> None:
    with pytest.raises(AuthFailed, match="issuer") as caught:
        IssuerMetadata({**METADATA, "issuer": came}, issuer=ISSUER, server=SERVER, place=ASPLACE)
    assert f'"{ISSUER}"' in caught.value.hint


def test_a_slash_too_many_is_said_and_can_be_agreed_to() -> None:
    named = resource(authorization_servers=[f"{ISSUER}/"])
    with pytest.raises(AuthFailed, match="issuer in the") as caught:
        issuer(issuer=named.servers[0])
    assert f'issuer = "{ISSUER}"' in caught.value.hint
    assert issuer(issuer=named.chosen(ISSUER)).issuer == ISSUER


BAD_ISSUER: dict[str, tuple[dict[str, Json], str]] = {
    "no token endpoint": ({"token_endpoint": ...}, "token_endpoint in .* is missing"),
    "a token endpoint that is null": ({"token_endpoint": None}, "token_endpoint in .* is null"),
    "without TLS": ({"token_endpoint": "http://as.example/token"}, "Only https"),
    "with a password": ({"token_endpoint": "https://a:b@as.example/token"}, "user name"),
    "iss flag as text": ({"authorization_response_iss_parameter_supported": "true"}, "iss_parameter"),
    "document flag as number": ({"client_id_metadata_document_supported": 1}, "client_id_metadata"),
}


@pytest.mark.parametrize("changes, words", BAD_ISSUER.values(), ids=BAD_ISSUER)
def test_wrong_issuer_metadata_is_said_by_field(changes: dict[str, Json], words: str) -> None:
    with pytest.raises(AuthFailed, match=words) as caught:
        issuer(**changes)
    assert caught.value.hint


@pytest.mark.parametrize("endpoint", ["javascript:alert(1)", "http://as.example/x", "file:///x", 5, "https://a@b/"])
@pytest.mark.parametrize("name", ["registration_endpoint", "revocation_endpoint", "authorization_endpoint"])
def test_endpoints_that_may_not_be_used_are_as_if_missing(name: str, endpoint: Json) -> None:
    found = issuer(**{name: endpoint})
    assert getattr(found, name) == "" and name in found.notes[name]
    if name == "authorization_endpoint":
        with pytest.raises(AuthFailed, match=name):
            found.for_code()


def test_placeholders_are_as_good_as_nothing() -> None:
    found = issuer(registration_endpoint="", revocation_endpoint=None, scopes_supported=None)
    assert (found.registration_endpoint, found.revocation_endpoint, found.scopes) == ("", "", None)
    assert not found.notes


@pytest.mark.parametrize("local", ["http://localhost:3000/mcp", "http://127.0.0.1/mcp"])
def test_a_server_on_this_machine_may_do_without_tls(local: str) -> None:
    found = IssuerMetadata(
        {"issuer": "http://localhost:9000", "token_endpoint": "http://localhost:9000/token"},
        issuer="http://localhost:9000",
        server=local,
        place="http://localhost:9000/x",
    )
    assert found.token_endpoint == "http://localhost:9000/token"


@pytest.mark.parametrize(
    "methods, assume, good",
    [
        (["S256"], False, True),
        (["plain"], False, False),
        (["plain"], True, False),
        (["s256"], True, False),
        ([], False, False),
        ([], True, False),
        (..., False, False),
        (..., True, True),
        (None, True, True),
        ("S256", True, False),
    ],
)
def test_codes_need_pkce(methods: Json, assume: bool, good: bool) -> None:
    found = issuer(code_challenge_methods_supported=methods)
    if good:
        assert found.for_code(assume_pkce=assume)
        return
    with pytest.raises(AuthFailed, match="code_challenge_methods_supported") as caught:
        found.for_code(assume_pkce=assume)
    assert '"S256"' in caught.value.hint
    assert ("assume_pkce" in caught.value.hint) is (methods is ... or methods is None)


def test_a_server_without_metadata_is_assumed_to_have_three_endpoints() -> None:
    found = IssuerMetadata.assumed("https://h/a/mcp")
    assert (found.issuer, found.place, found.for_code()) == ("https://h", "", "https://h/authorize")
    assert (found.token_endpoint, found.registration_endpoint) == ("https://h/token", "https://h/register")
    with pytest.raises(AuthFailed, match="Only https"):
        IssuerMetadata.assumed("http://h/mcp")


def test_the_issuer_of_the_first_specification_may_end_with_a_slash() -> None:
    raw = {"issuer": "https://h/", "token_endpoint": "https://h/token"}
    found = IssuerMetadata(raw, issuer="https://h", server="https://h/mcp", place="p", legacy=True)
    assert found.issuer == "https://h/"
    with pytest.raises(AuthFailed, match="issuer in the"):
        IssuerMetadata(raw, issuer="https://h", server="https://h/mcp", place="p")


@pytest.mark.parametrize(
    "status, body, words",
    [
        (404, b"", "status 404"),
        (401, b"{}", "status 401"),
        (302, b"", "status 302"),
        (203, b"", "not a JSON object"),
        (200, b"<!doctype html>", "not a JSON object"),
        (200, b"\xff\xfe{\x00}\x00", "not a JSON object"),
        (200, b"\xef\xbb\xbf\xef\xbb\xbf{}", "not a JSON object"),
        (200, b"[1]", "not a JSON object"),
        (200, b"[" * 5000, "not a JSON object"),
        (200, b'{"a":' * 80 + b"1" + b"}" * 80, "not a JSON object"),
        (200, b"[" + b"1," * 200_000 + b"1]", "not a JSON object"),
        (200, b'{"a": NaN}', "not a JSON object"),
    ],
)
def test_what_is_no_document_is_said(status: int, body: bytes, words: str) -> None:
    raw, why = document(status, body, PLACE)
    assert raw is None and words in why and PLACE in why


@pytest.mark.parametrize("status", [500, 503, 429])
def test_where_the_server_fails_nothing_is_concluded(status: int) -> None:
    with pytest.raises(AuthFailed, match=f"failed with status {status}"):
        document(status, b"{}", PLACE)


@given(st.dictionaries(st.sampled_from([*RESOURCE, "dpop_bound_access_tokens_required"]), ANY_JSON), ANY_JSON)
def test_no_resource_metadata_makes_another_error(changes: dict[str, Json], other: Json) -> None:
    for raw in ({**RESOURCE, **changes}, other):
        try:
            ResourceMetadata(raw, server=SERVER, place=PLACE)
        except AuthFailed as problem:
            assert len(problem.message) < 1000


@given(st.dictionaries(st.sampled_from([*METADATA, "scopes_supported", "grant_types_supported"]), ANY_JSON), ANY_JSON)
def test_no_issuer_metadata_makes_another_error(changes: dict[str, Json], other: Json) -> None:
    for raw in ({**METADATA, **changes}, other):
        try:
            found = IssuerMetadata(raw, issuer=ISSUER, server=SERVER, place=ASPLACE)
            found.for_code()
        except AuthFailed as problem:
            assert len(problem.message) < 1000


@given(st.binary(max_size=100) | ANY_JSON.map(lambda value: json.dumps(value).encode()), st.integers(100, 428))
def test_no_answer_makes_an_error(body: bytes, status: int) -> None:
    raw, why = document(status, body, PLACE)
    assert (raw is None) is bool(why)


@pytest.mark.parametrize(("status", "mark"), [(200, b""), (200, b"\xef\xbb\xbf"), (203, b"\xef\xbb\xbf")])
def test_a_document_is_an_object_with_or_without_a_byte_order_mark(status: int, mark: bytes) -> None:
    assert document(status, mark + b'{"a": 1}', PLACE) == ({"a": 1}, "")
