"""Every test has its own home: nothing reads or writes the folders of the person who runs the tests."""

from __future__ import annotations

import gc
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
    """The engine is plain asyncio."""
    return "asyncio"


@pytest.fixture(scope="session")
def new_home(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Makes empty folders, counted here: pytest would look through all there are for the next free number."""
    homes, numbers = tmp_path_factory.mktemp("homes"), count()

    def new() -> Path:
        folder = homes / f"home{next(numbers)}"
        folder.mkdir(mode=0o700)
        return folder

    return new


@pytest.fixture(autouse=True)
def home(new_home: Callable[[], Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder below which configuration, state and cache of this test are; it has no keyring."""
    folder = new_home()
    monkeypatch.setenv("MCP_STUDIO_HOME", str(folder))
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    if sys.platform != "linux":  # there it cannot be taken away, but turned off
        monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    keyring.use("keyring", folder / "state")
    return folder


@pytest.fixture(scope="session", autouse=True)
def own_port() -> Iterator[None]:
    """Where the port of another's sign-in is taken, a client is registered anew: each process has its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(callback, "PORT", 20_000 + os.getpid() % 12_000)  # below those that the system gives out
        yield


@pytest.fixture(scope="session", autouse=True)
def cheap_passphrases() -> Iterator[None]:
    """A key of a passphrase takes a third of a second to make, as it should: here it does so only in programs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(file.COST, "n", 16)
        yield


# A run in the background may have been started with these ignored, which every child process would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Programs that tests start keep what they compiled: without, each of hundreds of starts compiles everything anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# They print as they do for people: what is read while they run has to be flushed.
os.environ.pop("PYTHONUNBUFFERED", None)

# Examples have no time limit on busy machines; a run that decides about a change tries the same ones each time.
settings.register_profile("studio", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("studio")


LONG = (
    *("any_terminal", "attacks", "bundled", "conformance", "hostile_asking", "hostile_failures"),
    *("sign_in_real", "stdio_faults"),
)
"""Small files that take long."""


@pytest.hookimpl(tryfirst=True)
def pytest_xdist_auto_num_workers() -> int:
    """Three processes for each core: most of a test is waiting for servers and screens."""
    return min(9, 3 * (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1))


def pytest_configure(config: pytest.Config) -> None:
    """Where several processes share the work, they share compiling, and programs that import much are forked.

    Elsewhere than on Linux libraries of the system do not work in a process that was only forked.
    """
    if worker := getattr(config, "workerinput", None):
        compile_share(int(worker["workerid"].removeprefix("gw")), worker["workercount"])
    if config.getoption("numprocesses", None) and sys.platform == "linux":
        ended = ExitStack()
        ended.enter_context(forking())
        config.add_cleanup(ended.close)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """A process imports its share of the tests first: together they compile each of them once.

    Next to nothing of what that makes is garbage, which is not looked for until all tests are collected.
    """
    if session.config.getoption("numprocesses", None):
        return  # others collect
    gc.disable()
    if worker := getattr(session.config, "workerinput", None):
        folders = [folder for word in session.config.args if (folder := Path(word).resolve()).is_dir()]
        import_share(int(worker["workerid"].removeprefix("gw")), worker["workercount"], folders)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long first, so that at the end no process is left alone with it: these files, then by size."""
    sizes = {path: path.stat().st_size for path in {item.path for item in items}}
    items.sort(key=lambda item: (item.path.stem.removeprefix("test_") not in LONG, -sizes[item.path]))


def pytest_collection_finish() -> None:
    """All that was imported stays: looking through it again and again was a fifth of the time of a test of the app."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 10)
    gc.enable()


def pytest_unconfigure() -> None:
    """Stop the guard of servers, and collect garbage once: pytest does it five times more, for seconds each."""
    guard.stop()
    gc.collect()
    gc.freeze()
