"""What signing in brought is kept whole, without its secrets in any file of ours, and never half-trusted."""

from __future__ import annotations

import asyncio
import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_studio.auth.model import Client, Damaged, Grant, Pending, decode, encode, secrets
from mcp_studio.auth.store import GrantStore
from mcp_studio.errors import LockHeld, StudioError, VaultRefused
from mcp_studio.redact import Redactor
from mcp_studio.vault.base import MemoryVault, Vault
from tests.support import run

CLIENT = Client(
    "https://as.example", "id-1", "planted-secret", "client_secret_basic", "registered", registration={"a": 1}
)
GRANT = Grant(
    "https://mcp.example/mcp",
    "work",
    "https://as.example",
    CLIENT,
    "planted-access",
    refresh_token="planted-refresh",
    scopes=("a", "b"),
    expires=12.5,
    dpop_key="planted-key",
)
PENDING = Pending(
    "https://mcp.example/mcp", "", CLIENT, "planted-state", "planted-verifier", "http://127.0.0.1:1/callback", "https://as",
    time.time() + 60,
)  # fmt: skip


def store(state: Path, vault: Vault | None = None, redactor: Redactor | None = None) -> GrantStore:
    found = vault or MemoryVault()
    return GrantStore(lambda: found, state, (redactor or Redactor()).learn)


def written(folder: Path) -> str:
    return "".join(file.read_text() for file in folder.rglob("*") if file.is_file())


async def test_what_is_kept_comes_back_in_another_process(tmp_path: Path) -> None:
    vault, redactor = MemoryVault(), Redactor()
    await store(tmp_path, vault).save(GRANT, "one")
    await store(tmp_path, vault).save_client(CLIENT, "work")
    again = store(tmp_path, vault, redactor)
    assert await again.load(GRANT.resource, "work") == GRANT
    assert await again.client("https://as.example", "work") == CLIENT
    assert "planted" not in redactor.text("planted-access planted-refresh planted-secret planted-key")
    (account,) = await again.list()
    assert (account.server, account.scopes, account.refreshable, account.client_how) == (
        "one", ("a", "b"), True, "registered",
    )  # fmt: skip
    assert "planted" not in written(tmp_path)


async def test_the_vault_is_not_touched_for_what_was_never_kept(tmp_path: Path) -> None:
    def refuse() -> Vault:
        raise AssertionError("asked")

    made = GrantStore(refuse, tmp_path, Redactor().learn)
    assert not made.has_grant("https://mcp.example/mcp", "")
    assert await made.load("https://mcp.example/mcp", "") is None
    assert await made.client("https://as.example", "") is None
    assert await made.list() == [] and not await made.remove("grant", "https://mcp.example/mcp", "")


async def test_memory_leaves_nothing_on_disk(tmp_path: Path) -> None:
    vault = MemoryVault()
    made = GrantStore(lambda: vault, tmp_path, Redactor().learn, memory=True)
    await made.save(GRANT, "one")
    assert await made.load(GRANT.resource, "work") == GRANT
    async with made.lock(GRANT.resource):
        pass
    assert os.listdir(tmp_path) == []


async def test_forgetting(tmp_path: Path) -> None:
    vault = MemoryVault()
    made = store(tmp_path, vault)
    await made.save(GRANT, "one")
    await made.save_client(CLIENT, "work")
    assert await made.remove("grant", GRANT.resource, "work")
    assert await made.remove("client", CLIENT.issuer, "work")
    assert await made.load(GRANT.resource, "work") is None and await made.client(CLIENT.issuer, "work") is None
    assert not vault.secrets


async def test_what_cannot_be_deleted_stays_listed(tmp_path: Path) -> None:
    class Stuck(MemoryVault):
        def delete(self, name: str) -> bool:
            raise VaultRefused("locked")

    made = store(tmp_path, Stuck())
    await made.save(GRANT, "one")
    with pytest.raises(VaultRefused):
        await made.remove("grant", GRANT.resource, "work")
    assert len(await made.list()) == 1


