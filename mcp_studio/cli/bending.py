"""The options that bend the protocol for one run: era, version, what to declare, who to be, which roots to give."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mcp_studio.cli.given import given_object
from mcp_studio.cli.options import Options
from mcp_studio.config.bending import contradiction
from mcp_studio.config.model import Era, Root, ServerConfig
from mcp_studio.config.nearest import nearest
from mcp_studio.config.servers import ERAS
from mcp_studio.errors import UsageError
from mcp_studio.protocol.versions import VERSIONS, era_of


def bent(server: ServerConfig, options: Options) -> ServerConfig:
    """The entry with what the command line says over it; a word of the command line beats one of the file.

    Raises:
        UsageError: an unknown era or version, two that contradict each other, no JSON object, or no folder.
    """
    era, version = _era(options.value("--era")), _version(options.value("--protocol-version"))
    if era and version and (wrong := contradiction(era, version)):
        raise UsageError(f"--protocol-version: {wrong}")
    if version:
        server = replace(server, protocol_version=version, era=era or era_of(version) or "auto")
    elif era:
        pin = "" if contradiction(era, server.protocol_version) else server.protocol_version
        server = replace(server, era=era, protocol_version=pin)
    if text := options.value("--capabilities"):
        server = replace(server, capabilities=given_object("--capabilities", text))
    if text := options.value("--client-info"):
        server = replace(server, client_info=given_object("--client-info", text))
    if given := options.values("--root"):
        server = replace(server, roots=tuple(map(_root, given)))
    return server


def _root(text: str) -> Root:
    if "://" in text:
        return Root(text)
    folder = Path(text).expanduser()
    if not folder.is_dir():
        raise UsageError(f"--root: there is no folder {text}.", hint="An address of another kind is written file://…")
    return Root(folder.absolute().as_uri())


def _era(text: str) -> Era | None:
    for era in ERAS:
        if era == text:
            return era
    if not text:
        return None
    raise UsageError(f"--era: must be one of {', '.join(ERAS)}, not `{text}`.", hint=nearest(text, ERAS))


def _version(text: str) -> str:
    if text and text not in VERSIONS:
        known = ", ".join(VERSIONS)
        raise UsageError(f"--protocol-version: must be one of {known}, not `{text}`.", hint=nearest(text, VERSIONS))
    return text
