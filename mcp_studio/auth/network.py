"""Where requests of signing in may go at all: schemes, hosts, and the address that a connection really has.

An MCP server names the authorization server, and this one its endpoints: without bounds either could make us send
requests into networks that only this machine reaches. Names are checked when they resolve, and once more on each
connected socket before anything is sent: a name that changes its mind in between (DNS rebinding) gains nothing.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Literal
from urllib.parse import urlsplit

from mcp_studio.auth.failed import AuthFailed
from mcp_studio.urls import judge

Reach = Literal["loopback", "private", "public"]
"""Where an MCP server is, and with that how near an authorization server of it may be."""
_WHERE: dict[Reach, str] = {"loopback": "on this machine", "private": "in a private network", "public": "public"}
_NAT64 = IPv6Network("64:ff9b::/96")


def reach_of(addresses: list[str]) -> Reach:
    """Where a host with these addresses is; `public` where nothing is known of it, the strictest."""
    found = [ip_address(one.partition("%")[0]) for one in addresses]
    if found and all(_embedded(one).is_loopback for one in found):
        return "loopback"
    return "private" if found and not any(_is_global(one) for one in found) else "public"


def on_this_machine(host: str) -> bool:
    """Whether a host as written means this machine, whatever names resolve to."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def check_url(url: str, what: str, reach: Reach, *, plain: bool = False) -> None:
    """Whether a request may be sent to an address, by its looks.

    Args:
        what: what the request is for, for the sentence.
        plain: whether http is allowed to this machine, as the MCP server is on it by its very address.

    Raises:
        AuthFailed: it is no https address, or one that hides where it leads.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        raise AuthFailed(
            f"Nothing can be sent for this ({what}): the address cannot be read.", hint="It should be an https:// URL."
        ) from None
    said = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"[:300]  # in the rest may be secrets
    if plain and parts.scheme == "http" and on_this_machine(host):
        pass
    elif parts.scheme != "https":
        local = " (http:// only where both are on this machine)" if parts.scheme == "http" else ""
        raise AuthFailed(
            f"Nothing is sent to {said} ({what}): it is not https.",
            hint=f"Authorization servers have to be reached over https://{local}.",
        )
    if page := judge(url).refusal:
        raise AuthFailed(f"Nothing is sent to {said} ({what}). {page}")
    with suppress(ValueError):
        check_address(str(ip_address(host)), host, what, reach)


def check_address(address: str, host: str, what: str, reach: Reach) -> None:
    """Whether an address may be connected to.

    Raises:
        AuthFailed: it is nearer to us than the MCP server.
    """
    found = ip_address(address.partition("%")[0])
    near = _embedded(found)
    # Where the machines of clouds tell their secrets there is no authorization server, however near the MCP server is.
    if _is_global(found) or (reach == "loopback" and not near.is_link_local):
        return
    elsewhere = near.is_loopback or near.is_link_local or near.is_unspecified or near.is_multicast
    if reach == "private" and not elsewhere:
        return
    kind = "of this machine" if near.is_loopback or near.is_unspecified else "of a private network"
    raise AuthFailed(
        f"{host} ({what}) has the address {address}, one {kind}; nothing was sent there, "
        f"because the MCP server itself is {_WHERE[reach]}.",
        hint="An MCP server should name an authorization server that everybody reaches who reaches the server.",
    )


async def resolve(host: str) -> list[str]:
    """The addresses of a host; looked up in a thread that nobody waits for when the program ends.

    Raises:
        OSError, UnicodeError: it has none.
    """
    loop = asyncio.get_running_loop()
    found: asyncio.Future[list[str] | Exception] = loop.create_future()

    def tell(result: list[str] | Exception) -> None:
        if not found.done():
            found.set_result(result)

    def look() -> None:
        result: list[str] | Exception
        try:
            infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
            result = list(dict.fromkeys(str(info[4][0]) for info in infos))
        except (OSError, UnicodeError) as problem:
            result = problem
        with suppress(RuntimeError):  # The loop may have ended meanwhile.
            loop.call_soon_threadsafe(tell, result)

    threading.Thread(target=look, name=f"look up {host}", daemon=True).start()
    result = await found
    if isinstance(result, Exception):
        raise result
    return result


def _is_global(address: IPv4Address | IPv6Address) -> bool:
    inner = _embedded(address)
    return inner.is_global and not inner.is_multicast


def _embedded(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The IPv4 address that an IPv6 one leads to (mapped, 6to4, Teredo, NAT64), or the address itself."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else address)
