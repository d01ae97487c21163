"""One stream of a listening: what `settled` promises."""

from __future__ import annotations

import asyncio
from typing import Any

from mcp_studio.limits import DEFAULT
from mcp_studio.session.subscriptions import SubscriptionStream
from tests.support import wait_until

NOTE = "raw://note"


async def test_what_is_taken_back_at_once_is_not_settled_before_the_server_knows() -> None:
    class Never:
        """A connection whose requests get no answer."""

        def __init__(self) -> None:
            self.left = False
            self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def request(self, method: str, params: Any, *, on_id: Any, **more: Any) -> None:
            on_id(7)
            try:
                await self.ended
            finally:
                self.left = True

    connection: Any = Never()
    listening = SubscriptionStream("resources", connection, DEFAULT, on_change=lambda: None, on_again=lambda: None)
    listening.want({"resourceSubscriptions": [NOTE]})
    running = asyncio.create_task(listening.run())
    await wait_until(lambda: listening.stream.state == "opening" and listening.current("7"))
    listening.acknowledge("7", {"resourceSubscriptions": [NOTE]})
    listening.want({})
    await listening.settled.wait()
    await asyncio.sleep(0)
    assert connection.left
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
