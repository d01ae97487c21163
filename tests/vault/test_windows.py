"""Large values in the Windows Credential Manager: `keyring`'s own backend over an imitation of what Windows keeps."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from keyring.backends import Windows

from mcp_studio.errors import VaultRefused
from mcp_studio.vault import oskeyring
from mcp_studio.vault.oskeyring import KeyringVault


class CredentialError(Exception):
    """What pywin32 raises."""

    def __init__(self, code: int, function: str, said: str) -> None:
        super().__init__(code, function, said)
        self.winerror, self.funcname = code, function


class Credentials:
    """The credentials of one person, by target; a blob has at most 2,560 bytes, a user name at most 513 characters."""

    CRED_TYPE_GENERIC = 1
    CRED_PERSIST_ENTERPRISE = 3

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, Any]] = {}

    def CredRead(self, Type: int, TargetName: str) -> dict[str, Any]:
        if TargetName not in self.kept:
            raise CredentialError(1168, "CredRead", "Element not found.")
        return self.kept[TargetName]

    def CredWrite(self, credential: dict[str, Any], flags: int) -> None:
        blob = credential["CredentialBlob"].encode("utf-16-le")
        if len(blob) > 2_560 or len(credential["UserName"]) > 513:
            raise CredentialError(1783, "CredWrite", "The stub received bad data.")
        self.kept[credential["TargetName"]] = {**credential, "CredentialBlob": blob}

    def CredDelete(self, Type: int, TargetName: str) -> None:
        if self.kept.pop(TargetName, None) is None:
            raise CredentialError(1168, "CredDelete", "Element not found.")


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> Iterator[Credentials]:
    made = Credentials()
    monkeypatch.setattr(Windows, "win32cred", made, raising=False)
    monkeypatch.setattr(Windows, "pywintypes", SimpleNamespace(error=CredentialError), raising=False)
    monkeypatch.setattr("keyring.core.load_env", lambda: Windows.WinVaultKeyring())
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.Windows.WinVaultKeyring")
    oskeyring.forget()
    yield made
    oskeyring.forget()


@pytest.mark.parametrize("value", ["short", "x" * 1_200, "x" * 1_201, "y" * 9_000, "ä€😀" * 2_000, '{"a": "😀"}' * 300])
def test_values_of_any_size_are_kept_in_parts_and_leave_nothing_behind(credentials: Credentials, value: str) -> None:
    vault = KeyringVault("tokens")
    assert vault.place == "the Windows Credential Manager"
    for name in ("grant https://a.example/mcp", "client https://b.example"):
        for kept in ("first " * 700, value, "second", value):
            vault.set(name, kept)
            assert KeyringVault("tokens").get(name) == kept
    assert vault.get("grant https://a.example/mcp") == value
    assert vault.delete("grant https://a.example/mcp") and vault.get("client https://b.example") == value
    assert vault.delete("client https://b.example") and credentials.kept == {}


def test_what_windows_refuses_is_told_in_a_sentence(credentials: Credentials, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(VaultRefused, match=r"The keyring failed: .*bad data"):
        KeyringVault().set("n" * 600, "value")

    def refuse(**_: Any) -> None:
        raise CredentialError(5, "CredRead", "Access is denied.")

    monkeypatch.setattr(credentials, "CredRead", refuse)
    with pytest.raises(VaultRefused, match="The keyring failed"):
        KeyringVault().get("x")
