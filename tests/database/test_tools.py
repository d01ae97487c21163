"""What the tools of the database server do on each kind of database, through the studio."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from mcp_studio.call.call import Succeeded, ToolFailed
from mcp_studio.session.inbox import Action
from tests.database.kit import Shop, argv
from tests.studio_support import call, opened, stdio, text
from tests.support import ROOT
from tests.support_servers import running

ANSWERS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("list_tables", {}, {"tables": [{"name": "book", "kind": "table"}], "truncated": ""}),
    ("query", {"sql": "SELECT id, title FROM book ORDER BY id"}, {"rows": [[1, "One"], [2, "Two"]], "truncated": ""}),
    ("query", {"sql": "SELECT title FROM book WHERE id = ?", "parameters": [2]}, {"rows": [["Two"]]}),
    ("query", {"sql": "SELECT min(id) FROM book GROUP BY id", "limit": 1}, {"truncated": "ended after 1 rows"}),
    ("query", {"sql": "SELECT id FROM book WHERE id > 5"}, {"rows": []}),
    ("sample", {"table": "book", "limit": 1}, {"rows": [[1, "One", None]]}),
]  # fmt: skip
"""A tool, its arguments, and what of its structured content has to be so; None fits anything."""
REFUSED = [
    ("query", {"sql": "SELECT 1; SELECT 2"}, ""),
    ("query", {"sql": "SELEKT"}, "at shop: "),
    ("query", {"sql": "SELECT 1", "connection": "shup"}, "There is no connection `shup`. There are shop. Did you mean"),
    ("describe_table", {"table": "nothing"}, "There is no table `nothing`. list_tables names all of them."),
    ("sample", {"table": 'book"; DROP TABLE book; --'}, "at shop: "),
]


def fits(value: Any, wanted: Any) -> bool:
    """Whether a value has all that is wanted."""
    if isinstance(wanted, dict):
        return all(key in value and fits(value[key], item) for key, item in wanted.items())
    if isinstance(wanted, list):
        return len(value) == len(wanted) and all(map(fits, value, wanted))
    return wanted is None or value == wanted


async def test_tools_answer(shop: Shop) -> None:
    async with opened(stdio(argv("--connect", f"shop={shop.reader}"))) as studio:
        for tool, arguments, wanted in ANSWERS:
            given = {key: value.replace("?", shop.mark) if key == "sql" else value for key, value in arguments.items()}
            outcome = await call(studio, tool, **given)
            assert isinstance(outcome, Succeeded), (tool, outcome)
            found = outcome.result["structuredContent"]
            if tool == "list_tables":
                found["tables"] = [one for one in found["tables"] if one["name"] == "book"]
            assert fits(found, wanted), (tool, found)
        outcome = await call(studio, "describe_table", table="book")
        assert isinstance(outcome, Succeeded)
        columns = outcome.result["structuredContent"]["columns"]
        assert [(one["name"], one["nullable"], one["primary_key"]) for one in columns if one["name"] != "id"] == [
            ("title", False, False), ("price", True, False)
        ]  # fmt: skip
        assert columns[0]["primary_key"] and "9.5" in columns[2]["default"]
        assert text(await call(studio, "explain", sql="SELECT * FROM book WHERE id = 1"))
        for tool, arguments, said in REFUSED:
            outcome = await call(studio, tool, **arguments)
            assert isinstance(outcome, ToolFailed), (tool, outcome)
            assert said in outcome.result["content"][0]["text"], (tool, outcome)
    assert len(shop.run("SELECT * FROM book")) == 2


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize(("action", "ids"), [("accept", [1, 2, 3]), ("decline", [1, 2])])
async def test_the_person_is_asked_before_a_database_is_changed(
    shop: Shop, era: Any, action: Action, ids: list[int]
) -> None:
    server = stdio(argv("--connect", f"shop={shop.reader}", "--write", "shop"), era=era)
    async with opened(server) as studio:

        def answer() -> None:
            for request in studio.inbox.pending:
                assert "INSERT INTO book" in str(request.params)
                request.answer(action, {})

        studio.inbox.changed.connect(lambda _=None: answer())
        sql = f"INSERT INTO book VALUES ({shop.mark}, 'Three', 1)"
        outcome = await call(studio, "execute", sql=sql, parameters=[3])
        assert isinstance(outcome, Succeeded if action == "accept" else ToolFailed), outcome
        # What only reads stays so where writing is allowed.
        assert isinstance(await call(studio, "query", sql="DELETE FROM book"), ToolFailed)
    assert [row[0] for row in shop.run("SELECT id FROM book ORDER BY id")] == ids


async def test_nobody_is_asked_about_a_database_that_cannot_be_changed(tmp_path: Path) -> None:
    one, two = (Shop(str(tmp_path / f"{name}.sqlite")).owner for name in ("one", "two"))
    async with opened(stdio(argv("--connect", f"one={one}", "--connect", f"two={two}", "--write", "two"))) as studio:
        for name, said in (("one", "one can only be read"), ("three", "no connection `three`"), ("", "Which conn")):
            outcome = await call(studio, "execute", sql="DELETE FROM book", connection=name)
            assert isinstance(outcome, ToolFailed) and said in str(outcome.result)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_client_of_the_sdk_reads_tables_and_their_schemas(tmp_path: Path, mode: Any) -> None:
    command, *words = argv("--connect", f"shop={Shop(str(tmp_path / 'shop.sqlite')).owner}", "--names", "harness")
    started = StdioServerParameters(command=command, args=words, env={**os.environ}, cwd=str(ROOT))
    async with Client(stdio_client(started), mode=mode, cache=None) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"db_query", "db_describe_table", "db_list_tables"} <= names and "db_execute" not in names
        result = await client.call_tool("db_query", {"sql": "SELECT count(*) AS n FROM book"})
        assert result.structured_content is not None and result.structured_content["rows"] == [[2]]
        [resource] = (await client.list_resources()).resources
        for uri, part in ((resource.uri, '"book"'), (f"{resource.uri}/book", '"title"')):
            [content] = (await client.read_resource(uri)).contents
            assert part in content.text  # type: ignore[union-attr]
        for uri in ("database://nothing", "database://shop/nothing", "file:///etc/passwd"):
            with pytest.raises(MCPError):
                await client.read_resource(uri)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_client_of_the_sdk_asks_over_http(tmp_path: Path, mode: Any) -> None:
    token = "t" * 20
    words = argv("--connect", f"shop={Shop(str(tmp_path / 'shop.sqlite')).owner}", "--http", "0")
    with running(words, {"MCP_STUDIO_SERVER_TOKEN": token}) as server:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http,
            Client(streamable_http_client(server.url, http_client=http), mode=mode) as client,
        ):
            result = await client.call_tool("query", {"sql": "SELECT title FROM book WHERE id = ?", "parameters": [1]})
            assert result.structured_content is not None and result.structured_content["rows"] == [["One"]]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "Which database?"),
        (["--connect", "shop"], "`shop` is no new name with an address"),
        (["--connect", "shop=shop.txt"], "The connection shop has no address of a database."),
        (["--connect", "shop=nothing.sqlite"], "there is no file `nothing.sqlite`"),
        (["--connect", "shop=mysql://me:${NOT_SET}@h/d"], "the environment variable NOT_SET is not set"),
        (["--connect", "shop=mysql://me@h/d", "--allow-write", "shup"], "no connection `shup`. Did you mean"),
    ],
)
def test_wrong_options_are_said(words: list[str], said: str) -> None:
    ended = subprocess.run(argv(*words), capture_output=True, text=True, cwd=ROOT, timeout=100)
    assert said in ended.stderr and ended.returncode == 2


@pytest.mark.parametrize("scheme", ["postgresql", "mysql"])
async def test_a_password_is_in_no_error(scheme: str) -> None:
    async with opened(stdio(argv("--connect", f"shop={scheme}://me:open-sesame@127.0.0.1:1/shop"))) as studio:
        for tool in ("list_tables", "list_connections"):
            said = str(await call(studio, tool))
            assert "open-sesame" not in said and "127.0.0.1" in said
