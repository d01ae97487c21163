"""Who we are at an authorization server: which way there is to be somebody there, and dynamic registration (RFC 7591).

The order is that of the specification 2026-07-28 (basic/authorization, client registration): registered beforehand,
a client id metadata document, dynamic registration, the person.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import urlsplit

from mcp_studio.auth import discovery
from mcp_studio.auth.discovery import is_loopback
from mcp_studio.auth.fetch import Fetched, Fetcher
from mcp_studio.auth.metadata import IssuerMetadata, body_of
from mcp_studio.auth.model import AuthFailed, Client, said, without
from mcp_studio.errors import LimitExceeded, StudioError
from mcp_studio.jsontext import Json, JsonProblem, dumps, items_of, mapping

if TYPE_CHECKING:
    from mcp_studio.auth.flow import Flow

LONGEST = 4_096
"""Characters of a client id or secret."""
How = Literal["configured", "document", "registered", "register", "ask"]
METHODS = ("none", "client_secret_basic", "client_secret_post", "private_key_jwt")
"""How we can show ourselves at a token endpoint."""
_REGISTERED = ("none", "client_secret_post", "client_secret_basic")
"""What is asked for at registration, in this order: what every server has to know first (OAuth 2.1, 2.5.1); with Basic,
servers disagree on whether the form names the client as well."""
GRANTS = ("authorization_code", "refresh_token")
"""What is registered for."""
SECRET_NAMES = frozenset({"client_secret", "registration_access_token"})
"""What of a registration must not be shown."""
_HARMLESS = ("none",)
"""A response type that brings nothing at all; some authorization servers give it to every client."""


class Choice(NamedTuple):
    """Which way is taken, and why."""

    how: How
    """`registered`: with what was registered before; `register`: dynamic registration is to be done now."""
    client: Client | None
    """None where there is none yet."""
    why: str
    """A sentence."""


def choose(
    metadata: IssuerMetadata,
    *,
    client_id: str = "",
    client_secret: str = "",
    method: str = "",
    document: str = "",
    known: Client | None = None,
    redirect_uri: str = "",
    asked: Sequence[str] = (),
    now: float | None = None,
) -> Choice:
    """The first of the ways that is open.

    Args:
        client_id: what was registered beforehand; `client_secret` and `method` belong to it.
        document: the URL of our client id metadata document.
        known: what was registered or typed before at this issuer.
        redirect_uri: where the browser is to be sent back to; a client registered for another one is of no use.
        asked: the scopes that are to be asked for.

    Raises:
        AuthFailed: there is a client that cannot show itself in a way that the authorization server takes.
    """
    issuer, endpoint = metadata.issuer, metadata.registration_endpoint
    if client_id:
        shown = method_for(metadata, client_secret, method)
        client = Client(issuer, client_id, client_secret, shown, "configured", redirect_uri)
        return Choice("configured", client, "The configuration names a client that was registered beforehand.")
    if metadata.reads_documents and is_document_url(document):
        client = Client(issuer, document, "", "none", "document", redirect_uri)
        return Choice("document", client, "The authorization server reads client id metadata documents.")
    if known and known.issuer == issuer and not problem_with(known, redirect_uri, asked, now):
        return Choice("registered", known, "A client was registered there before.")
    if endpoint:
        return Choice("register", None, "The authorization server registers clients dynamically (RFC 7591).")
    why = metadata.notes.get("registration_endpoint", "The authorization server has no registration_endpoint.")
    return Choice("ask", None, why)


def problem_with(client: Client, redirect_uri: str = "", asked: Sequence[str] = (), now: float | None = None) -> str:
    """Why a client that was registered before is of no use any more, in a sentence; empty where it is."""
    if client.secret_expires and client.secret_expires <= (time.time() if now is None else now) + 30:
        return "The secret of the client that was registered before has expired."
    if client.how == "registered" and redirect_uri and not same_redirect(client.redirect_uri, redirect_uri):
        return f"The client that was registered before is sent back to {client.redirect_uri}."
    if client.how == "registered" and (held := mapping(client.registration).get("scope")) and isinstance(held, str):
        # It may ask for these alone (RFC 7591 2). What was asked for then and left out would be left out again.
        if less := discovery.missing((*discovery.parse(held), *client.asked, discovery.OFFLINE), asked):
            return f"The client that was registered before may not ask for {discovery.brief(less)}."
    return ""


def is_document_url(url: str) -> bool:
    """Whether a URL can be a client id: https, with a path (draft-ietf-oauth-client-id-metadata-document 3)."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme == "https" and bool(parts.hostname) and parts.path not in ("", "/") and not parts.fragment


