"""`replay` and `mock` on the command line: what is printed, exit codes, and what is refused in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mcp_studio.catalog.listing import Ref
from mcp_studio.redact import Redactor
from mcp_studio.trace.export.bundle import open_file
from mcp_studio.trace.export.formats import export
from tests.cli.kit import RAW, Cli, argv, cli, raw
from tests.studio_support import opened, stdio
from tests.support import run


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some calls of the small server `s`."""
    file = tmp_path_factory.mktemp("replay") / "calls.mcptrace"

    async def main() -> None:
        async with opened(stdio(RAW, "s")) as studio:
            secret = {"text": "x", "password": "hunter2-hunter2"}
            for tool, arguments in (("echo", {"text": "hi"}), ("add", {"a": 1, "b": 2}), ("echo", secret)):
                await studio.call_tool(Ref("tool", "s", tool), arguments, approved=True).wait()
            await export(studio.trace, None, "bundle", file, studio.redactor)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MCP_STUDIO_HOME", str(file.parent))
        run(main())
    return file


def test_a_replay_tells_what_is_the_same_and_ends_with_0(bundle: Path) -> None:
    done = raw("replay", str(bundle), "tool:echo hi", "--yes")
    assert done.code == 0 and done.out.startswith("same     tools/call echo"), done
    assert "1 request: 1 same" in done.err
    told = cli("replay", str(bundle), "method:tools/list", "--json", "--", *argv("mock", str(bundle))).json
    assert told["ok"] and told["result"]["summary"]["same"] == 1 and told["server"] == "target"


def test_last_is_the_same_session_for_all_that_open_one(tmp_path: Path) -> None:
    home: Any = {"MCP_STUDIO_HOME": str(tmp_path)}
    for words in (("trace", "last"), ("mock", "last"), ("replay", "last", "--", *RAW)):
        done = cli(*words, **home)
        assert done.code == 2 and "There is no session" in done.err, done
    assert raw("call", "echo", "text=hi", **home).out == "hi\n"
    mock = ("--", "env", f"MCP_STUDIO_HOME={tmp_path}", *argv("mock", "last"))
    for _ in range(2):  # the second mock is of what the first one said, and not of what its client is recording
        done = cli("call", "echo", "text=hi", *mock, **home)
        assert (done.code, done.out) == (0, "hi\n"), done
    assert "1 request: 1 same" in raw("replay", "last", "tool:echo", "--yes", **home).err
    assert "tools/call" in cli("trace", "last", "tool:echo", **home).out


