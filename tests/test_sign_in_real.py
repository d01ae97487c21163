"""Signing in to an authorization server that others wrote, by the program as people run it, with a real browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.keyring_session import KeyringSession, own_keyring
from tests.sign_in_cli import Person, wait_for
from tests.support import python_server
from tests.support_servers import running

__all__ = ("own_keyring",)
CHROMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The MCP server behind Django OAuth Toolkit; its access tokens hold for two seconds."""
    folder = tmp_path_factory.mktemp("django")
    with running(python_server("django_oauth", str(folder), "--lifetime", "2")) as server:
        yield server.url


def test_a_provider_of_others_signs_in_renews_and_signs_out(
    provider: str, own_keyring: KeyringSession, home: Path
) -> None:
    person = Person(home, own_keyring, provider)
    refused = person.run("call", "notes.whoami")
    assert refused.returncode == 3, refused.stderr
    person.result("auth", "login", "notes")
    assert person.whoami() == "ada"
    (status,) = person.result("auth", "status")
    assert status["issuer"] == provider.removesuffix("/mcp")
    token = person.result("auth", "token", "notes")["token"]
    wait_for(lambda: person.result("auth", "token", "notes")["token"] != token, 20)
    assert person.whoami() == "ada"
    assert len(person.opened) == 1, "renewing needs no person"
    person.result("auth", "logout", "notes")
    assert person.run("call", "notes.whoami").returncode == 3
    assert len(person.opened) == 1


def test_chromium_goes_there_and_comes_back(provider: str, own_keyring: KeyringSession, home: Path) -> None:
    program = next(filter(None, map(shutil.which, CHROMES)), None)
    if program is None:
        pytest.skip("there is no Chromium here")
    person = Person(home, own_keyring, provider, "--with", program)
    try:
        person.result("auth", "login", "notes")
        assert person.whoami() == "ada"
    finally:
        (person.folder / "stop").touch()
    wait_for((person.folder / "stopped").exists, 20)
    person.result("auth", "logout", "notes")