async def test_what_is_damaged_counts_as_absent_and_says_why(tmp_path: Path) -> None:
    vault = MemoryVault()
    made = store(tmp_path, vault)
    await made.save(GRANT, "one")
    (name,) = vault.secrets
    for text in (
        "",
        "{",
        "[]",
        '{"version": 99, "kind": "Grant"}',
        encode(CLIENT),
    ):
        vault.secrets[name] = text
        assert await made.load(GRANT.resource, "work") is None and made.problem
    (tmp_path / "sign-ins.json").write_text("{broken")
    assert await made.list() == []
    await made.save(GRANT, "one")
    assert len(await made.list()) == 1


@pytest.mark.parametrize(
    "change", [{"access_token": 1}, {"scopes": "a"}, {"expires": True}, {"client": []}, {"version": 0}, {"kind": "X"}]
)
def test_wrong_fields_are_damage(change: dict[str, object]) -> None:
    raw = json.loads(encode(GRANT))
    with pytest.raises(Damaged):
        decode(Grant, json.dumps({**raw, **change}))
    del raw["access_token"]
    with pytest.raises(Damaged):
        decode(Grant, json.dumps(raw))


def test_fields_that_a_later_version_knows_are_no_damage() -> None:
    assert decode(Grant, json.dumps({**json.loads(encode(GRANT)), "new": 1})) == GRANT
    assert "planted-verifier" in secrets(PENDING) and "planted-secret" in secrets(PENDING)


async def test_what_was_set_aside_is_there_once_and_not_for_long(tmp_path: Path) -> None:
    vault = MemoryVault()
    made = store(tmp_path, vault)
    waiting = replace(PENDING, until=time.time() + 60)
    await made.save_pending(replace(waiting, state="an-earlier-state"))
    await made.save_pending(waiting)
    assert await made.pending(waiting.resource, "") == waiting
    assert await made.take_pending(waiting) and not await made.take_pending(waiting)
    assert not vault.secrets
    await made.save_pending(replace(waiting, until=time.time() - 1))
    assert await made.pending(waiting.resource, "") is None


async def test_only_one_at_a_time_holds_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, order = store(tmp_path), list[str]()

    async def hold(name: str) -> None:
        async with made.lock("https://mcp.example/mcp"):
            order.append(name)
            await asyncio.sleep(0)
            order.append(name)

    await asyncio.gather(*(hold(name) for name in "abc"))
    assert order[0::2] == order[1::2]
    monkeypatch.setattr("mcp_studio.auth.store._PATIENCE", 0.05)
    async with made.lock("https://mcp.example/mcp"), made.lock("https://mcp.example/other"):
        with pytest.raises(LockHeld):
            async with store(tmp_path).lock("https://mcp.example/mcp"):
                pass


async def test_two_stores_do_not_lose_each_others_entries(tmp_path: Path) -> None:
    vault = MemoryVault()
    one, two = store(tmp_path, vault), store(tmp_path, vault)
    await asyncio.gather(
        *(made.save(replace(GRANT, resource=f"https://mcp.example/{n}"), "x") for n, made in enumerate([one, two] * 4))
    )
    assert len(await one.list()) == len(await two.list()) == 8


def test_what_a_newer_version_wrote_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "sign-ins.json"
    newer = json.dumps({"version": 2, "sign_ins": [{"what": "nobody knows yet"}]})
    file.write_text(newer)
    vault = MemoryVault()

    async def main() -> None:
        made = store(tmp_path, vault)
        for change in (made.save(GRANT, "one"), made.save_client(CLIENT, "work")):
            with pytest.raises(StudioError, match="newer"):
                await change
        assert not await made.remove("grant", GRANT.resource, "work")

    run(main())
    assert file.read_text() == newer and vault.secrets == {}
