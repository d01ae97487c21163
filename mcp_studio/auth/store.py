"""Where sign-ins are stored: secrets in the vault, what is no secret in `state/sign-ins.json`.

Without an entry in that file the vault is never touched when a server is connected to: no keyring asks for its
password because of a server that has no sign-in.
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
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, JsonProblem, items_of, loads, mapping
from mcp_studio.paths import read_object, write_object
from mcp_studio.record import record
from mcp_studio.vault.base import LockHeld, Vault, beside, file_lock

VERSION = 1
FILE = "sign-ins.json"
_PATIENCE = 60.0
"""Seconds that somebody else may be renewing: more than a few requests take."""
_PROBE = "tried"
"""A name that nothing else is stored under."""
Key = tuple[str, str]


@record()
class Entries:
    """What the file of sign-ins says."""

    grants: dict[Key, Account] = field(default_factory=dict[Key, Account])
    """By resource and account."""
    clients: dict[Key, None] = field(default_factory=dict[Key, None])
    """Of issuers and accounts."""
    problem: str = ""
    """Why the file cannot be used, as a sentence."""
    newer: bool = False
    """A newer version has written it, which knows more of it."""

    def of(self, kind: Literal["grant", "client"]) -> dict[Key, Any]:
        """Those of one kind."""
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
    found = Entries()
    for one in items_of(raw.get("sign_ins")):
        with suppress(Damaged):
            account = from_json(Account, mapping(one))
            found.grants[account.resource, account.account] = account
    for one in map(mapping, items_of(raw.get("clients"))):
        found.clients[str(one.get("issuer")), str(one.get("account"))] = None
    return found


def _write_entries(file: Path, entries: Entries) -> None:
    clients = [{"issuer": issuer, "account": account} for issuer, account in sorted(entries.clients)]
    sign_ins = [asdict(one) for one in _sorted(entries)]
    write_object(file, {"version": VERSION, "sign_ins": sign_ins, "clients": clients})


def _sorted(entries: Entries) -> list[Account]:
    return sorted(entries.grants.values(), key=lambda one: (one.resource, one.account))


class GrantStore:
    """Grants by resource and account, clients by issuer and account."""

    def __init__(
        self, vault: Callable[[], Vault], state: Path, learn: Callable[[str, str], None], *, memory: bool = False
    ) -> None:
        """`vault` opens it when first needed, in a thread; `learn` gets each secret that is read, and its series.

        With `memory` nothing is written to disk.
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
        """Whether what is stored is there after this process."""
        self.problem = ""
        """Why the last entry that was looked for cannot be used, as a sentence."""

    async def place(self) -> str:
        """Where secrets are stored, for people.

        Raises:
            VaultRefused: nowhere, and why.
        """
        return (await beside(self._ready)).place

    async def unlock(self) -> None:
        """Make sure that something can be stored: whoever has to give a passphrase is asked now.

        Raises:
            VaultRefused: it cannot.
        """

        def probe() -> None:
            self._ready().set(_PROBE, "1")
            self._ready().delete(_PROBE)

        await beside(probe)

    def has_grant(self, resource: str, account: str) -> bool:
        """Whether there is a grant, by the file alone: cheap."""
        return (resource, account) in self._entries().grants

    def issuer(self, resource: str, account: str) -> str:
        """The authorization server that gave the grant; empty where there is none."""
        found = self._entries().grants.get((resource, account))
        return found.issuer if found else ""

    async def list(self) -> list[Account]:
        """All grants, without their secrets and claims; the vault is not asked."""
        return _sorted(self._entries())

    async def load(self, resource: str, account: str) -> Grant | None:
        """The grant, None where there is none or what is there cannot be read (then `problem` says why).

        Raises:
            VaultRefused: the vault cannot be read.
        """
        if not self.has_grant(resource, account):
            self.problem = self._entries().problem
            return None
        return await beside(self._get, Grant, _name("grant", resource, account))

    async def save(self, grant: Grant, server: str) -> None:
        """Store a grant, in place of the one that was there.

        Raises:
            VaultRefused, OSError: it is not stored.
        """

        def save() -> None:
            with self._changing() as entries:
                self._put(_name("grant", grant.resource, grant.account), grant)
                entries.grants[grant.resource, grant.account] = Account.of(grant, server, self._ready().place)

        await beside(save)

    async def remove(self, kind: Literal["grant", "client"], where: str, account: str) -> bool:
        """Forget a grant of a resource, or who we are at an issuer; False where there was none."""

        def remove() -> None:
            with self._changing() as entries:
                # What cannot be deleted stays in the list: it is still there.
                self._ready().delete(_name(kind, where, account))
                entries.of(kind).pop((where, account), None)

        known = (where, account) in self._entries().of(kind)
        if known:
            await beside(remove)
        return known

    async def client(self, issuer: str, account: str) -> Client | None:
        """Who we are at an authorization server, where it was registered or typed."""
        if (issuer, account) not in self._entries().clients:
            return None
        return await beside(self._get, Client, _name("client", issuer, account))

    async def save_client(self, client: Client, account: str) -> None:
        """Store who we are."""

        def save() -> None:
            with self._changing() as entries:
                self._put(_name("client", client.issuer, account), client)
                entries.clients[client.issuer, account] = None

        await beside(save)

    async def save_pending(self, pending: Pending) -> None:
        """Store a sign-in that goes on later, in place of an earlier one of this server."""
        await beside(self._put, _name("pending", pending.resource, pending.account), pending)

    async def pending(self, resource: str, account: str) -> Pending | None:
        """The sign-in that was set aside not long ago."""
        found = await beside(self._get, Pending, _name("pending", resource, account))
        return found if found and not found.expired else None

    async def take_pending(self, pending: Pending) -> bool:
        """Use it up; False where somebody has."""

        def take() -> bool:
            with self._locked():
                return self._ready().delete(_name("pending", pending.resource, pending.account))

        return await beside(take)

    @asynccontextmanager
    async def lock(self, resource: str, account: str = "") -> AsyncGenerator[None]:
        """Be the only one, of all processes and tasks, that renews what belongs to a resource and account.

        Raises:
            StudioError: somebody else holds it for too long.
        """
        async with self._turns[resource, account]:
            with ExitStack() as held:
                if self.lasting:  # else no other process has it, and there may be no folder that can be written
                    await self._lock_out(held, resource, account)
                yield

    async def _lock_out(self, held: ExitStack, resource: str, account: str) -> None:
        """Lock out other processes, tried again and again: a thread that waits for it could not be called back."""
        file, end = self._locks / f"{_digest(resource, account)}.lock", time.monotonic() + _PATIENCE
        while True:
            try:
                held.enter_context(file_lock(file, f"the sign-in at {resource}", 0))
                return
            except LockHeld:
                if time.monotonic() > end:
                    raise
            except OSError as problem:
                raise StudioError(f"The sign-in at {resource} cannot be locked: {problem.strerror}.") from None
            await asyncio.sleep(0.05)

    def _entries(self) -> Entries:
        return _read_entries(self._file) if self.lasting else self._memory

    # What follows runs in threads.

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
        """What the file says, to be changed with nobody in between; it is written at the end."""
        with self._locked():
            entries = self._entries()
            if entries.newer:
                raise StudioError(entries.problem, hint="Use the newer one, or move that file away and sign in again.")
            yield entries
            if self.lasting:
                _write_entries(self._file, entries)

    def _locked(self) -> AbstractContextManager[object]:
        return file_lock(self._locks / "sign-ins.lock", "the list of sign-ins") if self.lasting else self._guard


