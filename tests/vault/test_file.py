"""The encrypted file: its owner's alone, wrong passphrases and damage told apart, nothing lost between two."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_studio.errors import VaultDamaged, VaultRefused
from mcp_studio.vault import file as sealed
from mcp_studio.vault import keyring
from mcp_studio.vault.base import Vault
from mcp_studio.vault.file import FileVault, Keys, file_in

PASSPHRASE = "correct horse"


@pytest.fixture(autouse=True)
def nobody_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no passphrase but that of a test."""
    monkeypatch.delenv("MCP_STUDIO_PASSPHRASE", raising=False)


class Asked:
    """A person who types one passphrase after the other."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[bool] = []

    def __call__(self, new: bool) -> str:
        self.asked.append(new)
        return self.answers.pop(0)


def vault(home: Path, *answers: str) -> FileVault:
    return FileVault(file_in(home), "secrets", Asked(*answers or (PASSPHRASE,)))


def test_secrets_are_kept_encrypted_and_the_passphrase_is_asked_for_once(home: Path) -> None:
    person, keys = Asked(PASSPHRASE), Keys()
    kept = FileVault(file_in(home), "secrets", person, keys)
    assert kept.get("x") is None and not kept.delete("x") and person.asked == []
    kept.set("x", "Pl4nted ä\n")
    FileVault(file_in(home), "tokens", person, keys).set("Name1", "y")
    assert kept.get("x") == "Pl4nted ä\n" and kept.get("Name1") is None and person.asked == [True]
    text = file_in(home).read_bytes()
    assert file_in(home).stat().st_mode & 0o077 == 0
    assert b"Pl4nted" not in text and b"Name1" not in text
    again = vault(home)
    assert again.get("x") == "Pl4nted ä\n" and again.delete("x") and again.get("x") is None
    assert FileVault(file_in(home), "tokens", None, keys).get("Name1") == "y"
    assert again.place == f"the encrypted file {file_in(home)}" and again.kind == "file"


def test_a_wrong_passphrase_is_asked_for_again_and_then_told(home: Path) -> None:
    vault(home).set("x", "y")
    person = Asked("wrong one", "also wrong", PASSPHRASE)
    assert FileVault(file_in(home), "secrets", person).get("x") == "y" and person.asked == [False] * 3
    with pytest.raises(VaultRefused, match="not the one of this file"):
        vault(home, "a", "b", "c").get("x")
    assert vault(home).get("x") == "y"


def test_the_environment_says_the_passphrase_and_nobody_is_asked(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_STUDIO_PASSPHRASE", PASSPHRASE)
    FileVault(file_in(home)).set("x", "y")
    monkeypatch.setenv("MCP_STUDIO_PASSPHRASE", "another one")
    with pytest.raises(VaultRefused) as raised:
        FileVault(file_in(home)).get("x")
    assert "MCP_STUDIO_PASSPHRASE" in raised.value.hint and PASSPHRASE not in str(raised.value)


def test_without_a_passphrase_nothing_is_kept_and_it_says_where_one_could_come_from(home: Path) -> None:
    with pytest.raises(VaultRefused, match="nobody gave it") as raised:
        FileVault(file_in(home)).set("x", "y")
    assert "MCP_STUDIO_PASSPHRASE" in raised.value.hint
    with pytest.raises(VaultRefused, match="at least 8 characters"):
        vault(home, "short").set("x", "y")
    with pytest.raises(VaultRefused):
        vault(home, "").set("x", "y")
    assert not file_in(home).exists()
    assert vault(home).get("x") is None  # there is nothing to open


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda text: b"",
    "cut": lambda text: text[: len(text) // 2],
    "not ours": lambda text: b'{"format": "another"}',
    "no object": lambda text: b"[" * 100_000,
    "a changed digit": lambda text: text.replace(b'"n": 16', b'"n": 32'),
    "a changed letter": lambda text: text.replace(b'"sealed": "', b'"sealed": "A'),
    "binary": lambda text: bytes(range(256)),
}


@pytest.mark.parametrize("how", DAMAGE)
def test_damage_is_told_as_such_and_nothing_is_written_over_it(home: Path, how: str) -> None:
    kept = vault(home)
    kept.set("x", "y")
    damaged = DAMAGE[how](file_in(home).read_bytes())
    file_in(home).write_bytes(damaged)
    for refused in (lambda: kept.get("x"), lambda: kept.set("x", "z"), lambda: kept.delete("x")):
        with pytest.raises(VaultDamaged) as raised:
            refused()
        assert "copy" in raised.value.hint
    assert file_in(home).read_bytes() == damaged


def changed(home: Path, **changes: object) -> None:
    """Somebody changes the file and sees to it that its digest is right."""
    content = json.loads(file_in(home).read_bytes())
    del content["digest"]
    content = {**content, **changes}
    file_in(home).write_text(json.dumps({**content, "digest": sealed._digest(content)}))


def test_what_somebody_changed_on_purpose_is_found_out_with_the_right_passphrase(home: Path) -> None:
    kept = vault(home)
    kept.set("x", "y")
    old = json.loads(file_in(home).read_bytes())["check"]
    changed(home, sealed=old)
    with pytest.raises(VaultDamaged, match="The passphrase is right, but"):
        kept.get("x")
    changed(home, check="AAAA")
    kept = vault(home, *["another"] * 3)
    with pytest.raises(VaultRefused):
        kept.get("x")


@pytest.mark.parametrize(
    "kdf",
    [
        {"name": "scrypt", "n": 1 << 30, "r": 8, "p": 1, "salt": "AAAAAAAAAAAAAAAAAAAAAA=="},
        {"name": "scrypt", "n": 1 << 14, "r": 8, "p": 1 << 20, "salt": "AAAAAAAAAAAAAAAAAAAAAA=="},
        {"name": "scrypt", "n": 15, "r": 8, "p": 1, "salt": "AAAAAAAAAAAAAAAAAAAAAA=="},
        {"name": "scrypt", "n": True, "r": 8, "p": 1, "salt": "AAAAAAAAAAAAAAAAAAAAAA=="},
        {"name": "none", "n": 16, "r": 8, "p": 1, "salt": "AAAAAAAAAAAAAAAAAAAAAA=="},
        {"name": "scrypt", "n": 16, "r": 8, "p": 1, "salt": "AA=="},
        {"name": "scrypt", "n": 16, "r": 8, "p": 1, "salt": "!"},
        "scrypt",
    ],
)
def test_a_file_cannot_make_its_key_cost_a_fortune_or_nothing(home: Path, kdf: object) -> None:
    vault(home).set("x", "y")
    changed(home, kdf=kdf)
    with pytest.raises(VaultDamaged, match="about its key"):
        vault(home).get("x")


def test_a_newer_version_is_left_alone(home: Path) -> None:
    vault(home).set("x", "y")
    changed(home, version=2)
    with pytest.raises(VaultDamaged, match="version 2, made by a newer studio"):
        vault(home).set("x", "z")


def test_what_another_has_made_meanwhile_with_another_passphrase_is_asked_for(home: Path) -> None:
    kept = vault(home, PASSPHRASE, "another one")
    kept.set("x", "y")
    elsewhere = home / "elsewhere"
    vault(elsewhere, "another one").set("z", "1")
    os.replace(file_in(elsewhere), file_in(home))
    assert kept.get("x") is None and kept.get("z") == "1"


def test_a_folder_that_cannot_be_made_is_told(home: Path) -> None:
    (home / "secrets").write_text("a file where the folder should be")
    with pytest.raises(VaultRefused, match=r"cannot be (read|written)"):
        vault(home).set("x", "y")


def test_threads_ask_for_the_passphrase_once(home: Path) -> None:
    vault(home).set("x", "y")
    person, keys, found = Asked(PASSPHRASE), Keys(), list[str | None]()
    threads = [
        threading.Thread(target=lambda: found.append(FileVault(file_in(home), "secrets", person, keys).get("x")))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert found == ["y"] * 4 and person.asked == [False]


def test_references_go_to_the_file_where_the_settings_say_so(home: Path) -> None:
    keyring.use("file", home / "state")
    keyring.ask_with(Asked(PASSPHRASE))
    try:
        assert keyring.keep("x", "kept") == f"the encrypted file {file_in(home / 'state')}"
        assert keyring.lookup("x") == "kept"
        with pytest.raises(Exception, match="nothing under `y` in the encrypted file"):
            keyring.lookup("y")
        used: Vault = keyring.named()
        assert used.kind == "file" and sealed.VARIABLE == "MCP_STUDIO_PASSPHRASE"
    finally:
        keyring.ask_with(None)
