"""A shop in each of four databases, and the server of them."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from tests.support import database_program, python_program

TABLE = "CREATE TABLE book (id INTEGER PRIMARY KEY, title VARCHAR(99) NOT NULL, price DECIMAL(8, 2) DEFAULT 9.5)"
FILL = "INSERT INTO book VALUES (1, 'One', 5), (2, 'Two', NULL)"


def argv(*options: str) -> list[str]:
    """How the server is started."""
    return [*python_program("-m", "mcp_studio"), "serve-db", *options]


@contextmanager
def mysql() -> Generator[str]:
    """A MariaDB on a socket in a folder, as nobody where we are root; its address as its root."""
    pymysql = pytest.importorskip("pymysql", reason="the extra `mysql` is not installed")
    names = ("mariadbd", "mariadb-install-db", "mariadb-admin")
    server, install, admin = map(database_program, names)
    if server is None or install is None or admin is None:
        pytest.skip("MariaDB is not installed (.ci/databases gets it)")
    user = {"user": "nobody"} if os.geteuid() == 0 else {}
    with tempfile.TemporaryDirectory(prefix="my") as folder:
        if user:
            shutil.chown(folder, "nobody")
        own = ["--no-defaults", f"--datadir={folder}/data", f"--socket={folder}/s", f"--tmpdir={folder}"]
        quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder, **user}
        made = [install, *own, "--auth-root-authentication-method=normal", "--skip-test-db"]
        subprocess.run(made, check=True, timeout=120, **quiet)
        alone = ["--skip-networking", "--skip-log-bin", "--innodb-flush-log-at-trx-commit=0"]
        running = subprocess.Popen([server, *own, *alone], **quiet)
        try:
            ping = [admin, "--no-defaults", f"--socket={folder}/s", "--user=root", "--wait=100", "ping"]
            subprocess.run(ping, check=True, timeout=120, **quiet)
            with closing(pymysql.connect(unix_socket=f"{folder}/s", user="root")) as database:
                database.query("CREATE DATABASE shop")
            yield f"mysql://root@/shop?unix_socket={folder}/s"
        finally:
            running.terminate()
            running.wait(60)


class Shop:
    """A shop in a database.

    Args:
        address: the one for its owner.
    """

    def __init__(self, address: str) -> None:
        self.owner = self.reader = address
        """`reader` is for a role that may do no more than reading and writing rows, where there are roles."""
        scheme, colon, _ = address.partition(":")
        self.kind = scheme if colon else address.rpartition(".")[2]
        self.mark = "%s" if colon else "?"
        self.run("DROP TABLE IF EXISTS book", TABLE, FILL)
        if self.kind == "postgresql":
            made = self.run("SELECT 1 FROM pg_roles WHERE rolname = 'reader'")
            self.run(
                *(() if made else ("CREATE ROLE reader LOGIN", "CREATE SEQUENCE counter")),
                "GRANT SELECT, INSERT, UPDATE, DELETE ON book TO reader", "GRANT ALL ON SEQUENCE counter TO reader",
            )  # fmt: skip
            self.reader = address.replace("user=tools", "user=reader")
        elif self.kind == "mysql":
            self.run("CREATE USER IF NOT EXISTS reader@localhost", "CREATE SEQUENCE IF NOT EXISTS counter",
                     "GRANT SELECT, INSERT, UPDATE, DELETE ON shop.* TO reader@localhost")  # fmt: skip
            self.reader = address.replace("root@", "reader@")
        elif self.kind == "duckdb":
            self.run("CREATE SEQUENCE counter")

    def run(self, *statements: str) -> list[Any]:
        """Execute statements as the owner; gives the rows of the last."""
        with closing(self._connect()) as database, closing(database.cursor()) as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []

    def _connect(self) -> Any:
        if self.kind == "mysql":
            import pymysql

            socket = self.owner.partition("unix_socket=")[2]
            return pymysql.connect(unix_socket=socket, user="root", database="shop", autocommit=True)
        if self.kind == "postgresql":
            import psycopg

            return psycopg.connect(self.owner, autocommit=True)
        if self.kind == "duckdb":
            import duckdb

            return duckdb.connect(self.owner)
        return sqlite3.connect(self.owner, isolation_level=None)
