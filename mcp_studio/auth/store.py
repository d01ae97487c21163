"""The store of sign-ins: secrets are in the vault, everything else in `state/sign-ins.json`.

A server without an entry in that file is connected to without opening the vault, so that no keyring asks for its
password for a server that has no sign-in.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import asdict, field
from pathlib import Path
from typing import Any, Literal

from mcp_studio.auth.model import Account, Client, Damaged, Grant, Pending, Stored, decode, encode, from_json, secrets
from mcp_studio.errors import ConfigError, LockHeld, StudioError
from mcp_studio.jsontext import Json, JsonProblem, items_of, loads, mapping
from mcp_studio.paths import read_object, write_object
from mcp_studio.record import record
from mcp_studio.threads import beside
from mcp_studio.vault.base import Vault, change_object, file_lock

VERSION = 1
FILE = "sign-ins.json"
PATIENCE = 60.0
"""Seconds to wait for another process that renews: longer than a few requests take."""
_PROBE = "tried"
"""A name in the vault that nothing else uses."""
Key = tuple[str, str]


@record()
class Entries:
    """The content of the file of sign-ins."""

    grants: dict[Key, Account] = field(default_factory=dict[Key, Account])
    """The accounts by resource and account name."""
    clients: dict[Key, None] = field(default_factory=dict[Key, None])
    """The issuers and account names of our clients."""
    problem: str = ""
    """Why the file cannot be used, as a sentence."""
    newer: bool = False
    """Whether a newer version has written the file, whose content we do not fully know."""

    def of(self, kind: Literal["grant", "client"]) -> dict[Key, Any]:
        """The entries of one kind."""
        return self.grants if kind == "grant" else self.clients


def _read_entries(file: Path) -> Entries:
    try:
        raw = mapping(loads(file.read_bytes(), most=16))
    except OSError:
        return Entries()
    except JsonProblem:
        return Entries(problem=f"{file} cannot be read; sign-ins have to be made again.")
    version = raw.get("version")
    if isinstance(version, int) and version > VERSION:
        return Entries(problem=f"{file} was written by a newer mcp-studio; its sign-ins are not used.", newer=True)
    entries = Entries()
    for one in items_of(raw.get("sign_ins")):
        with suppress(Damaged):
            account = from_json(Account, mapping(one))
            entries.grants[account.resource, account.account] = account
    for one in map(mapping, items_of(raw.get("clients"))):
        entries.clients[str(one.get("issuer")), str(one.get("account"))] = None
    return entries


def _write_entries(file: Path, entries: Entries) -> None:
    clients = [{"issuer": issuer, "account": account} for issuer, account in sorted(entries.clients)]
    sign_ins = [asdict(one) for one in _sorted(entries)]
    write_object(file, {"version": VERSION, "sign_ins": sign_ins, "clients": clients})


def _sorted(entries: Entries) -> list[Account]:
    return sorted(entries.grants.values(), key=lambda one: (one.resource, one.account))


class GrantStore:
    """Stores grants by resource and account, clients by issuer and account."""

    def __init__(
        self, vault: Callable[[], Vault], state: Path, learn: Callable[[str, str], None], *, memory: bool = False
    ) -> None:
        """`vault` opens the vault on first use, in a thread; `learn` gets each secret that is read, and its series.

        `memory` means that nothing is written to disk.
        """
        self._open = vault
        self._locks = state / "locks"
        self._learn = learn
        self._file = state / FILE
        self._memory = Entries()
        self._vault: Vault | None = None
        self._guard = threading.Lock()
        self._turns: dict[Key, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.lasting = not memory
        """Whether stored grants outlive this process."""
        self.problem = ""
        """Why the last entry that was read cannot be used, as a sentence."""

    async def place(self) -> str:
        """Where secrets are stored, for people.

        Raises:
            VaultRefused: no vault can be opened; the error says why.
        """
        return (await beside(self._ready)).place

    async def unlock(self) -> None:
        """Make sure that the vault can store something: a person who has to enter a passphrase does so now.

        Raises:
            VaultRefused: the vault cannot store anything.
        """

        def probe() -> None:
            self._ready().set(_PROBE, "1")
            self._ready().delete(_PROBE)

        await beside(probe)

    def has_grant(self, resource: str, account: str) -> bool:
        """Whether a grant exists, judged by the file alone: cheap."""
        return (resource, account) in self._entries().grants

    def issuer(self, resource: str, account: str) -> str:
        """The authorization server that gave the grant; empty where there is no grant."""
        entry = self._entries().grants.get((resource, account))
        return entry.issuer if entry else ""

    async def list(self) -> list[Account]:
        """All grants, without their secrets and claims; the vault is not read."""
        return _sorted(self._entries())

    async def load(self, resource: str, account: str) -> Grant | None:
        """Load a grant; None if there is none or the stored text cannot be used (then `problem` says why).

        Raises:
            VaultRefused: the vault cannot be read.
        """
        if not self.has_grant(resource, account):
            self.problem = self._entries().problem
            return None
        return await beside(self._get, Grant, _name("grant", resource, account))

    async def save(self, grant: Grant, server: str) -> None:
        """Store a grant, replacing the old one.

        Raises:
            VaultRefused, OSError: the grant is not stored.
        """

        def save() -> None:
            with self._changing() as entries:
                self._put(_name("grant", grant.resource, grant.account), grant)
                entries.grants[grant.resource, grant.account] = Account.of(grant, server, self._ready().place)

        await beside(save)

    async def remove(self, kind: Literal["grant", "client"], where: str, account: str) -> bool:
        """Forget the grant of a resource, or our client at an issuer; False where there was none."""

        def remove() -> None:
            with self._changing() as entries:
                # The entry stays in the list if the vault cannot delete its secret.
                self._ready().delete(_name(kind, where, account))
                entries.of(kind).pop((where, account), None)

        exists = (where, account) in self._entries().of(kind)
        if exists:
            await beside(remove)
        return exists

    async def client(self, issuer: str, account: str) -> Client | None:
        """Our client at an authorization server, if it was registered or typed."""
        if (issuer, account) not in self._entries().clients:
            return None
        return await beside(self._get, Client, _name("client", issuer, account))

    async def save_client(self, client: Client, account: str) -> None:
        """Store our client at an authorization server."""

        def save() -> None:
            with self._changing() as entries:
                self._put(_name("client", client.issuer, account), client)
                entries.clients[client.issuer, account] = None

        await beside(save)

    async def save_pending(self, pending: Pending) -> None:
        """Store a sign-in that is continued later, replacing an earlier one of this server."""
        await beside(self._put, _name("pending", pending.resource, pending.account), pending)

    async def pending(self, resource: str, account: str) -> Pending | None:
        """The sign-in that was set aside; None if it has expired."""
        record = await beside(self._get, Pending, _name("pending", resource, account))
        return record if record and not record.expired else None

    async def take_pending(self, pending: Pending) -> bool:
        """Remove the sign-in that was set aside; False if another task has removed it."""

        def take() -> bool:
            with self._locked():
                return self._ready().delete(_name("pending", pending.resource, pending.account))

        return await beside(take)

    @asynccontextmanager
    async def lock(self, resource: str, account: str = "") -> AsyncGenerator[None]:
        """Let only one task of all processes at a time renew the tokens of a resource and account.

        Raises:
            StudioError: another one holds the lock for too long.
        """
        async with self._turns[resource, account]:
            with ExitStack() as locks:
                if self.lasting:  # a store in memory belongs to this process, and the folder may not be writable
                    await self._lock_out(locks, resource, account)
                yield

    async def _lock_out(self, locks: ExitStack, resource: str, account: str) -> None:
        """Lock out other processes. It polls, because a thread that waits for a file lock cannot be cancelled."""
        file, end = self._locks / _digest(resource, account), time.monotonic() + PATIENCE
        while True:
            try:
                locks.enter_context(file_lock(file, f"the sign-in at {resource}", 0))
                return
            except LockHeld:
                if time.monotonic() > end:
                    raise
            except OSError as problem:
                raise StudioError(f"The sign-in at {resource} cannot be locked: {problem.strerror}.") from None
            await asyncio.sleep(0.05)

    def _entries(self) -> Entries:
        return _read_entries(self._file) if self.lasting else self._memory

    # The functions below run in threads.

    def _ready(self) -> Vault:
        if self._vault is None:
            self._vault = self._open()
        return self._vault

    def _learn_secrets(self, value: Grant | Client | Pending) -> None:
        where = value.issuer if isinstance(value, Client) else f"{value.resource} as {value.account}"
        for secret in secrets(value):
            self._learn(secret, f"{type(value).__name__} {where}")

    def _get(self, kind: type[Stored], name: str) -> Stored | None:
        self.problem = ""
        text = self._ready().get(name)
        if text is None:
            return None
        try:
            value = decode(kind, text)
        except Damaged as problem:
            self.problem = f"What is stored of this sign-in cannot be used: {problem}."
            return None
        self._learn_secrets(value)
        return value

    def _put(self, name: str, value: Stored) -> None:
        self._learn_secrets(value)
        self._ready().set(name, encode(value))

    @contextmanager
    def _changing(self) -> Generator[Entries]:
        """The entries of the file, locked against changes by others and written back at the end of the block."""
        with self._locked():
            entries = self._entries()
            if entries.newer:
                raise StudioError(entries.problem, hint="Use the newer one, or move that file away and sign in again.")
            yield entries
            if self.lasting:
                _write_entries(self._file, entries)

    def _locked(self) -> AbstractContextManager[object]:
        return file_lock(self._file, "the list of sign-ins") if self.lasting else self._guard


def _digest(*words: str) -> str:
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:20]


def _name(kind: str, where: str, account: str) -> str:
    """The name of a value in the vault: readable for people who look there, and short enough for any keyring."""
    readable = f"{kind} {where}" + (f" as {account}" if account else "")
    if len(readable) <= 160 and readable.isascii() and readable.isprintable():
        return readable
    return f"{kind} {_digest(where, account)}"


TRUSTED_FILE = "authorization-servers.json"
_FIELDS = ("resource", "account", "client_id", "issuer")
ClientKey = tuple[str, str, str]
"""Resource, account and client id."""


class Trusted:
    """Remembers the authorization server of each client. The file has no secrets, and is read anew each time."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def issuer(self, key: ClientKey) -> str:
        """The authorization server that got this client's credentials before; empty where none did."""
        return self._known().get(key, "")

    def issuers(self, resource: str, account: str) -> set[str]:
        """The authorization servers of a server's clients."""
        return {issuer for key, issuer in self._known().items() if key[:2] == (resource, account)}

    def put(self, key: ClientKey, issuer: str) -> None:
        """Remember a client's authorization server; if the state folder cannot be written, signing in goes on."""
        self._change(lambda known: {**known, key: issuer})

    def forget(self, resource: str, account: str) -> None:
        """Forget the authorization servers of a server's clients."""
        whose = (resource, account)
        self._change(lambda known: {key: issuer for key, issuer in known.items() if key[:2] != whose})

    def _known(self) -> dict[ClientKey, str]:
        return _issuers(read_object(self._file))

    def _change(self, change: Callable[[dict[ClientKey, str]], dict[ClientKey, str]]) -> None:
        def edit(stored: dict[str, Json]) -> dict[str, Json]:
            known = change(_issuers(stored)).items()
            return {"version": 1, "servers": [dict(zip(_FIELDS, (*key, issuer), strict=True)) for key, issuer in known]}

        with suppress(ConfigError):
            change_object(self._file, edit)


def _issuers(stored: dict[str, Json]) -> dict[ClientKey, str]:
    issuers: dict[ClientKey, str] = {}
    for one in items_of(stored.get("servers")):
        resource, account, client_id, issuer = (str(mapping(one).get(name, "")) for name in _FIELDS)
        issuers[resource, account, client_id] = issuer
    return issuers
