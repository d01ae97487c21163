"""`send`: any message from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.kit import RAW, Done, cli, raw
from tests.support import python_server
from tests.support_servers import http_server

STRICT = python_server("raw_echoing")
MODERN = python_server("raw_server", "--modern")
STAMP = "io.modelcontextprotocol/protocolVersion"


def exchange(done: Done) -> Any:
    """The only exchange of an envelope, be it good or not."""
    envelope = done.json
    (found,) = envelope["result"] if envelope["ok"] else envelope["error"]["exchanges"]
    return found


def test_a_request_prints_its_answer() -> None:
    done = raw("send", "tools/call", "--params", '{"name": "add", "arguments": {"a": 1, "b": 2}}', "--id", '"mine"')
    assert done.code == 0 and json.loads(done.out)["id"] == "mine"
    assert json.loads(done.out)["result"]["content"][0]["text"] == "3"


@pytest.mark.parametrize("identity", ["null", "1.50", '{"a": 1}', "7", '""'])
def test_any_json_is_an_id(identity: str) -> None:
    done = raw("send", "ping", "--id", identity, "--json")
    found = exchange(done)
    assert done.code == 0 and found["answered"] and f'"id":{identity.replace(": ", ":")},' in found["sent"]


def test_modern_requests_are_stamped_unless_that_is_not_wanted() -> None:
    done = cli("send", "tools/list", "--meta", '{"traceparent": "00-1-2-03"}', "--json", "--", *MODERN)
    sent = json.loads(exchange(done)["sent"])
    assert done.code == 0 and sent["params"]["_meta"][STAMP] == "2026-07-28"
    assert sent["params"]["_meta"]["traceparent"] == "00-1-2-03"
    done = cli("send", "tools/list", "--no-stamp", "--json", "--", *MODERN)
    assert done.code == 1 and "params" not in json.loads(exchange(done)["sent"])
    done = cli("send", "tools/list", "--meta", json.dumps({STAMP: "2099-01-01"}), "--", *MODERN)
    assert done.code == 1 and "2099-01-01" in done.out and "an error" in done.err


def test_a_notification_has_no_id_and_waits_for_nothing_in_particular() -> None:
    done = raw("send", "notifications/none", "--notification", "--wait", "0.1", "--json")
    assert done.code == 0 and "id" not in json.loads(exchange(done)["sent"]) and exchange(done)["came"] == []


def test_a_malformed_frame_goes_out_as_typed_and_its_error_is_what_one_wants_to_see() -> None:
    done = cli("send", "--frame", '{"jsonrpc": "2.0", ', "--", *STRICT)
    assert done.code == 0 and json.loads(done.out)["error"]["code"] == -32700
    assert "what was sent is not a message: it is not JSON" in done.err


def test_frames_come_from_files_and_standard_input(tmp_path: Path) -> None:
    file = tmp_path / "frame"
    file.write_bytes(b'{"jsonrpc":"2.0","id":"from a file","method":"ping"}\n')
    assert json.loads(raw("send", "--frame", f"@{file}").out)["id"] == "from a file"
    done = raw("send", "--frame", "-", given='{"jsonrpc":"2.0","id":"piped","method":"ping"}\n')
    assert json.loads(done.out)["id"] == "piped"


def test_a_frame_of_several_lines_is_refused_unless_that_is_meant() -> None:
    lines = '{"jsonrpc":"2.0","id":1001,"method":"ping"}\n{"jsonrpc":"2.0","id":1002,"method":"ping"}'
    done = raw("send", "--frame", lines)
    assert done.code == 2 and "several lines" in done.err
    done = raw("send", "--frame", lines, "--newlines", "--wait", "1.5", "--json")
    assert [one["message"]["id"] for one in exchange(done)["came"]] == [1001, 1002]


def test_without_a_handshake_only_the_frames_are_sent_in_their_order() -> None:
    params = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    first = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    second = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
    done = raw("send", "--no-handshake", "--frame", first, "--frame", second, "--json")
    one, two = done.json["result"]
    assert one["came"][0]["message"]["result"]["protocolVersion"] == "2024-11-05"
    assert len(two["came"][0]["message"]["result"]["tools"]) == 6
    words = ("send", "server/discover", "--no-handshake", "--protocol-version", "2026-07-28", "--json")
    assert "2026-07-28" in str(exchange(cli(*words, "--", *MODERN))["came"])


def test_over_http_the_status_is_told() -> None:
    with http_server() as url:
        done = cli("send", "--frame", "{nonsense", "--url", url)
        assert "http: 400" in done.err
        done = cli("send", "tools/list", "--url", url, "--json")
        assert done.code == 0 and exchange(done)["came"][0] == {"kind": "http", "status": "200 OK"}


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["ping", "--wait", "0"], 2, "--wait: `0` is no number of seconds above 0."),
        (["ping", "--id", "x"], 2, "--id is not valid JSON"),
        (["ping", "--meta", "[]"], 2, "--meta must be a JSON object."),
        (["ping", "--params", "[1]", "--meta", "{}"], 0, ""),
        (["ping", "--params", "[1]", "--meta", '{"a": 1}'], 2, "--meta needs params that are an object."),
        (["ping", "--notification", "--id", "1"], 2, "--notification and --id do not go together."),
        (["--frame", "{}", "--id", "1"], 2, "--frame and --id do not go together"),
        (["target", "ping", "--frame", "{}"], 2, "`ping` is too much."),
        ([], 2, "Which method?"),
        (["nobody", "ping"], 2, "There is no server `nobody`."),
        (["no/such"], 1, "The server answered with an error."),
        (["tools/call", "--params", '{"name": "wait"}', "--wait", "0.1"], 1, "No answer within 0.1 s."),
        (["tools/call", "--params", '{"name": "fail"}'], 5, "The tool says that it failed."),
    ],
)
def test_codes_and_words_are_those_of_all_verbs(words: list[str], code: int, says: str) -> None:
    done = raw("send", *words)
    assert done.code == code and says in done.err, done


def test_a_server_that_dies_of_it_is_lost() -> None:
    done = raw("send", "--frame", "no JSON at all")
    assert done.code == 4 and "exit code 1" in done.err and "stderr: json.decoder.JSONDecodeError" in done.err


def test_a_server_of_the_configuration_is_named_first(tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    entries = [f"[servers.{name}]\ncommand = {json.dumps(RAW[0])}\nargs = {json.dumps(RAW[1:])}" for name in "ab"]
    file.write_text("\n".join(entries))
    assert cli("send", "b", "ping", "--config", str(file), "--json").json["server"] == "b"
    assert cli("send", "--server", "a", "ping", "--config", str(file), "--json").json["server"] == "a"
    assert "Which server?" in cli("send", "ping", "--config", str(file)).err


def test_live_characters_in_what_comes_back_are_shown_and_do_not_act() -> None:
    done = raw(
        "send", "tools/call", "--params", json.dumps({"name": "echo", "arguments": {"text": "\x1b[31mred\u202e"}})
    )
    assert "\x1b" not in done.out and "\u202e" not in done.out and "red" in done.out
