"""What the browser brings back, judged before anything of it is used (RFC 6749 4.1.2, RFC 9207, RFC 9700 4.4)."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from mcp_studio.auth.failed import AuthFailed, said
from mcp_studio.errors import UsageError
from mcp_studio.record import record

LONGEST = 16_384
"""Characters that the query of a redirect may have."""
_READ = 8 * LONGEST
"""Characters of one that are looked through for its state."""
_ONCE = ("code", "state", "iss", "error", "error_description", "error_uri")
_ERRORS: Mapping[str, str] = {
    "access_denied": "The permission was refused, by the person or by the authorization server",
    "invalid_request": "The authorization server finds the request wrong",
    "unauthorized_client": "The authorization server does not let this client ask for a code",
    "unsupported_response_type": "The authorization server does not give out codes",
    "invalid_scope": "The authorization server does not know one of the scopes, or does not give it to this client",
    "invalid_target": "The authorization server does not give tokens for this server (RFC 8707)",
    "server_error": "The authorization server failed",
    "temporarily_unavailable": "The authorization server is overloaded or under maintenance",
    "login_required": "The authorization server wants a person to sign in",
    "consent_required": "The authorization server wants a person to agree",
    "interaction_required": "The authorization server wants to ask a person",
}

_HELP: Mapping[str, str] = {
    "invalid_scope": "The server names them in its challenge or metadata: its authorization server has to know them.",
    "invalid_target": "`resource` in the metadata of the server has to be known at its authorization server.",
    "unauthorized_client": "Whoever runs it has to allow this client the authorization code grant.",
    "temporarily_unavailable": "Try again later.",
    "server_error": "Try again later.",
}


class NotOurs(AuthFailed):
    """A redirect that belongs to no flow that waits, or to another one: to be turned away, while waiting goes on."""


@record()
class Expected:
    """What the redirect of one flow has to look like; `judge` accepts one only."""

    state: str
    issuer: str
    """The authorization server that was asked."""
    sends_issuer: bool = False
    """Whether it says that its redirects name it (RFC 9207 3)."""
    used: bool = False


def judge(query: str, expected: Expected) -> str:
    """The code that a redirect brings. `query` is what followed the `?`.

    Raises:
        NotOurs: it has nothing to do with this flow: no or another `state`, or the flow has its redirect already.
        AuthFailed: it is of this flow, and brings no code that may be used; the flow is over.
    """
    pairs = _pairs(query)
    states = [value for name, value in pairs if name == "state"]
    # Whoever knows the state has it from the authorization server: what else is wrong is a failure of that one.
    if not any(hmac.compare_digest(one.encode("utf-8", "replace"), expected.state.encode()) for one in states[:10]):
        if not pairs:
            raise NotOurs(
                "A redirect came without anything in it.",
                hint="The authorization server has to send its answer after a ?. What stands after a # stays in the "
                "browser: if it is there, paste the whole address.",
            )
        came = "another state than was sent" if any(states) else "no state"
        raise NotOurs(
            f"A redirect came with {came}: it does not belong to this sign-in.",
            hint="The authorization server has to send `state` back exactly as it got it (RFC 6749 4.1.2).",
        )
    if expected.used:
        raise NotOurs("A second redirect came for a sign-in that had its redirect already.", hint="Sign in again.")
    expected.used = True
    values = _values(query, pairs)
    _check_issuer(values.get("iss"), expected)
    if "error" in values:
        raise _refused(values)
    code = values.get("code", "")
    if not code:
        raise AuthFailed(
            "The redirect brought neither a code nor an error.",
            hint="The authorization server has to send `code` or `error` (RFC 6749 4.1.2).",
        )
    return code


def _pairs(query: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query[:_READ], keep_blank_values=True, max_num_fields=100, errors="replace")
    except ValueError:
        raise NotOurs("A redirect came with more than 100 parameters.", hint="It has a few.") from None


def _values(query: str, pairs: list[tuple[str, str]]) -> dict[str, str]:
    values = dict(pairs)
    if len(query) > LONGEST:
        raise AuthFailed(
            f"The redirect has {len(query):,} characters.",
            hint=f"The authorization server has to send a code that fits into an address of {LONGEST:,}.",
        )
    for name in _ONCE:
        if sum(found == name for found, _ in pairs) > 1:
            raise AuthFailed(
                f"The redirect has {name} more than once.",
                hint="The authorization server has to send every parameter once (RFC 6749 3.1). The code was not used.",
            )
    return values


def _check_issuer(iss: str | None, expected: Expected) -> None:
    """The four cases of the specification 2026-07-28 (basic/authorization, authorization response validation)."""
    if iss is None and expected.sends_issuer:
        raise AuthFailed(
            "The redirect does not say which authorization server it comes from, though this one says that its "
            "redirects do.",
            hint=f"It has to carry iss={expected.issuer} (RFC 9207 2), as its metadata has "
            "authorization_response_iss_parameter_supported.",
        )
    if iss is not None and iss != expected.issuer:
        raise AuthFailed(
            f"The redirect comes from the authorization server {said(iss)}; the one that was asked is "
            f"{said(expected.issuer)}.",
            hint="iss has to be exactly the issuer of its metadata (RFC 9207 2.4). The code was not used: another "
            "server may be trying to get it.",
        )


def _refused(values: Mapping[str, str]) -> AuthFailed:
    error = values["error"]
    words = _ERRORS.get(error, "The authorization server refused")
    error = error or "without an error code"
    said_so = values.get("error_description", "")
    page = values.get("error_uri", "")
    more = f"It tells more at {said(page)}." if page.startswith(("https://", "http://")) else ""
    return AuthFailed(
        f"{words} ({error[:60]})" + (f": {said(said_so)}." if said_so else "."),
        hint=f"{_HELP.get(error, '')} {more}".strip(),
        error=error[:60],
    )


def query_of(text: str, redirect_uri: str) -> str:
    """The query of a redirect that a person pasted: the whole address, or what follows the `?`.

    Raises:
        UsageError: it is neither, in words.
    """
    text = "".join(text.split()).strip("\"'<>")  # as mails and shells put around addresses
    if not text:
        raise UsageError("Nothing was pasted.", hint="Paste the address that the browser shows at the end.")
    if len(text) > LONGEST:
        raise UsageError(f"That has {len(text):,} characters.", hint="The address of a redirect is much shorter.")
    if "://" not in text.partition("?")[0]:
        query = text.rpartition("?")[2]
        if "state=" in query:
            return query
        raise UsageError(
            "That is no address of a redirect.",
            hint=f"It begins with {redirect_uri}? and holds code=… and state=….",
        )
    try:
        came, ours = urlsplit(text), urlsplit(redirect_uri)
        same = (came.scheme, came.hostname, came.port, came.path) == (ours.scheme, ours.hostname, ours.port, ours.path)
    except ValueError:
        same, came = False, urlsplit("")
    if not same and "code_challenge=" in came.query:
        raise UsageError(
            "That is the address of the page itself.",
            hint=f"Open it, sign in there, and paste the address that the browser ends at: {redirect_uri}?…",
        )
    if not same:
        raise UsageError(
            "That is not the address that the browser is sent back to.", hint=f"It begins with {redirect_uri}?…"
        )
    if not came.query and "state=" in came.fragment:
        return came.fragment
    if not came.query:
        raise UsageError("That address has no query.", hint="It holds code=… and state=… after a ?.")
    return came.query
