"""The operating system's keyring, on a real Secret Service: gnome-keyring in a D-Bus session of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from keyring.backends import SecretService

from mcp_studio.errors import ConfigError, VaultDamaged, VaultRefused
from mcp_studio.vault import keyring, oskeyring
from mcp_studio.vault.keyring import open_vault, place_in_words
from mcp_studio.vault.oskeyring import KeyringVault
from tests.keyring_session import KeyringSession, own_keyring
from tests.support import ROOT

__all__ = ["own_keyring"]


@pytest.fixture
def session(own_keyring: KeyringSession, monkeypatch: pytest.MonkeyPatch) -> KeyringSession:
    own_keyring.use(monkeypatch)
    return own_keyring


@pytest.mark.parametrize("value", ["s", "ä € 😀 \x00 \n", "x" * 300_000, "mcp-studio parts 1 a 1 " + "0" * 64])
def test_what_is_kept_is_read_back_and_forgotten(session: KeyringSession, value: str) -> None:
    vault = KeyringVault("tokens")
    assert vault.place == "the Secret Service keyring" and vault.kind == "keyring"
    assert vault.get("a name / of: any kind") is None and not vault.delete("a name / of: any kind")
    vault.set("a name / of: any kind", value)
    assert KeyringVault("tokens").get("a name / of: any kind") == value
    vault.set("a name / of: any kind", "another")
    assert vault.get("a name / of: any kind") == "another"
    assert vault.delete("a name / of: any kind") and vault.get("a name / of: any kind") is None
    assert session.stored() == {}


def test_tokens_and_named_secrets_never_meet(session: KeyringSession) -> None:
    named, tokens = KeyringVault("secrets"), open_vault("keyring", session.files[0].parent)
    tokens.set("x", "token")
    assert named.get("x") is None and not named.delete("x")
    named.set("x", "secret")
    assert session.stored() == {("mcp-studio", "x"): "secret", ("mcp-studio sign-in", "x"): "token"}
    named.delete("x"), tokens.delete("x")


def test_another_program_reads_what_we_keep_and_we_what_it_keeps(session: KeyringSession) -> None:
    vault = KeyringVault()
    vault.set("ours", "1")
    command = [sys.executable, "-m", "keyring"]
    shown = subprocess.run(
        [*command, "get", "mcp-studio", "ours"], env=session.environ, capture_output=True, text=True, timeout=120
    )
    assert shown.stdout == "1\n"
    subprocess.run(
        [*command, "set", "mcp-studio", "theirs"], env=session.environ, input=b"2", timeout=120, check=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    assert vault.get("theirs") == "2"
    assert vault.delete("ours") and vault.delete("theirs")


def test_a_locked_keyring_says_so_and_works_once_it_is_unlocked(session: KeyringSession) -> None:
    vault = KeyringVault()
    vault.set("x", "kept")
    session.lock()
    for refused in (lambda: vault.get("x"), lambda: vault.set("x", "lost"), lambda: vault.delete("x")):
        with pytest.raises(VaultRefused, match="locked, and nobody has unlocked it") as raised:
            refused()
        assert "unlock it" in raised.value.hint and 'store = "file"' in raised.value.hint
    session.unlock()
    assert vault.get("x") == "kept" and vault.delete("x")


def test_where_secrets_are_kept_is_said_with_how_the_keyring_is(
    session: KeyringSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert place_in_words("keyring", tmp_path) == "the Secret Service keyring"
    session.end_daemon()
    oskeyring.forget()
    assert place_in_words("keyring", tmp_path).startswith("✗ There is no keyring here: The Secret Service daemon")
    session.start_daemon()
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyrings.alt.file.PlaintextKeyring")
    oskeyring.forget()
    assert place_in_words("keyring", tmp_path).startswith("✗ The keyring failed: No module")
    assert place_in_words("file", tmp_path).startswith("the encrypted file")
    assert place_in_words("memory", tmp_path) == "memory, until the studio ends"


def test_a_keyring_that_ends_says_so_and_its_successor_is_used(session: KeyringSession) -> None:
    vault = KeyringVault()
    vault.set("x", "kept")
    session.end_daemon()
    for refused in (lambda: vault.get("x"), lambda: vault.set("x", "lost"), lambda: KeyringVault()):
        with pytest.raises(VaultRefused, match=r"The keyring failed|There is no keyring here") as raised:
            refused()
        assert "unlock" in raised.value.hint and 'store = "memory"' in raised.value.hint
    session.start_daemon()
    assert vault.get("x") == "kept" and vault.delete("x")


def test_a_keyring_that_is_started_anew_between_two_calls_is_not_noticed(session: KeyringSession) -> None:
    vault = KeyringVault()
    vault.set("x", "kept")
    session.end_daemon()
    session.start_daemon()
    assert vault.get("x") == "kept" and vault.delete("x")


def test_a_keyring_that_hangs_is_given_up_and_does_not_hold_up_the_next(
    session: KeyringSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    patient, vault = KeyringVault(), KeyringVault(patience=0.3)
    patient.set("x", "kept")
    os.kill(session.daemon, signal.SIGSTOP)
    try:
        with pytest.raises(VaultRefused, match="does not answer"):
            vault.get("x")
        with pytest.raises(VaultRefused, match="does not answer"):
            vault.set("x", "never begun")
    finally:
        os.kill(session.daemon, signal.SIGCONT)
    assert patient.get("x") == "kept" and patient.delete("x")


WRITER = """
import sys
from pathlib import Path
from mcp_studio.vault.keyring import open_vault
vault = open_vault("keyring", Path(sys.argv[2]), drawer="secrets")
name = sys.argv[1]
for number in range(5):
    vault.set(name, name * 200)
    assert vault.get(name) == name * 200
"""


def test_two_processes_keep_their_secrets_at_the_same_time(session: KeyringSession, home: Path) -> None:
    command = [sys.executable, "-c", WRITER]
    writers = [subprocess.Popen([*command, name, str(home)], env=session.environ, cwd=ROOT) for name in "ab"]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    vault = KeyringVault()
    assert vault.get("a") == "a" * 200 and vault.delete("a") and vault.delete("b")


def test_what_was_not_kept_as_it_was_written_is_an_error(
    session: KeyringSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = KeyringVault()
    monkeypatch.setattr(SecretService.Keyring, "set_password", lambda *_: None)
    with pytest.raises(VaultDamaged, match="What the Secret Service keyring kept as `x`"):
        vault.set("x", "y")


def test_named_secrets_come_from_the_keyring_and_missing_ones_say_how_to_store_them(session: KeyringSession) -> None:
    assert keyring.keep("x", "kept") == "the Secret Service keyring"
    assert keyring.lookup("x") == "kept"
    with pytest.raises(ConfigError, match="nothing under `y` in the Secret Service keyring") as raised:
        keyring.lookup("y")
    assert raised.value.hint == "Store it: mcp-studio config secrets set y"
    assert keyring.names() == {"x": "keyring"}
    assert keyring.remove("x") and not keyring.remove("x") and keyring.names() == {}


def test_the_value_is_in_no_file_and_in_no_clear_text_on_the_way(session: KeyringSession) -> None:
    vault = KeyringVault()
    vault.set("x", "Pl4nt3d-value")
    assert session.files and not any(b"Pl4nt3d" in file.read_bytes() for file in session.files)
    vault.delete("x")