def method_for(metadata: IssuerMetadata, secret: str, wanted: str = "") -> str:
    """How a client shows itself at the token endpoint.

    Args:
        secret: the client's; empty for a public one.
        wanted: as configured or registered; empty for the first one that both know.

    Raises:
        AuthFailed: in no way that the authorization server takes.
    """
    if wanted:
        if wanted not in METHODS:
            raise AuthFailed(
                f"A client that shows itself by {said(wanted)} is not known here.", hint=f"Known: {', '.join(METHODS)}."
            )
        if wanted.startswith("client_secret") and not secret:
            raise AuthFailed(f"There is no client secret, which {wanted} needs.", hint="Set client_secret.")
        return wanted
    if not secret:
        return "none"
    # Without a list it is Basic (RFC 8414 2). `none` alone means that secrets are not looked at.
    offered = metadata.methods if metadata.methods is not None else ("client_secret_basic",)
    for one in ("client_secret_basic", "client_secret_post", "none"):
        if one in offered:
            return one
    raise AuthFailed(
        f"token_endpoint_auth_methods_supported in the authorization server metadata is {said(', '.join(offered))}.",
        hint="For a client with a secret it has to list client_secret_basic or client_secret_post.",
    )


def request(metadata: IssuerMetadata, redirect_uri: str, scopes: Sequence[str] = ()) -> dict[str, Json]:
    """What is sent to the registration endpoint (RFC 7591 2; OpenID Connect Registration 2 for `application_type`).

    Raises:
        AuthFailed: the authorization server wants clients to show themselves in ways that a program on a person's
            machine cannot.
    """
    # Nothing is known where there is no metadata; with metadata and without a list it is Basic (RFC 8414 2).
    offered = metadata.methods if metadata.methods is not None else (("client_secret_basic",) if metadata.place else ())
    method = next((one for one in _REGISTERED if not offered or one in offered), "")
    if not method:
        raise AuthFailed(
            f"token_endpoint_auth_methods_supported in the authorization server metadata at {metadata.place} is "
            f"{said(', '.join(offered))}.",
            hint="For registering clients dynamically it has to list none, client_secret_basic or client_secret_post.",
        )
    asked: dict[str, Json] = {
        "client_name": "MCP Studio",
        "application_type": "native",
        "redirect_uris": [redirect_uri],
        "grant_types": list(GRANTS),
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
    }
    if scopes:
        asked["scope"] = discovery.text(scopes)
    return asked


