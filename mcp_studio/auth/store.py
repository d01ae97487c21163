"""Where sign-ins are kept: secrets in the vault, what is no secret in `state/sign-ins.json`.

Without an entry in that file the vault is never touched when a server is connected to: no keyring asks for its
password because of a server that has no sign-in.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, suppress
from pathlib import Path

from mcp_studio.auth.model import Account, Client, Damaged, Grant, Pending, T, decode, encode, secrets
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, JsonProblem, dumps, items_of, loads, mapping, pretty
from mcp_studio.paths import write_atomically
from mcp_studio.vault.base import LockHeld, Vault, beside, file_lock

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


FILE = "sign-ins.json"
_PATIENCE = 60.0
"""Seconds that somebody else may be renewing: more than a few requests take."""
_PAUSE = 0.05
_PENDING = 5
"""Sign-ins of one server that wait for their redirects at a time."""
_TRIED = "tried"
"""A name that nothing else is kept under."""


class GrantStore:
    """Grants by resource and account, clients by issuer and account."""

    def __init__(
        self, vault: Callable[[], Vault], state: Path, learn: Callable[[str, str], None], *, memory: bool = False
    ) -> None:
        """`vault` opens it when first needed, in a thread; `learn` is told each secret that is read, and its series.

        With `memory` nothing is written to disk.
        """
        self._open = vault
        self._locks = state / "locks"
        self._learn = learn
        self._file = None if memory else state / FILE
        self._index = Index(self._file)
        self._vault: Vault | None = None
        self._guard = threading.Lock()
        self.lasting = not memory
        """Whether what is kept is there after this process."""
        self.problem = ""
        """Why the last entry that was looked for cannot be used, in a sentence."""

    async def place(self) -> str:
        """Where secrets are kept, in words.

        Raises:
            VaultRefused: nowhere, and why.
        """
        return (await beside(self._ready)).place

    async def unlock(self) -> None:
        """Make sure that something can be kept: whoever has to give a passphrase is asked now.

        Raises:
            VaultRefused: it cannot.
        """
        await beside(self._try)

    def _try(self) -> None:
        vault = self._ready()
        vault.set(_TRIED, "1")
        vault.delete(_TRIED)

    def known(self, resource: str, account: str) -> bool:
        """Whether there is a grant, by the file alone: cheap."""
        return (resource, account) in self._index.load().grants

    def stamp(self, resource: str, account: str) -> str:
        """Changes whenever a process keeps a grant; empty where there is none. Cheap."""
        found = self._index.load().grants.get((resource, account))
        return "" if found is None else f"{found.get('obtained')} {found.get('expires')} {found.get('kept')}"

    def issuer(self, resource: str, account: str) -> str:
        """The authorization server that gave the grant; empty where there is none."""
        found = self._index.load().grants.get((resource, account), {}).get("issuer")
        return found if isinstance(found, str) else ""

    async def load(self, resource: str, account: str) -> Grant | None:
        """The grant, None where there is none or what is there cannot be read (then `problem` says why).

        Raises:
            VaultRefused: the vault cannot be read.
        """
        if not self.known(resource, account):
            self.problem = self._index.problem
            return None
        grant = await beside(self._get, Grant, _name("grant", resource, account))
        if grant and (grant.resource, grant.account) != (resource, account):
            self.problem, grant = "What is kept of this sign-in belongs to another server.", None
        return grant

    async def save(self, grant: Grant, server: str) -> None:
        """Keep a grant, in place of the one that was there.

        Raises:
            VaultRefused, OSError: it is not kept.
        """
        self._tell(grant)
        await beside(self._save, grant, server)

    async def remove(self, resource: str, account: str) -> bool:
        """Forget a grant; False where there was none."""
        return await beside(self._remove, resource, account)

    async def list(self) -> list[Account]:
        """All grants, without their secrets and claims; the vault is not asked."""
        return self._index.load().accounts()

    async def client(self, issuer: str, account: str) -> Client | None:
        """Who we are at an authorization server, where it was registered or typed."""
        if (issuer, account) not in self._index.load().clients:
            return None
        client = await beside(self._get, Client, _name("client", issuer, account))
        return client if client and client.issuer == issuer else None

    async def save_client(self, client: Client, account: str) -> None:
        """Keep who we are."""
        self._tell(client)
        await beside(self._save_client, client, account)

    async def remove_client(self, issuer: str, account: str) -> bool:
        """Forget who we are; False where that was not known."""
        return await beside(self._remove_client, issuer, account)

    async def save_pending(self, pending: Pending) -> None:
        """Keep a sign-in that goes on later, besides a few others that do."""
        self._tell(pending)
        await beside(self._put_aside, pending)

    async def pending(self, resource: str, account: str) -> list[Pending]:
        """The sign-ins that were set aside and not long ago, the newest first."""
        found = await beside(self._waiting, _name("pending", resource, account))
        return [one for one in found if (one.resource, one.account) == (resource, account)]

    async def take_pending(self, pending: Pending) -> bool:
        """Use one of them up; False where somebody has."""
        return await beside(self._take, pending)

    @asynccontextmanager
    async def lock(self, resource: str, account: str = "") -> AsyncGenerator[None, None]:
        """Be the only one, of all processes and tasks, that renews what belongs to a resource and account.

        Raises:
            StudioError: somebody else holds it for too long.
        """
        if not self.lasting:  # Nobody else has it, and there may be no folder that can be written.
            yield
            return
        file = self._locks / f"{_digest(resource, account)}.lock"
        end = asyncio.get_running_loop().time() + _PATIENCE
        with ExitStack() as held:
            while True:
                try:
                    # Tried again and again: a thread that waits for it could not be called back.
                    held.enter_context(file_lock(file, f"the sign-in at {resource}", 0))
                    break
                except LockHeld:
                    if asyncio.get_running_loop().time() > end:
                        raise
                except OSError as problem:
                    raise StudioError(f"The sign-in at {resource} cannot be locked: {problem.strerror}.") from None
                await asyncio.sleep(_PAUSE)
            yield

    # What follows runs in threads.

    def _ready(self) -> Vault:
        if self._vault is None:
            self._vault = self._open()
        return self._vault

    def _tell(self, value: Grant | Client | Pending) -> None:
        where = value.issuer if isinstance(value, Client) else f"{value.resource} as {value.account}"
        for secret in secrets(value):
            self._learn(secret, f"{type(value).__name__} {where}")

    def _get(self, kind: type[T], name: str) -> T | None:
        self.problem = ""
        text = self._ready().get(name)
        if text is None:
            return None
        try:
            value = decode(kind, text)
        except Damaged as problem:
            self.problem = f"What is kept of this sign-in cannot be used: {problem}."
            return None
        self._tell(value)
        return value

    def _save(self, grant: Grant, server: str) -> None:
        vault = self._ready()
        with self._changing():
            index = self._fresh().writable()
            vault.set(_name("grant", grant.resource, grant.account), encode(grant))
            index.put(grant, server, vault.place)
            index.save()

    def _remove(self, resource: str, account: str) -> bool:
        with self._changing():
            index = self._fresh()
            if (resource, account) not in index.grants:
                return False
            # What cannot be deleted stays in the list: it is still there.
            self._ready().delete(_name("grant", resource, account))
            index.grants.pop((resource, account), None)
            index.save()
            return True

    def _save_client(self, client: Client, account: str) -> None:
        vault = self._ready()
        with self._changing():
            index = self._fresh().writable()
            vault.set(_name("client", client.issuer, account), encode(client))
            index.clients.add((client.issuer, account))
            index.save()

    def _remove_client(self, issuer: str, account: str) -> bool:
        with self._changing():
            index = self._fresh()
            if (issuer, account) not in index.clients:
                return False
            self._ready().delete(_name("client", issuer, account))
            index.clients.discard((issuer, account))
            index.save()
            return True

    def _waiting(self, name: str) -> list[Pending]:
        found: list[Pending] = []
        try:
            texts = items_of(loads(self._ready().get(name) or "[]"))
        except JsonProblem:
            return []
        for text in texts[:_PENDING]:
            with suppress(Damaged):
                found.append(decode(Pending, text if isinstance(text, str) else ""))
        for one in found:
            self._tell(one)
        return [one for one in found if not one.expired]

    def _wait(self, name: str, pending: list[Pending]) -> None:
        if pending:
            self._ready().set(name, dumps([encode(one) for one in pending[:_PENDING]]).decode())
        else:
            self._ready().delete(name)

    def _put_aside(self, pending: Pending) -> None:
        name = _name("pending", pending.resource, pending.account)
        with self._changing():
            self._wait(name, [pending, *self._waiting(name)])

    def _take(self, pending: Pending) -> bool:
        name = _name("pending", pending.resource, pending.account)
        with self._changing():
            waiting = self._waiting(name)
            left = [one for one in waiting if one.state != pending.state]
            self._wait(name, left)
            return len(left) < len(waiting)

    def _fresh(self) -> Index:
        """The list as it is now, to be changed in this thread: the event loop reads the other one."""
        return Index(self._file).load() if self._file else self._index

    def _changing(self) -> AbstractContextManager[object]:
        return file_lock(self._locks / "sign-ins.lock", "the list of sign-ins") if self.lasting else self._guard


def _digest(*words: str) -> str:
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:20]


def _name(kind: str, where: str, account: str) -> str:
    """Under what it is in the vault: to be read by people who look there, and short enough for any of them."""
    readable = f"{kind} {where}" + (f" as {account}" if account else "")
    if len(readable) <= 160 and readable.isascii() and readable.isprintable():
        return readable
    return f"{kind} {_digest(where, account)}"


TRUSTED_FILE = "authorization-servers.json"
_LARGEST_TRUSTED_FILE = 1024 * 1024
_MOST_TRUSTED = 1_000
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
            data = self._file.read_bytes() if self._file.stat().st_size <= _LARGEST_TRUSTED_FILE else b""
            entries = [mapping(one) for one in items_of(mapping(loads(data, most=8)).get("servers"))]
        except (OSError, JsonProblem):
            return {}
        known: dict[Key, str] = {}
        for one in entries[-_MOST_TRUSTED:]:
            resource, account, client_id, issuer = (
                text if isinstance(text := one.get(name), str) else "" for name in (*_KEYS, "issuer")
            )
            known[resource, account, client_id] = issuer
        return known

    def _write(self, known: dict[Key, str]) -> None:
        kept = list(known.items())[-_MOST_TRUSTED:]
        servers: list[Json] = [dict(zip((*_KEYS, "issuer"), (*key, issuer), strict=True)) for key, issuer in kept]
        try:
            write_atomically(self._file, pretty({"version": 1, "servers": servers}).encode() + b"\n")
        except OSError:
            return
