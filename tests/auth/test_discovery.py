"""Documents are looked for where the specification says, and nothing is used that may not be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_studio.auth import discovery
from mcp_studio.auth.discovery import resource_of
from mcp_studio.auth.model import AuthFailed
from mcp_studio.config.model import ServerConfig

PRM = "/.well-known/oauth-protected-resource"
AS = "/.well-known/oauth-authorization-server"
OIDC = "/.well-known/openid-configuration"
SERVER = "https://mcp.example/a/mcp"
LOCAL = "http://localhost:3000/mcp"


@pytest.mark.parametrize(
    "named, url, places",
    [
        ("", "https://h/mcp", [f"https://h{PRM}/mcp", f"https://h{PRM}"]),
        ("", "https://h/a/b?x=1#y", [f"https://h{PRM}/a/b", f"https://h{PRM}"]),
        ("", "https://h/a/b/", [f"https://h{PRM}/a/b/", f"https://h{PRM}/a/b", f"https://h{PRM}"]),
        ("", "https://h", [f"https://h{PRM}"]),
        ("", "https://h:443/", [f"https://h{PRM}"]),
        ("", "https://[::1]:8443/mcp", [f"https://[::1]:8443{PRM}/mcp", f"https://[::1]:8443{PRM}"]),
        ("", "wss://h/mcp", [f"https://h{PRM}/mcp", f"https://h{PRM}"]),
        ("https://h/meta.json", "https://h/mcp", ["https://h/meta.json", f"https://h{PRM}/mcp", f"https://h{PRM}"]),
        (f"https://h{PRM}/mcp", "https://h/mcp", [f"https://h{PRM}/mcp", f"https://h{PRM}"]),
    ],
)
def test_the_resource_metadata_is_looked_for(named: str, url: str, places: list[str]) -> None:
    assert list(discovery.resource_urls(named, url)) == places


@pytest.mark.parametrize(
    "issuer, places",
    [
        ("https://as", [f"https://as{AS}", f"https://as{OIDC}"]),
        ("https://as/", [f"https://as{AS}", f"https://as{OIDC}"]),
        ("https://as/t1", [f"https://as{AS}/t1", f"https://as{OIDC}/t1", f"https://as/t1{OIDC}"]),
        ("https://as/a/b/", [f"https://as{AS}/a/b", f"https://as{OIDC}/a/b", f"https://as/a/b{OIDC}"]),
    ],
)
def test_the_issuer_metadata_is_looked_for_in_the_fixed_order(issuer: str, places: list[str]) -> None:
    assert list(discovery.issuer_urls(issuer)) == places


@pytest.mark.parametrize(
    "url, server",
    [
        ("https://as/token", SERVER),
        ("https://as:8443/token?tenant=1", SERVER),
        ("https://[2001:db8::1]/token", SERVER),
        ("http://127.0.0.1:9000/token", LOCAL),
        ("http://localhost/token", "http://127.0.0.1:3000/mcp"),
        ("http://[::1]:9000/token", "ws://localhost:3000/mcp"),
        ("https://as/token", LOCAL),
    ],
)
def test_good_addresses_stay_as_they_are(url: str, server: str) -> None:
    assert discovery.check_url(url, server, "token_endpoint") == url


BAD = {
    "no TLS": ("http://as/token", SERVER, "Only https"),
    "no TLS, local server": ("http://as/token", LOCAL, "Only https"),
    "our machine for a server elsewhere": ("http://127.0.0.1/token", SERVER, "on this machine"),
    "a name that looks local": ("http://localhost.evil.example/token", LOCAL, "Only https"),
    "an address that looks local": ("http://127.0.0.1.evil.example/token", LOCAL, "Only https"),
    "script": ("javascript:alert(1)", SERVER, "names no host"),
    "script with slashes": ("javascript://as/%0aalert(1)", SERVER, "Only https"),
    "file": ("file:///etc/passwd", SERVER, "names no host"),
    "an option": ("--new-window", SERVER, "names no host"),
    "no host": ("https:///token", SERVER, "names no host"),
    "another program": ("ms-settings://x/", SERVER, "Only https"),
    "user name": ("https://trusted.example@evil.example/token", SERVER, "user name"),
    "password": ("https://a:b@as/token", SERVER, "user name"),
    "empty user name": ("https://@as/token", SERVER, "user name"),
    "fragment": ("https://as/token#x", SERVER, "fragment"),
    "empty fragment": ("https://as/token#", SERVER, "fragment"),
    "no scheme": ("as/token", SERVER, "names no host"),
    "nothing": ("", SERVER, "names no host"),
    "line break": ("https://as/token\r\nX: y", SERVER, "blanks, control characters or backslashes"),
    "blank": ("https://as/to ken", SERVER, "blanks, control characters or backslashes"),
    "backslash": ("https://as\\@evil.example/", SERVER, "blanks, control characters or backslashes"),
    "not ASCII": ("https://ás/token", SERVER, "not ASCII"),
    "bidi": ("https://as/\u202etoken", SERVER, "control characters"),
    "port": ("https://as:99999/token", SERVER, "no address that can be read"),
    "brackets": ("https://[::1/token", SERVER, "token_endpoint"),
    "length": ("https://as/" + "a" * 9000, SERVER, "characters"),
}


@pytest.mark.parametrize("url, server, words", BAD.values(), ids=BAD)
def test_bad_addresses_are_refused_with_the_reason(url: str, server: str, words: str) -> None:
    with pytest.raises(AuthFailed) as caught:
        discovery.check_url(url, server, "token_endpoint in the metadata")
    assert words in caught.value.message and caught.value.message.startswith("token_endpoint in the metadata")
    assert caught.value.hint and len(caught.value.message) < 600


@given(st.text(max_size=80), st.sampled_from([SERVER, LOCAL]))
def test_no_text_makes_another_error(url: str, server: str) -> None:
    try:
        assert discovery.check_url(url, server, "x") == url
    except AuthFailed:
        pass


def test_origins_are_compared_with_their_default_ports() -> None:
    assert discovery.same_origin("https://H/a", "https://h:443/b")
    assert discovery.same_origin("wss://h/a", "https://h/a")
    assert not discovery.same_origin("https://h/a", "http://h/a")
    assert not discovery.same_origin("https://h/a", "https://h:8443/a")
    assert not discovery.same_origin("https://h/a", "https://h:0/a")
    assert not discovery.same_origin("https://h/a", "https://h.evil/a")
    assert str(discovery.origin("https://[::1]:443/x")) == "https://[::1]"


@pytest.mark.parametrize(
    "host, local",
    [
        ("localhost", True),
        ("a.localhost", True),
        ("localhost.", True),
        ("127.8.9.1", True),
        ("[::1]", True),
        ("[::ffff:127.0.0.1]", True),
        ("192.168.0.1", False),
        ("0.0.0.0", False),
        ("notlocalhost", False),
        ("localhost.example", False),
        ("127.0.0.1.example", False),
        ("2130706433.example", False),
    ],
)
def test_this_machine_is_known(host: str, local: bool) -> None:
    assert discovery.is_loopback(f"http://{host}:80/") is local


def test_a_server_is_called_by_its_address_alone() -> None:
    assert discovery.canonical("HTTPS://MCP.Example:8443/A/mcp?x=1#y") == "https://mcp.example:8443/A/mcp"
    assert discovery.canonical("https://user:pw@mcp.example/") == "https://mcp.example"
    assert discovery.canonical("wss://mcp.example/mcp") == "https://mcp.example/mcp"


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://MCP.example/Mcp?a=b", "https://mcp.example/Mcp"),
        ("https://bücher.example/mcp", "https://xn--bcher-kva.example/mcp"),
        ("https://mcp.example/mcp#top", "https://mcp.example/mcp"),
    ],
)
def test_it_is_looked_for_where_signing_in_has_put_it(url: str, kept: str) -> None:
    assert resource_of(ServerConfig("one", url=url)) == kept