def read(raw: Json, *, asked: dict[str, Json], metadata: IssuerMetadata, now: float | None = None) -> Client:
    """The client that a registration made (RFC 7591 3.2.1). Placeholders, null and "", are as good as nothing.

    Raises:
        AuthFailed: the answer is no registration, or is another one than was asked for.
    """
    answer = {name: value for name, value in mapping(raw).items() if value is not None and value != ""}
    if not isinstance(raw, dict):
        raise AuthFailed(f"The answer to the registration is {said(raw)}.", hint="It has to be a JSON object.")
    client_id, secret = _text(answer, "client_id"), _text(answer, "client_secret")
    if not client_id:
        raise _wrong("client_id", "missing", "a string")
    _check_redirects(answer, str(items_of(asked["redirect_uris"])[0]))
    for name, needed in (("grant_types", "authorization_code"), ("response_types", "code")):
        _check_list(answer, name, asked, needed)
    scope = answer.get("scope")
    return Client(
        issuer=metadata.issuer,
        client_id=client_id,
        secret=secret,
        method=_method(answer, asked, metadata, secret),
        how="registered",
        redirect_uri=str(items_of(asked["redirect_uris"])[0]),
        secret_expires=_expires(answer, secret, time.time() if now is None else now),
        # The rest of the answer may have a megabyte, and keyrings hold little.
        registration={"scope": scope[: 2 * discovery.LONGEST_SCOPES]} if isinstance(scope, str) else {},
    )


def _wrong(name: str, came: str, should: str) -> AuthFailed:
    return AuthFailed(f"{name} in the answer to the registration is {came}.", hint=f"It has to be {should}.")


def _text(answer: dict[str, Json], name: str) -> str:
    value = answer.get(name, "")
    if isinstance(value, str) and len(value) <= LONGEST and value.isascii() and value.isprintable():
        return value
    came = said(value) if name not in SECRET_NAMES else "no plain text"
    raise _wrong(name, came, f"a string of at most {LONGEST:,} printable ASCII characters (RFC 6749 appendix A)")


def same_redirect(one: str, other: str) -> bool:
    """Whether two redirect URIs are the same; the port on this machine does not count (RFC 8252 7.3)."""
    if one == other:
        return True
    try:
        ours, theirs = urlsplit(one), urlsplit(other)
        loopback = is_loopback(one) and ours.hostname == theirs.hostname
    except (AuthFailed, ValueError):
        return False
    return loopback and (ours.scheme, ours.path, ours.query) == (theirs.scheme, theirs.path, theirs.query)


def _check_redirects(answer: dict[str, Json], ours: str) -> None:
    came = answer.get("redirect_uris", [ours])
    if not isinstance(came, list) or not came:
        raise _wrong("redirect_uris", said(came), f"[{said(ours)}]")
    for one in items_of(came):
        if not isinstance(one, str) or not same_redirect(ours, one):
            raise _wrong("redirect_uris", f"for codes to {said(one)}, which nobody asked for", f"[{said(ours)}]")


def _check_list(answer: dict[str, Json], name: str, asked: dict[str, Json], needed: str) -> None:
    wanted = [str(one) for one in items_of(asked[name])]
    came = answer.get(name, wanted)
    should = f"what was sent: {', '.join(wanted)}"
    if not isinstance(came, list):
        raise _wrong(name, said(came), should)
    if needed not in came:
        raise _wrong(name, f"without {needed}", should)
    for one in items_of(came):
        if one not in wanted and one not in _HARMLESS:
            raise _wrong(name, f"with {said(one)} besides", should)


def _method(answer: dict[str, Json], asked: dict[str, Json], metadata: IssuerMetadata, secret: str) -> str:
    name = "token_endpoint_auth_method"
    wanted = str(asked[name])
    came = answer.get(name, "")
    if not came and not secret:
        came = "none"
    elif not came and wanted == "none":
        came = "none" if "none" in (metadata.methods or ()) else method_for(metadata, secret)
    came = came or wanted
    if came not in METHODS[:3]:
        raise _wrong(name, said(came), f"{wanted}, as was sent, or another one of {', '.join(METHODS[:3])}")
    if came != "none" and not secret:
        raise _wrong(name, f"{came}, and it gave no client_secret", "none; or client_secret has to be in the answer")
    return str(came)


def _expires(answer: dict[str, Json], secret: str, now: float) -> float:
    name = "client_secret_expires_at"
    value = answer.get(name, 0)
    if not secret:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e12:
        raise _wrong(name, said(value), "the time in seconds since 1970, or 0 for never (RFC 7591 3.2.1)")
    if value and value <= now:
        raise _wrong(name, "in the past", f"later than now, {now:.0f}, or 0 for never; or a clock is wrong")
    return float(value)


