"""Who we are at an authorization server: in the specification's order, and never another client than was asked for."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_studio.auth import clients
from mcp_studio.auth.clients import method_for
from mcp_studio.auth.metadata import IssuerMetadata
from mcp_studio.auth.model import AuthFailed, Client
from mcp_studio.config.model import Auth
from mcp_studio.jsontext import Json
from tests.auth.test_metadata import ANY_JSON

ISSUER = "https://as.example"
REDIRECT = "http://127.0.0.1:7338/callback"
DOCUMENT = "https://studio.example/client.json"
NOW = time.time()
SECRET = "the-client-secret"


def metadata(**changes: Json) -> IssuerMetadata:
    raw: dict[str, Json] = {
        "issuer": ISSUER,
        "token_endpoint": f"{ISSUER}/token",
        "registration_endpoint": f"{ISSUER}/register",
        **changes,
    }
    return IssuerMetadata(raw, issuer=ISSUER, server="https://mcp.example/mcp", place=f"{ISSUER}/x")


def registered(**changes: object) -> Client:
    values: dict[str, object] = {"how": "registered", "redirect_uri": REDIRECT, **changes}
    return Client(**{"issuer": ISSUER, "client_id": "known", **values})  # type: ignore[arg-type]


def how(found: IssuerMetadata, **given: object) -> str:
    auth = Auth(client_id=str(given.pop("client_id", "")))
    client = clients.choose(found, auth, redirect_uri=REDIRECT, **given)  # type: ignore[arg-type]
    return client.how if client else ""


def test_the_order_of_the_ways() -> None:
    all_ways = metadata(client_id_metadata_document_supported=True)
    everything = {"client_id": "mine", "document": DOCUMENT, "known": registered()}
    assert how(all_ways, **everything) == "configured"
    assert how(all_ways, document=DOCUMENT, known=registered()) == "document"
    assert how(metadata(), document=DOCUMENT, known=registered()) == "registered"
    assert how(all_ways) == "" == how(metadata(), document=DOCUMENT)
    assert how(metadata(registration_endpoint=None), known=registered(how="typed")) == "typed"


@pytest.mark.parametrize(
    "known",
    [
        registered(issuer="https://other.example"),
        registered(issuer=f"{ISSUER}/"),
        registered(secret_expires=NOW - 1),
        registered(secret_expires=NOW + 5),
        registered(redirect_uri="http://localhost:7338/callback"),
        registered(redirect_uri="http://127.0.0.1:7338/other"),
    ],
)
def test_a_client_that_is_of_no_use_is_registered_anew(known: Client) -> None:
    assert how(metadata(), known=known) == ""


def test_a_client_of_another_redirect_is_registered_anew() -> None:
    """Whether another port will do would show in the browser alone."""
    assert how(metadata(), known=registered(redirect_uri="http://127.0.0.1:9999/callback")) == ""


def test_the_port_of_a_redirect_on_this_machine_does_not_count_in_an_answer() -> None:
    assert clients.same_redirect(REDIRECT, "http://127.0.0.1:9999/callback")
    assert not clients.same_redirect("https://a.example/cb", "https://a.example:8443/cb")


def test_a_client_that_may_not_ask_for_more_scopes_is_registered_anew() -> None:
    limited = registered(registration={"scope": "tools"}, asked=("tools",))
    assert how(metadata(), known=limited, asked=("tools", "offline_access")) == "registered"
    assert how(metadata(), known=limited, asked=("tools", "notes")) == ""
    left_out = registered(registration={"scope": "tools"}, asked=("tools", "notes"))
    assert how(metadata(), known=left_out, asked=("tools", "notes")) == "registered", "it would be left out again"
    for silent in (registered(), registered(registration={"scope": None}), registered(registration={"scope": 7})):
        assert how(metadata(), known=silent, asked=("tools", "notes")) == "registered"


@pytest.mark.parametrize(
    "offered, secret, wanted, method",
    [
        (None, "", "", "none"),
        (None, SECRET, "", "client_secret_basic"),
        (["client_secret_post"], SECRET, "", "client_secret_post"),
        (["client_secret_post", "client_secret_basic"], SECRET, "", "client_secret_basic"),
        (["none"], SECRET, "", "none"),
        (["client_secret_basic"], "", "", "none"),
        (["client_secret_basic"], SECRET, "client_secret_post", "client_secret_post"),
        (["private_key_jwt"], "", "private_key_jwt", "private_key_jwt"),
        (["private_key_jwt"], SECRET, "", ""),
        ([], SECRET, "", ""),
    ],
)
def test_a_client_shows_itself_in_a_way_that_both_know(
    offered: list[str] | None, secret: str, wanted: str, method: str
) -> None:
    found = metadata(token_endpoint_auth_methods_supported=offered)
    if method:
        assert method_for(found, secret, wanted) == method
        return
    with pytest.raises(AuthFailed) as caught:
        method_for(found, secret, wanted)
    assert caught.value.hint and SECRET not in f"{caught.value}{caught.value.hint}"


@pytest.mark.parametrize(
    "offered, method",
    [
        (None, "client_secret_basic"),
        (["none", "client_secret_basic"], "none"),
        (["client_secret_post"], "client_secret_post"),
        (["client_secret_basic", "private_key_jwt", "client_secret_post"], "client_secret_post"),
    ],
)
def test_registration_asks_for_what_a_native_program_is(offered: list[str] | None, method: str) -> None:
    asked = clients.registration_request(metadata(token_endpoint_auth_methods_supported=offered), REDIRECT, ("a", "b"))
    assert asked == {
        "client_name": "MCP Studio",
        "application_type": "native",
        "redirect_uris": [REDIRECT],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
        "scope": "a b",
    }


def test_registration_where_nothing_is_known_asks_for_a_public_client() -> None:
    asked = clients.registration_request(IssuerMetadata.assumed("https://mcp.example/mcp"), REDIRECT)
    assert asked["token_endpoint_auth_method"] == "none" and "scope" not in asked


def test_registration_that_wants_keys_is_refused() -> None:
    with pytest.raises(AuthFailed, match="private_key_jwt"):
        clients.registration_request(metadata(token_endpoint_auth_methods_supported=["private_key_jwt"]), REDIRECT)


def read(answer: Json, **changes: Json) -> Client:
    found = metadata(**changes)
    return clients.client_from(answer, asked=clients.registration_request(found, REDIRECT), metadata=found)


GOOD: dict[str, Json] = {"client_id": "new", "client_secret": SECRET}


def test_a_registration_is_read() -> None:
    asked = clients.registration_request(metadata(), REDIRECT)
    more = {"registration_access_token": "rat-secret", "scope": "a b", "pad": "x" * 500_000}
    client = read({**asked, **GOOD, "client_secret_expires_at": NOW + 9_000, **more})
    assert (client.issuer, client.client_id, client.secret) == (ISSUER, "new", SECRET)
    assert (client.how, client.method, client.redirect_uri) == ("registered", "client_secret_basic", REDIRECT)
    assert client.secret_expires == NOW + 9_000
    assert client.registration == {"scope": "a b"}, "what is needed later: a keyring has no room for more"


@pytest.mark.parametrize("value", [1, "soon", -1, True, None])
def test_an_expiry_that_makes_no_sense_is_none(value: Json) -> None:
    assert read({**GOOD, "client_secret_expires_at": value}).secret_expires == 0


def test_a_response_type_that_brings_nothing_does_no_harm() -> None:
    assert read({**GOOD, "response_types": ["code", "none"]}).client_id == "new"


def test_placeholders_are_as_good_as_nothing() -> None:
    client = read({"client_id": "new", "client_secret": "", "redirect_uris": None, "grant_types": "",
                   "token_endpoint_auth_method": ""}, token_endpoint_auth_methods_supported=["none"])  # fmt: skip
    assert (client.method, client.secret, client.secret_expires) == ("none", "", 0.0)


@pytest.mark.parametrize(
    "answer, offered, method",
    [
        (GOOD, ["none"], "none"),
        (GOOD, None, "client_secret_basic"),
        ({"client_id": "new"}, ["none"], "none"),
        ({**GOOD, "token_endpoint_auth_method": "client_secret_post"}, ["none"], "client_secret_post"),
        ({**GOOD, "token_endpoint_auth_method": "client_secret_post"}, None, "client_secret_post"),
        ({"client_id": "new", "token_endpoint_auth_method": "none"}, None, "none"),
        ({"client_id": "new"}, None, "none"),
        (GOOD, ["client_secret_post"], "client_secret_post"),
    ],
)
def test_the_method_is_what_both_sides_said_last(answer: Json, offered: Json, method: str) -> None:
    assert read(answer, token_endpoint_auth_methods_supported=offered).method == method


def test_a_secret_that_nobody_announced_is_used_as_rfc_8414_has_it() -> None:
    found = IssuerMetadata.assumed("https://mcp.example/mcp")
    client = clients.client_from(GOOD, asked=clients.registration_request(found, REDIRECT), metadata=found)
    assert client.method == "client_secret_basic"


BAD: dict[str, tuple[Json, str]] = {
    "no object": ([1], "client_id"),
    "null": (None, "client_id"),
    "no id": ({"client_secret": SECRET}, "client_id"),
    "an id that is a number": ({"client_id": 5}, "client_id"),
    "an id with a line break": ({"client_id": "a\r\nX: y"}, "client_id"),
    "a huge id": ({"client_id": "a" * 5000}, "client_id"),
    "a secret that is a list": ({"client_id": "new", "client_secret": [SECRET]}, "client_secret"),
    "a secret with a line break": ({"client_id": "new", "client_secret": f"{SECRET}\n"}, "client_secret"),
    "another redirect": ({**GOOD, "redirect_uris": ["https://evil.example/cb"]}, "evil.example"),
    "one more redirect": ({**GOOD, "redirect_uris": [REDIRECT, "https://evil.example/cb"]}, "evil.example"),
    "no redirect": ({**GOOD, "redirect_uris": []}, "redirect_uris"),
    "redirects as text": ({**GOOD, "redirect_uris": REDIRECT}, "redirect_uris"),
    "a redirect that is a number": ({**GOOD, "redirect_uris": [1]}, "1"),
    "a wider grant": ({**GOOD, "grant_types": ["authorization_code", "password"]}, "password"),
    "no code grant": ({**GOOD, "grant_types": ["client_credentials"]}, "client_credentials"),
    "grants as text": ({**GOOD, "grant_types": "authorization_code"}, "grant_types"),
    "the implicit flow": ({**GOOD, "response_types": ["code", "token"]}, "token"),
    "another response": ({**GOOD, "response_types": ["token"]}, "token"),
    "a key wanted": ({**GOOD, "token_endpoint_auth_method": "private_key_jwt"}, "private_key_jwt"),
    "a method that is a number": ({**GOOD, "token_endpoint_auth_method": 1}, "1"),
    "a secret wanted, none given": (
        {"client_id": "new", "token_endpoint_auth_method": "client_secret_post"},
        "client_secret_post",
    ),
}


@pytest.mark.parametrize("answer, words", BAD.values(), ids=BAD)
def test_an_answer_that_changes_what_was_asked_is_refused(answer: Json, words: str) -> None:
    with pytest.raises(AuthFailed) as caught:
        read(answer)
    assert words in caught.value.message and caught.value.hint
    assert SECRET not in f"{caught.value.message}{caught.value.hint}" and len(caught.value.message) < 600


NAMES = ["client_id", "client_secret", "redirect_uris", "grant_types", "response_types", "client_secret_expires_at",
         "token_endpoint_auth_method"]  # fmt: skip


@given(st.dictionaries(st.sampled_from(NAMES), ANY_JSON), ANY_JSON)
def test_no_answer_makes_another_error(changes: dict[str, Json], other: Json) -> None:
    for answer in ({**GOOD, **changes}, other):
        try:
            assert read(answer).redirect_uri == REDIRECT
        except AuthFailed:
            pass
