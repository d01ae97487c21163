"""Bending the protocol from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_studio.cli.options import parse
from mcp_studio.cli.targets import adjusted, configuration
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import UsageError
from mcp_studio.paths import Paths
from tests.cli.kit import RAW, cli, faulty, raw
from tests.support import python_server
from tests.support_servers import demo_stdio


@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18"])
def test_a_pinned_version_is_spoken_and_shown(version: str) -> None:
    done = raw("doctor", "--protocol-version", version, "--json")
    (report,) = done.json["result"]
    assert (report["version"], report["offered"]) == (version, version)


def test_doctor_says_what_was_offered_and_what_both_sides_declare() -> None:
    done = faulty("old-version", "doctor", "--protocol-version", "2025-06-18", "--capabilities", '{"roots": {}}')
    assert "protocol     2024-11-05 (legacy era, though 2025-06-18 was offered)" in done.out
    assert "we declare   roots\n" in done.out and "it declares  tools (listChanged), resources" in done.out
    assert "! it speaks protocol version 2024-11-05, though only 2025-06-18 was offered" in done.out


def test_a_modern_version_at_an_older_server_fails_and_says_why() -> None:
    done = raw("list", "--protocol-version", "2026-07-28")
    assert done.code == 1 and "server/discover" in done.err and "2026-07-28" in done.err


def test_capabilities_and_client_info_come_from_words_and_files(tmp_path: Path) -> None:
    file = tmp_path / "info.json"
    file.write_text('{"name": "somebody", "version": "7"}')
    words = ("--capabilities", '{"sampling": {}}', "--client-info", f"@{file}")
    for argv in (RAW, python_server("raw_server", "--modern")):
        (report,) = cli("doctor", "--json", *words, "--", *argv).json["result"]
        assert report["clientCapabilities"] == {"sampling": {}}
        assert report["clientInfo"] == {"name": "somebody", "version": "7"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--protocol-version", "2025-06-19"], "invalid choice: '2025-06-19' (choose from"),
        (["--protocol-version", "2025-06-18", "--era", "modern"], "belongs to the legacy era"),
        (["--capabilities", "[]"], "--capabilities must be a JSON object."),
        (["--capabilities", "{"], "--capabilities is not valid JSON"),
        (["--client-info", "@/no/such/file"], "/no/such/file cannot be read"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_starts(words: list[str], says: str) -> None:
    done = raw("list", *words)
    assert done.code == 2 and says in done.err


@pytest.mark.parametrize(
    ("words", "era", "version"),
    [
        (["--protocol-version", "2025-03-26"], "legacy", "2025-03-26"),
        (["--protocol-version", "2026-07-28", "--era", "auto"], "auto", "2026-07-28"),
        (["--era", "legacy"], "legacy", ""),
        (["--era", "modern"], "modern", "2026-07-28"),
        ([], "modern", "2026-07-28"),
    ],
)
def test_a_word_of_the_command_line_beats_the_file(words: list[str], era: str, version: str) -> None:
    configured = ServerConfig("s", era="modern", protocol_version="2026-07-28")
    server = adjusted(configured, parse(["list", *words]))
    assert (server.era, server.protocol_version) == (era, version)


def test_an_unknown_version_is_no_version() -> None:
    with pytest.raises(UsageError):
        adjusted(ServerConfig("s"), parse(["list", "--protocol-version", "new"]))


def test_doctor_declares_what_a_call_would() -> None:
    done = raw("doctor")
    assert done.code == 0 and "we declare   elicitation (form, url), sampling" in done.out


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_roots_of_the_command_line_are_what_the_server_gets(era: str, tmp_path: Path) -> None:
    asks = ("ask_roots", "--era", era, "--", *demo_stdio())
    done = cli("call", asks[0], "--root", str(tmp_path), "--root", "file:///srv/x", *asks[1:])
    assert (done.code, done.out) == (0, f"{tmp_path.as_uri()}\nfile:///srv/x\n"), done


def test_a_root_that_is_no_folder_is_refused_before_anything_starts() -> None:
    done = cli("list", "--root", "/no/such/folder", "--", "no-such-program")
    assert done.code == 2 and "there is no folder /no/such/folder" in done.err


def test_trace_context_is_sent_where_the_line_says_so() -> None:
    for words in (["call", "x"], ["call", "x", "--traceparent"], ["--traceparent"]):
        config = configuration(parse(words), Paths.default(), ServerConfig("s", command="x"))
        assert config.settings.traceparent is ("--traceparent" in words)
    assert raw("call", "echo", "text=hi", "--traceparent").out == "hi\n"


def test_a_server_that_asks_as_in_the_older_era_says_which_option_makes_it_work() -> None:
    argv = python_server("raw_both", "--pushes")
    failed = cli("call", "ask", "--", *argv)
    assert failed.code == 1 and "no back-channel" in failed.err and "--era legacy" in failed.err
    assert "--era legacy" in cli("call", "ask", "--json", "--", *argv).json["error"]["hint"]
    assert "requests input" in cli("call", "ask", "--era", "legacy", "--", *argv).err
