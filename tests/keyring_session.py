"""A real Secret Service for tests: gnome-keyring in a D-Bus session of its own, with its own home.

    from tests.keyring_session import KeyringSession, keyring_session, own_keyring   # own_keyring: a fixture per module

    def test_something(own_keyring: KeyringSession, monkeypatch) -> None:
        own_keyring.use(monkeypatch)          # this process; `own_keyring.environ` is for children
        own_keyring.lock(), .unlock(), .end_daemon(), .start_daemon(), .stored(), .clear()

Tests with it are skipped, with the reason, where gnome-keyring or dbus-daemon are not to be had. `.ci/keyring` gets
them without changing anything outside the checkout, and names a program in MCP_STUDIO_KEYRING that runs theirs.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

PASSWORD = "the password of a test's keyring"
WRAPPER = "MCP_STUDIO_KEYRING"
_PATIENCE = 60.0
_INTERNAL = "org.gnome.keyring.InternalUnsupportedGuiltRiddenInterface"
_LOGIN = "/org/freedesktop/secrets/collection/login"
"""The collection that `--unlock` makes, the default one."""
_CONFIG = """\
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
  "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path={socket}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""
"""No folder of services: nothing is started on demand, so nobody can be asked to unlock anything."""


def missing() -> str:
    """Why there can be no keyring here; empty where there can."""
    if not sys.platform.startswith("linux"):
        return "gnome-keyring is for Linux"
    if (wrapper := os.environ.get(WRAPPER)) is not None:
        return "" if os.access(wrapper, os.X_OK) else f"{WRAPPER} names {wrapper}, which is no program"
    for program in ("dbus-daemon", "gnome-keyring-daemon"):
        if not shutil.which(program):
            return f"there is no {program} (.ci/keyring gets it)"
    return ""


