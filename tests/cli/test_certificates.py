"""Which certificates are accepted and shown can be said for one run."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_studio.cli.options import parse
from mcp_studio.cli.targets import configuration, target
from mcp_studio.config.model import ServerConfig, Tls
from mcp_studio.errors import UsageError
from mcp_studio.paths import Paths

URL = "https://example.com/mcp"


def asked(*words: str) -> ServerConfig:
    """The server that a command line is about."""
    options = parse(["list", *words])
    own = target(options)
    config = configuration(options, Paths.default(), own)
    return next(iter(config.servers.values()))


def entry(folder: Path, tls: str = "", target: str = f'url = "{URL}"') -> str:
    file = folder / "own.toml"
    file.write_text(f"[servers.s]\n{target}\n{tls}")
    return str(file)


def test_a_server_at_a_url_gets_what_the_command_line_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    server = asked("--url", URL, "--ca", "ours.pem", "--cert", "me.pem", "--cert-key", "me.key")
    assert server.tls == Tls(str(tmp_path / "ours.pem"), str(tmp_path / "me.pem"), str(tmp_path / "me.key"))
    assert asked("--url", URL, "--insecure").tls == Tls(insecure=True)
    assert asked("--url", URL).tls == Tls()


def test_it_goes_over_what_the_file_says(tmp_path: Path) -> None:
    own = entry(tmp_path, '[servers.s.tls]\nca = "/a.pem"\ncert = "/c.pem"\nkey = "/k.pem"\npassword = "hush-hush"')
    assert asked("--config", own, "--ca", "/b.pem").tls == Tls("/b.pem", "/c.pem", "/k.pem", "hush-hush")
    other = asked("--config", own, "--cert", "/d.pem").tls
    assert (other.cert, other.key) == ("/d.pem", ""), "the key belongs to the other certificate"
    assert asked("--config", own, "--insecure").tls.insecure


def test_programs_of_a_file_are_left_as_they_are(tmp_path: Path) -> None:
    assert asked("--config", entry(tmp_path, target='command = "x"'), "--insecure").tls == Tls()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--insecure", "--", "program"), "--insecure is for servers at a URL."),
        (("--ca", "x", "--", "program"), "--ca is for servers at a URL."),
        (("--url", URL, "--cert-key", "k.pem"), "--cert FILE is missing"),
        (("--url", URL, "--ca", ""), "--ca needs the name of a file"),
        (("--url", URL, "--ca"), "--ca: expected one argument"),
        (("--url", URL, "--insecure=yes"), "--insecure: ignored explicit argument"),
    ],
)
def test_what_makes_no_sense_is_said(words: tuple[str, ...], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        asked(*words)
