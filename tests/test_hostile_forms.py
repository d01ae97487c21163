"""What comes from a server, a project's folder or the clipboard, and means no good: in bounded time, as text."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from textual.events import Paste

from mcp_studio.call.copying.formats import copy_as
from mcp_studio.call.copying.paste import PasteProblem, read_paste
from mcp_studio.call.copying.subject import Subject
from mcp_studio.call.drafts import Drafts
from mcp_studio.call.history import History, past_of
from mcp_studio.call.saved import folders
from mcp_studio.call.secrets import SecretArguments, SecretFilter, secret_places
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.load import TrustStore, load
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import UsageError
from mcp_studio.paths import Paths
from mcp_studio.protocol.views import ToolView
from mcp_studio.safetext import LINES_LIVE
from mcp_studio.schema.field import Text
from mcp_studio.schema.form import build
from mcp_studio.schema.text import set_pair
from mcp_studio.tui.form.editors import AreaEditor
from mcp_studio.tui.form.json_editor import JsonEditor
from mcp_studio.tui.screens.insert import Paste as PasteDialog
from tests.support import run
from tests.tui.stage import on_stage, raw

REF = Ref("tool", "s", "t")


@pytest.mark.parametrize(
    "text",
    ["```\n" + "\n" * 200_000, "$" * 200_000, "(" * 200_000, 'curl "' + "a" * 200_000, "curl " + "1" * 200_000],
    ids=["blank lines in a fence", "dollars", "brackets", "an open quote", "digits"],
)
def test_a_pasted_text_that_is_nothing_is_read_as_quickly_as_any(text: str) -> None:
    began = time.process_time()
    with pytest.raises(PasteProblem):
        read_paste(text)
    assert time.process_time() - began < 1


def test_a_fence_around_a_call_is_still_taken_off() -> None:
    assert read_paste('```json\n{"a": 1}\n```\n').arguments == {"a": 1}
    assert read_paste('\n ```\n{"a": 1}```  \n').arguments == {"a": 1}


ENV = ["X}$(touch owned)", "A=$(touch owned)", "A;touch owned;", "-Stouch owned", "A\ntouch owned\n", "`touch owned`"]


def test_names_of_variables_run_nothing_in_a_copied_command(tmp_path: Path) -> None:
    for name in ENV:
        for more in ({"env": {name: "v"}}, {"env": {name: "s3cr3t-s3cr3t"}, "secrets": ("s3cr3t-s3cr3t",)},
                     {"inherit_env": (name,)}):  # fmt: skip
            server = ServerConfig("s", command="true", **more)  # type: ignore[arg-type]
            text = copy_as(Subject(REF, {}, server=server), "standalone").text
            subprocess.run(
                ["sh", "-c", f"mcp-studio() {{ :; }}\n{text}"], cwd=tmp_path, capture_output=True, check=False
            )
            _, command = text.split(" -- ", 1)
            subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, check=False)
            assert not list(tmp_path.iterdir()), text


def test_defaults_of_references_carry_no_control_characters_into_a_shell() -> None:
    written = ServerConfig("s", command="true", args=("${A:-x\x1b[201~\u2028\ry}", "${keyring:a\nb}"))
    server = ServerConfig("s", command="true", args=("s3cr3t-s3cr3t", "other-s3cr3t"), written=written,
                          secrets=("s3cr3t-s3cr3t", "other-s3cr3t"))  # fmt: skip
    made = copy_as(Subject(REF, {}, server=server), "standalone")
    assert not re.search(LINES_LIVE, made.text)
    assert not any("\n" in remark for remark in made.remarks)
    word = made.text.split('"')[1]
    assert subprocess.run(["sh", "-c", f'printf %s "{word}"'], capture_output=True, check=True, env={}).stdout == (
        "x\x1b[201~\u2028\ry".encode()
    )


def test_forty_conditions_do_not_make_a_key_of_the_command_line_endless() -> None:
    named: dict[str, Any] = {
        "allOf": [
            {"if": {"properties": {"a": {"const": n}}}, "then": {"properties": {f"b{n}": {"type": "integer"}}}}
            for n in range(40)
        ]
    }
    form = build({"type": "object", "properties": {"a": {}}, **named})
    began = time.process_time()
    assert set_pair(form, {"a": 1}, "b1=5") == {"a": 1, "b1": 5}
    for key in ("b39", "nothing", "x.y"):
        try:
            set_pair(form, {}, f"{key}=5")
        except ValueError:
            pass
    assert time.process_time() - began < 2


def test_a_history_that_grew_without_bound_is_read_from_its_end(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    line = b'{"kind":"tool","server":"s","name":"t","arguments":{"a":1},"at":1.0,"outcome":"ok","id":"x"}'
    with file.open("wb") as stream:
        stream.truncate(3_000_000_000)  # takes no room on the disk
        stream.seek(0, os.SEEK_END)
        stream.write(b"\n" + line + b"\n")
    found = run(History(file).of())
    assert [(past.ref, past.arguments) for past in found] == [(REF, {"a": 1})]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_or_a_device_in_the_place_of_the_history_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    for name in ("pipe", "link"):
        assert run(History(tmp_path / name).of()) == ()


def test_a_line_of_another_program_in_the_history_is_told_as_what_it_is() -> None:
    raw = {"kind": "tool", "server": "s", "name": "t", "arguments": None, "at": 9.9e12, "outcome": "ok\x1b[31m" * 9_999,
           "origin": "\x1b]52;" * 9_999, "said": "\x1b[2J" * 9_999, "left_out": ["/a\nb", 5], "id": "i"}  # fmt: skip
    past = past_of(json.dumps(raw).encode())
    assert past is not None
    assert (past.kind, past.left_out) == ("", ("/a\nb",))
    assert len(past.said) <= 200 and len(past.origin) <= 200 and "\n" not in past.loss
    assert datetime.fromtimestamp(past.at).year == 1970


SAVED = 'version = 1\nserver = "s"\ntool = "t"\n[arguments]\na = "{}"\n'


def test_agreeing_is_to_the_file_that_was_read(tmp_path: Path) -> None:
    (tmp_path / ".mcp-studio" / "calls").mkdir(parents=True)
    file = tmp_path / ".mcp-studio" / "calls" / "one.toml"
    file.write_text(SAVED.format("${env:HOME}"))
    places = folders(Paths.default(), tmp_path)
    shown = places.find("one")
    file.write_text(SAVED.format("${keyring:bank}"))  # while the question is on the screen
    places.agree(shown)
    assert places.agreed(shown)
    assert not places.agreed(places.find("one"))
    file.write_text(SAVED.format("${env:HOME}"))
    assert places.agreed(places.find("one"))
    assert places.agreed(places.rename(places.find("one"), "two"))
    assert places.agreed(places.find("two"))


def test_a_name_of_a_secret_cannot_write_into_the_question(tmp_path: Path) -> None:
    (tmp_path / ".mcp-studio" / "calls").mkdir(parents=True)
    for number, name in enumerate(["A\\nIt is harmless. Press y", "A\\u202ey", "A" * 500]):
        file = tmp_path / ".mcp-studio" / "calls" / f"n{number}.toml"
        file.write_text(SAVED.format(f"${{env:{name}}}"))
    loaded = folders(Paths.default(), tmp_path).load()
    assert not loaded.calls
    assert ["cannot be shown whole on a line" in problem.message for problem in loaded.failed] == [True] * 3


# ---------------------------------------------------------------------- secrets

T: dict[str, Any] = {"type": "string"}
DEEP = {
    "type": "object",
    "properties": {
        "rows": {"type": "array", "items": {"type": "object", "properties": {"w": {**T, "writeOnly": True}, "p": T}}},
        "map": {"type": "object", "additionalProperties": {**T, "format": "password"}},
        "either": {"oneOf": [{"type": "object", "properties": {"passphrase": T}}, T]},
        "pin": {"type": "integer", "format": "password"},
        "whole": {"type": "object", "writeOnly": True, "properties": {"a": T}},
    },
}
VALUE: dict[str, Any] = {
    "rows": [{"p": "open"}, {"w": "row-s3cret", "p": "open"}], "map": {"k": "map-s3cret"},
    "either": {"passphrase": "either-s3cret"}, "pin": 123456, "whole": {"a": "whole-s3cret"},
}  # fmt: skip


def test_secrets_inside_of_arguments_are_known_before_they_are_sent() -> None:
    tool = ToolView({"name": "t", "inputSchema": DEEP})
    assert sorted(SecretArguments().of(tool, VALUE)) == ["either-s3cret", "map-s3cret", "row-s3cret", "whole-s3cret"]
    assert list(SecretArguments().of(tool, {"rows": [{"p": "open-open"}]})) == []
    places = secret_places(build(DEEP), VALUE)
    assert places == {"/rows/1/w", "/map/k", "/either/passphrase", "/pin", "/whole"}
    kept, _ = SecretFilter().without(VALUE, places)
    assert kept == {"rows": [{"p": "open"}, {"p": "open"}], "map": {}, "either": {}}


def test_a_schema_of_any_size_is_asked_for_secrets_in_no_time() -> None:
    large: dict[str, Any] = {"type": "object", "properties": {f"p{n}": {"items": [{}] * 9} for n in range(20_000)}}
    tool = ToolView({"name": "t", "inputSchema": large})
    began = time.process_time()
    assert list(SecretArguments().of(tool, {"p1": [{"a": "b"}]})) == []
    assert time.process_time() - began < 2


LINE = 'version = 1\nserver = "s"\ntool = "t"\n'


def test_a_file_that_toml_takes_hours_for_costs_no_time_and_only_itself(tmp_path: Path) -> None:
    folder = tmp_path / ".mcp-studio" / "calls"
    folder.mkdir(parents=True)
    (folder / "a.toml").write_text(LINE + "a." * 200_000 + "b = 1\n")
    (folder / "b.toml").write_text(LINE + "[" + "'a' . " * 100_000 + "b]\n")
    (folder / "c.toml").write_text(LINE + "[arguments]\na = 0x" + "f" * 200_000 + "\n")
    long = "a." * 500 + "0x" + "f" * 5_000
    (folder / "d.toml").write_text(LINE + f'[arguments]\n"{long}" = """{long}"""\n')
    began = time.process_time()
    places = folders(Paths.default(), tmp_path)
    loaded = places.load()
    assert time.process_time() - began < 2
    assert [(one.name, one.arguments) for one in loaded.calls] == [("d", {long: long})]
    said = [problem.message for problem in loaded.failed]
    assert ["too long" in message for message in said] == [True] * 3, said
    assert places.find("d").name == "d"
    with pytest.raises(UsageError):
        places.find("../calls/d")


def test_a_projects_own_file_cannot_hold_up_the_start(tmp_path: Path) -> None:
    (tmp_path / ".mcp-studio.toml").write_text("a." * 200_000 + "b = 1\n")
    began = time.process_time()
    found = load(Paths.default(), tmp_path)
    assert time.process_time() - began < 2
    assert "too long" in found.problems[0].message


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_files_that_are_none_of_ours_do_not_hold_up_the_start(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".mcp-studio.toml")
    assert not load(Paths.default(), tmp_path).untrusted
    os.mkfifo(tmp_path / "drafts")
    assert Drafts(tmp_path / "drafts").get("any") is None
    with (tmp_path / "large").open("wb") as stream:
        stream.truncate(3_000_000_000)  # takes no room on the disk
    assert Drafts(tmp_path / "large").get("any") is None
    (tmp_path / "trusted").write_text("[" * 100_000)
    assert not TrustStore(tmp_path / "trusted").agreed("any")


async def test_megabytes_pasted_into_an_editor_hold_nothing_up() -> None:
    text = "lorem " * 400_000
    async with on_stage(raw()) as stage:
        await stage.open("echo")
        answers: list[Any] = []
        stage.app.push_screen(PasteDialog("x", Text("x")), answers.append)
        await stage.until(lambda: isinstance(stage.app.focused, AreaEditor))
        began = time.process_time()
        stage.app.focused.post_message(Paste(text))  # type: ignore[union-attr]
        await stage.shows("It becomes 'lorem")
        assert time.process_time() - began < 2
        await stage.press("a")  # what is typed now comes instead of it
        await stage.shows("It becomes 'a'")
        stage.app.focused.post_message(Paste(text))  # type: ignore[union-attr]
        await stage.shows("It becomes 'lorem")
        await stage.press("ctrl+j")
        assert answers[0].value == text.rstrip("\n")

        await stage.press("ctrl+pagedown")
        await stage.until(lambda: stage.main.call.query(JsonEditor))
        editor = stage.main.call.query_one(JsonEditor)
        editor.area.focus()
        editor.area.post_message(Paste(text))
        await stage.told("2,400,000 characters are too many")
        assert editor.area.text == "{}"
