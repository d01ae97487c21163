"""Only keyrings that are known to keep secrets are used; where there is none, it is said why and how to get one."""

from __future__ import annotations

import socket
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from mcp_studio.vault import oskeyring
from mcp_studio.vault.base import VaultRefused
from mcp_studio.vault.oskeyring import KNOWN, Known, find

CHOICES = ('[secrets] store = "file"', 'store = "memory"')


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without a session, and a person who has configured nothing."""
    for name in ("PYTHON_KEYRING_BACKEND", "SSH_CONNECTION", "SSH_TTY", "XDG_CURRENT_DESKTOP"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")


def refused(environ: dict[str, str] | None = None) -> VaultRefused:
    with pytest.raises(VaultRefused) as raised:
        find({"XDG_RUNTIME_DIR": "/nowhere", **(environ or {})})
    assert all(choice in raised.value.hint for choice in CHOICES)
    return raised.value


def test_without_a_session_it_says_so_and_how_to_get_one() -> None:
    problem = refused()
    assert "DBUS_SESSION_BUS_ADDRESS is not set)" in problem.message and "dbus-run-session" in problem.hint


def test_over_ssh_it_says_that_this_is_usual() -> None:
    assert "as is usual over SSH" in refused({"SSH_CONNECTION": "1.2.3.4 5 6.7.8.9 22"}).message


def test_a_session_that_is_there_but_not_named_is_pointed_out() -> None:
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as bus:
        bus.bind(f"{folder}/bus")
        hint = refused({"XDG_RUNTIME_DIR": folder}).hint
    assert f"export DBUS_SESSION_BUS_ADDRESS=unix:path={folder}/bus" in hint


def test_a_session_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    address = "unix:path=/nowhere/bus"
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
    assert f"the D-Bus session at {address} does not answer" in refused({"DBUS_SESSION_BUS_ADDRESS": address}).message


@pytest.mark.parametrize(
    "name, why",
    [
        ("keyrings.alt.file.PlaintextKeyring", "keeps secrets in clear text in a file; that is refused"),
        ("keyring.backends.null.Keyring", "turns the keyring off"),
        ("keyring.backends.fail.Keyring", "turns the keyring off"),
        ("somebody.elses.Keyring", "not known that it keeps secrets encrypted; that is refused"),
    ],
)
def test_what_keeps_no_secrets_is_refused_by_name_wherever_it_is_configured(
    name: str, why: str, tmp_path: Path
) -> None:
    problem = refused({"PYTHON_KEYRING_BACKEND": name})
    assert name in problem.message and why in problem.message and "PYTHON_KEYRING_BACKEND" in problem.message
    file = tmp_path / "python_keyring" / "keyringrc.cfg"
    file.parent.mkdir()
    file.write_text(f"[backend]\ndefault-keyring = {name}\n")
    problem = refused()
    assert name in problem.message and why in problem.message and str(file) in problem.message


def test_a_broken_configuration_of_keyring_counts_as_none(tmp_path: Path) -> None:
    file = tmp_path / "python_keyring" / "keyringrc.cfg"
    file.parent.mkdir()
    file.write_bytes(b"\xff[[[")
    assert "no D-Bus session" in refused().message


def test_other_keyrings_are_named_and_neither_loaded_nor_used(monkeypatch: pytest.MonkeyPatch) -> None:
    class Point:
        class dist:
            name = "keyrings.alt"

        def load(self) -> Any:
            pytest.fail("a plugin was loaded")

    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: [Point()])
    assert "keyrings.alt is installed, but it is not known to keep secrets encrypted" in refused().message


class Here:
    """A keyring that works."""

    priority = 5.0


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module with keyrings, all of which are known."""
    module = ModuleType("known_keyrings")
    monkeypatch.setitem(sys.modules, "known_keyrings", module)
    names = [Known(f"known_keyrings.{name}", f"place {name}") for name in ("A", "B", "C")]
    monkeypatch.setattr(oskeyring, "KNOWN", (*names, *KNOWN[-2:]))
    return module


def test_the_best_of_the_known_ones_is_used(known: ModuleType) -> None:
    class Better(Here):
        priority = 5.1

    known.A, known.B, known.C = Here, Better, Here  # type: ignore[attr-defined]
    assert isinstance(find({}).backend, Better) and find({}).known.place == "place B"
    assert find({"PYTHON_KEYRING_BACKEND": "known_keyrings.C"}).known.place == "place C"
    assert find({"PYTHON_KEYRING_BACKEND": "keyring.backends.chainer.ChainerBackend"}).known.place == "place B"


def test_what_fails_in_a_library_of_the_system_is_no_keyring_and_no_crash(known: ModuleType) -> None:
    class Raising:
        @property
        def priority(self) -> float:
            return 1.0

        def __new__(cls) -> Raising:
            raise AttributeError("libsecret is half installed")

    class Zero(Here):
        priority = 0.0

    known.A, known.B, known.C = Raising, Zero, Here  # type: ignore[attr-defined]
    assert find({}).known.place == "place C"


@pytest.mark.parametrize("platform, words", [("win32", "Windows Credential Manager"), ("darwin", "macOS keychain")])
def test_other_systems_say_what_is_missing_there(monkeypatch: pytest.MonkeyPatch, platform: str, words: str) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    assert words in refused().message


def test_windows_is_known_to_take_little_at_a_time() -> None:
    assert {one.path.split(".")[2]: one.limit for one in KNOWN if one.limit} == {"Windows": 1_200}
    assert oskeyring.WINDOWS_LIMIT * 2 < 2_560
