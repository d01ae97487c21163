"""Which pages may be opened, and what a person is told of them."""

from __future__ import annotations

import pytest

from mcp_studio.session.urls import judge


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
