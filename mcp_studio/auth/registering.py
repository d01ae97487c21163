"""Becoming somebody at an authorization server: what is known, registering dynamically (RFC 7591 3), asking."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from mcp_studio.auth import registration, scopes
from mcp_studio.auth.failed import AuthFailed, said, without
from mcp_studio.auth.fetch import Fetched, Fetcher
from mcp_studio.auth.fields import body_of
from mcp_studio.auth.metadata import IssuerMetadata
from mcp_studio.auth.model import Client
from mcp_studio.auth.person import Means, Person
from mcp_studio.errors import LimitExceeded, StudioError
from mcp_studio.jsontext import Json, JsonProblem, dumps, mapping

_HINT = (
    "It has to register clients like this one (RFC 7591); or a client that somebody registered by hand can be named: "
    "client_id in the [servers.NAME.auth] table."
)


async def who(
    means: Means, fetcher: Fetcher, person: Person, issuer: IssuerMetadata, redirect_uri: str, asked: Sequence[str]
) -> tuple[Client, bool, str]:
    """Who we are at an authorization server, whether that was so before, and what is to be said about it.

    Raises:
        AuthFailed: nobody, and why.
        StudioError: as `Fetcher.send`; or a new client cannot be kept.
    """
    auth = means.config.auth
    if means.anew:
        await means.store.remove_client(issuer.issuer, auth.whose)
    known = await means.store.client(issuer.issuer, auth.whose)
    # Where its port is taken, whether another one will do (RFC 8252 7.3) would show in the browser alone.
    moved = known and known.how == "registered" and known.redirect_uri != redirect_uri and issuer.registration_endpoint
    choice = registration.choose(
        issuer,
        client_id=auth.client_id,
        client_secret=auth.client_secret,
        method=auth.method,
        document=auth.client_metadata_url or means.document,
        known=None if moved else known,
        redirect_uri=redirect_uri,
        asked=asked,
    )
    if choice.client is not None:
        return replace(choice.client, redirect_uri=redirect_uri), choice.how == "registered", choice.why
    if choice.how == "register":
        # Other servers with this authorization server go on with the client that is replaced.
        client = await register(fetcher, issuer, redirect_uri, scopes.union(known.asked if known else (), asked))
        detail = f"Registered there as {client.client_id}."
    else:
        client_id, secret = await person.client(choice.why, redirect_uri)
        means.redactor.learn(secret)
        shown = registration.method_for(issuer, secret, auth.method)
        client = Client(issuer.issuer, client_id, secret, shown, "typed", redirect_uri)
        detail = "A person named the client."
    await means.store.save_client(client, auth.whose)
    return client, False, detail


async def forget_unknown(means: Means, client: Client, problem: BaseException) -> None:
    """Where an authorization server does not know the client any more: forget it, and say how there is another."""
    if not isinstance(problem, AuthFailed) or problem.error not in ("invalid_client", "unauthorized_client"):
        return
    if client.how in ("registered", "typed"):
        with suppress(StudioError, OSError):
            await means.store.remove_client(client.issuer, means.config.auth.whose)
        problem.hint += " What was known of the client was forgotten: sign in again, and another one is registered."
    elif client.how == "configured":
        problem.hint += " The entry names the client: register another there, and change client_id in its auth table."


async def register(fetcher: Fetcher, issuer: IssuerMetadata, redirect_uri: str, wanted: Sequence[str]) -> Client:
    """A new client at an authorization server.

    Raises:
        AuthFailed: it does not register us, or as something else than was asked for.
        StudioError: as `Fetcher.send`.
    """
    asked = registration.request(issuer, redirect_uri, wanted)
    answer, raw = await _post(fetcher, issuer, asked)
    if "scope" in asked and answer.status == 400 and "scope" in f"{mapping(raw).get('error_description')}":
        # Scopes of the server may be none of the authorization server's own, which clients are registered for.
        del asked["scope"]
        answer, raw = await _post(fetcher, issuer, asked)
    if not 200 <= answer.status < 300:
        raise _refused(answer, mapping(raw), issuer)
    if raw is None:
        raise AuthFailed(
            f"The registration endpoint {issuer.registration_endpoint} answered without JSON (status {answer.status}).",
            hint="It has to answer with what it registered, as a JSON object (RFC 7591 3.2.1).",
        )
    return replace(registration.read(raw, asked=asked, metadata=issuer), asked=tuple(wanted))


async def _post(fetcher: Fetcher, issuer: IssuerMetadata, asked: dict[str, Json]) -> tuple[Fetched, Json]:
    """The answer of the registration endpoint, and the JSON in it; None for none."""
    headers = [("Content-Type", "application/json")]
    answer = await fetcher.send(
        "registration", "POST", issuer.registration_endpoint, headers=headers, body=dumps(asked)
    )
    try:
        return answer, body_of(answer.body, most=64, values=10_000)
    except (JsonProblem, LimitExceeded):
        return answer, None


def _refused(answer: Fetched, raw: dict[str, object], issuer: IssuerMetadata) -> AuthFailed:
    error, told = raw.get("error"), raw.get("error_description")
    words = [f"status {answer.status}"]
    if isinstance(error, str) and error:
        words.append(without(error[:80], ()))
    said_so = f": {said(without(told, ()))}" if isinstance(told, str) and told else ""
    known = "" if issuer.place else " Nothing says that this server signs people in by OAuth at all."
    return AuthFailed(
        f"The registration endpoint {issuer.registration_endpoint} refused, with {', '.join(words)}{said_so}.{known}",
        hint=_HINT if issuer.place else f"It may want a header with a key instead of a sign-in. {_HINT}",
        error=error[:80] if isinstance(error, str) else "",
        status=answer.status,
    )
