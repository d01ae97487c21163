"""Which pages may be opened, and what a person is told of them."""

from __future__ import annotations

import pytest

from mcp_studio.urls import judge


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://bank.example/authorize?id=7", "bank.example"),
        ("https://bank.example:443", "bank.example"),
        ("http://localhost:7338/callback", "localhost"),
        ("http://127.0.0.1/x", "127.0.0.1"),
        ("http://[::1]:80/x", "::1"),
    ],
)
def test_https_and_this_machine_may_be_opened(url: str, host: str) -> None:
    page = judge(url)
    assert (page.refusal, page.host, page.ascii_host) == ("", host, host)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://bank.example", "http is read"),
        ("javascript:alert(1)", "names no host"),
        ("file:///etc/passwd", "names no host"),
        ("ftp://bank.example", "this is ftp one"),
        ("bank.example", "names no host"),
        ("https://bank.example@evil.example/", "user name before its host"),
        ("https://bank.example/\u202ecod.exe", "control characters"),
        ("https://bank.example/a b", "blanks"),
        ("https:\\\\bank.example", "backslashes"),
        ("https://bank.example:99999/", "no address"),
        ("https://[::1", "no address"),
        ("https://" + "a" * 9_000, "longer than"),
        ("http://localhost.evil.example/", "http is read"),
        ("http://127.0.0.1.evil.example/", "http is read"),
    ],
)
def test_everything_else_is_refused_with_a_reason(url: str, reason: str) -> None:
    assert reason in judge(url).refusal


def test_an_internationalized_host_is_told_in_both_forms() -> None:
    for url in ("https://bücher.example/x", "https://xn--bcher-kva.example/x"):
        page = judge(url)
        assert (page.host, page.ascii_host, page.refusal) == ("bücher.example", "xn--bcher-kva.example", "")
        assert "both forms" in page.warnings[0]


def test_a_host_of_mixed_scripts_is_warned_about() -> None:
    assert any("several scripts" in warning for warning in judge("https://pаypal.example").warnings)


def test_bare_addresses_and_unusual_ports_are_warned_about() -> None:
    assert any("bare address" in warning for warning in judge("https://203.0.113.9/").warnings)
    assert any("port 8443" in warning for warning in judge("https://bank.example:8443/").warnings)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("https://bank.example%2eevil.example/", "escaped"),
        ("https://%65vil.example/", "escaped"),
        ("http://evil.example%2f.localhost/", "escaped"),
        ("http://[::1%25eth0]/", "no address of the network"),
        ("https://[fe80::1%eth0]/", "no address of the network"),
        ("https://[::1]evil.example/", "no address of the network"),
        ("https://[v1.x]/", "no address of the network"),
        ("http://127.1/", "spelling"),
        ("https://2130706433/", "spelling"),
        ("https://0x7f000001/", "spelling"),
        ("https://0177.0.0.1/", "spelling"),
        ("https://127.0.0.1./", "spelling"),
        ("https://a.0x10/", "spelling"),
        ("https://\uff11\uff12\uff17.0.0.1/", "spelling"),
        ("https://bank.example;evil.example/", "none that the network knows"),
        ("https://$(id).example/", "none that the network knows"),
        ("https://bank..example/", "none that the network knows"),
        ("https://" + "a" * 64 + ".example/", "none that the network knows"),
        ("https://bank.example" + ".a" * 130 + "/", "none that the network knows"),
        ("https://bank.example\u2044login.evil.example/", "names no host"),
        ("https://bank.example\u01c3login.evil.example/", "look like parts"),
        ("https://bank.example\uff0fevil.example/", "no address"),
        ("https://\uff42ank.example\uff20evil.example/", "no address"),
        ("https:evil.example", "names no host"),
        ("https://@evil.example/", "user name"),
        ("https://bank.example\t.evil.example/", "blanks"),
        ("https://bank.example\n/", "blanks"),
        ("https://bank.exa\u00admple/", "control characters"),
        ("https://bank.exa\u200bmple/", "control characters"),
    ],
)
def test_what_browsers_read_otherwise_than_it_looks_is_refused(url: str, reason: str) -> None:
    page = judge(url)
    assert reason in page.refusal
    assert not any("this machine" in warning for warning in page.warnings)


@pytest.mark.parametrize(
    ("url", "host", "network"),
    [
        ("https://bank.example#@evil.example", "bank.example", "bank.example"),
        ("https://bank.example?@evil.example", "bank.example", "bank.example"),
        ("https://bank\u3002example/", "bank.example", "bank.example"),
        ("https://bank.example./", "bank.example.", "bank.example."),
        ("https://stra\u00dfe.example/", "stra\u00dfe.example", "xn--strae-oqa.example"),
        ("https://xn--strae-oqa.example/", "stra\u00dfe.example", "xn--strae-oqa.example"),
        ("https://xn--80ak6aa92e.example/", "\u0430\u0440\u0440\u04cf\u0435.example", "xn--80ak6aa92e.example"),
        ("http://[::ffff:127.0.0.1]/", "::ffff:127.0.0.1", "::ffff:127.0.0.1"),
    ],
)
def test_the_host_that_is_shown_is_the_one_that_browsers_go_to(url: str, host: str, network: str) -> None:
    page = judge(url)
    assert (page.host, page.ascii_host, page.refusal) == (host, network, "")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("https://xn--a.example/", "cannot be shown"),
        ("https://bank.example." + "a" * 50 + ".evil.example/", "stands at its end"),
        ("https://192.168.0.1/", "private network"),
        ("https://[fe80::1]/", "private network"),
        ("https://[::ffff:192.168.0.1]/", "private network"),
    ],
)
def test_a_person_is_told_what_is_odd_about_a_host(url: str, words: str) -> None:
    page = judge(url)
    assert not page.refusal and any(words in warning for warning in page.warnings)


def test_words_of_several_scripts_that_belong_together_are_not_warned_about() -> None:
    page = judge("https://\u65e5\u672c\u8a9e\u30c6\u30b9\u30c8.example/")
    assert not any("several scripts" in warning for warning in page.warnings)


def test_judging_asks_no_name_server(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a name was looked up")

    for name in ("getaddrinfo", "gethostbyname", "create_connection"):
        monkeypatch.setattr(f"socket.{name}", refuse)
    assert not judge("https://b\u00fccher.example/x").refusal
