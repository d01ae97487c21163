"""The credentials of one server on its requests: from the store, renewed in time, asked for where a person can help."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from mcp_studio.auth import scopes
from mcp_studio.auth.challenge import Challenge
from mcp_studio.auth.discovery import same_origin
from mcp_studio.auth.dpop import nonce_wanted
from mcp_studio.auth.failed import said
from mcp_studio.auth.fetch import Fetcher
from mcp_studio.auth.granting import meant_for
from mcp_studio.auth.holder import Holder
from mcp_studio.auth.model import Grant
from mcp_studio.auth.renewing import expired, expiring
from mcp_studio.auth.signin import SignIn
from mcp_studio.config.alone import see_to
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import HttpAnswer, StudioError
from mcp_studio.jsontext import JsonProblem, loads, mapping
from mcp_studio.limits import Limits
from mcp_studio.transport.credentials import HeaderList, Refused
from mcp_studio.transport.http_errors import HttpSignIn
from mcp_studio.transport.tap import Headers, Tap

_NONCES = 2
"""Times that one request is sent anew with another nonce."""
_REMEMBERED = 64
_JUST = 60.0
"""Seconds for which a token is a new one, in what is said."""


class SignInRequest(NamedTuple):
    """A request that cannot go on until a person has signed in."""

    server: str
    reason: str
    """What the server said to it, in a sentence; quotes foreign text."""
    scopes: tuple[str, ...]
    """All that would be asked for: what there is already and what is missing."""
    challenge: str
    """The `WWW-Authenticate` header."""
    sign_in: Callable[..., SignIn]
    """Makes the sign-in, not started; takes `step_by_step=True`."""


Ask = Callable[[SignInRequest], Awaitable[bool]]
"""True: somebody has signed in, send the request again. False: declined, or nobody was there."""


class Access:
    """Implements `transport.credentials.Credentials` for one connection."""

    def __init__(
        self,
        config: ServerConfig,
        holder: Holder,
        limits: Limits,
        tap: Tap,
        ask: Ask | None,
        *,
        fetchers: Callable[[], Fetcher],
        sign_ins: Callable[[Sequence[str], str, bool], SignIn],
    ) -> None:
        """Made by `Accounts`. `sign_ins` makes a sign-in for scopes and a challenge, step by step or not."""
        self._config = config
        self._holder = holder
        self._limits = limits
        self._tap = tap
        self._ask = ask
        self._fetchers = fetchers
        self._sign_ins = sign_ins
        self._place = urlsplit(config.url).netloc.rpartition("@")[2]
        self._renewed: dict[str, None] = {}
        self._given: dict[str, None] = {}
        self._wanted: set[str] = set()
        holder.note = tap.note

    @property
    def present(self) -> bool:
        """Whether there is a token to send."""
        return self._holder.known

    async def lines(self, method: str, url: str) -> HeaderList:
        """See `Credentials.lines`: nothing for another origin than the server's own."""
        if not same_origin(url, self._config.url):
            return []
        grant = await self._holder.current()
        if grant is None:
            return []
        if expiring(grant) and self._holder.renewable(grant):
            grant = await self._in_time(grant)
        proofs = await self._holder.proofs(grant)
        if proofs is None:
            return [("Authorization", f"Bearer {grant.access_token}")]
        proof = proofs.proof(method, url, grant.access_token)
        return [("Authorization", f"DPoP {grant.access_token}"), ("DPoP", proof)]

    async def _in_time(self, grant: Grant) -> Grant:
        """Renewed before it expires. Where that takes a person, the server is left to say what it wants."""
        try:
            return await self._renew(grant.access_token) or grant
        except StudioError as problem:
            if expired(grant):
                raise
            self._tap.note(f"The token expires soon, and could not be renewed: {problem.message}")
            return grant

    async def _renew(self, sent: str) -> Grant | None:
        return await self._holder.renew(self._config, self._fetchers, sent)

    def seen(self, url: str, headers: Headers) -> None:
        """See `Credentials.seen`."""
        if same_origin(url, self._config.url):
            self._holder.seen(url, headers)

    async def refused(self, refused: Refused) -> bool:
        """See `Credentials.refused`."""
        if not same_origin(refused.url, self._config.url):
            return False
        sent = _token(refused.sent)
        header = refused.header("www-authenticate")
        if sent and nonce_wanted(refused.status, _error(refused.body), header) and refused.tries <= _NONCES:
            return bool(refused.header("dpop-nonce"))
        if refused.status == 401 and _about_tokens(header):
            return await self._unauthorized(refused, sent, header)
        if refused.status == 403 and Challenge.find(header).error == "insufficient_scope":
            return await self._forbidden(refused, sent, header)
        return False

    async def _unauthorized(self, refused: Refused, sent: str, header: str) -> bool:
        grant = await self._holder.current()
        if grant is not None and grant.access_token != sent:
            return True
        again = refused.tries > 1
        if again and sent in self._given:
            raise self._needed(refused, header, self._not_accepted(sent, header))
        if sent and not (again and sent in self._renewed):
            # Asked of the vault too: another process may have a newer one, which is renewed if it is refused as well.
            began = time.time()
            found = await self._renew(sent)
            if found is not None and found.access_token != sent:
                if found.obtained >= began:
                    _remember(self._renewed, found.access_token)
                return True
        old = grant.scopes if grant is not None else ()
        wanted = scopes.union(old, Challenge.find(header).scope) if old else ()
        return await self._anew(refused, sent, header, wanted, self._wanting(sent, header))

    async def _forbidden(self, refused: Refused, sent: str, header: str) -> bool:
        """A token that is good, and not for this (RFC 6750 3.1): the union of what it has and what is missing."""
        grant = await self._holder.current()
        if grant is not None and grant.access_token != sent:
            return True
        wanted = scopes.parse(Challenge.find(header).scope)
        missing = scopes.missing(grant.scopes if grant else (), wanted)
        named = f"the scope{'s' if len(missing or wanted) > 1 else ''} {scopes.brief(missing or wanted)}"
        if not wanted:
            return False
        if not missing:
            raise self._needed(refused, header, f"{self._place} wants {named} for this, which the token already has.")
        if refused.tries > 1 and self._wanted.issuperset(missing):
            told = f"{self._place} wants {named} for this; that was asked for, and not granted."
            raise self._needed(refused, header, told)
        if refused.tries > self._limits.step_ups:
            told = f"{self._place} has asked for further scopes {self._limits.step_ups} times for one request."
            raise self._needed(refused, header, told)
        self._wanted.update(missing)
        old = grant.scopes if grant else ()
        return await self._anew(
            refused, sent, header, scopes.union(old, wanted), f"{self._place} wants {named} for this."
        )

    async def _anew(self, refused: Refused, sent: str, header: str, wanted: tuple[str, ...], reason: str) -> bool:
        """Another token by signing in, without a person where the configuration says how."""
        if self._config.auth.alone:
            asked = f"{sent} for {scopes.text(wanted)}"
            await self._holder.together(asked, lambda: self._alone(sent, wanted, header))
        else:

            def begin(step_by_step: bool = False) -> SignIn:
                return self._sign_ins(wanted, header, step_by_step)

            request = SignInRequest(self._config.name, reason, wanted, header, begin)
            if self._ask is None or not await self._ask(request):
                raise self._needed(refused, header, reason)
        grant = await self._holder.current()
        if grant is None or grant.access_token == sent:
            raise self._needed(refused, header, reason)
        _remember(self._given, grant.access_token)
        return True

    async def _alone(self, sent: str, wanted: tuple[str, ...], header: str) -> None:
        async with self._holder.turn:
            if self._holder.grant is not None and self._holder.grant.access_token != sent:
                return
            run = self._sign_ins(wanted, header, False)
            await run.run()
            if run.error is not None:
                raise run.error

    def _needed(self, refused: Refused, header: str, message: str) -> HttpSignIn:
        alone = self._config.auth.alone
        error = HttpSignIn(
            message,
            hint=see_to(self._config) if alone else f"Sign in: mcp-studio auth login {self._config.name}",
            http=HttpAnswer(refused.status, "", tuple(refused.headers), refused.body),
            challenge=header,
        )
        error.by_login = not alone
        return error

    def _wanting(self, sent: str, header: str) -> str:
        """A 401 in a sentence."""
        if not sent:
            return f"{self._place} wants you to sign in."
        grant = self._holder.grant
        if grant is not None and grant.access_token == sent and time.time() - grant.obtained < _JUST:
            return self._not_accepted(sent, header)
        return f"{self._place} does not accept the sign-in any more{_why(header)}"

    def _not_accepted(self, sent: str, header: str) -> str:
        """It was got a moment ago: asking for another one would not end."""
        grant = self._holder.grant
        words = [f"{self._place} does not accept the token that it was just given"]
        if grant is not None and (other := meant_for(sent, grant.audience)):
            words.append(f", which is meant for {other} and not for {said(grant.audience)}")
        return "".join((*words, _why(header)))


def _remember(known: dict[str, None], token: str) -> None:
    known[token] = None
    if len(known) > _REMEMBERED:
        del known[next(iter(known))]


def _token(sent: Headers) -> str:
    return next((value.partition(" ")[2] for name, value in sent if name.lower() == "authorization"), "")


def _why(header: str) -> str:
    """The end of a sentence: the error of a challenge in the server's words."""
    found = Challenge.find(header)
    words = [found.error[:80]] if found.error else []
    words += [said(found.error_description)] if found.error_description else []
    ends = words[-1].endswith(('."', '!"', '?"')) if words else False  # a quoted sentence has its full stop
    return f": {', '.join(words)}{'' if ends else '.'}" if words else "."


def _about_tokens(header: str) -> bool:
    """Whether a challenge can be met by signing in; also where there is none at all (2025-03-26)."""
    schemes = {one.scheme for one in Challenge.parse(header)}
    return not schemes or bool(schemes & {"bearer", "dpop", ""})


def _error(body: str) -> str:
    try:
        found = mapping(loads(body, most=8)).get("error")
    except JsonProblem:
        return ""
    return found if isinstance(found, str) else ""
