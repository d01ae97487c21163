"""What was run and opened: counted, kept bounded and without secrets, and never in anybody's way."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from mcp_studio.catalog.listing import Ref
from mcp_studio.redact import Redactor
from mcp_studio.search.method import Used
from mcp_studio.search.usage import MOST, Usage, Uses
from tests.search.index_kit import Make, document, names

READ, SEND = Ref("tool", "files", "read"), Ref("prompt", "mail", "send")


def test_what_was_used_is_there_again_in_the_next_run(tmp_path: Path) -> None:
    file = tmp_path / "state" / "used.json"
    one = Usage(file)
    one.ran(READ)
    one.ran(READ)
    one.opened(SEND)
    one.write()
    found = Usage(file).all()
    assert (found[READ].runs, found[READ].opened, found[SEND].runs, found[SEND].opened) == (2, 0, 0, 1)
    assert abs(found[SEND].last - time.time()) < 60
    assert file.stat().st_mode & 0o777 == 0o600


def test_it_is_known_before_it_is_written(tmp_path: Path) -> None:
    file = tmp_path / "used.json"
    used = Usage(file)
    for _ in range(3):
        used.ran(READ)
    assert used.all()[READ].runs == 3 and not file.exists()
    used.write()
    assert used.all()[READ].runs == 3


def test_two_programs_add_to_what_the_other_has_written(tmp_path: Path) -> None:
    file = tmp_path / "used.json"
    one, other = Usage(file), Usage(file)
    one.ran(READ)
    other.ran(READ)
    other.ran(SEND)
    one.write()
    other.write()
    assert one.all() == other.all() == Usage(file).all()
    assert {ref: uses.runs for ref, uses in one.all().items()} == {READ: 2, SEND: 1}


def test_a_name_with_a_secret_is_not_kept(tmp_path: Path) -> None:
    file = tmp_path / "used.json"
    redactor = Redactor()
    redactor.learn("hunter2hunter2")
    used = Usage(file, redactor.text)
    for uri in ("https://h/?token=abcdef1234567890abcdef", "db://hunter2hunter2/x", "file:///notes.txt"):
        used.ran(Ref("resource", "s", uri))
    used.write()
    assert [ref.name for ref in Usage(file).all()] == ["file:///notes.txt"]
    assert b"hunter2" not in file.read_bytes()


def test_it_is_bounded_and_the_latest_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "used.json"
    used = Usage(file)
    for number in range(MOST + 200):
        monkeypatch.setattr(time, "time", lambda now=float(number): now)
        used.ran(Ref("tool", "s", f"t{number}"))
        if number == MOST // 2:
            used.write()
    used.ran(Ref("tool", "s", "x" * 5_000))
    used.write()
    kept = Usage(file).all()
    assert len(kept) == MOST and Ref("tool", "s", "t200") in kept and Ref("tool", "s", "t199") not in kept


@pytest.mark.parametrize(
    "text",
    [
        "", "nonsense", "[]", "{}", '{"version":2,"used":[]}', '{"version":1,"used":{}}', '{"version":1,"used":[1,{}]}',
        '{"version":1,"used":[{"kind":"tool","server":"s","name":"t","runs":-1,"opened":0,"last":1}]}',
        '{"version":1,"used":[{"kind":"tool","server":"s","name":"t","runs":1,"opened":0,"last":1e99}]}',
        '{"version":1,"used":[{"kind":"magic","server":"s","name":"t","runs":1,"opened":0,"last":1}]}',
        '{"version":1,"used":[{"kind":"tool","server":[],"name":"t","runs":1,"opened":0,"last":1}]}', "[" * 10_000,
    ],
)  # fmt: skip
def test_a_file_that_is_none_of_ours_says_nothing_and_is_written_anew(tmp_path: Path, text: str) -> None:
    file = tmp_path / "used.json"
    file.write_text(text)
    used = Usage(file)
    assert used.all() == {}
    used.ran(READ)
    used.write()
    assert list(Usage(file).all()) == [READ]
    assert json.loads(file.read_text())["version"] == 1


def test_a_disk_that_refuses_costs_nothing_but_what_would_be_kept(tmp_path: Path) -> None:
    used = Usage(tmp_path / "file" / "used.json")
    (tmp_path / "file").write_text("in the way")
    used.ran(READ)
    used.write()
    assert used.all()[READ].runs == 1
    (tmp_path / "file").unlink()
    used.write()
    assert (tmp_path / "file" / "used.json").exists() and used.all()[READ].runs == 1


def test_without_a_file_nothing_is_kept() -> None:
    used = Usage(None)
    used.ran(READ)
    used.write()
    assert used.all() == {}


def test_what_is_run_counts_more_than_what_is_opened_and_the_latest_more_than_the_past() -> None:
    now = 1e9
    assert 0 < Uses(0, 1, now).strength(now) < Uses(1, 0, now).strength(now) < Uses(9, 0, now).strength(now)
    assert Uses(1, 0, now - 40 * 86_400).strength(now) < Uses(1, 0, now).strength(now)
    assert Uses(1 << 40, 1 << 40, now + 1e6).strength(now) == 1


def test_an_empty_question_shows_what_was_used_last_then_most_then_the_rest(
    indexes: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = Usage(tmp_path / "used.json")
    index = indexes(usage=used)
    index.list("first", "tool", [document("first", f"t{number}") for number in range(20)])
    index.list("second", "prompt", [document("second", "p", kind="prompt")])
    index.list("second", "tool", [document("second", "b"), document("second", "a")])
    assert names(index.ask_now(""))[:2] == ["first.t0", "first.t1"]
    assert names(index.ask_now(""))[20:22] == ["second.b", "second.a"]
    assert names(index.ask_now(" "))[-1] == "second.p"
    clock = iter(range(10**9, 2 * 10**9))
    monkeypatch.setattr(time, "time", lambda: float(next(clock)))
    for name in ("t5", "t5", "t5", "t6", "t7", "gone", *(f"t{number}" for number in range(8, 15))):
        used.ran(Ref("tool", "first", name))
    used.opened(Ref("tool", "second", "a"))
    found = index.ask_now("", limit=12)
    recent = [f"first.t{number}" for number in range(14, 7, -1)]
    assert names(found) == ["second.a", *recent, "first.t5", "first.t7", "first.t6", "first.t0"]
    assert found.method == "used" and (found.total, found.of) == (23, 23)
    assert found.hits[0].used == Used(1, found.hits[0].used.last if found.hits[0].used else 0)
    assert [hit.used.count if hit.used else 0 for hit in found.hits] == [*[1] * 8, 3, 1, 1, 0]


def test_what_is_used_goes_first_among_equals_and_never_before_better_words(indexes: Make, tmp_path: Path) -> None:
    used = Usage(tmp_path / "used.json")
    index = indexes(usage=used)
    for server in ("one", "two"):
        index.list(server, "tool", [document(server, "find_user", "Find a user."), document(server, "user")])
    index.list("c", "tool", [document("c", "remove", "Remove a user.")])
    assert names(index.ask_now("find a user"))[:2] == ["one.find_user", "two.find_user"]
    for _ in range(1_000):
        used.ran(Ref("tool", "two", "find_user"))
        used.ran(Ref("tool", "c", "remove"))
    assert names(index.ask_now("find a user"))[:2] == ["two.find_user", "one.find_user"]
    assert names(index.ask_now("user"))[:2] == ["one.user", "two.user"]
    assert names(index.ask_now("user"))[-1] == "c.remove"
    assert names(index.ask_now("find a user", method="bm25"))[:2] == ["one.find_user", "two.find_user"]
