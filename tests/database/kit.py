"""A shop in each of four databases, and the server of them."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support import python_program

TABLE = "CREATE TABLE book (id INTEGER PRIMARY KEY, title VARCHAR(99) NOT NULL, price DECIMAL(8, 2) DEFAULT 9.5)"
FILL = "INSERT INTO book VALUES (1, 'One', 5), (2, 'Two', NULL)"


def argv(*options: str) -> list[str]:
    """How the server is started."""
    return [*python_program("-m", "mcp_studio"), "serve-db", *options]


@contextmanager
def mysql() -> Generator[str]:
    """A MariaDB on a socket in a folder, as nobody where we are root; its address as its root."""
    pymysql = pytest.importorskip("pymysql", reason="the extra `mysql` is not installed")
    search = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin"))
    names = ("mariadbd", "mariadb-install-db", "mariadb-admin")
    server, install, admin = (shutil.which(name, path=search) for name in names)
    if server is None or install is None or admin is None:
        pytest.skip("MariaDB is not installed (Debian: apt-get install mariadb-server)")
    user = {"user": "nobody"} if os.geteuid() == 0 else {}
    with tempfile.TemporaryDirectory(prefix="my") as folder:
        if user:
            shutil.chown(folder, "nobody")
        own = ["--no-defaults", f"--datadir={folder}/data", f"--socket={folder}/s", f"--tmpdir={folder}"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder, **user}
        made = [install, *own, "--auth-root-authentication-method=normal", "--skip-test-db"]
        subprocess.run(made, check=True, timeout=120, **quiet)  # type: ignore[call-overload]
        running = subprocess.Popen(  # type: ignore[call-overload]
            [server, *own, "--skip-networking", "--skip-log-bin", "--innodb-flush-log-at-trx-commit=0"], **quiet
        )
        try:
            ping = [admin, "--no-defaults", f"--socket={folder}/s", "--user=root", "--wait=100", "ping"]
            subprocess.run(ping, check=True, timeout=120, **quiet)  # type: ignore[call-overload]
            with closing(pymysql.connect(unix_socket=f"{folder}/s", user="root")) as database:
                database.query("CREATE DATABASE shop")
            yield f"mysql://root@/shop?unix_socket={folder}/s"
        finally:
            running.terminate()
            running.wait(60)


def run_sql(address: str, *statements: str) -> list[Any]:
    """Execute statements as the owner; gives the rows of the last."""
    scheme = address.partition(":")[0]
    if scheme == "mysql":
        import pymysql

        socket = address.partition("unix_socket=")[2]
        database: Any = pymysql.connect(unix_socket=socket, user="root", database="shop", autocommit=True)
    elif scheme == "postgresql":
        import psycopg

        database = psycopg.connect(address, autocommit=True)
    elif address.endswith(".duckdb"):
        import duckdb

        database = duckdb.connect(address)
    else:
        database = sqlite3.connect(address, isolation_level=None)
    with closing(database), closing(database.cursor()) as cursor:
        for statement in statements:
            cursor.execute(statement)
        return list(cursor.fetchall()) if cursor.description else []


def shop(kind: str, folder: Path, server: Callable[[str], str]) -> tuple[str, str]:
    """A shop; its address for its owner, and the one for a role that may do no more than reading and writing rows."""
    if kind in ("sqlite", "duckdb"):
        address = reader = str(folder / f"shop.{kind}")
    else:
        address = reader = server(kind)
    run_sql(address, "DROP TABLE IF EXISTS book", TABLE, FILL)
    if kind == "postgresql":
        run_sql(address, "DROP OWNED BY reader" if run_sql(address, "SELECT 1 FROM pg_roles WHERE rolname = 'reader'")
                else "CREATE ROLE reader LOGIN", "GRANT SELECT, INSERT, UPDATE, DELETE ON book TO reader")  # fmt: skip
        reader = address.replace("user=tools", "user=reader")
    if kind == "mysql":
        run_sql(address, "CREATE USER IF NOT EXISTS reader@localhost",
                "GRANT SELECT, INSERT, UPDATE, DELETE ON shop.* TO reader@localhost")  # fmt: skip
        reader = address.replace("root@", "reader@")
    return address, reader
