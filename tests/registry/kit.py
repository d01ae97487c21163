"""Storages for tests: a PostgreSQL of their own, where there are its programs."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mcp_studio.registry.record import ToolRecord
from tests.support import database_program


def tools(*names: str, **more: object) -> list[ToolRecord]:
    """Records that were added by hand."""
    return [ToolRecord(name, description=f"does {name}", source="hand", **more) for name in names]  # type: ignore[arg-type]


@contextmanager
def postgres() -> Generator[str]:
    """A database of PostgreSQL on a socket in a folder, as nobody where we are root; its address."""
    pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
    found = database_program("initdb")
    if found is None:
        pytest.skip("PostgreSQL is not installed (.ci/databases gets it)")
    user = {"user": "nobody"} if os.geteuid() == 0 else {}
    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        if user:
            shutil.chown(folder, "nobody")
        data, initdb = Path(folder, "data"), Path(found)
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder, **user}
        made = [initdb, "-D", data, "-U", "tools", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"]
        subprocess.run(made, check=True, timeout=120, **quiet)  # type: ignore[call-overload]
        ctl = [initdb.with_name("pg_ctl"), "-D", data, "-w", "-t", "100"]
        own = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
        subprocess.run([*ctl, "-o", own, "start"], check=True, timeout=120, **quiet)  # type: ignore[call-overload]
        try:
            yield f"postgresql:///postgres?host={folder}&user=tools"
        finally:
            subprocess.run([*ctl, "-m", "immediate", "stop"], timeout=120, **quiet)  # type: ignore[call-overload]
