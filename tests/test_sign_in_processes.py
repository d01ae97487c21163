"""Several processes share one sign-in; what signing in starts, prints and writes tells no secret to other processes."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests import leaks
from tests.keyring_session import KeyringSession, own_keyring
from tests.servers.auth_server import threaded
from tests.sign_in_cli import LONGEST, Person, wait_for

__all__ = ("own_keyring",)


def test_processes_that_start_at_once_refresh_once(own_keyring: KeyringSession, home: Path) -> None:
    with threaded() as world:
        person = Person(home, own_keyring, world.url)
        person.result("auth", "login", "notes")
        world.expire()
        started = [person.start("call", "notes.whoami") for _ in range(3)]
        ended = [(process.communicate(timeout=LONGEST), process.returncode) for process in started]
        assert [code for _, code in ended] == [0, 0, 0], ended
        assert [one.form["grant_type"] for one in world.seen("/token")] == ["authorization_code", "refresh_token"]
        assert len(person.opened) == 1


def test_neither_processes_nor_output_nor_files_tell_a_secret(own_keyring: KeyringSession, home: Path) -> None:
    with threaded(registered_method="client_secret_post") as world:
        person = Person(home, own_keyring, world.url)
        said: list[leaks.Piece] = []
        running: list[int] = []
        with leaks.watched(lambda: running[-1] if running else None) as listed:
            for words in (
                ("auth", "login", "notes"), ("auth", "refresh", "notes"), ("call", "notes.whoami"),
                ("auth", "status", "notes", "--json"), ("trace", "last", "--jsonl"), ("auth", "logout", "notes"),
            ):  # fmt: skip
                process = person.start(*words)
                running.append(process.pid)
                out, err = process.communicate(timeout=LONGEST)
                said += [(f"output of {words}", out.encode()), (f"errors of {words}", err.encode())]
        secrets = world.secrets()
        assert len(secrets) >= 7 and len(person.opened) == 1
        if Path(f"/proc/self/task/{os.getpid()}/children").exists():
            assert any(b"authorize?" in data for _, data in listed), "the browser was seen in the list"
        assert leaks.found(secrets, listed) == []
        assert leaks.found(secrets, said) == []
        assert leaks.found(secrets, leaks.left(home)) == []


def test_a_studio_that_is_killed_while_it_waits_leaves_no_secret(own_keyring: KeyringSession, home: Path) -> None:
    with threaded("authorize-html") as world:
        person = Person(home, own_keyring, world.url)
        process = person.start("auth", "login", "notes")
        wait_for(lambda: world.issuer.authorizations or world.seen("/authorize"))
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=LONGEST)
        assert leaks.found(world.secrets(), leaks.left(home)) == []
