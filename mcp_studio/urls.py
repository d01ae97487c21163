"""Pages that a server asks the person to open: which may be opened at all, and what the person must see before.

Specification 2025-11-25, client/elicitation, URL mode: never prefetched, never opened without consent; the person sees
the whole address with the host emphasized, internationalized names in both forms. Addresses that browsers read in
another way than they look (escaped hosts, unusual numbers, letters that look like slashes) are refused.
"""

import re
import unicodedata
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import NamedTuple

_LONGEST = 8_192
_NAME, _LABEL, _LONG = 253, 63, 60
"""Longest host and label in characters (RFC 1035), and the length from which on a person is warned."""
_DOTS = str.maketrans({"\u3002": ".", "\uff0e": ".", "\uff61": "."})
# Patterns as texts: they are compiled for the first address, not at every start.
_HOST = r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?\Z"
_NUMBER = r"(?:[0-9]+|0x[0-9a-f]*)\.?\Z"
_BRACKETS = r"\[[^\]]*\](?::[0-9]*)?\Z"
_LIKE_SIGNS = frozenset("\u01c3\u02d0\u02d1")
"""Letters that look like punctuation: ǃ ː ˑ."""
_TOGETHER = (frozenset(("CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA")), frozenset(("CJK", "HANGUL")))
"""Scripts that one word may combine."""


class Page(NamedTuple):
    """The facts about an address before anybody opens it."""

    url: str
    """The address as the server sent it."""
    host: str
    """The host as people read it."""
    ascii_host: str
    """The host as the network knows it; differs from `host` for internationalized names."""
    refusal: str
    """Why the address must not be opened, or an empty string."""
    warnings: tuple[str, ...] = ()
    """What a person should know about the host and the address."""
    local: bool = False
    """Whether the host is this machine: 127.0.0.0/8, ::1, `localhost` and names below it (RFC 6761 6.3)."""


def judge(url: str) -> Page:
    """Judge an address: only https may be opened, or http on this machine."""
    from urllib.parse import urlsplit

    if len(url) > _LONGEST:
        return Page(url, "", "", f"The address is longer than {_LONGEST:,} characters.")
    if any(character.isspace() or unicodedata.category(character)[0] == "C" for character in url) or "\\" in url:
        return Page(url, "", "", "The address has blanks, control characters or backslashes in it.")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return Page(url, "", "", "This is no address that can be read.")
    shown, network = _both_forms(host)
    if not network:
        return Page(url, host, host, "The address names no host that can be reached.")
    address, name = _address(network), network.rstrip(".")
    local = name == "localhost" or name.endswith(".localhost") or (address is not None and address.is_loopback)
    refusal = ""
    if parts.scheme not in ("https", "http"):
        refusal = f"Only https pages are opened, and this is {parts.scheme or 'no'} one."
    elif parts.username is not None or parts.password is not None:
        refusal = "The address carries a user name before its host, which makes it look like another one."
    elif wrong := _wrong_host(shown, network, parts.netloc):
        refusal, local = wrong, False
    elif parts.scheme == "http" and not local:
        refusal = "Only https pages are opened; http is read and changed by anybody on the way."
    return Page(url, shown, network, refusal, _warnings(shown, network, port, local), local)


def _wrong_host(shown: str, network: str, netloc: str) -> str:
    """Why a person cannot trust that the host is what it looks like; empty where there is no reason."""
    if "[" in netloc:
        whole = re.match(_BRACKETS, netloc) and ":" in network and "%" not in network and _address(network)
        return "" if whole else "The host is no address of the network that browsers agree on."
    if "%" in network:
        return "The name of the host is escaped with %, which hides what it is."
    if not re.match(_HOST, network) or any(len(label) > _LABEL for label in network.split(".")) or len(network) > _NAME:
        return "The name of the host is none that the network knows."
    if re.match(_NUMBER, network.rstrip(".").rpartition(".")[2]) and not (_address(network) and shown == network):
        return "The host is a number in a spelling that hides which one it is."
    if _LIKE_SIGNS.intersection(shown):
        return "The name of the host has letters in it that look like parts of an address."
    return ""


def _warnings(shown: str, network: str, port: int | None, local: bool) -> tuple[str, ...]:
    found: list[str] = []
    if shown != network:
        found.append("The name of the host has other letters than a-z; look at both forms.")
    elif "xn--" in network:
        found.append("The name of the host stands for other letters than a-z, which cannot be shown.")
    if any(_mixed(label) for label in shown.split(".")):
        found.append("The name of the host mixes letters of several scripts, as forged names do.")
    if len(shown) > _LONG:
        found.append("The name of the host is very long; where it leads stands at its end.")
    address = _address(network)
    if local:
        found.append("The page is on this machine.")
    elif address is not None:
        found.append(f"The host is a bare address{'' if address.is_global else ', and one of a private network'}.")
    if port not in (None, 80, 443) and not local:
        found.append(f"It uses the unusual port {port}.")
    return tuple(found)


def _both_forms(host: str) -> tuple[str, str]:
    """The host for people and for the network; the second is empty if the name is invalid."""
    host = network = host.translate(_DOTS).lower()
    if host.isascii() and "xn--" not in host:
        return host, network
    import idna

    try:
        if not host.isascii():
            network = idna.encode(host, uts46=True).decode("ascii")
        return (idna.decode(network) if "xn--" in network else host), network
    except UnicodeError:
        return host, host if host.isascii() else ""


def _address(host: str) -> IPv4Address | IPv6Address | None:
    """The IP address that a host is, or None; an IPv4 address mapped into IPv6 counts as the IPv4 address."""
    try:
        found = ip_address(host)
    except ValueError:
        return None
    return found.ipv4_mapped or found if isinstance(found, IPv6Address) else found


def _mixed(label: str) -> bool:
    # The first word of a letter's name is its script.
    scripts = {unicodedata.name(letter, "?").split()[0] for letter in label if letter.isalpha()}
    return len(scripts) > 1 and not any(scripts <= known for known in _TOGETHER)
