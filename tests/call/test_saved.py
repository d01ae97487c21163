"""Saved calls: the file says exactly the value, mistakes are told, and no secret is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_studio.call.saved import (
    Folders,
    SavedCall,
    fill,
    folders,
    literal,
    read_saved,
    saved_text,
    secrets_in,
    with_secrets_of,
    without_secrets,
)
from mcp_studio.call.secrets import SecretFilter
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import Problem
from mcp_studio.errors import ConfigError, UsageError
from mcp_studio.jsontext import Json, dumps, loads
from mcp_studio.paths import Paths
from mcp_studio.redact import Redactor

ADD = Ref("tool", "shop", "add_order")
EXACT = st.from_regex(r"\A-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?\Z").map(
    lambda text: loads(text, exact=True)
)
TEXT = st.text(st.characters(codec=None, categories=["L", "N", "P", "S", "Z", "C"]), max_size=12) | st.sampled_from(
    ["${x}", "$${x}", "a\nb\n", 'say """hi"""', "back\\slash\\\n'''x'''", "\x7f\u2028\x00\r\n", "\ud800", "2026-01-01"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | EXACT | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


def read(text: str, problems: list[Problem] | None = None) -> SavedCall | None:
    return read_saved(text, "n", Path("n.toml"), "personal", [] if problems is None else problems)


def good(text: str) -> SavedCall:
    problems: list[Problem] = []
    saved = read(text, problems)
    assert saved is not None, problems
    return saved


def wrong(text: str) -> str:
    problems: list[Problem] = []
    assert read(text, problems) is None and problems
    return "\n".join(map(str, problems))


@settings(max_examples=25, deadline=None)
@given(st.dictionaries(TEXT, VALUES, max_size=4) | VALUES)
def test_a_value_survives_the_file_exactly(value: Json) -> None:
    saved = SavedCall("n", ADD, literal(value))
    again = read(saved_text(saved))
    if value is None:
        assert again is not None and again.arguments is None
    else:
        assert again is not None and dumps(fill(again).arguments) == dumps(value)


def test_numbers_are_as_they_were_typed_and_keys_in_their_order() -> None:
    text = '{"z":1.0,"a":{"n":12345678901234567890123,"b":1e400},"m":[1E5,-0.00],"c":{}}'
    written = saved_text(SavedCall("n", ADD, loads(text, exact=True)))
    assert "arguments = '''" in written and "1e400" in written
    assert dumps(good(written).arguments).decode() == text


def test_secrets_come_from_their_places_and_can_be_left_out() -> None:
    saved = good('server="s"\ntool="t"\narguments={a="${keyring:k}",b=["x ${env:TOKEN}"],c="d"}')
    filled = fill(saved, environ={"TOKEN": "from-env"}, keyring=lambda name: f"secret {name}")
    assert filled.arguments == {"a": "secret k", "b": ["x from-env"], "c": "d"}
    assert filled.hidden == {"/a", "/b/0"} and set(filled.secrets) == {"secret k", "from-env"}
    assert fill(saved, secrets=False).arguments == {"b": [], "c": "d"}
    assert saved.references == ("${keyring:k}", "${env:TOKEN}")
    with pytest.raises(ConfigError, match=r"arguments\.b\.0: the environment variable TOKEN is not set"):
        fill(saved, environ={}, keyring=str)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('server="s"\ntool="t"\nargumnts={}', "argumnts: is not a known key. Did you mean `arguments`?"),
        ('server="s"', "needs one of tool, prompt, template or resource."),
        ('server="s"\ntool="t"\nprompt="p"', "can have only one of"),
        ('tool="t"', "server: is missing"),
        ("x = [", "is no valid TOML"),
        ("version = 2", "was written by a newer mcp-studio"),
        ('server="s"\ntool="t"\narguments="{"', "is a string, but invalid JSON"),
        ('server="s"\ntool="t"\narguments=1', "must be a table, or JSON in a string"),
        ('server="s"\ntool="t"\narguments={d=2026-01-01}', "arguments.d: is not a JSON value."),
        ('server="s"\ntool="t"\narguments={n=nan}', "arguments.n: is not a JSON value."),
        ('server="s"\ntool="t"\narguments={a="${name}"}', "arguments.a: `${name}` is no reference."),
        ('server="s"\ntool="t"\narguments={n=' + "9" * 5000 + "}", "is no valid TOML"),
        ('server="s"\ntool="t"\narguments=' + "{a=" * 3000 + "1" + "}" * 3000, "is no valid TOML"),
    ],
)
def test_mistakes_are_told_with_their_key(text: str, says: str) -> None:
    assert says in wrong(text)


def test_the_projects_calls_come_first_and_a_broken_file_breaks_no_other(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".mcp-studio").mkdir()
    (tmp_path / "deep" / "er").mkdir(parents=True)
    places = folders(Paths.default(), tmp_path / "deep" / "er")
    assert places.in_project and places.project == tmp_path / ".mcp-studio" / "calls"
    for where in ("personal", "project"):
        places.write(SavedCall("mine", ADD, {"w": where}, where=where), replace=False)
    (places.project / "broken.toml").write_text("tool = ")
    (places.project / "con.toml").write_text("")
    (places.project / "folder.toml").mkdir()
    loaded = places.load()
    assert [(one.where, one.name) for one in loaded.calls] == [("project", "mine"), ("personal", "mine")]
    assert [Path(problem.file).name for problem in loaded.failed] == ["broken.toml", "con.toml", "folder.toml"]
    assert places.find("mine").arguments == {"w": "project"} and places.find("personal:mine").where == "personal"
    with pytest.raises(ConfigError, match="is no valid TOML"):
        places.find("broken")
    with pytest.raises(UsageError) as error:
        places.find("mien")
    assert error.value.hint == "Did you mean `mine`?"


def test_without_a_project_they_are_the_persons_and_a_setting_says_otherwise(tmp_path: Path) -> None:
    assert folders(Paths.default(), tmp_path).usual == "personal"
    (tmp_path / "in").mkdir()
    (tmp_path / ".mcp-studio").mkdir()
    assert folders(Paths.default(), tmp_path / "in").usual == "personal"  # no repository: parents are not ours
    assert folders(Paths.default(), tmp_path, str(tmp_path / "x")).path("project") == tmp_path / "x"


def kept(tmp_path: Path) -> Folders:
    (tmp_path / ".mcp-studio").mkdir()
    return folders(Paths.default(), tmp_path)


def test_names_are_those_of_files_and_nothing_is_overwritten_unasked(tmp_path: Path) -> None:
    places = kept(tmp_path)
    for name in ("../x", "a/b", "", "nul", ".hidden", "x.", "a" * 90, "a:b"):
        with pytest.raises(UsageError):
            places.write(SavedCall(name, ADD), replace=False)
    saved = places.write(SavedCall("one", ADD), replace=False)
    with pytest.raises(UsageError, match="already"):
        places.write(SavedCall("one", ADD), replace=False)
    places.write(SavedCall("two", ADD), replace=False)
    with pytest.raises(UsageError, match="already"):
        places.rename(places.find("two"), "one")
    assert places.rename(places.find("two"), "three").file.exists()
    places.delete(saved)
    assert [one.name for one in places.load().calls] == ["three"]


def test_a_project_file_may_use_secrets_once_the_person_has_agreed(tmp_path: Path) -> None:
    places = kept(tmp_path)
    file = places.project / "x.toml"
    file.parent.mkdir(parents=True)
    file.write_text('server="s"\ntool="t"\narguments={a="${keyring:bank}"}')
    saved = places.find("x")
    assert not places.agreed(saved)
    places.agree(saved)
    assert places.agreed(saved) and kept_again(tmp_path).agreed(saved)
    file.write_text('server="s"\ntool="t"\narguments={b="${keyring:bank}"}')
    assert not places.agreed(places.find("x"))


def kept_again(tmp_path: Path) -> Folders:
    return folders(Paths.default(), tmp_path)


def test_saving_writes_no_secret() -> None:
    value = {"password": "hunter2", "keys": ["sk-" + "a" * 30, "plain"], "note": "${x}"}
    secrets = secrets_in(value, SecretFilter(Redactor().text))
    assert secrets == (("password",), ("keys", 0))
    bare = SavedCall("n", ADD, without_secrets(value, secrets, {}))
    assert fill(good(saved_text(bare))).arguments == {"keys": ["plain"], "note": "${x}"}
    stored = without_secrets(value, secrets, {("password",): "shop"})
    assert stored == {"password": "${keyring:shop}", "keys": ["plain"], "note": "$${x}"}
    assert with_secrets_of(SavedCall("n", ADD, stored), bare).arguments == stored


@pytest.mark.parametrize("value", ["hunter2", None])
def test_a_value_that_is_secret_as_a_whole_is_not_there(value: Json) -> None:
    assert without_secrets(value, [()] if value else [], {}) is None