class KeyringSession:
    """One D-Bus session with one gnome-keyring, which begins empty and unlocked."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.address = f"unix:path={folder / 'bus'}"
        self.environ = {
            **{name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", WRAPPER) if name in os.environ},
            "HOME": str(folder),
            "XDG_RUNTIME_DIR": str(folder),
            "XDG_DATA_HOME": str(folder / "data"),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "DBUS_SESSION_BUS_ADDRESS": self.address,
        }
        """The variables of a process in this session."""
        self._bus: subprocess.Popen[bytes] | None = None
        self._daemon: subprocess.Popen[bytes] | None = None

    @property
    def daemon(self) -> int:
        """The process id of the keyring."""
        assert self._daemon is not None
        return self._daemon.pid

    @property
    def files(self) -> tuple[Path, ...]:
        """What the keyring has written."""
        return tuple(file for file in (self._folder / "data").rglob("*") if file.is_file())

    def use(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let this process use the session until the end of the test."""
        from mcp_studio.vault import oskeyring

        for name in ("PYTHON_KEYRING_BACKEND", "XDG_CURRENT_DESKTOP"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", self.address)
        oskeyring.forget()

    def start(self) -> None:
        """Start the session and the keyring."""
        config = self._folder / "bus.conf"
        config.write_text(_CONFIG.format(socket=self._folder / "bus"))
        command = _program("dbus-daemon", f"--config-file={config}", "--nofork", "--nopidfile", "--print-address")
        self._bus = self._started(command, stdout=subprocess.PIPE)
        assert self._bus.stdout is not None
        said = self._bus.stdout.readline()
        self._bus.stdout.close()
        assert said.startswith(b"unix:"), f"dbus-daemon did not start: {self.errors()}"
        self.start_daemon()

    def start_daemon(self) -> None:
        """Start the keyring, with what it kept, and unlock it."""
        with _watched(self.address) as appeared:
            command = _program("gnome-keyring-daemon", "--unlock", "--components=secrets", "--foreground")
            self._daemon = self._started(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
            assert self._daemon.stdin is not None
            with self._daemon.stdin as asked:
                asked.write(PASSWORD.encode())
            appeared()

    def end_daemon(self) -> None:
        """Kill the keyring."""
        _end(self._daemon, kill=True)
        self._daemon = None

    def lock(self) -> None:
        """Lock all that it keeps."""
        import secretstorage

        with contextlib.closing(_connected(self.address)) as connection:
            secretstorage.get_default_collection(connection).lock()

    def unlock(self) -> None:
        """Unlock it again, as the desktop does after a person has typed the password."""
        from secretstorage import util

        with contextlib.closing(_connected(self.address)) as connection:
            service = util.DBusAddressWrapper("/org/freedesktop/secrets", _INTERNAL, connection)
            secret = util.format_secret(util.open_session(connection), PASSWORD.encode(), "text/plain")
            service.call("UnlockWithMasterPassword", "o(oayays)", _LOGIN, secret)

    def stored(self) -> dict[tuple[str, str], str]:
        """All that is in it: service and name -> value."""
        import secretstorage

        found: dict[tuple[str, str], str] = {}
        with contextlib.closing(_connected(self.address)) as connection:
            for item in secretstorage.get_default_collection(connection).get_all_items():
                said = item.get_attributes()
                found[said.get("service", ""), said.get("username", "")] = item.get_secret().decode()
        return found

    def clear(self) -> None:
        """Take all out of it."""
        import secretstorage

        with contextlib.closing(_connected(self.address)) as connection:
            for item in secretstorage.get_default_collection(connection).get_all_items():
                item.delete()

    def errors(self) -> str:
        """What the programs said."""
        return (self._folder / "errors").read_text(errors="replace")[-2_000:]

    def close(self) -> None:
        """End both, and take the folder away."""
        _end(self._daemon)
        _end(self._bus)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _started(self, command: list[str], stdin: int = subprocess.DEVNULL, stdout: int = subprocess.DEVNULL):  # type: ignore[no-untyped-def]
        with (self._folder / "errors").open("ab") as errors:
            return subprocess.Popen(command, env=self.environ, stdin=stdin, stdout=stdout, stderr=errors)


@contextlib.contextmanager
def keyring_session() -> Iterator[KeyringSession]:
    """A session that ends with the block; skips the test where there can be none."""
    if why := missing():
        pytest.skip(why)
    # Not below pytest's folders: the path of a socket has at most 107 bytes.
    session = KeyringSession(Path(tempfile.mkdtemp(prefix="keyring-")))
    try:
        session.start()
        yield session
    finally:
        session.close()


@pytest.fixture(scope="module")
def own_keyring() -> Iterator[KeyringSession]:
    """A session for all tests of a module."""
    with keyring_session() as session:
        yield session


def _program(name: str, *args: str) -> list[str]:
    wrapper = os.environ.get(WRAPPER)
    return [*([wrapper] if wrapper else []), name, *args]


def _connected(address: str):  # type: ignore[no-untyped-def]
    from jeepney.io.blocking import open_dbus_connection
    from secretstorage.util import add_match_rules

    connection = open_dbus_connection(address)
    add_match_rules(connection)
    return connection


@contextlib.contextmanager
def _watched(address: str):  # type: ignore[no-untyped-def]
    """Gives a function that waits until a Secret Service has appeared in the session."""
    from jeepney import MatchRule, message_bus
    from jeepney.io.blocking import Proxy, open_dbus_connection

    name = "org.freedesktop.secrets"
    rule = MatchRule(type="signal", interface="org.freedesktop.DBus", member="NameOwnerChanged")
    rule.add_arg_condition(0, name)
    with contextlib.closing(open_dbus_connection(address)) as connection:
        Proxy(message_bus, connection).AddMatch(rule)
        with connection.filter(rule) as signals:

            def wait() -> None:
                while Proxy(message_bus, connection).NameHasOwner(name)[0] != 1:
                    connection.recv_until_filtered(signals, timeout=_PATIENCE)

            yield wait


def _end(process: subprocess.Popen[bytes] | None, *, kill: bool = False) -> None:
    if process is None:
        return
    process.kill() if kill else process.terminate()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(_PATIENCE)
