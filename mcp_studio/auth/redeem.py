"""One exchange with a token endpoint: the request, a proof for the key where there is one, the answer read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

from mcp_studio.auth import answers, tokens
from mcp_studio.auth.dpop import Dpop, Use, nonce_wanted
from mcp_studio.auth.failed import AuthFailed
from mcp_studio.auth.model import Client
from mcp_studio.auth.tokens import Form, TokenRequest
from mcp_studio.transport.credentials import HeaderList
from mcp_studio.transport.tap import Headers

Make = Callable[[], Awaitable[TokenRequest]]
"""Makes a request anew for each time that it is sent: a client's assertion is good for one (RFC 7523 3)."""


def signed(url: str, client: Client, form: Form, prove: Callable[[], Awaitable[str]]) -> Make:
    """Makes the requests of a client. `prove` gives its assertion, or nothing where it has other ways."""

    async def make() -> TokenRequest:
        return tokens.post(url, client, form, assertion=await prove())

    return make


class Answer(Protocol):
    """What `Sender.send` brings."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Headers: ...
    @property
    def body(self) -> bytes: ...


class Sender(Protocol):
    """What is used of `auth.fetch.Fetcher`."""

    async def send(
        self,
        purpose: str,
        method: str,
        url: str,
        *,
        headers: HeaderList | None = None,
        body: bytes = b"",
        secrets: Iterable[str] = (),
    ) -> Answer:
        """Send one request and read its whole answer."""
        ...


async def redeem(
    sender: Sender,
    make: Make,
    purpose: str,
    *,
    asked: Iterable[str] = (),
    dpop: Dpop | None = None,
    use: Use = "no",
    exchange: bool = False,
) -> answers.Tokens:
    """Send a token request and read what comes; once more where only a nonce (RFC 9449 8) or the client's id is wanted.

    Args:
        purpose: what it is for, in words: `token for the code`.
        asked: the scopes that are asked for.
        dpop: the key to bind the token to; `use` says whether it has to be.
        exchange: an assertion is asked for (RFC 8693).

    Raises:
        ConfigError: the client cannot show itself.
        AuthFailed: no tokens, or none of use; `error` is the OAuth error code where one came.
        StudioError: as `Fetcher.send`.
    """
    proven = dpop if use != "no" else None
    request = await make()
    answer = await _send(sender, request, purpose, proven)
    if proven and proven.seen(request.url, answer.headers) and _nonce(answer):
        request = await make()
        answer = await _send(sender, request, purpose, proven)
        proven.seen(request.url, answer.headers)
    if request.named and id_wanted(answer):
        answer = await _send(sender, request._replace(body=request.named), purpose, proven)
    return answers.read(
        answer.status,
        answer.body,
        who=f"The token endpoint {request.url.partition('?')[0]}",
        asked=asked,
        secrets=request.secrets,
        dpop=use if proven else "no",
        exchange=exchange,
    )


async def _send(sender: Sender, request: TokenRequest, purpose: str, dpop: Dpop | None) -> Answer:
    headers = list(request.headers)
    if dpop:
        headers.append(("DPoP", dpop.proof("POST", request.url)))
    return await sender.send(purpose, "POST", request.url, headers=headers, body=request.body, secrets=request.secrets)


def id_wanted(answer: Answer) -> bool:
    """Whether a server overlooks who the header names (the Python SDK's does): its form has to name the client, too."""
    if answer.status not in (400, 401):
        return False
    try:
        answers.read(answer.status, answer.body, who="It")
    except AuthFailed as problem:
        return problem.error in ("invalid_client", "invalid_request") and "client_id" in problem.message
    return False


def _nonce(answer: Answer) -> bool:
    if answer.status not in (400, 401):
        return False
    try:
        answers.read(answer.status, answer.body, who="It")
    except AuthFailed as problem:
        challenge = ", ".join(value for name, value in answer.headers if name.lower() == "www-authenticate")
        return nonce_wanted(answer.status, problem.error, challenge)
    return False
