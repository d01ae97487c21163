"""Pages that servers ask to open: what may be opened at all, and what a person has to see before.

Specification 2025-11-25, client/elicitation, URL mode: never prefetched, never opened without consent, the whole
address shown, the host made to stand out, internationalized names in both forms.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

_LONGEST = 8_192
_DOTS = str.maketrans({"\u3002": ".", "\uff0e": ".", "\uff61": "."})


class Page(NamedTuple):
    """What is known of an address before anybody goes there."""

    url: str
    """The address as it came."""
    host: str
    """Where it leads, as it is shown to people."""
    ascii_host: str
    """The same as the network knows it; differs from `host` for internationalized names."""
    refusal: str
    """Why it must not be opened, or an empty string."""
    warnings: tuple[str, ...]
    """What a person should know of the host and the address."""


def judge(url: str) -> Page:
    """What to say of an address, and whether it may be opened: https, or http on this machine, and nothing else."""
    from urllib.parse import urlsplit

    if len(url) > _LONGEST:
        return Page(url, "", "", f"The address is longer than {_LONGEST:,} characters.", ())
    if any(character.isspace() or unicodedata.category(character)[0] == "C" for character in url) or "\\" in url:
        return Page(url, "", "", "The address has blanks, control characters or backslashes in it.", ())
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return Page(url, "", "", "This is no address that can be read.", ())
    shown, network = _both_forms(host)
    if not network:
        return Page(url, host, host, "The address names no host that can be reached.", ())
    local = network in ("localhost", "::1") or network.endswith(".localhost") or _loopback(network)
    refusal = ""
    if parts.scheme not in ("https", "http"):
        refusal = f"Only https pages are opened, and this is {parts.scheme or 'no'} one."
    elif parts.scheme == "http" and not local:
        refusal = "Only https pages are opened; http is read and changed by anybody on the way."
    elif parts.username is not None or parts.password is not None:
        refusal = "The address carries a user name before its host, which makes it look like another one."
    return Page(url, shown, network, refusal, _warnings(shown, network, port, local))


def _warnings(shown: str, network: str, port: int | None, local: bool) -> tuple[str, ...]:
    found: list[str] = []
    if shown != network:
        found.append("The name of the host has other letters than a-z; look at both forms.")
    if any(len(_scripts(label)) > 1 for label in shown.split(".")):
        found.append("The name of the host mixes letters of several scripts, as forged names do.")
    if local:
        found.append("The page is on this machine.")
    elif _numeric(network):
        found.append("The host is a bare address, not a name.")
    if port not in (None, 80, 443) and not local:
        found.append(f"It uses the unusual port {port}.")
    return tuple(found)


def _both_forms(host: str) -> tuple[str, str]:
    """The host for people and for the network; the second is empty where there is none."""
    host = host.translate(_DOTS).lower()
    if not host or _numeric(host) or ":" in host:
        return host, host
    try:
        network = host.encode("idna").decode("ascii") if not host.isascii() else host
        shown = network.encode("ascii").decode("idna") if "xn--" in network else host
    except UnicodeError:
        return host, "" if not host.isascii() else host
    return shown, network


def _numeric(host: str) -> bool:
    from ipaddress import ip_address

    try:
        ip_address(host)
    except ValueError:
        return host.replace(".", "").isdigit()
    return True


def _loopback(host: str) -> bool:
    from ipaddress import ip_address

    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _scripts(label: str) -> set[str]:
    """The scripts of its letters, by the first word of their names."""
    return {unicodedata.name(letter, "?").split()[0] for letter in label if letter.isalpha()}