def test_what_differs_is_printed_and_ends_with_1(bundle: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    changed(bundle, other)
    done = cli("replay", str(other), "tool:add", "--yes", "--", *RAW)
    assert done.code == 1 and "differs  tools/call add" in done.out, done
    assert '~ content[0].text: "4" → "3"' in done.out and "1 of 1 are not as recorded" in done.err
    told = cli("replay", str(other), "tool:add", "--yes", "--json", "--", *RAW).json
    (step,) = told["error"]["result"]["steps"]
    assert step["differences"][0] == {"kind": "changed", "path": "content[0].text", "before": "4", "after": "3"}
    assert cli("replay", str(other), "tool:add", "--yes", "--ignore", "content[*].text", "--", *RAW).code == 0


def test_a_replay_goes_to_the_tools_of_a_file_and_says_where_a_query_is_wrong(bundle: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def echo(text: str) -> str:\n    return text\n")
    done = cli("replay", str(bundle), "tool:echo hi", "--yes", "--module", str(file), "--json").json
    assert done["server"] == "mine" and done["result"]["summary"]["same"] == 1
    wrong = raw("replay", str(bundle), "tool:echo tool:", "--json")
    assert wrong.code == 2 and wrong.json["error"]["query"] == {"start": 10, "end": 15}


def test_replays_can_keep_the_pauses_and_ignore_nothing(bundle: Path) -> None:
    done = raw("replay", str(bundle), "tool:add", "--yes", "--paced", "--strict", "--json")
    assert done.code == 0 and done.json["result"]["summary"]["same"] == 1


def changed(bundle: Path, other: Path) -> None:
    """The same as JSON lines, with another sum."""
    run(export(open_file(bundle), None, "jsonl", other, Redactor()))
    text, parts = other.read_text(), []
    for sum_, wrong in (('"text": "3"', '"text": "4"'), ('\\"text\\": \\"3\\"', '\\"text\\": \\"4\\"')):
        parts.append(text.count(sum_))
        text = text.replace(sum_, wrong)
    assert sum(parts) == 1
    other.write_text(text)


def test_secrets_are_filled_in_or_the_request_is_not_sent(bundle: Path) -> None:
    refused = raw("replay", str(bundle), "tool:echo x", "--yes")
    assert refused.code == 1 and "the recording does not have arguments.password, being secret" in refused.out
    filled = raw("replay", str(bundle), "tool:echo x", "--yes", "--set", "password=${REPLAY_PASSWORD}",
                 REPLAY_PASSWORD="hunter2-hunter2")  # fmt: skip
    assert filled.code == 0, filled
    assert "hunter2" not in filled.out + filled.err
    absent = raw("replay", str(bundle), "tool:echo x", "--set", "password=${REPLAY_PASSWORD}")
    assert absent.code == 2 and "REPLAY_PASSWORD" in absent.err


def test_many_calls_are_a_programs_and_want_approval(bundle: Path) -> None:
    done = raw("replay", str(bundle), "tool:add")
    assert done.code == 6 and "target.add needs approval" in done.err and "--yes" in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "Which recording?"), (("nix",), "There is no session `nix`"),
        (("{bundle}", "tool:nix"), "chooses nothing"),
        (("{bundle}", "tool:("), "tool"), (("{bundle}",), "went to `s`, which is not configured"),
        (("/nowhere/x.mcptrace",), "There is no file"), ((__file__,), "is no recording"),
        (("{bundle}", "--ignore", "a[", "--", "true"), "no pattern"),
        (("{bundle}", "--set", "x", "--", *RAW), "not of the form FIELD=VALUE"),
    ],
)  # fmt: skip
def test_wrong_words_of_replay_are_told(here: Cli, bundle: Path, words: tuple[str, ...], said: str) -> None:
    done = here("replay", *(word.replace("{bundle}", str(bundle)) for word in words))
    assert done.code == 2 and said in done.err and "Traceback" not in done.err, done


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "Which recording?"), (("a", "b"), "Which recording?"), (("{bundle}", "--server", "t"), "no server `t`"),
        (("{bundle}", "--http", "x"), "`x` is no whole number"),
        (("{bundle}", "--latency", "soon"), "`soon` is no whole number"),
        (("nix",), "There is no session `nix`"), (("{bundle}", "--server", "a", "--server", "b"), "about one server"),
    ],
)  # fmt: skip
def test_wrong_words_of_mock_are_told(here: Cli, bundle: Path, words: tuple[str, ...], said: str) -> None:
    done = here("mock", *(word.replace("{bundle}", str(bundle)) for word in words))
    assert done.code == 2 and said in done.err and "Traceback" not in done.err, done


def test_a_mock_is_a_server_like_any_other_and_says_what_it_plays(bundle: Path) -> None:
    mock = argv("mock", str(bundle), "--latency", "5")
    done = cli("call", "echo", "text=hi", "--", *mock)
    assert done.code == 0 and done.out.strip() == "hi", done
    unknown = cli("call", "echo", "text=ho", "--", *mock)
    assert unknown.code == 1 and 'differs in: ~ arguments.text: "hi" → "ho"' in unknown.err
    alone = cli("mock", str(bundle))
    assert alone.code == 0 and alone.out == "" and "mock of s: " in alone.err and "‹redacted› stands for" in alone.err


def test_a_mock_starts_no_guard_and_imports_no_sdk(bundle: Path) -> None:
    import subprocess
    import sys

    code = (
        "import sys; from mcp_studio.cli.main import run; run(sys.argv[1:]);"
        "bad = {'mcp', 'pydantic', 'httpx2', 'textual', 'jsonschema'}"
        " & set(sys.modules); assert not bad, bad"
    )
    words = [sys.executable, "-c", code, "mock", str(bundle), "-q"]
    done = subprocess.run(words, input=b"", capture_output=True, timeout=120, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr.decode()
