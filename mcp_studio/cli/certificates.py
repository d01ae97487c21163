"""The options about certificates: which are accepted of servers at a URL, and which is shown to them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mcp_studio.cli.options import CERTIFICATES, Options
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import UsageError


def certified(server: ServerConfig, options: Options) -> ServerConfig:
    """The entry with what the command line says over it; servers that are programs stay as they are.

    Raises:
        UsageError: there is a key, but no certificate.
    """
    given = [name for name in CERTIFICATES if options.flag(name)]
    if not given or not server.url:
        return server
    tls = server.tls
    if options.flag("--ca"):
        tls = replace(tls, ca=_file(options, "--ca"))
    if options.flag("--cert"):
        tls = replace(tls, cert=_file(options, "--cert"), key="")
    if options.flag("--cert-key"):
        tls = replace(tls, key=_file(options, "--cert-key"))
    if tls.key and not tls.cert:
        raise UsageError("--cert-key is the key of a certificate: --cert FILE is missing.")
    return replace(server, tls=replace(tls, insecure=tls.insecure or options.flag("--insecure")))


def refuse(options: Options) -> None:
    """Say that there is nobody to show certificates to.

    Raises:
        UsageError: one of the options was given.
    """
    for name in CERTIFICATES:
        if options.flag(name):
            raise UsageError(f"{name} is for servers at a URL.")


def _file(options: Options, name: str) -> str:
    text = options.value(name)
    if not text:
        raise UsageError(f"{name} needs the name of a file.")
    return str(Path(text).expanduser().absolute())
