"""Gives every test a home of its own, so that none uses the folders of the person who runs the tests.

Also makes the whole run quick.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings

from mcp_studio.auth import callback
from mcp_studio.transport.guard import guard
from mcp_studio.vault import file, keyring
from tests.compiling import compile_share, import_share
from tests.support import forking


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio, as the engine does."""
    return "asyncio"


@pytest.fixture(scope="session")
def new_home(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """A function that makes empty folders. It counts them itself: pytest lists all folders to find a free number."""
    homes, numbers = tmp_path_factory.mktemp("homes"), count()

    def new() -> Path:
        folder = homes / f"home{next(numbers)}"
        folder.mkdir(mode=0o700)
        return folder

    return new


@pytest.fixture(autouse=True)
def home(new_home: Callable[[], Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of this test's configuration, state and cache. The test has no keyring."""
    folder = new_home()
    monkeypatch.setenv("MCP_STUDIO_HOME", str(folder))
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    if sys.platform != "linux":  # elsewhere the keyring needs no bus: replace it
        monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    keyring.use("keyring", folder / "state")
    return folder


@pytest.fixture(scope="session", autouse=True)
def own_port() -> Iterator[None]:
    """Give each process its own port for sign-ins: if the port is in use, the studio registers another client."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(callback, "PORT", 20_000 + os.getpid() % 12_000)  # below the ports that the system assigns
        yield


@pytest.fixture(scope="session", autouse=True)
def cheap_passphrases() -> Iterator[None]:
    """Make the derivation of keys from passphrases cheap; in programs that tests start it takes a third of a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(file.COST, "n", 16)
        yield


# A run in the background may have been started with these signals ignored; child processes would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Programs that tests start store their bytecode: without it, each of hundreds of starts would compile everything.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# They buffer output as they do for people, so that a missing flush is noticed.
os.environ.pop("PYTHONUNBUFFERED", None)

# Generated examples have no time limit, for busy machines. In CI they are the same in each run.
settings.register_profile("studio", deadline=None, derandomize=bool(os.environ.get("CI")), max_examples=50)
settings.load_profile("studio")


# Screens of tests are drawn anew when a key was pressed, and ten times a second besides; sixty took a tenth of the CPU
# time. Textual reads it when it is imported; the programs that tests start have the rate of the studio.
os.environ["TEXTUAL_FPS"] = "10"
importlib.import_module("textual.constants")
del os.environ["TEXTUAL_FPS"]

LONG = (
    *("any_terminal", "attacks", "bad_input", "bundled", "conformance", "durable", "floods", "hardship", "hostile"),
    *("hostile_asking", "hostile_failures", "hygiene", "other_clients", "sign_in_real", "tokens_screen", "workflow"),
)
"""Test files that take long although they are small."""


@pytest.hookimpl(tryfirst=True)
def pytest_xdist_auto_num_workers() -> int:
    """Use three processes for each core: most tests mainly wait for servers and screens."""
    return min(9, 3 * (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1))


def pytest_configure(config: pytest.Config) -> None:
    """If several processes share the work: share the compiling as well, and fork programs that import much.

    Programs are forked on Linux only: on other systems libraries of the system fail in a forked process.
    """
    if worker := getattr(config, "workerinput", None):
        compile_share(int(worker["workerid"].removeprefix("gw")), worker["workercount"])
    if config.getoption("numprocesses", None) and sys.platform == "linux":
        ended = ExitStack()
        ended.enter_context(forking())
        config.add_cleanup(ended.close)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Import this process's share of the tests first, so that each test is compiled by one process only.

    Importing makes almost no garbage, so the collector is off until all tests are collected.
    """
    if session.config.getoption("numprocesses", None):
        return  # the other processes collect
    gc.disable()
    if worker := getattr(session.config, "workerinput", None):
        folders = [folder for word in session.config.args if (folder := Path(word).resolve()).is_dir()]
        import_share(int(worker["workerid"].removeprefix("gw")), worker["workercount"], folders)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run long files first, so that no process works on one alone at the end: those of LONG, then by size."""
    sizes = {path: path.stat().st_size for path in {item.path for item in items}}
    items.sort(key=lambda item: (item.path.stem.removeprefix("test_") not in LONG, -sizes[item.path]))


def pytest_collection_finish() -> None:
    """Exempt all imported objects from garbage collection: that took a fifth of the time of a test of the app."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 10)
    gc.enable()


def pytest_unconfigure() -> None:
    """Stop the guard of servers. Collect garbage once, and leave pytest nothing: it collects five times more."""
    guard.stop()
    gc.collect()
    gc.freeze()
