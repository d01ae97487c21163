"""What a server says in `WWW-Authenticate`: RFC 9110 11.6.1, RFC 6750 3, RFC 9449 7.1, RFC 9728 5.1."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

LONGEST = 16_384
"""Characters of the header that are read."""
MOST = 64
"""Challenges, and parameters of one, that are read."""

_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_SCHEME = re.compile(_TOKEN)
# Nothing is tried twice (possessive quantifiers), so that reading is linear whatever is sent. A value without quotes
# may be more than a token, and a quote may never be closed: what was meant is clear in either case.
_PARAM = re.compile(rf'({_TOKEN})[ \t]*+=[ \t]*+(?:"((?:[^"\\]|\\.)*+)"?|([^\s,"]++))', re.DOTALL)
_TOKEN68 = re.compile(r"[ \t]++([0-9A-Za-z\-._~+/]++=*+)[ \t]*+(?=,|$)")
_BETWEEN = re.compile(r"[\s,]*+")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class Challenge(NamedTuple):
    """One challenge. Everything in it is foreign."""

    scheme: str = ""
    """In lower case; empty where parameters came without one, or where there is no challenge at all."""
    params: Mapping[str, str] = {}
    """By their names in lower case; of two with one name the first."""
    token68: str = ""
    """What came in place of parameters, as in `Negotiate abc==`."""

    @staticmethod
    def parse(text: str) -> tuple[Challenge, ...]:
        """All challenges of a header, or of several whose values are joined by commas; never raises."""
        found: list[tuple[str, dict[str, str], str]] = []
        text, at = text[:LONGEST], 0
        while (at := _end(_BETWEEN, text, at)) < len(text):
            if param := _PARAM.match(text, at):
                at = param.end()
                if not found:
                    found.append(("", {}, ""))
                if len(found[-1][1]) < MOST:
                    found[-1][1].setdefault(param[1].lower(), _value(param))
            elif scheme := _SCHEME.match(text, at):
                if len(found) >= MOST:
                    break
                at = scheme.end()
                blob = _TOKEN68.match(text, at)
                at = blob.end() if blob else at
                found.append((scheme[0].lower(), {}, blob[1] if blob else ""))
            else:
                at += 1
        return tuple(Challenge(*one) for one in found)

    @staticmethod
    def find(text: str) -> Challenge:
        """The challenge that OAuth is about: `Bearer` or `DPoP`, rather one that names the resource metadata.

        Where neither came, one whose scheme is empty: with the parameters that came without a scheme.
        """
        ours = [one for one in Challenge.parse(text) if one.scheme in ("bearer", "dpop", "")]
        ranked = sorted(ours, key=lambda one: (one.scheme == "", not one.resource_metadata))
        return ranked[0] if ranked else Challenge()

    @staticmethod
    def dpop(text: str) -> Challenge:
        """The `DPoP` challenge (RFC 9449 7.1), or an empty one."""
        return next((one for one in Challenge.parse(text) if one.scheme == "dpop"), Challenge())

    @property
    def resource_metadata(self) -> str:
        """Where the protected resource metadata is (RFC 9728 5.1)."""
        return self.params.get("resource_metadata", "")

    @property
    def scope(self) -> str:
        """What the request needs, separated by spaces (RFC 6750 3)."""
        return self.params.get("scope", "")

    @property
    def error(self) -> str:
        """`invalid_token`, `insufficient_scope`, `use_dpop_nonce`, …"""
        return self.params.get("error", "")

    @property
    def error_description(self) -> str:
        """The error in the server's words."""
        return self.params.get("error_description", "")

    @property
    def algs(self) -> tuple[str, ...]:
        """The algorithms that the server takes for DPoP proofs (RFC 9449 7.1)."""
        return tuple(self.params.get("algs", "").split())


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _value(param: re.Match[str]) -> str:
    return param[3] if param[3] is not None else _ESCAPED.sub(r"\1", param[2])
