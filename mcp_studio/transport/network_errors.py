"""What can go wrong below HTTP, in words: names, connections, TLS, and answers that break off."""

from __future__ import annotations

import errno
import re
import socket
import ssl
from collections.abc import Iterator

from mcp_studio.transport.http_errors import EXCERPT, HttpBroken, HttpDown, HttpFailure, HttpLost, HttpUnreachable
from mcp_studio.transport.tls_errors import tls_failure

_CUT = ("without sending complete message", "incomplete chunked", "unexpectedly closed")
_BYTES = re.compile(r"""bytearray\(b(['"].*['"])\)""")
_CRASHED = "The server, or what stands before it, may have crashed or been restarted: its log says."
_NO_WAY = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN)


def network_failure(problem: BaseException, place: str, *, under_way: bool, proxy: str = "") -> HttpFailure:
    """Put a network error into words.

    Args:
        place: host and port of whom it happened with.
        under_way: whether the request had been sent.
        proxy: the variable that names the proxy, where `place` is one or the way leads through it.
    """
    chain = tuple(_chain(problem))
    names = {type(link).__name__ for link in chain}
    if "LocalProtocolError" in names:
        return HttpFailure(f"The request to {place} cannot be put into HTTP: {_reason(chain)}.")
    for link in chain:
        if isinstance(link, ssl.SSLError) and (failure := tls_failure(link, place, under_way=under_way)):
            return failure
    if "ProxyError" in names:
        return refused_by_proxy(_reason(chain), place, proxy)
    return _lost(chain, names, place) if under_way else _unmade(chain, place, proxy)


def no_such_host(name: str, problem: Exception | None = None, proxy: str = "") -> HttpDown:
    """The name of the server, or of the proxy to it, means nothing."""
    whose = f", which {proxy} names," if proxy else ""
    if isinstance(problem, socket.gaierror) and problem.errno == socket.EAI_AGAIN:
        return HttpDown(
            f"The host name {name}{whose} cannot be looked up now: no name server answers.", hint="Check the network."
        )
    return HttpDown(f"The host name {name}{whose} does not resolve.", hint="Check the spelling and the network.")


def refused_by_proxy(said: str, place: str, proxy: str) -> HttpUnreachable:
    """The proxy does not make a connection to the server; `said` begins with its status."""
    named = f" ({proxy})" if proxy else ""
    if said.startswith("407"):
        return HttpUnreachable(
            f"The proxy{named} wants credentials before it leads to {place}: {said}.",
            hint=f"They go into its address: {proxy or 'HTTPS_PROXY'}=http://USER:PASSWORD@HOST:PORT",
        )
    return HttpUnreachable(
        f"The proxy{named} does not lead to {place}: {said}.", hint="Put the host into NO_PROXY to go there directly."
    )


def _unmade(chain: tuple[BaseException, ...], place: str, proxy: str) -> HttpFailure:
    """No connection came about."""
    where = f"the proxy {place} that {proxy} names" if proxy else place
    for link in chain:
        if isinstance(link, socket.gaierror | UnicodeError):
            return no_such_host(place, link, proxy)
        if isinstance(link, ConnectionRefusedError):
            hint = "Is the server running, and is the port right?" if not proxy else f"Is {proxy} right?"
            return HttpDown(f"Nothing answers at {where}: the connection was refused.", hint=hint)
        if isinstance(link, ConnectionResetError | BrokenPipeError):
            return HttpDown(
                f"{where} reset the connection while it was being made.",
                hint="Something in between may forbid it, or this port expects something else than HTTP.",
            )
        if isinstance(link, OSError) and link.errno in _NO_WAY:
            return HttpDown(f"There is no way to {where}: {_reason(chain)}.", hint="Check the network, or VPN.")
    return HttpDown(f"No connection to {where}: {_reason(chain)}.", hint="Is the server running?")


def _lost(chain: tuple[BaseException, ...], names: set[str], place: str) -> HttpFailure:
    """The request had been sent; what came back is not an answer."""
    text = " ".join(str(link) for link in chain)
    if "WriteTimeout" in names:
        return HttpLost(f"{place} does not read what is sent to it.")
    if "without sending a response" in text:
        return HttpLost(
            f"{place} closed the connection without an answer of HTTP.",
            hint=f"{_CRASHED} Or this port speaks something else than HTTP/1.1, such as HTTP/2 alone.",
        )
    if any(words in text for words in _CUT):
        return HttpLost(f"{place} closed the connection in the middle of its answer.", hint=_CRASHED)
    if "RemoteProtocolError" in names:
        return _broken(text, _reason(chain[:1]), place)
    if any(isinstance(link, ConnectionResetError | BrokenPipeError) for link in chain):
        return HttpLost(f"{place} reset the connection before its answer was complete.", hint=_CRASHED)
    return HttpLost(f"The connection to {place} ended before its answer was complete: {_reason(chain)}.")


def _broken(text: str, reason: str, place: str) -> HttpFailure:
    """An answer that is none; the libraries below name their own parts rather than what came."""
    hint = ""
    if "\\x15\\x03" in text:
        hint = "Does this port want https:// instead?"
    elif "illegal request line" in text:
        reason = "it does not begin with a status line"
        hint = "Does this port want https:// instead, or speak HTTP/2 alone, or something else than HTTP?"
    elif "bytearray(b'HTTP/2" in text or "bytearray(b'PRI * HTTP/2" in text:
        hint = "HTTP/2 begins with a handshake; without one HTTP/1.1 is spoken here."
    elif "_SWITCH_" in text:
        reason = "it switches to another protocol, which nobody asked for"
    elif "status_code" in text:
        reason = "its status is no number from 100 to 999"
    elif "buffer too long" in text:
        reason = "its headers, trailers or chunk lines are too long"
    reason = _BYTES.sub(r"\1", reason)
    return HttpBroken(f"What {place} answered is not HTTP: {reason}.", hint=hint)


def _chain(problem: BaseException) -> Iterator[BaseException]:
    """The error and all that caused it, innermost last; groups are opened."""
    seen: set[int] = set()
    queue = [problem]
    while queue:
        link = queue.pop(0)
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        if isinstance(link, BaseExceptionGroup):
            queue.extend(link.exceptions)
        queue.extend(cause for cause in (link.__cause__, link.__context__) if cause is not None)


def _reason(chain: tuple[BaseException, ...]) -> str:
    for link in reversed(chain):
        text = link.strerror if isinstance(link, OSError) and link.strerror else str(link)
        if text:
            return text[:EXCERPT].rstrip(".")
    return type(chain[0]).__name__
