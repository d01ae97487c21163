"""Signing in as the conformance suite wants it: what a person was told, and the person, who has a browser of sorts."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mcp_studio.config.model import Auth
from mcp_studio.session.inbox import InputRequest
from mcp_studio.studio import Studio

if TYPE_CHECKING:
    from mcp_studio.auth.signin import SignIn

DOCUMENT = "https://conformance-test.local/client-metadata.json"
"""The suite's authorization server knows this client id metadata document; nobody fetches it."""
WITHOUT_PERSON = {"auth/client-credentials-basic": "client_credentials"}
"""Scenarios whose context does not tell how to get a token."""
BOUND = ("auth/dpop", "auth/dpop-nonce")
"""Scenarios in which tokens are bound to a key."""
LONGEST = 60.0


def auth(scenario: str, context: dict[str, Any]) -> Auth:
    """`[servers.NAME.auth]` as a person would write it who was told the context."""

    def told(name: str) -> str:
        return str(context.get(name, ""))

    return Auth(
        kind="private_key_jwt" if "private_key_pem" in context
        else "workload" if "valid_jwt" in context
        else "enterprise" if "idp_token_endpoint" in context
        else "client_credentials" if scenario in WITHOUT_PERSON
        else "",
        client_id=told("client_id"),
        client_secret=told("client_secret"),
        client_metadata_url=DOCUMENT,
        key=told("private_key_pem"),
        algorithm=told("signing_algorithm") or "ES256",
        assertion=told("valid_jwt"),
        idp_token_endpoint=told("idp_token_endpoint"),
        idp_client_id=told("idp_client_id"),
        idp_client_secret=told("idp_client_secret"),
        idp_id_token=told("idp_id_token"),
        dpop=scenario in BOUND,
    )  # fmt: skip


class Person:
    """Signs in whenever a server wants it, and says yes to everything."""

    def __init__(self, studio: Studio, server: str) -> None:
        self._studio = studio
        self._server = server
        self._tasks: set[asyncio.Task[None]] = set()
        self._answered: set[int] = set()
        studio.inbox.changed.connect(self._asked)

    async def sign_in(self) -> None:
        """Sign in to a server that is not connected.

        Raises:
            StudioError: it did not work.
        """
        self._studio.sign_ins.accounts.browser = self._browse
        signing = self._studio.sign_ins.sign_in(self._server)
        await over(signing)
        if signing.error is not None:
            raise signing.error
        await self._connecting()

    async def _connecting(self) -> None:
        """The studio hears of it in the same moment, and begins to connect."""
        changed, manager = asyncio.Event(), self._studio.manager
        disconnect = manager.changed.connect(lambda _: changed.set())
        try:
            async with asyncio.timeout(LONGEST):
                while manager.status(self._server).state == "needs_auth":
                    await changed.wait()
                    changed.clear()
        finally:
            disconnect()

    def _asked(self, question: InputRequest) -> None:
        if question.kind != "sign_in" or question.number in self._answered:
            return
        self._answered.add(question.number)
        self._tasks.add(task := asyncio.create_task(self._follow(question)))
        task.add_done_callback(self._tasks.discard)

    async def _follow(self, question: InputRequest) -> None:
        """The question answers itself once somebody has signed in."""
        assert question.sign_in is not None
        self._studio.sign_ins.accounts.browser = self._browse
        signing = question.sign_in()
        await over(signing)
        if signing.error is not None:
            print(signing.error.message, signing.error.hint, file=sys.stderr)
            question.answer("decline")

    async def _browse(self, url: str) -> bool:
        """Goes where the authorization server sends it, once, without reading."""
        self._tasks.add(task := asyncio.create_task(asyncio.to_thread(_visit, url)))
        task.add_done_callback(self._tasks.discard)
        return True


async def over(signing: SignIn) -> None:
    """Wait until a sign-in has come to its end."""
    ended = asyncio.Event()
    disconnect = signing.changed.connect(lambda changed: ended.set() if changed.over else None)
    try:
        async with asyncio.timeout(LONGEST):
            while not signing.over:
                ended.clear()
                await ended.wait()
    finally:
        disconnect()


def _visit(url: str) -> None:
    location = _get(url)
    if location:
        _get(location)


def _get(url: str) -> str:
    """Where an address redirects to."""
    from http.client import HTTPConnection

    at = urlsplit(url)
    line = HTTPConnection(at.netloc, timeout=LONGEST)
    try:
        line.request("GET", f"{at.path}?{at.query}")
        return line.getresponse().getheader("location", "")
    finally:
        line.close()
