"""Thousands of attempts to write, to reach files and to never end, each against a database that may only be read."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from mcp_studio.errors import StudioError
from mcp_studio.redact import Redactor
from mcp_studio.servers.database import engines
from mcp_studio.servers.database.server import DatabaseTools
from tests.database.kit import Shop

WRITES = """
INSERT INTO book VALUES (9, 'x', 1)
UPDATE book SET title = 'x'
DELETE FROM book
DROP TABLE book
TRUNCATE TABLE book
ALTER TABLE book ADD COLUMN x INTEGER
CREATE TABLE made (a INTEGER)
CREATE TABLE made AS SELECT * FROM book
CREATE INDEX made ON book (title)
CREATE VIEW made AS SELECT 1
REPLACE INTO book VALUES (1, 'x', 1)
WITH gone AS (DELETE FROM book RETURNING 1) SELECT * FROM gone
WITH x AS (SELECT 1) DELETE FROM book
SELECT * INTO made FROM book
SELECT nextval('counter')
SELECT nextval(counter)
MERGE INTO book USING book AS b ON true WHEN MATCHED THEN DELETE
DO $$ BEGIN DELETE FROM book; END $$
CALL made()
COPY book TO '{folder}/made'
COPY book FROM '{folder}/made'
COPY book TO PROGRAM 'touch {folder}/made'
EXPORT DATABASE '{folder}/made'
ATTACH '{folder}/made' AS made
ATTACH DATABASE '{folder}/made' AS made
VACUUM INTO '{folder}/made'
VACUUM
REINDEX
ANALYZE
PRAGMA writable_schema = ON
PRAGMA user_version = 9
PRAGMA journal_mode = WAL
UPDATE sqlite_master SET sql = 'x'
SELECT load_extension('{folder}/made')
SELECT * FROM book INTO OUTFILE '{folder}/made'
SELECT lo_export(1, '{folder}/made')
SELECT lo_create(99)
SELECT writefile('{folder}/made', 'x')
SELECT set_config('transaction_read_only', 'off', false)
SET TRANSACTION READ WRITE
SET SESSION TRANSACTION READ WRITE
SET GLOBAL read_only = 0
SET enable_external_access = true
LOAD httpfs
GRANT ALL ON book TO reader
COMMIT
""".strip().splitlines()
BEFORE = (
    "", " \t\n", "/* x */ ", "-- x\n", ";", "(", "SELECT 1; ", "BEGIN; ", "COMMIT; ", "ROLLBACK; BEGIN; ", "EXPLAIN ",
    "explain analyze ", "EXPLAIN (ANALYZE) ", "ANALYZE ", "(ANALYZE, VERBOSE) ", "FORMAT=JSON ", "PREPARE x AS ",
    "SET TRANSACTION READ WRITE; ", "SELECT 1 UNION ", "DECLARE x CURSOR FOR ", "/*!50000 ", "\ufeff", "\0",
    "DELIMITER //\n", "SELECT * FROM book; ", "reading; CLOSE reading; ",
)  # fmt: skip
AFTER = ("", ";", "; COMMIT", " -- ", " /*", ")", "; SELECT 1", " RETURNING 1", " LIMIT 1", " */", "//")


def state(shop: Shop, folder: Path) -> object:
    """What an attempt might have changed."""
    where = {"sqlite": "sqlite_master", "duckdb": "duckdb_tables()"}.get(shop.kind, "information_schema.tables")
    counted = shop.run(f"SELECT count(*) FROM {where}")
    return shop.run("SELECT * FROM book ORDER BY id"), counted, sorted(one.name for one in folder.iterdir())


@pytest.mark.parametrize("how", ["query", "explain", "sample"])
def test_nothing_gets_written_by_what_may_only_read(shop: Shop, tmp_path: Path, how: str) -> None:
    tools = DatabaseTools([engines.engine("shop", shop.reader, False, Redactor())])
    attempt: Callable[[str], object] = {"query": tools.query, "explain": tools.explain, "sample": tools.sample}[how]
    before = state(shop, tmp_path)
    every = [f"{start}{write}{end}" for start, write, end in itertools.product(BEFORE, WRITES, AFTER)]
    # A statement that is explained passes the same guard as a query, and the name of a sampled table is quoted.
    chosen = random.Random(how + shop.kind).sample(every, 1_500 if how == "query" else 250)
    attempts = [*WRITES, *chosen]
    for first in range(0, len(attempts), 100):
        with tools.engines["shop"].opened():  # while a reader has its file open, DuckDB is 30 times as fast
            for sql in attempts[first : first + 100]:
                with suppress(StudioError):
                    attempt(sql.replace("{folder}", str(tmp_path)))
    assert state(shop, tmp_path) == before


ENDLESS = {
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
    "duckdb": "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE (a.range * b.range) % 7 = 3",
    "postgresql": "SELECT pg_sleep(1000)",
    "mysql": "SELECT benchmark(1000000000000, md5('x'))",
}
LONG = {
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, hex(zeroblob(5000)) FROM n",
    "duckdb": "SELECT range, repeat('00', 5000) FROM range(100000000)",
    "postgresql": "SELECT i, repeat('00', 5000) FROM generate_series(1, 1000000) i",
    "mysql": "SELECT seq, repeat('00', 5000) FROM seq_1_to_100000000",
}
HUGE = {"sqlite": "SELECT hex(zeroblob(1000000))", "duckdb": "SELECT repeat('00', 1000000)"}


def test_what_takes_too_long_is_ended(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "SECONDS", 1.0)
    tools = DatabaseTools([engines.engine("shop", shop.reader, False, Redactor())])
    with pytest.raises(StudioError, match=r"more than 1 second|statement timeout"):
        tools.query(ENDLESS[shop.kind])


def test_results_are_bounded(shop: Shop) -> None:
    tools = DatabaseTools([engines.engine("shop", shop.reader, False, Redactor())])
    rows = tools.query(LONG[shop.kind])
    assert 50 < len(rows["rows"]) < 150 and rows["truncated"].endswith("1 MB")
    rows = tools.query(HUGE.get(shop.kind, "SELECT repeat('00', 1000000)"))
    assert rows["rows"][0][0].endswith("… 1.8 MB more") and len(rows["rows"][0][0]) < 70_000