def _digest(*words: str) -> str:
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:20]


def _name(kind: str, where: str, account: str) -> str:
    """Its name in the vault: to be read by people who look there, and short enough for any of them."""
    readable = f"{kind} {where}" + (f" as {account}" if account else "")
    if len(readable) <= 160 and readable.isascii() and readable.isprintable():
        return readable
    return f"{kind} {_digest(where, account)}"


TRUSTED_FILE = "authorization-servers.json"
_FIELDS = ("resource", "account", "client_id", "issuer")
ClientKey = tuple[str, str, str]
"""Resource, account and client id."""


class Trusted:
    """Which authorization server each client belongs to. The file has no secrets, and is read anew each time."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def issuer(self, key: ClientKey) -> str:
        """The authorization server that got this client's credentials before; empty where none did."""
        return self._known().get(key, "")

    def issuers(self, resource: str, account: str) -> set[str]:
        """The authorization servers that the clients of a server belong to."""
        return {issuer for key, issuer in self._known().items() if key[:2] == (resource, account)}

    def put(self, key: ClientKey, issuer: str) -> None:
        """Remember one; a state folder that cannot be written is no obstacle to signing in."""
        self._write({**self._known(), key: issuer})

    def forget(self, resource: str, account: str) -> None:
        """Forget what the clients of a server were used at."""
        self._write({key: issuer for key, issuer in self._known().items() if key[:2] != (resource, account)})

    def _known(self) -> dict[ClientKey, str]:
        known: dict[ClientKey, str] = {}
        for one in items_of(read_object(self._file).get("servers")):
            resource, account, client_id, issuer = (str(mapping(one).get(name, "")) for name in _FIELDS)
            known[resource, account, client_id] = issuer
        return known

    def _write(self, known: dict[ClientKey, str]) -> None:
        servers: list[Json] = [dict(zip(_FIELDS, (*key, issuer), strict=True)) for key, issuer in known.items()]
        with suppress(OSError):
            write_object(self._file, {"version": 1, "servers": servers})
