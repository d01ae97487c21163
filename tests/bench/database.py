"""The database server beside PyPI's `mcp-server-sqlite`: the same calls in the same run, and what each allows.

    python -m tests.bench.database PEER [--rounds N]

PEER is the path of the program `mcp-server-sqlite`; it wants an older SDK, and so an environment of its own. Each round
asks both by turns over a bare pipe; the figures are medians of the rounds' medians, in microseconds.
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import tempfile
from contextlib import closing
from pathlib import Path

from tests.bench.files import Pipe
from tests.database.kit import argv

CALLS = [
    ("one row", 100, "SELECT * FROM book WHERE id = 7"),
    ("100 rows", 50, "SELECT * FROM book LIMIT 100"),
    ("1,000 rows", 10, "SELECT * FROM book LIMIT 1000"),
    ("count 100,000 rows", 10, "SELECT count(*), sum(price) FROM book"),
]
ATTEMPTS = [
    ("write through the tool that reads", "WITH x AS (SELECT 1) DELETE FROM book WHERE id = 1"),
    ("another file is opened", "SELECT 1; ATTACH '{folder}/other.db' AS other"),
    ("another file is written", "VACUUM INTO '{folder}/copy.db'"),
    ("the file is changed by a pragma", "PRAGMA user_version = 9"),
    ("an answer of 100,000 rows, whole", "SELECT id FROM book"),
]


def main() -> None:
    """Measure, and try."""
    parser = argparse.ArgumentParser()
    parser.add_argument("peer")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "shop.db")
        with closing(sqlite3.connect(file)) as database:
            database.execute("CREATE TABLE book (id INTEGER PRIMARY KEY, title TEXT, price REAL)")
            rows = ((number, f"Book {number}", number / 7) for number in range(100_000))
            database.executemany("INSERT INTO book VALUES (?, ?, ?)", rows)
            database.commit()
        peer, ours = Pipe([options.peer, "--db-path", str(file)]), Pipe(argv("--connect", f"shop={file}"))
        print("| | mcp-server-sqlite µs | ours µs | ours / theirs |\n|---|---|---|---|")
        left, right = (one.ready * 1e6 for one in (peer, ours))
        print(f"| start | {left:,.0f} | {right:,.0f} | {right / left:.2f} |")
        for name, count, sql in CALLS:
            pairs = [
                (peer.timed("read_query", {"query": sql}, count), ours.timed("query", {"sql": sql}, count))
                for _ in range(options.rounds)
            ]
            left, right = (statistics.median(one) for one in zip(*pairs, strict=True))
            print(f"| {name} | {left:,.0f} | {right:,.0f} | {right / left:.2f} |")
        print("\n| | mcp-server-sqlite | ours |\n|---|---|---|")
        for name, sql in ATTEMPTS:
            sql = sql.replace("{folder}", folder)
            answers = peer.call("read_query", {"query": sql}), ours.call("query", {"sql": sql})
            refusals = (b'"isError":true', b"error", b'"truncated":"ended')
            said = [not any(refusal in one for refusal in refusals) for one in answers]
            print(f"| {name} | {' | '.join('yes' if one else 'no' for one in said)} |")
        for server in (peer, ours):
            server.process.kill()
            server.process.wait()


if __name__ == "__main__":
    main()
