"""What the verbs print and how they end, on real servers."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from mcp_studio.jsontext import Json
from mcp_studio.present.blocks import structured_content
from mcp_studio.protocol.message import PART
from tests.cli.kit import RAW, Done, argv, cli, environment, faulty, raw
from tests.support import ROOT, python_server
from tests.support_servers import demo_stdio

# ------------------------------------------------------------------ shell


@pytest.mark.parametrize("era", [(), ("--modern",)])
def test_a_shell_does_the_lines_of_a_pipe_on_one_connection(era: tuple[str, ...]) -> None:
    lines = [
        "# nothing",
        "call echo text='hello world'",
        "nonsense",
        "call fail --yes",
        "get greet who=Ada",
        "exit",
        "list",
    ]
    done = cli("shell", "--", *RAW, *era, given="\n".join(lines))
    assert (done.code, done.out) == (2, "hello world\nuser:\n  Greet Ada.\n"), done
    assert "There is no command `nonsense`" in done.err and "tool error: It went wrong." in done.err


@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        ("call echo --url http://h", 2, "--url is for the whole shell"), ("call 'echo", 2, "No closing quotation"),
        ("call echo", 2, "text= is required"), ("call fail", 6, "needs approval"),
        ("read raw://note -- x", 2, "-- is for the whole shell"), ("call add a=1 b=2", 0, ""), ("help call", 0, ""),
    ],
)  # fmt: skip
def test_a_line_ends_as_its_verb_would(line: str, code: int, says: str) -> None:
    done = cli("shell", "--", *RAW, given=f"{line}\n")
    assert done.code == code and says.lower() in done.err.lower(), done


def test_a_result_from_the_cache_says_how_old_it_is(tmp_path: Path) -> None:
    config = tmp_path / "servers.toml"
    config.write_text(f'[servers.s]\ncommand = "{RAW[0]}"\nargs = {RAW[1:]}\ncache_ttl = 0\n')
    lines = ["read raw://note", "read raw://notes/ada", "read raw://note", "read raw://note --no-cache"]
    done = cli("shell", "--json", "--config", str(config), given="\n".join(lines))
    cached = [json.loads(line).get("cached") for line in done.out.splitlines()]
    assert [one and one["age"] >= 0 for one in cached] == [None, None, True, None]
    assert done.code == 0 and done.err.count("from the cache, 0 s old, ttl no end, private") == 1


def test_a_shell_starts_a_server_that_died_again() -> None:
    done = cli("shell", "--json", "--", *python_server("raw_tasks"), given="call die\ncall plain\n")
    first, second = map(json.loads, done.out.splitlines())
    assert (done.code, first["ok"], second["ok"]) == (4, False, True)
    assert cli("shell", "--", "no-such-program", given="list\n").code == 4


# ------------------------------------------------------------------ list


def test_list_tools() -> None:
    done = raw("list", "tools")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[0] == "r  target.echo   Gives back what it gets."
    assert any(line.startswith("d  target.fail") for line in done.out.splitlines())


def test_list_everything_groups_by_kind() -> None:
    lines = raw("list").out.splitlines()
    assert [line for line in lines if not line.startswith(" ")] == ["tools", "resources", "templates", "prompts"]
    assert "  target  raw://note  Text." in lines


def test_list_as_json_keeps_what_the_server_sent() -> None:
    done = raw("list", "prompts", "--json")
    envelope = done.json
    assert done.code == 0 and envelope["ok"] and envelope["server"] == "target" and envelope["ms"] > 0
    (prompt,) = envelope["result"]["prompts"]
    assert prompt["ref"] == "target.greet" and prompt["definition"]["arguments"][0]["name"] == "who"


def test_malformed_entries_are_listed_with_the_reason() -> None:
    done = faulty("bad-tool", "list", "tools")
    assert done.code == 0 and "warning: target, tools: " in done.err and len(done.out.splitlines()) > 2


def test_what_a_server_prints_to_stdout_is_told() -> None:
    done = faulty("stray", "list", "tools")
    assert done.code == 0 and "which belongs to the protocol" in done.err and "target.echo" in done.out
    assert faulty("stray", "list", "tools", "--quiet").err == ""


# ------------------------------------------------------------------ call


def test_what_a_server_does_wrong_during_a_call_is_told_beside_its_end() -> None:
    done = faulty("null-id", "call", "echo", "text=hi", "--timeout", "0.5")
    assert done.code == 1 and "what? (-32700)" in done.err and "No answer within 0.5 s" in done.err


def test_call_prints_the_text() -> None:
    done = raw("call", "echo", "text=hi there")
    assert (done.code, done.out, done.err) == (0, "hi there\n", "")


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["a=1", "b=2.5"], ""),
        (["--args", '{"a": 1, "b": 2.5}'], ""),
        (["--args", '{"a": 9, "b": 2.5}', "a=1"], ""),
        (["--args", "-"], '{"a": 1, "b": 2.5}'),
        (["a:=1", "b:=25e-1"], ""),
    ],
)
def test_arguments_are_typed_by_the_schema(words: list[str], given: str) -> None:
    done = raw("call", "target.add", *words, "--json", given=given)
    assert done.code == 0, done.err
    assert "3.5" in json.dumps(done.json["result"])


def test_arguments_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"text": "from a file"}')
    assert raw("call", "echo", "--args", f"@{tmp_path / 'a.json'}").out == "from a file\n"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["ech"], "target has no tool 'ech'. Did you mean `echo`?"),
        (["echo"], "The arguments of target.echo are not right: text= is required."),
        (["echo", "txt=a"], "there is no argument 'txt'. Did you mean `text`?"),
        (["add", "a=one", "b=2"], "must be a number"),
        (["echo", "--args", "{"], "--args is not valid JSON"),
        (["echo", "--args", "[1]"], "--args must be a JSON object."),
        (["echo", "--args", "@/no/such/file"], "cannot be read"),
        (["--server", "other", "--tool", "echo"], "There is no server `other`."),
    ],
)
def test_wrong_arguments_are_told_before_anything_is_sent(words: list[str], says: str) -> None:
    done = raw("call", *words)
    assert done.code == 2 and says in done.err and done.out == ""


def test_wrong_arguments_can_be_sent_all_the_same() -> None:
    done = raw("call", "echo", "--unchecked", "--json")
    assert done.code in (0, 1, 5) and "target" in done.out


def test_inner_values_are_checked_against_the_whole_schema() -> None:
    done = cli("call", "form_nested", "--args", '{"customer": {"name": 17}}', "--json", "--", *demo_stdio())
    assert done.code == 2, done.out
    assert "customer.name= must be text" in done.json["error"]["message"]
    done = cli("call", "form_text", "isbn=12", "--", *demo_stdio())
    assert done.code == 2 and "isbn= must match the pattern" in done.err


def test_everything_wrong_with_arguments_is_told_at_once() -> None:
    done = raw("call", "add", "a=one", "c=3")
    assert "a: must be a number, got 'one'; there is no argument 'c'" in done.err
    done = raw("call", "add", "--args", '{"a": "one"}')
    assert "b= is required; a= must be a number, got 'one'." in done.err
    done = cli("call", "form_lists", "numbers[0]=x", "numbers[1]=y", "rows[0].title=5", "--", *demo_stdio())
    assert done.code == 2 and "numbers[0]: must be" in done.err, done.err


@pytest.mark.parametrize(
    ("pair", "sent"),
    [("note=null", None), ('note="null"', "null"), ("note=nullable", "nullable"), ("note:=null", None)],
)
def test_null_is_null_where_the_schema_allows_it(pair: str, sent: str | None) -> None:
    done = cli("call", "form_nullable", pair, "copies=null", "--as", "json", "--", *demo_stdio())
    assert json.loads(done.out) == {"note": sent, "copies": None}


@pytest.mark.parametrize("pair", ["text=null", 'text="null"'])
def test_null_is_text_where_the_schema_wants_text(pair: str) -> None:
    assert raw("call", "echo", pair).out == "null\n"


def test_a_refusal_without_words_is_told_by_its_code() -> None:
    lines = ['{"jsonrpc":"2.0","id":$ID,"error":{"code":-32000,"message":""}}']
    for era in ([], ["--modern"]):
        server = python_server("raw_script", *era)
        done = cli("call", "say", "--args", json.dumps({"lines": lines}), "--", *server)
        assert (done.code, done.err) == (1, "error: the server refused it: error -32000 without a message\n")


def test_a_tool_that_is_not_listed_can_be_named_by_its_option() -> None:
    done = raw("call", "--tool", "hidden", "--json")
    assert done.code in (1, 5) and "does not list a tool hidden" in done.err


def test_a_tool_error_is_exit_5() -> None:
    done = raw("call", "fail", "--yes")
    assert done.code == 5 and done.err.startswith("error: tool error: ") and done.out == ""
    envelope = raw("call", "fail", "--yes", "--json").json
    assert envelope["error"]["kind"] == "tool_error" and envelope["error"]["result"]["isError"] is True


def test_a_refused_request_is_exit_1() -> None:
    done = cli("call", "fail_as_request", "--json", "--", *demo_stdio())
    assert done.code == 1 and isinstance(done.json["error"]["code"], int)


def test_what_needs_approval_is_refused_without_somebody_to_ask() -> None:
    done = raw("call", "fail", "--json")
    assert done.code == 6 and done.json["error"]["kind"] == "input_needed"
    assert done.json["error"]["asked"] == "approval" and done.json["error"]["hint"] == "Approve it: --yes"


def test_what_a_server_asks_is_told_with_its_schema() -> None:
    done = raw("call", "ask", "--json")
    error = done.json["error"]
    assert done.code == 6 and error["asked"] == "elicitation"
    assert error["schema"]["properties"]["name"]["title"] == "Name"


def test_progress_is_narration() -> None:
    done = raw("call", "count", "steps=2", "pause=0")
    assert done.code == 0 and "1 of 2" in done.err and "of 2" not in done.out


def test_progress_of_a_flood_is_told_now_and_then_and_to_its_end() -> None:
    began = time.monotonic()
    done = raw("call", "count", "steps=20000", "pause=0")
    lines = [line for line in done.err.splitlines() if " of 20,000 " in line]
    assert lines[-1] == "  20,000 of 20,000 20000" and 1 < len(lines) <= 10 * (time.monotonic() - began + 1)


def test_live_characters_of_a_server_reach_neither_stream() -> None:
    for words in (["list"], ["call", "echo", "text=a"], ["list", "--json"], ["doctor"], ["doctor", "--json"]):
        done = faulty("hostile", *words)
        printed = done.out + done.err
        assert not {*map(ord, printed)} & ({*range(0x20), *range(0x7F, 0xA0), 0x202E, 0x200B} - {10}), words


def say(result: dict[str, Any], *words: str) -> Done:
    """Call a tool that has this result."""
    lines = ['{"jsonrpc":"2.0","id":$ID,"result":' + json.dumps(result) + "}"]
    server = python_server("raw_script")
    return cli("call", "say", "--args", "-", *words, "--", *server, given=json.dumps({"lines": lines}))


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


@pytest.mark.parametrize(
    ("texts", "structured", "printed"),
    [
        (['{"a": [1]}'], {"a": [1.0]}, '{"a": [1]}\n'),
        (["hi\n"], {"result": "hi\n"}, "hi\n"),
        (["1", '{"b": 2}'], {"result": [1, {"b": 2}]}, '1\n{"b": 2}\n'),
        (["3 found"], {"found": 3}, '3 found\n{\n  "found": 3\n}\n'),
        (["1"], {"result": True}, '1\n{\n  "result": true\n}\n'),
        ([], {"found": 0}, '{\n  "found": 0\n}\n'),
        ([], [*range(500)], "[\n  " + ",\n  ".join(map(str, range(500))) + "\n]\n"),
        ([], {"\x1b[2J": "a\u202eb\U000e0041\u0301"}, '{\n  "\\u001b[2J": "a\\u202eb\\udb40\\udc41\u0301"\n}\n'),
        ([], [], "[]\n"),
    ],
)
def test_structured_content_is_printed_where_the_text_does_not_say_it(
    texts: list[str], structured: object, printed: str
) -> None:
    done = say({"content": [text(one) for one in texts], "structuredContent": structured})
    assert (done.code, done.out) == (0, printed)
    assert ("structured content:" in done.err) == (bool(texts) and printed.count("\n") > len(texts))


def test_an_error_tells_its_structured_content_too() -> None:
    done = say({"content": [text("no room")], "structuredContent": {"left": 0}, "isError": True})
    assert done.code == 5 and 'tool error: no room {"left": 0}' in done.err


def test_an_embedded_resource_is_told_with_its_type_and_address() -> None:
    held = {"uri": "a://b", "mimeType": "text/x-c", "text": "inside"}
    more = {"uri": "a://d", "blob": "aGFsbG8="}
    done = say({"content": [{"type": "resource", "resource": held}, {"type": "resource", "resource": more}]})
    assert done.out == "[a://b text/x-c]\ninside\n[file · of unknown type · 5 B · a://d]\n"


def test_a_result_goes_to_a_new_file_whole(tmp_path: Path) -> None:
    words = "\x1b[2Jzwölf\n"
    file = tmp_path / "text"
    assert say({"content": [text(words)]}, "-o", str(file)).code == 0
    assert file.read_bytes() == words.encode()
    for wrong in (file, tmp_path / "none" / "x", file / "x"):
        done = say({"content": [text("never asked for")]}, "-o", str(wrong))
        assert done.code == 2 and str(wrong) in done.err and done.out == ""
    assert file.read_bytes() == words.encode()
    assert raw("get", "greet", "who=Ada", "-o", str(tmp_path / "got")).code == 0
    assert "Greet Ada." in (tmp_path / "got").read_text()


def test_what_is_binary_in_a_result_goes_to_files_as_bytes(tmp_path: Path) -> None:
    picture = {"type": "image", "mimeType": "image/png", "data": "aGFsbG8="}
    held = {"type": "resource", "resource": {"uri": "a://b", "blob": "aGE="}}
    assert say({"content": [picture]}, "-o", str(tmp_path / "one.png")).code == 0
    assert (tmp_path / "one.png").read_bytes() == b"hallo"
    done = say({"content": [text("two of them"), picture, held]}, "-o", str(tmp_path / "two.png"))
    assert done.out.startswith("two of them\n")
    assert [(tmp_path / name).read_bytes() for name in ("two.png", "two-2.png")] == [b"hallo", b"ha"]


def test_a_result_that_cannot_be_written_is_shown_all_the_same(tmp_path: Path) -> None:
    broken = {"type": "image", "mimeType": "image/png", "data": "a"}
    done = say({"content": [text("dear to make"), broken]}, "-o", str(tmp_path / "x.png"))
    assert done.code == 1 and "dear to make" in done.out and "not valid base64" in done.err


# ------------------------------------------------------------------ read, get, complete


def test_read_prints_the_text_and_saves_the_bytes(tmp_path: Path) -> None:
    text = raw("read", "raw://note").out
    assert text and raw("read", "target", "raw://note").out == text
    file = tmp_path / "note"
    done = raw("read", "raw://note", "-o", str(file))
    assert done.code == 0 and file.read_text().rstrip("\n") == text.rstrip("\n")
    again = raw("read", "raw://note", "-o", str(file))
    assert again.code == 2 and "nothing is overwritten" in again.err


def test_a_binary_resource_is_named_not_printed_and_saved_whole(tmp_path: Path) -> None:
    done = cli("read", "shop://lantern.png", "--", *demo_stdio())
    assert done.code == 0 and done.out.startswith("[image · image/png · ")
    file = tmp_path / "lantern.png"
    assert cli("read", "shop://lantern.png", "--output", str(file), "--", *demo_stdio()).code == 0
    assert file.read_bytes().startswith(b"\x89PNG")


def test_a_template_is_filled() -> None:
    done = cli("read", "shop://books/{id}", "id=twelve-soups", "--json", "--", *demo_stdio())
    assert done.json["result"]["contents"][0]["uri"] == "shop://books/twelve-soups"
    done = raw("read", "raw://notes/{name}", "nme=ada")
    assert done.code == 2 and "Did you mean `name`" in done.err


@pytest.mark.parametrize(
    ("template", "pairs", "uri"),
    [
        ("raw://x{/p*}{?q*}", ['p:=["a","b/c"]', 'q:=["1","2"]'], "raw://x/a/b%2Fc?q=1&q=2"),
        ("raw://x{/p*}{?q,r}", ["p=a", "q=1", "p=b/c", "q=2", "r=3"], "raw://x/a/b%2Fc?q=1,2&r=3"),
    ],
)
def test_a_template_is_expanded_with_what_words_give(template: str, pairs: list[str], uri: str) -> None:
    assert raw("read", template, *pairs, "--json").json["result"]["contents"][0]["uri"] == uri


@pytest.mark.parametrize(
    ("template", "pairs", "says"),
    [
        ("raw://notes/{name}", [], "needs name."),
        ("raw://x{/a}{.b}{+c}{?d}", ["a=1"], "needs b, c."),
        ("raw://notes/{name", ["name=a"], "stray { at character 13"),
        ("raw://notes/x", ["name=a"], "is no URI template"),
    ],
)
def test_what_a_template_lacks_is_named_and_nothing_is_read(template: str, pairs: list[str], says: str) -> None:
    done = raw("read", template, *pairs)
    assert done.code == 2 and says in done.err, done


def test_an_unknown_resource_is_refused_by_the_server() -> None:
    done = cli("read", "shop://nothing", "--json", "--", *demo_stdio())
    assert done.code == 1 and done.json["ok"] is False


def test_get_prints_the_messages() -> None:
    done = raw("get", "greet", "who=Ada")
    assert done.code == 0 and done.out.startswith("user:\n  ") and "Ada" in done.out
    assert raw("get", "greet").code == 2
    assert "Did you mean `greet`?" in raw("get", "gret", "who=a").err


def test_complete_prints_the_suggestions() -> None:
    done = cli("complete", "recommend", "genre=m", "--", *demo_stdio())
    assert (done.code, done.out) == (0, "mystery\n")


# ------------------------------------------------------------------ doctor, failures


def test_doctor_tells_each_step_and_its_time() -> None:
    done = raw("doctor", "--json")
    (report,) = done.json["result"]
    assert done.code == 0 and report["state"] == "ready" and report["argv"] == RAW
    assert [step["step"] for step in report["steps"]] == ["started", "negotiated", "listed"]
    assert report["counts"]["tools"] == 6 and "PATH" in report["environment"]
    text = raw("doctor").out
    assert "✓ target  ready" in text and "protocol     2025-11-25 (legacy era)" in text


def test_doctor_tells_what_failed_and_what_to_try() -> None:
    done = cli("doctor", "--", "mcp-no-such-program")
    assert done.code == 4 and "✗ target  failed" in done.out and "try:" in done.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--", "mcp-no-such-program"], "mcp-no-such-program"),
        (["--url", "http://127.0.0.1:9/mcp"], "127.0.0.1"),
        (["--timeout", "0.5", "--", *python_server("raw_faults", "--fault", "silent")], "0.5"),
    ],
)
def test_what_cannot_be_reached_is_exit_4(words: list[str], says: str) -> None:
    done = cli("list", "--json", *words)
    assert done.code == 4 and says in done.json["error"]["message"] and "Traceback" not in done.err


class _Locked(BaseHTTPRequestHandler):
    """Wants credentials, whatever is asked."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(401)
        self.send_header("WWW-Authenticate", "Bearer")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        return


