"""Calls to copy, and what the demo server's tools look like."""

from __future__ import annotations

import sys

from mcp_studio.call.copying.subject import Subject
from mcp_studio.catalog.listing import EntryKind, Ref
from mcp_studio.config.expand import expanded
from mcp_studio.config.model import ServerConfig, Source
from mcp_studio.jsontext import Json
from tests.support import ROOT

OPEN = {"inputSchema": {"type": "object"}}
"""A tool that takes anything."""
HOME = Source("user", "/home/me/config.toml")
SECRETS = {"TOK": "s3cr3t-of-env"}


def subject(value: Json = None, name: str = "echo", kind: EntryKind = "tool", **more: Json) -> Subject:
    """A call on a server that is not there."""
    given: dict[str, Json] = {"server": ServerConfig("lib", command="library", source=HOME), "tool": OPEN, **more}
    return Subject(Ref(kind, given["server"].name, name), value, **given)


def entry(**written: Json) -> ServerConfig:
    """A server's entry with its references replaced: `${TOK}` and `${keyring:…}` are secrets."""
    return expanded(ServerConfig("lib", **written), SECRETS, lambda name: f"password of {name}")


def came(structured: Json) -> dict[str, Json]:
    """An answer with this structured content."""
    return {"result": {"structuredContent": structured}}


def demo(url: str = "") -> ServerConfig:
    """The demo server at a URL, or as a program."""
    if url:
        return ServerConfig("demo", url=url)
    module = ("-m", "mcp_studio.servers.demo")
    return ServerConfig("demo", command=sys.executable, args=module, env={"PYTHONPATH": str(ROOT)})
