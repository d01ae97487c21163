"""What a person sees when HTTP answered with a failure."""

from __future__ import annotations

from mcp_studio.call.call import Lost
from mcp_studio.errors import HttpAnswer, StudioError
from mcp_studio.present import connections
from mcp_studio.present import http as http_card
from tests.servers.http_failing import Server
from tests.servers.http_raw import RawServer, Reply, Request
from tests.studio_support import http
from tests.tui.stage import on_stage


async def broken(got: Request, reply: Reply) -> None:
    await reply.body("500 Out of Cheese", b"Traceback: \x1b[31mred", "X-Why: upgrade", kind="text/plain")


async def test_a_failed_call_shows_status_headers_and_body() -> None:
    async with RawServer(Server(broken)) as server, on_stage(http(server.url, transport="http")) as stage:
        await stage.open("t")
        assert isinstance(await stage.ran(), Lost)
        await stage.shows("500 Out of Cheese", "that it failed", "X-Why", "upgrade", "Traceback: ␛[31mred")
        await stage.shows("Whether the server did the work is unknown")


def test_a_card_is_bounded_and_shows_foreign_text_as_text() -> None:
    error = StudioError("why")
    assert http_card.parts(error) == []
    error.http = HttpAnswer(418, "I'm\x1b a teapot", tuple((f"X-{n}", "\x07" * 900) for n in range(99)), "y\n" * 99_999)
    text = "".join(
        part if isinstance(part, str) else part[0] for part in http_card.parts(error, why=connections.hint(error, "a"))
    )
    assert text.startswith("why\n") and "and 59 more headers" in text and len(text) < 40_000
    assert "\x1b" not in text and "\x07" not in text
