"""References to secrets: where they are looked for, how often, and what is said where there is nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_studio.config.load import load, written
from mcp_studio.errors import ConfigError, VaultDamaged, VaultRefused
from mcp_studio.paths import Paths
from mcp_studio.vault import keyring
from mcp_studio.vault.base import MemoryVault
from mcp_studio.vault.keyring import open_vault


class Counting(MemoryVault):
    """Says how often it was asked."""

    def __init__(self, refusal: VaultRefused | None = None) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.refusal = refusal

    def get(self, name: str) -> str | None:
        self.asked.append(name)
        if self.refusal:
            raise self.refusal
        return super().get(name)


@pytest.fixture
def vault(monkeypatch: pytest.MonkeyPatch) -> Counting:
    made = Counting()
    monkeypatch.setattr(keyring, "named", lambda *_: made)
    return made


def test_memory_is_one_for_the_whole_process_and_has_two_drawers(home: Path) -> None:
    open_vault("memory", home, drawer="secrets").set("x", "1")
    assert open_vault("memory", home, drawer="secrets").get("x") == "1"
    tokens = open_vault("memory", home)
    assert tokens.get("x") is None and not tokens.delete("x") and tokens.place == "memory, until the studio ends"


def test_memory_says_why_it_is_empty(home: Path) -> None:
    keyring.use("memory", home)
    with pytest.raises(ConfigError, match="nothing under `x` in memory") as raised:
        keyring.lookup("x")
    assert 'store = "keyring"' in raised.value.hint


def test_a_store_that_refuses_is_asked_once_for_all_names(vault: Counting) -> None:
    vault.refusal = VaultRefused("It is locked.", hint="Unlock it.")
    ask = keyring.session()
    for name in ("a", "b", "a"):
        with pytest.raises(VaultRefused, match="It is locked") as raised:
            ask(name)
        assert raised.value.hint == f"Unlock it. Or use an environment variable instead of ${{keyring:{name}}}."
    assert vault.asked == ["a"]


def test_one_damaged_secret_does_not_cost_the_others(vault: Counting) -> None:
    vault.refusal = VaultDamaged("`a` is incomplete.")
    ask = keyring.session()
    with pytest.raises(VaultDamaged):
        ask("a")
    vault.refusal = None
    vault.set("b", "2")
    assert ask("b") == "2"


def test_no_store_is_opened_where_nothing_refers_to_one(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyring, "open_vault", lambda *_, **__: pytest.fail("it was opened"))
    file = home / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"a": {"command": "x", "env": {"T": "plain"}}}}))
    assert load(Paths.default(), home, files=[file]).problems == ()
    file.write_text(json.dumps({"mcpServers": {"a": {"command": "x", "env": {"T": "${keyring:y}"}}}}))
    assert written(Paths.default(), home, files=[file]).servers["a"].env == {"T": "${keyring:y}"}


JSON = '{"mcpServers": {"a": {"command": "c", "args": ["${keyring:x}"]}}}'
TOML = '[servers.a]\ncommand = "c"\nargs = ["${keyring:x}"]'


@pytest.mark.parametrize("name, text", [("mcp.json", JSON), ("own.toml", TOML)])
def test_files_that_are_named_use_the_store_of_the_person(home: Path, name: str, text: str) -> None:
    paths = Paths.default()
    paths.config_file.parent.mkdir(parents=True)
    paths.config_file.write_text('theme = 7\n[secrets]\nstore = "memory"\n[servers.other]\nurl = "nonsense"')
    open_vault("memory", paths.state, drawer="secrets").set("x", "from memory")
    (home / name).write_text(text)
    config = load(paths, home, files=[home / name])
    assert config.settings.secrets == "memory" and config.problems == () and list(config.servers) == ["a"]
    assert config.servers["a"].args == ("from memory",)


def test_a_file_that_is_named_may_say_another_store(home: Path) -> None:
    file = home / "own.toml"
    file.write_text('[secrets]\nstore = "memory"')
    assert load(Paths.default(), home, files=[file]).settings.secrets == "memory"
    assert load(Paths.default(), home).settings.secrets == "keyring"


@pytest.mark.parametrize("text", ["store = 7", "[[", "secrets = 3", '[secrets]\nstore = "nowhere"', "\xff"])
def test_a_broken_file_of_the_person_leaves_the_keyring(home: Path, text: str) -> None:
    paths = Paths.default()
    paths.config_file.parent.mkdir(parents=True)
    paths.config_file.write_bytes(text.encode("latin-1"))
    (home / "mcp.json").write_text('{"mcpServers": {"a": {"command": "c"}}}')
    config = load(paths, home, files=[home / "mcp.json"])
    assert config.settings.secrets == "keyring" and config.problems == ()


def test_names_are_remembered_without_values_and_only_by_their_owner(vault: Counting, home: Path) -> None:
    keyring.use("memory", home)
    keyring.keep("b", "Pl4nted")
    keyring.keep("a", "Pl4nted")
    keyring.keep("b", "Pl4nted2")
    file = home / "secret-names.json"
    assert list(keyring.names()) == ["a", "b"]
    assert b"Pl4nted" not in file.read_bytes() and file.stat().st_mode & 0o077 == 0
    assert keyring.remove("a") and not keyring.remove("a")
    assert keyring.names() == {"b": "memory"}
    for text in ("", "[]", "{", '{"version": 2}', '{"version": 1, "names": {"a": "elsewhere"}}'):
        file.write_text(text)
        assert keyring.names() == {}


@pytest.mark.parametrize("name", ["", " a", "a ", "a:b", "a}", "{", "$", "a\n", "a#a1", "é" * 101, "../x", "-x"])
def test_what_no_reference_could_name_is_no_name(name: str, vault: Counting) -> None:
    with pytest.raises(ConfigError, match="is no name for a secret"):
        keyring.keep(name, "value")


@pytest.mark.parametrize("name", ["a", "github-authorization", "My key 2", "_x.y@z", "schlüssel"])
def test_names_that_references_can_say(name: str) -> None:
    assert keyring.check_name(name) == name


def test_nothing_is_not_kept(vault: Counting) -> None:
    with pytest.raises(ConfigError, match="empty"):
        keyring.keep("x", "")
    assert vault.asked == []