_HINT = (
    "It has to register clients like this one (RFC 7591); or a client that somebody registered by hand can be named: "
    "client_id in the [servers.NAME.auth] table."
)


async def client_for(
    flow: Flow, issuer: IssuerMetadata, redirect_uri: str, asked: Sequence[str]
) -> tuple[Client, bool, str]:
    """Who we are at an authorization server, whether that was so before, and a sentence about it.

    Raises:
        AuthFailed: nobody, and why.
        StudioError: as `Fetcher.send`; or a new client cannot be stored.
    """
    auth = flow.config.auth
    if flow.anew:
        await flow.store.remove_client(issuer.issuer, auth.whose)
    known = await flow.store.client(issuer.issuer, auth.whose)
    # Where its port is taken, whether another one will do (RFC 8252 7.3) would show in the browser alone.
    moved = known and known.how == "registered" and known.redirect_uri != redirect_uri and issuer.registration_endpoint
    choice = choose(
        issuer,
        client_id=auth.client_id,
        client_secret=auth.client_secret,
        method=auth.method,
        document=auth.client_metadata_url or flow.accounts.document,
        known=None if moved else known,
        redirect_uri=redirect_uri,
        asked=asked,
    )
    if choice.client is not None:
        return replace(choice.client, redirect_uri=redirect_uri), choice.how == "registered", choice.why
    if choice.how == "register":
        # Other servers with this authorization server go on with the client that is replaced.
        client = await register(
            flow.fetcher, issuer, redirect_uri, discovery.union(known.asked if known else (), asked)
        )
        detail = f"Registered there as {client.client_id}."
    else:
        client_id, secret = await flow.person.client(choice.why, redirect_uri)
        flow.accounts.redactor.learn(secret)
        shown = method_for(issuer, secret, auth.method)
        client = Client(issuer.issuer, client_id, secret, shown, "typed", redirect_uri)
        detail = "A person named the client."
    await flow.store.save_client(client, auth.whose)
    return client, False, detail


async def forget_unknown(flow: Flow, client: Client, problem: BaseException) -> None:
    """Where an authorization server does not know the client any more: forget it, and say how there is another."""
    if not isinstance(problem, AuthFailed) or problem.error not in ("invalid_client", "unauthorized_client"):
        return
    if client.how in ("registered", "typed"):
        with suppress(StudioError, OSError):
            await flow.store.remove_client(client.issuer, flow.config.auth.whose)
        problem.hint += " What was known of the client was forgotten: sign in again, and another one is registered."
    elif client.how == "configured":
        problem.hint += " The entry names the client: register another there, and change client_id in its auth table."


async def register(fetcher: Fetcher, issuer: IssuerMetadata, redirect_uri: str, wanted: Sequence[str]) -> Client:
    """A new client at an authorization server.

    Raises:
        AuthFailed: it does not register us, or as something else than was asked for.
        StudioError: as `Fetcher.send`.
    """
    asked = request(issuer, redirect_uri, wanted)
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
    return replace(read(raw, asked=asked, metadata=issuer), asked=tuple(wanted))


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
    error, reason = raw.get("error"), raw.get("error_description")
    code = error[:80] if isinstance(error, str) else ""
    words = f"status {answer.status}" + (f", {without(code, ())}" if code else "")
    if isinstance(reason, str) and reason:
        words += f": {said(without(reason, ()))}"
    known = "" if issuer.place else " Nothing says that this server signs people in by OAuth at all."
    return AuthFailed(
        f"The registration endpoint {issuer.registration_endpoint} refused, with {words}.{known}",
        hint=_HINT if issuer.place else f"It may want a header with a key instead of a sign-in. {_HINT}",
        error=code,
        status=answer.status,
    )
