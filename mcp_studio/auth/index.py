"""`state/sign-ins.json`: which sign-ins and clients there are, without secrets: the vault need not be asked."""

from __future__ import annotations

from pathlib import Path

from mcp_studio.atomic import write_atomically
from mcp_studio.auth.model import Account, Grant
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, JsonProblem, items_of, loads, mapping, pretty

VERSION = 1
_LARGEST = 4 * 1024 * 1024
_MOST = 2_000


class Index:
    """What the file says; `load` before use, `save` after a change, both under a lock of the caller."""

    def __init__(self, file: Path | None) -> None:
        """Without a file it is kept in memory."""
        self._file = file
        self._stamp: tuple[int, int, int] | None = None
        self.grants: dict[tuple[str, str], dict[str, Json]] = {}
        """By resource and account."""
        self.clients: set[tuple[str, str]] = set()
        """Issuer and account."""
        self.problem = ""
        """Why the file cannot be used, in a sentence."""
        self._newer = False

    def load(self) -> Index:
        """Read the file anew if it has changed."""
        if self._file is None:
            return self
        try:
            stat = self._file.stat()
            stamp = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
            if stamp == self._stamp:
                return self
            data = self._file.read_bytes() if stat.st_size <= _LARGEST else b""
        except OSError:
            stamp, data = None, b"{}"
        self._stamp = stamp
        self._read(data)
        return self

    def _read(self, data: bytes) -> None:
        self.problem, self._newer = "", False
        try:
            raw = mapping(loads(data, most=16))
        except JsonProblem:
            raw = {}
            self.problem = f"{self._file} cannot be read; sign-ins have to be made anew."
        if isinstance(raw.get("version"), int) and raw["version"] > VERSION:
            raw, self._newer = {}, True
            self.problem = f"{self._file} was written by a newer mcp-studio; its sign-ins are not used."
        entries = [mapping(one) for one in items_of(raw.get("sign_ins"))[:_MOST]]
        self.grants = {(one["resource"], one["account"]): one for one in entries if _named(one, "resource", "account")}
        named = [mapping(one) for one in items_of(raw.get("clients"))[:_MOST]]
        self.clients = {(one["issuer"], one["account"]) for one in named if _named(one, "issuer", "account")}

    def writable(self) -> Index:
        """Itself, where the file may be written.

        Raises:
            StudioError: a newer version has, which knows more of it.
        """
        if self._newer:
            raise StudioError(self.problem, hint="Use the newer one, or move that file away and sign in anew.")
        return self

    def save(self) -> None:
        """Write the file.

        Raises:
            OSError: it cannot be written.
        """
        if self._file is None:
            return
        clients = [{"issuer": issuer, "account": account} for issuer, account in sorted(self.clients)]
        raw = {"version": VERSION, "sign_ins": [self.grants[key] for key in sorted(self.grants)], "clients": clients}
        write_atomically(self._file, pretty(raw).encode() + b"\n")
        stat = self._file.stat()
        self._stamp = (stat.st_mtime_ns, stat.st_size, stat.st_ino)

    def put(self, grant: Grant, server: str, kept: str) -> None:
        """Note a grant."""
        self.grants[grant.resource, grant.account] = {
            "server": server,
            "resource": grant.resource,
            "account": grant.account,
            "issuer": grant.issuer,
            "scopes": list(grant.scopes),
            "obtained": grant.obtained,
            "expires": grant.expires,
            "refreshable": bool(grant.refresh_token),
            "kept": kept,
            "client_id": grant.client.client_id,
            "client_how": grant.client.how,
            "token_type": grant.token_type,
            "revocable": bool(grant.revocation_endpoint),
        }

    def accounts(self) -> list[Account]:
        """All sign-ins, as far as they can be told without their secrets."""
        return [_account(one) for _, one in sorted(dict(self.grants).items())]


def _named(one: dict[str, Json], *names: str) -> bool:
    return all(isinstance(one.get(name), str) for name in names)


def _account(one: dict[str, Json]) -> Account:
    def text(name: str) -> str:
        value = one.get(name)
        return value if isinstance(value, str) else ""

    def number(name: str) -> float:
        value = one.get(name)
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0

    return Account(
        server=text("server"),
        resource=text("resource"),
        account=text("account"),
        issuer=text("issuer"),
        scopes=tuple(scope for scope in items_of(one.get("scopes")) if isinstance(scope, str)),
        obtained=number("obtained"),
        expires=number("expires"),
        refreshable=one.get("refreshable") is True,
        kept=text("kept"),
        client_id=text("client_id"),
        client_how=text("client_how"),
        token_type=text("token_type"),
        revocable=one.get("revocable") is True,
        claims={},
        id_claims={},
    )
