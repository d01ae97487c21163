"""Calls are remembered over restarts and beside other studios; secrets are not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mcp_studio.call.call import Call, CallOutcome, Lost, Rejected, Succeeded, ToolFailed
from mcp_studio.call.history import History, Past
from mcp_studio.call.secrets import SecretFilter, secret_places
from mcp_studio.call.store import Journal
from mcp_studio.catalog.listing import Ref
from mcp_studio.errors import LockHeld, StudioError
from mcp_studio.jsontext import Json, dumps, loads
from mcp_studio.redact import Redactor
from mcp_studio.schema.field import Form, List, Object, Text
from mcp_studio.vault.base import file_lock
from tests.support import ROOT, run

PLAIN = SecretFilter()
ECHO, ADD = Ref("tool", "s", "echo"), Ref("tool", "s", "add")


def ended(history: History, ref: Ref, arguments: Json, outcome: CallOutcome, **more: frozenset[str]) -> None:
    call = Call(ref, "tools/call", {"name": ref.name, "arguments": arguments})
    history.follow(call, ref, arguments, origin="studio", **more)
    call.finish(outcome)


def written(file: Path, *calls: tuple[Ref, Json, CallOutcome], keep: int = 20, keeper: SecretFilter = PLAIN) -> History:
    """Calls that ended in a studio that is closed now; gives the history of the next one."""

    async def go() -> None:
        history = History(file, keep, keeper)
        for call in calls:
            ended(history, *call)
        await history.close()

    run(go())
    return History(file, keep, keeper)


def of(history: History, ref: Ref) -> tuple[Past, ...]:
    return run(history.of(ref))


def test_calls_come_back_newest_first_with_how_they_ended(tmp_path: Path) -> None:
    value = loads('{"a": 1.0, "b": 12345678901234567890, "c": null, "d": 1e400}', exact=True)
    content = {"content": [{"type": "text", "text": "no\nsuch file"}], "isError": True}
    history = written(
        tmp_path / "h.jsonl",
        (ECHO, value, Succeeded(ms=12.34, size=99)),
        (ADD, {}, Succeeded()),
        (ECHO, {"n": 2}, ToolFailed(result=content)),
        (ECHO, {"n": 3}, Rejected(code=-32602, message="Invalid params")),
        (ECHO, {"n": 4}, Lost(error=StudioError("The connection ended."))),
    )
    lost, refused, failed, good = of(history, ECHO)
    assert (good.kind, good.ms, good.size, good.said, good.origin) == ("ok", 12.3, 99, "", "studio")
    assert dumps(good.arguments) == b'{"a":1.0,"b":12345678901234567890,"c":null,"d":1e400}'
    assert (failed.kind, failed.said) == ("tool error", "no such file")
    assert (refused.kind, refused.said) == ("refused", "-32602 Invalid params")
    assert (lost.kind, lost.said, lost.arguments) == ("lost", "The connection ended.", {"n": 4})
    assert [past.ref for past in run(history.of())] == [ECHO, ECHO, ECHO, ADD, ECHO]


def test_an_entry_keeps_the_newest_few_and_the_file_stays_bounded(tmp_path: Path) -> None:
    file = tmp_path / "h.jsonl"
    history = written(file, *((ECHO, {"n": n}, Succeeded()) for n in range(30)), (ADD, {}, Succeeded()), keep=5)
    assert [past.arguments for past in of(history, ECHO)] == [{"n": n} for n in range(29, 24, -1)]
    assert len(of(history, ADD)) == 1
    journal = Journal(file, lambda lines: lines, largest=1_000)
    journal.add([b"x" * 90] * 30)
    assert file.stat().st_size <= 1_000


def test_nothing_is_written_or_read_where_it_is_switched_off(tmp_path: Path) -> None:
    history = written(tmp_path / "h.jsonl", (ECHO, {"n": 1}, Succeeded()), keep=0)
    assert of(history, ECHO) == () and run(history.of()) == () and not (tmp_path / "h.jsonl").exists()


def test_secrets_are_left_out_and_it_says_which(tmp_path: Path) -> None:
    redactor = Redactor()
    redactor.learn("very-secret-1")
    keeper = SecretFilter(redactor.text, redactor.is_secret)
    value = {"password": "hunter2", "deep": [{"pin": "1234"}, "very-secret-1"], "x": 1}
    file = tmp_path / "h.jsonl"

    async def go() -> None:
        history = History(file, keeper=keeper)
        ended(
            history, ECHO, value, Lost(error=StudioError("very-secret-1 is wrong")), hidden=frozenset({"/deep/0/pin"})
        )
        ended(history, Ref("resource", "s", "x:///very-secret-1"), None, Succeeded())
        await history.close()

    run(go())
    (past,) = run(History(file).of())
    assert past.arguments == {"deep": [{}], "x": 1} and past.left_out == ("/password", "/deep/0/pin", "/deep/1")
    assert past.loss == "Not stored, since it is secret: password, deep/0/pin, deep/1."
    assert not any(word in file.read_bytes() for word in (b"hunter2", b"1234", b"very-secret"))


def test_fields_for_secrets_are_found_however_deep() -> None:
    pin = Text("pin", secret=True)
    row = Object("", fields=lambda: (pin, Text("name")))
    root = Object("", fields=lambda: (List("rows", items=lambda: row),))
    value = {"rows": [{"pin": "1", "name": "a"}, {"pin": ""}, {"pin": "3"}]}
    assert secret_places(Form(root=root), value) == {"/rows/0/pin", "/rows/2/pin"}
    assert secret_places(Form((pin,)), {"pin": "1", "other": 2}) == {"/pin"}


def test_arguments_that_are_too_large_are_not_kept_but_the_call_is(tmp_path: Path) -> None:
    (past,) = of(written(tmp_path / "h.jsonl", (ECHO, {"n": "x" * 300_000}, Succeeded())), ECHO)
    assert past.large and past.arguments is None and past.loss


def test_a_line_that_was_cut_short_costs_only_itself(tmp_path: Path) -> None:
    file = tmp_path / "h.jsonl"
    written(file, (ECHO, {"n": 1}, Succeeded()))
    with file.open("ab") as out:
        out.write(b'{"kind":"tool","server":"s","name":"echo","arguments":{"n":')
    history = written(file, (ECHO, {"n": 2}, Succeeded()))
    assert [past.arguments for past in of(history, ECHO)] == [{"n": 2}, {"n": 1}]
    file.write_bytes(b'\xff\n[]\n{"arguments":1}\n' + file.read_bytes())
    assert len(run(history.of())) == 2


def test_one_can_be_forgotten_also_on_the_disk(tmp_path: Path) -> None:
    file = tmp_path / "h.jsonl"
    history = written(file, (ECHO, {"n": "first"}, Succeeded()), (ECHO, {"n": "second"}, Succeeded()))
    run(history.forget(of(history, ECHO)[1]))
    assert [past.arguments for past in of(history, ECHO)] == [{"n": "second"}] and b"first" not in file.read_bytes()


WRITER = """
import sys
from mcp_studio.call.store import Journal
from pathlib import Path
journal = Journal(Path(sys.argv[1]), lambda lines: lines, largest=40_000)
print("go", flush=True)
for number in range(150):
    journal.add([b"%s %03d " % (sys.argv[2].encode(), number) + b"x" * 80])
"""


def test_programs_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    file = tmp_path / "h.jsonl"
    words = [sys.executable, "-c", WRITER, str(file)]
    writers = [subprocess.Popen([*words, name], cwd=ROOT, stdout=subprocess.PIPE) for name in "ab"]
    assert [writer.wait(30) for writer in writers] == [0, 0]
    for writer in writers:
        assert writer.stdout is not None
        writer.stdout.close()
    lines = file.read_bytes().splitlines()
    assert all(len(line) == 86 for line in lines)
    # It was rewritten more than once or not at all; the newest of both are there, in their order.
    for name in (b"a", b"b"):
        numbers = [int(line.split()[1]) for line in lines if line.startswith(name)]
        assert numbers == list(range(numbers[0], 150))


def test_a_lock_that_is_not_given_back_is_no_reason_to_wait_for_ever(tmp_path: Path) -> None:
    file = tmp_path / "h.jsonl"
    journal = Journal(file, lambda lines: lines)
    journal.add([b"one"])
    with file_lock(file):
        with pytest.raises(LockHeld):
            journal.keep(lambda lines: [])
    assert journal.lines() == [b"one"]
