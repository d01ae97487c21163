"""What of our environment reaches a server."""

from __future__ import annotations

from mcp_studio.config.model import ServerConfig
from mcp_studio.transport.guard import child_environment

OURS = {"HOME": "/home/me", "PATH": "/bin", "TERM": "xterm", "SECRET": "s3cr3t", "LANG": "C", "USER": "() { evil; }"}


def test_only_the_harmless_variables_are_passed_on() -> None:
    got = child_environment(ServerConfig("a"), OURS)
    assert {"HOME": "/home/me", "PATH": "/bin", "TERM": "xterm"}.items() <= got.items()
    assert "SECRET" not in got
    assert "LANG" not in got


def test_a_shell_function_is_never_passed_on() -> None:
    assert "USER" not in child_environment(ServerConfig("a", inherit_env=("USER",)), OURS)


def test_an_entry_can_inherit_and_set_variables() -> None:
    config = ServerConfig("a", env={"TERM": "dumb", "NEW": ""}, inherit_env=("SECRET", "MISSING"))
    got = child_environment(config, OURS)
    assert (got["TERM"], got["NEW"], got["SECRET"]) == ("dumb", "", "s3cr3t")
    assert "MISSING" not in got
