"""A file is replaced as a whole or not at all, and changed by one process at a time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from mcp_studio.auth.store import Trusted
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.load import TrustStore
from mcp_studio.config.save import set_value
from mcp_studio.errors import ConfigError, LockHeld
from mcp_studio.paths import write_atomically
from mcp_studio.search.usage import Usage
from mcp_studio.vault import keyring
from mcp_studio.vault.base import change_file, file_lock
from mcp_studio.vault.file import COST
from tests.support import ROOT


def test_a_new_file_is_private_and_an_old_one_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "file"
    write_atomically(file, b"one")
    assert file.read_bytes() == b"one" and file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o640)
    write_atomically(file, b"two")
    assert file.read_bytes() == b"two" and file.stat().st_mode & 0o777 == 0o640
    assert list(file.parent.iterdir()) == [file]


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_text() == "new"


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "x").touch()
    with pytest.raises(OSError):
        write_atomically(tmp_path / "folder", b"x")
    assert list(tmp_path.iterdir()) == [tmp_path / "folder"]


def test_a_change_that_fails_or_changes_nothing_leaves_the_file_alone(tmp_path: Path) -> None:
    file = tmp_path / "file"
    change_file(file, lambda before: before + b"one")
    inode = file.stat().st_ino
    change_file(file, lambda before: before)
    with pytest.raises(ZeroDivisionError):
        change_file(file, lambda before: b"%d" % (1 / 0))
    assert file.read_bytes() == b"one" and file.stat().st_ino == inode and list(tmp_path.iterdir()) == [file]
    with pytest.raises(ConfigError, match="below cannot be written: "):
        change_file(tmp_path / "file" / "below", lambda before: b"x")


HOLDER = """
import sys
from pathlib import Path
from mcp_studio.vault.base import file_lock
with file_lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_one_holds_a_lock_at_a_time_also_within_a_process(tmp_path: Path) -> None:
    file = tmp_path / "new" / "a"
    for patience in (0, 0.05):
        with (
            file_lock(file),
            pytest.raises(LockHeld, match=rf"busy with the tokens of h for more than {patience:g} s") as raised,
            file_lock(file, "the tokens of h", patience),
        ):
            pytest.fail("two hold it")
        assert str(file.with_name(".a.lock")) in raised.value.hint
    with file_lock(file, patience=0):
        assert [one.stat().st_mode & 0o077 for one in (file.parent, *file.parent.iterdir())] == [0, 0]
    assert not [*file.parent.iterdir()]


def test_a_lock_goes_with_its_process_however_that_ends(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "real")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    )
    assert holder.stdin is not None and holder.stdout is not None
    with holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(LockHeld), file_lock(tmp_path / "link", patience=0):
            pytest.fail("two hold it")
        holder.kill()
    with file_lock(tmp_path / "link"):
        assert (tmp_path / ".real.lock").exists()


def save_setting(folder: Path, name: str) -> None:
    set_value(folder / "config.toml", ("servers", name, "command"), "echo")


def agree(folder: Path, name: str) -> None:
    TrustStore(folder / "trusted.json").agree(name)


def trust(folder: Path, name: str) -> None:
    Trusted(folder / "trusted.json").put(("https://mcp.example", name, ""), "https://issuer.example")


def use(folder: Path, name: str) -> None:
    usage = Usage(folder / "used.json")
    usage.ran(Ref("tool", "server", name))
    usage.write()


def name_secret(folder: Path, name: str) -> None:
    keyring.use("memory", folder)
    keyring.keep(name, "a secret")


def store_secret(folder: Path, name: str) -> None:
    COST["n"] = 16
    keyring.open_vault("file", folder).set(name, "a secret")


CHANGES: dict[str, Callable[[Path, str], None]] = {
    one.__name__: one for one in (save_setting, agree, trust, use, name_secret, store_secret)
}
CHANGER = """
import sys
from pathlib import Path
from tests.test_atomic import CHANGES
print("ready", flush=True)
sys.stdin.readline()
for number in range(8):
    CHANGES[sys.argv[1]](Path(sys.argv[2]), f"{sys.argv[3]}{number}")
"""


@pytest.mark.parametrize("change", CHANGES)
def test_no_process_loses_the_changes_of_another(tmp_path: Path, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_STUDIO_PASSPHRASE", "correct horse battery")
    with ExitStack() as ends:
        changers = [
            ends.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", CHANGER, change, str(tmp_path), name],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    cwd=ROOT,
                )
            )
            for name in "ab"
        ]
        for one in changers:
            assert one.stdout is not None and one.stdout.readline() == b"ready\n"
        for one in changers:
            assert one.stdin is not None
            one.stdin.close()
    assert [one.returncode for one in changers] == [0, 0]
    names = [f"{name}{number}" for name in "ab" for number in range(8)]
    if change == "store_secret":
        found = [name for name in names if keyring.open_vault("file", tmp_path).get(name)]
    else:
        (file,) = tmp_path.iterdir()
        found = [name for name in names if name in file.read_text()]
    assert found == names
