"""Only keyrings that are known to keep secrets are used; where there is none, it is said why and how to get one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from keyring.backend import KeyringBackend

from mcp_studio.errors import VaultRefused
from mcp_studio.vault import oskeyring
from mcp_studio.vault.oskeyring import KeyringVault


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A machine without a session, and a person who has configured nothing."""
    for name in ("PYTHON_KEYRING_BACKEND", "XDG_CURRENT_DESKTOP"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    oskeyring.forget()
    yield
    oskeyring.forget()


def refused() -> VaultRefused:
    with pytest.raises(VaultRefused) as raised:
        KeyringVault()
    assert '[secrets] store = "file"' in raised.value.hint and 'store = "memory"' in raised.value.hint
    return raised.value


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have a keyring")
@pytest.mark.parametrize(
    "address, words", [("", "DBUS_SESSION_BUS_ADDRESS is unset"), ("unix:path=/nowhere", "No such file")]
)
def test_without_a_session_it_says_so(monkeypatch: pytest.MonkeyPatch, address: str, words: str) -> None:
    if address:
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
    problem = refused()
    assert words in problem.message and "gnome-keyring" in problem.hint


@pytest.mark.parametrize(
    "name, words",
    [
        ("keyring.backends.null.Keyring", "not known to keep secrets encrypted"),
        ("keyring.backends.fail.Keyring", "not known to keep secrets encrypted"),
        ("somebody.elses.Keyring", "The keyring failed: No module named 'somebody'"),
    ],
)
def test_what_keeps_no_secrets_is_refused_wherever_it_is_configured(
    name: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "python_keyring" / "keyringrc.cfg"
    file.parent.mkdir()
    file.write_text(f"[backend]\ndefault-keyring = {name}\n")
    assert words in refused().message
    file.unlink()
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", name)
    assert words in refused().message


class Here(KeyringBackend):
    """A keyring that works."""

    priority = 5.0  # type: ignore[assignment]

    def get_password(self, service: str, username: str) -> str | None:
        return None

    def set_password(self, service: str, username: str, password: str) -> None:
        pass


class Better(Here):
    priority = 5.1  # type: ignore[assignment]


class Broken(Here):
    def __init__(self) -> None:
        raise AttributeError("libsecret is half installed")


def test_the_best_of_the_known_ones_that_work_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType(Here.__module__)
    vars(module).update(Here=Here, Better=Better, Broken=Broken)
    monkeypatch.setitem(sys.modules, Here.__module__, module)
    places = {f"{Here.__module__}.{kind.__name__}": f"place {kind.__name__}" for kind in (Broken, Here, Better)}
    monkeypatch.setattr(oskeyring, "PLACES", places)
    assert KeyringVault().place == "place Better"
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", f"{Here.__module__}.Here")
    oskeyring.forget()
    assert KeyringVault().place == "place Here"
