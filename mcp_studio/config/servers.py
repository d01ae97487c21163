"""One `[servers.NAME]` table of our own files, checked key by key; a problem leaves out this server alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from typing import Any
from urllib.parse import urlsplit

from mcp_studio.config.model import Auth, Problem, Root, Sandbox, ServerConfig, Source, Timeouts, Tls
from mcp_studio.config.table import Flaws, Table
from mcp_studio.errors import nearest
from mcp_studio.protocol.versions import contradiction

_BARE = ServerConfig("bare")
INNER = {"timeouts": ("connect", "idle", "total")} | {
    key: tuple(item.name for item in fields(getattr(_BARE, key))) for key in ("auth", "tls", "sandbox")
}
"""The tables inside an entry, with their keys."""
FILED = ("key", "assertion", "idp_id_token")
"""Keys whose values are secrets, or name the file that holds the secret."""
NEEDED: dict[str, tuple[str, ...]] = {
    "client_credentials": ("client_id", "client_secret"), "private_key_jwt": ("client_id", "key"),
    "enterprise": ("client_id", "idp_token_endpoint", "idp_client_id", "idp_id_token"), "workload": ("assertion",),
}  # fmt: skip
"""The keys that each grant without a person needs."""
_INLINE = r"-----BEGIN |eyJ[\w-]*\.[\w-]*\.[\w-]*\Z|\s*\{"
_HTTPS = r"https://[^\s/?#@]+(?:[/?][^\s#]*)?\Z|\$\{"
_LOOPBACK = r"http://(?:127(?:\.\d+){3}|localhost|\[::1\])(?::\d+)?(?:[/?][^\s#]*)?\Z"


def file_of(value: str) -> str:
    """The file that a `key`, `assertion` or `idp_id_token` names; empty where the value is the secret itself."""
    return "" if not value or re.match(_INLINE, value) else value


def _wrong(auth: Auth) -> Flaws:
    """The contradictions in the sign-in settings."""
    for key in NEEDED.get(auth.kind, ()):
        if not getattr(auth, key):
            yield key, f"is needed for the kind `{auth.kind}`.", ""
    if auth.client_secret and not auth.client_id and auth.kind not in NEEDED:
        yield "client_id", "is missing: a client_secret belongs to one.", ""
    for key in INNER["auth"]:
        kind = "enterprise" if key.startswith("idp_") else {"assertion": "workload", "key": "private_key_jwt"}.get(key)
        if kind and getattr(auth, key) and kind not in (auth.kind, auth.method) and auth.kind != "none":
            yield key, f"is used by the kind `{kind}` alone.", f'Add kind = "{kind}".'
    # Secrets and codes go over https; in clear text only within this machine.
    for key in ("issuer", "idp_token_endpoint"):
        if (url := getattr(auth, key)) and not (re.match(_HTTPS, url) or re.match(_LOOPBACK, url)):
            yield key, f"`{url}` is no https:// address.", "http:// is for this machine: 127.0.0.1, localhost."
    if (url := auth.client_metadata_url) and not is_metadata_url(url):
        yield "client_metadata_url", f"`{url}` is no https:// address with a path.", ""
    if not 0 <= auth.redirect_port <= 65_535:
        yield "redirect_port", f"must be from 0 to 65535, not {auth.redirect_port}.", ""


def is_metadata_url(url: str) -> bool:
    """Whether a URL can be that of a client id metadata document: https, with a path."""
    return url.startswith("${") or bool(re.match(r"https://[^\s/?#@]+/[^\s#]+\Z", url))


def _wrong_tls(tls: Tls) -> Flaws:
    for key in ("key", "password"):
        if getattr(tls, key) and not tls.cert:
            yield key, "is given without a client certificate.", "Add `cert`."


def _wrong_sandbox(sandbox: Sandbox) -> Flaws:
    if bool(sandbox.paths) != (sandbox.files in ("read", "readwrite")):
        yield "paths", 'belongs to files = "read" or "readwrite", and they need it.', ""


def read_roots(table: Table) -> tuple[Root, ...]:
    """`roots = ["~/project", {uri = "file:///srv", name = "Data"}]`."""
    rows = table.rows("roots", "uri")
    missing = [("uri", "is missing.", "")]
    roots = (row.take_record(Root(""), ("uri", "name"), lambda root: () if root.uri else missing) for row in rows)
    return tuple(filter(None, roots))


_WRONG: dict[str, Callable[[Any], Flaws]] = {"auth": _wrong, "tls": _wrong_tls, "sandbox": _wrong_sandbox}


def read_inner(table: Table, key: str) -> Any:
    """Read an inner table as a record; without the table, or with any problem in it, the default record is returned."""
    bare = getattr(_BARE, key)
    return table.inner(key).take_record(bare, INNER[key], _WRONG[key]) or bare if key in table.keys() else bare


_OURS = ("name", "secrets", "source", "keep_session", "written")
KEYS = tuple(item.name for item in fields(ServerConfig) if item.name not in _OURS)
"""The keys of a `[servers.NAME]` table."""
_PLAIN = [key for key in KEYS if key not in ("roots", *INNER)]


def read_server(name: str, values: object, source: Source, problems: list[Problem]) -> ServerConfig | None:
    """The unexpanded entry; None, with problems added, where anything in it is wrong."""
    before = len(problems)
    table = Table(values, source.file, f"servers.{name}", problems)
    times = table.inner("timeouts")
    server = replace(
        table.take_fields(ServerConfig(name, source=source), _PLAIN),
        roots=read_roots(table),
        timeouts=Timeouts(times.take_seconds("connect"), times.take_seconds("idle"), times.take_seconds("total")),
        **{key: read_inner(table, key) for key in _WRONG},
    )
    times.refuse_rest()
    table.refuse_rest()
    if len(problems) == before:
        check_target(server, table)
    if wrong := contradiction(server.era, server.protocol_version):
        table.problem("protocol_version", wrong, "Leave out `era`, or set it to `auto`.")
    return server if len(problems) == before else None


def check_target(server: ServerConfig, table: Table) -> None:
    """Add the problems that prevent a start: an entry needs a command or a url, not both, and a valid address."""
    if not server.name.strip():
        table.problem("", "has an empty name.")
    elif "group" in table.keys() and not re.fullmatch(r"[^\s.,@]+", server.group):
        table.problem("group", "must be a name without spaces, dots, commas and @: calls name it as `@GROUP.TOOL`.")
    elif server.command and server.url:
        table.problem("", "has both a command and a url.", "Keep one of them.")
    elif not server.command and not server.url:
        hints = (nearest(key, ("command", "url")) for key in table.keys() if key not in KEYS)
        table.problem("", "has neither a command nor a url.", next(filter(None, hints), ""))
    elif server.url and (wrong := wrong_address(server.url)):
        table.problem("url", f"`{server.url}` {wrong}.")
    elif server.url and (local := [key for key in ("sandbox", "watch") if getattr(server, key) != getattr(_BARE, key)]):
        table.problem(local[0], "is for servers that are programs.")
    elif server.transport and (server.transport == "stdio") == bool(server.url):
        what = "a url" if server.url else "a command"
        table.problem("transport", f"is `{server.transport}`, but the entry has {what}.")
    elif server.command:
        for key in ("auth", "tls", "headers_command"):
            if getattr(server, key) != getattr(_BARE, key):
                table.problem(key, "is for servers at a url.", "A program gets its credentials by `env`.")


def wrong_address(url: str) -> str:
    """What is wrong with the address of a server, as far as it is known before expansion; empty where nothing is."""
    if not url.startswith(("http://", "https://", "ws://", "wss://", "${")):
        return "does not begin with http://, https://, ws:// or wss://"
    if any(character.isspace() for character in url):
        return "has a space in it"
    try:
        parts = urlsplit(url)
        return "" if "${" in url or (parts.netloc and parts.port != 0) else "names no host that can be reached"
    except ValueError as problem:
        return f"is no address: {problem}"


def to_table(server: ServerConfig) -> dict[str, Any]:
    """The entry as a `[servers.NAME]` table, unexpanded and without default values."""
    entry = server.written or server
    table = changed(entry, _BARE, KEYS)
    for key in INNER.keys() & table.keys():
        table[key] = changed(table[key], getattr(_BARE, key), INNER[key])
    if entry.roots:
        table["roots"] = [{"uri": root.uri, "name": root.name} if root.name else root.uri for root in entry.roots]
    return {key: value for key, value in table.items() if value != {} or key in ("capabilities", "client_info")}


def changed(value: Any, bare: Any, names: Iterable[str]) -> dict[str, Any]:
    """The fields of a record that differ from the default."""
    changed = {name: item for name in names if (item := getattr(value, name)) != getattr(bare, name)}
    return {
        name: list(item) if type(item) is tuple else dict(item) if isinstance(item, Mapping) else item
        for name, item in changed.items()
    }
