"""Which authorization server a client belongs to: a configured one to that where it was used first.

It outlives the tokens and the process: a server that names another one later does not get a secret sent there.
"""

from __future__ import annotations

from pathlib import Path

from mcp_studio.atomic import write_atomically
from mcp_studio.jsontext import Json, JsonProblem, items_of, loads, mapping, pretty

FILE = "authorization-servers.json"
_LARGEST = 1024 * 1024
_MOST = 1_000
_KEYS = ("resource", "account", "client_id")
Key = tuple[str, str, str]
"""Resource, account and client id."""


class Trusted:
    """What the file says, read anew each time: it is asked once for each sign-in. It has no secrets."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._here: dict[Key, str] = {}
        """What could not be written holds for this process."""

    def issuer(self, key: Key) -> str:
        """The authorization server that got this client's credentials before; empty where none did."""
        return self._here.get(key) or self._read().get(key, "")

    def put(self, key: Key, issuer: str) -> None:
        """Remember one; a state folder that cannot be written is no obstacle to signing in."""
        if self.issuer(key) == issuer:
            return
        self._here[key] = issuer
        known = self._read()
        known.pop(key, None)
        self._write({**known, key: issuer})

    def issuers(self, resource: str, account: str) -> set[str]:
        """The authorization servers that the clients of a server belong to."""
        return {issuer for key, issuer in {**self._read(), **self._here}.items() if key[:2] == (resource, account)}

    def forget(self, resource: str, account: str) -> None:
        """Forget what the clients of a server were used at."""
        self._here = {key: issuer for key, issuer in self._here.items() if key[:2] != (resource, account)}
        known = self._read()
        left = {key: issuer for key, issuer in known.items() if key[:2] != (resource, account)}
        if left != known:
            self._write(left)

    def _read(self) -> dict[Key, str]:
        try:
            data = self._file.read_bytes() if self._file.stat().st_size <= _LARGEST else b""
            entries = [mapping(one) for one in items_of(mapping(loads(data, most=8)).get("servers"))]
        except (OSError, JsonProblem):
            return {}
        known: dict[Key, str] = {}
        for one in entries[-_MOST:]:
            resource, account, client_id, issuer = (
                text if isinstance(text := one.get(name), str) else "" for name in (*_KEYS, "issuer")
            )
            known[resource, account, client_id] = issuer
        return known

    def _write(self, known: dict[Key, str]) -> None:
        kept = list(known.items())[-_MOST:]
        servers: list[Json] = [dict(zip((*_KEYS, "issuer"), (*key, issuer), strict=True)) for key, issuer in kept]
        try:
            write_atomically(self._file, pretty({"version": 1, "servers": servers}).encode() + b"\n")
        except OSError:
            return
