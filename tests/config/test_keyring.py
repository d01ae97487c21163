"""Only keyrings that are known to keep secrets are used, and none is waited for without end."""

from __future__ import annotations

import threading

import pytest
from keyring import backend
from keyring.backends.fail import Keyring as FailKeyring

from mcp_studio.config import keyring
from mcp_studio.errors import ConfigError


class Clear(FailKeyring):
    """A keyring that nobody knows."""

    priority = 99

    def get_password(self, service: str, username: str) -> str:
        return "clear text"


class Known(Clear):
    answer: str | None = "the secret"

    def get_password(self, service: str, username: str) -> str | None:  # type: ignore[override]
        assert service == "mcp-studio"
        return self.answer


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> type[Known]:
    class Here(Known):
        pass

    monkeypatch.setattr(keyring, "KNOWN", (f"{Here.__module__}.{Here.__qualname__}",))
    monkeypatch.setattr(backend, "get_all_keyring", lambda: [Clear(), Here()])
    return Here


def test_an_unknown_keyring_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "get_all_keyring", lambda: [Clear()])
    with pytest.raises(ConfigError, match="no operating system keyring") as raised:
        keyring.lookup("x")
    assert "environment variable" in raised.value.hint


def test_a_known_one_is(known: type[Known]) -> None:
    assert keyring.lookup("x") == "the secret"


def test_a_missing_password_says_how_to_store_it(known: type[Known]) -> None:
    known.answer = None
    with pytest.raises(ConfigError, match="nothing under `x`") as raised:
        keyring.lookup("x")
    assert raised.value.hint == "Store it: keyring set mcp-studio x"


def test_a_keyring_that_does_not_answer_is_given_up(known: type[Known], monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    monkeypatch.setattr(known, "get_password", lambda *_: gate.wait(5))
    monkeypatch.setattr(keyring, "PATIENCE", 0.05)
    with pytest.raises(ConfigError, match="did not answer"):
        keyring.lookup("x")
    gate.set()


def test_a_failing_keyring_is_a_sentence(known: type[Known], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> str:
        raise RuntimeError("locked")

    monkeypatch.setattr(known, "get_password", fail)
    with pytest.raises(ConfigError, match="The keyring failed: locked"):
        keyring.lookup("x")