def test_a_server_that_wants_a_sign_in_is_exit_3() -> None:
    with HTTPServer(("127.0.0.1", 0), _Locked) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            done = cli("list", "--url", f"http://127.0.0.1:{server.server_port}/mcp", "--json")
            report = cli("doctor", "--url", f"http://127.0.0.1:{server.server_port}/mcp")
        finally:
            server.shutdown()
            thread.join()
    assert done.code == 3 and done.json["error"]["kind"] == "sign_in_needed"
    assert report.code == 3 and "✗ target  needs a sign-in" in report.out


def test_a_list_that_cannot_be_read_is_exit_1_and_the_others_are_listed() -> None:
    done = faulty("list-error", "list", "--json")
    assert done.code == 1 and done.json["error"]["result"]["prompts"]
    assert "Not everything could be listed: tools" in done.json["error"]["message"]


def test_headers_for_a_command_are_refused() -> None:
    done = raw("list", "--header", "K: V")
    assert done.code == 2 and "--header is for servers at a URL." in done.err


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_large_result_is_printed_whole(more: list[str]) -> None:
    done = faulty("big-result", "call", "echo", "text=a", *more, options=("--size", "3000000"))
    assert done.code == 0 and len(done.out) > 3_000_000


PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
"""
"""A small process between: a process begins with the peak of the one that started it."""


def peak_of(*words: str) -> tuple[str, int]:
    """What a command line prints, and the most bytes of memory that it takes."""
    command = [sys.executable, "-c", PEAK, *argv(*words)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout, int(done.stderr.split()[-1]) * 1024


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the kernel counts in other units, or not at all")
@pytest.mark.parametrize("kind", ["text", "lines", "json", "structured"])
def test_a_large_result_takes_less_than_twice_its_bytes_of_memory(kind: str, tmp_path: Path) -> None:
    size, server, config = 20_000_000, ROOT / "tests" / "bench" / "large_server.py", tmp_path / "servers.toml"
    config.write_text(
        f"[limits]\nvalues = {size}\n[servers.s]\ncommand = {sys.executable!r}\nargs = [{str(server)!r}, '{size}']\n"
    )
    _, base = peak_of("call", "s.add", "a=1", "b=2", "--config", str(config))
    whole, most = peak_of("call", f"s.{kind}", "--json", "--config", str(config))
    shown, also = peak_of("call", f"s.{kind}", "--config", str(config))
    file = tmp_path / "result"
    _, written = peak_of("call", f"s.{kind}", "--output", str(file), "--config", str(config))
    assert max(most, also, written) - base < 2 * size
    assert file.read_text() == shown.removesuffix("\n")
    result = json.loads(whole)["result"]
    content, structured = result["content"], result.get("structuredContent")
    text = "" if structured else content[0]["text"]
    assert shown == f"{text}\n" if text else json.loads(shown) == structured
    assert structured["last"] == "the needle at the end" if structured else "the needle at the end" in text[-30:]


def test_a_large_text_hides_no_structured_content_that_says_something_else() -> None:
    rows: Json = [{"name": "\u00e9 \\ \n", "score": 1.5}] * (PART // 20)
    raw = json.dumps({"rows": rows}, ensure_ascii=False).encode()
    for other, hidden in (
        (rows, True),
        (rows[1:], False),
        ([{"name": "\u00e9\\\n", "score": "1.5"}, *rows[1:]], False),
    ):
        text = json.dumps({"rows": other}, ensure_ascii=False, indent=1)
        for said in (text, memoryview(json.dumps(text).encode())):
            result: Json = {"content": [{"type": "text", "text": said}], "structuredContent": memoryview(raw)}
            assert (structured_content(result) == []) is hidden
    small: Json = {"content": [{"type": "text", "text": said}], "structuredContent": {"a": 1}}
    assert structured_content(small) == [{"a": 1}]


def test_a_reader_that_leaves_early_is_no_crash() -> None:
    server = python_server("raw_faults", "--fault", "many-tools")
    started = subprocess.Popen(
        argv("list", "tools", "--", *server), env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert started.stdout is not None and started.stderr is not None
    started.stdout.close()
    assert b"Traceback" not in started.stderr.read()
    started.stderr.close()
    assert started.wait(10) in (0, 1)


@pytest.mark.parametrize(("words", "begins"), [(["call", "echo", "text=a"], "a\n"), (["list", "tools"], "r  target.")])
def test_connecting_verbs_import_neither_the_sdk_nor_the_interface_nor_sign_in(words: list[str], begins: str) -> None:
    code = "import sys, json; from mcp_studio.cli.main import run; run(sys.argv[1:]); print(json.dumps([*sys.modules]))"
    done = subprocess.run(
        [sys.executable, "-c", code, *words, "--", *RAW],
        env=environment(), capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    names = json.loads(done.stdout.splitlines()[-1])
    packages = {name.split(".")[0] for name in names}
    assert done.stdout.startswith(begins)
    words_alone = {"mcp_studio.auth", "mcp_studio.auth.hints", "mcp_studio.auth.model"}
    assert {name for name in names if name.startswith("mcp_studio.auth")} <= words_alone
    assert packages & {"mcp", "mcp_types", "pydantic", "textual", "rich", "httpx2", "jsonschema", "anyio"} == set()


# ------------------------------------------------------------------ --query


@pytest.mark.parametrize(
    ("words", "code", "out"),
    [
        (("call", "echo", "text=hi", "--query", "content[0].text"), 0, "hi"),
        (("call", "echo", "text=hi", "--query", "length(content)"), 0, "1"),
        (("list", "tools", "--query", "tools[?starts_with(name, 'ec')].name"), 0, '[\n  "echo"\n]'),
        (("read", "raw://note", "--query", "contents[0].none"), 0, "null"),
        (("get", "greet", "who=Ada", "--query", "messages[0].role"), 0, "user"),
        (("call", "fail", "--yes", "--query", "content"), 5, ""),
        (("call", "nosuch", "--query", "content["), 2, ""),
    ],
)
def test_a_query_prints_a_part_of_the_result(words: tuple[str, ...], code: int, out: str) -> None:
    done = raw(*words)
    assert (done.code, done.out.rstrip("\n")) == (code, out), done
    assert ("at column 9" in done.err) == (code == 2), "before anything is looked for"
    assert ("finds nothing in the result, which has contents" in done.err) == (out == "null")


def test_a_query_in_an_envelope_and_over_lines() -> None:
    done = raw("call", "echo", "text=hi", "--json", "--query", "content[0].type")
    assert (done.code, json.loads(done.out)["result"]) == (0, "text")
    done = raw("call", "echo", "text=hi", "--json", "--query", "length(content[0].annotations)")
    error = json.loads(done.out)["error"]
    assert done.code == 2 and "takes string or array or object, not null" in error["message"]
    assert error["result"]["content"][0]["text"] == "hi", "it was called: what came is not lost"
    given = "call echo text=a\nread raw://note --query contents[0].uri\n"
    done = cli("shell", "--query", "content[0].text", "--", *RAW, given=given)
    assert done.out.splitlines() == ["a", "raw://note"], done


# ------------------------------------------------------------------ files


@pytest.mark.parametrize(
    "words",
    [
        ("call", "echo", "text=hi", "--output"), ("pins", "export"), ("registry", "export"),
        ("dev", "--once", "--write-baseline"), ("trace", "last", "--export", "jsonl", "--output"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_written_is_told_in_the_same_way_by_every_verb(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    assert words[0] != "trace" or raw("list", "tools").code == 0
    file = str(tmp_path / ("x" * 300))
    done = cli(*words, file, *([] if words[0] == "trace" else ["--", *RAW]))
    assert done.code == 2 and f"{file} cannot be written: File name too long" in done.err, done


def test_a_folder_is_no_module_and_no_configuration(tmp_path: Path) -> None:
    done = cli("list", "--module", str(tmp_path))
    assert done.code == 2 and f"--module: {tmp_path} is a folder" in done.err
    done = cli("config", "set", "theme", "nord", "--config", str(tmp_path))
    assert done.code == 2 and "cannot be written: Is a directory" in done.err
