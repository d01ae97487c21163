"""Servers in the formats of other MCP clients, written into the files of those clients."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from difflib import unified_diff
from pathlib import Path
from typing import Any, NamedTuple

from mcp_studio.config.clients import ForeignClient
from mcp_studio.config.expand import REFERENCE, expanded, folder_of
from mcp_studio.config.model import Problem, ServerConfig
from mcp_studio.config.save import table_of
from mcp_studio.config.secrets import offers, texts
from mcp_studio.config.servers import to_table
from mcp_studio.config.table import loads_lenient, read_file, without_comments
from mcp_studio.errors import ConfigError
from mcp_studio.jsontext import Json, JsonProblem, items_of, mapping
from mcp_studio.paths import home, write_atomically
from mcp_studio.redact import Redactor
from mcp_studio.vault.base import change_file

_CONNECTION = ("command", "args", "env", "cwd", "url", "headers")
_OURS = ("enabled", "era", "group", "inherit_env", "priority", "start", "transport", "trust")
"""Keys that only mcp-studio knows, or that the export writes in another way."""


def entry_for(client: ForeignClient, server: ServerConfig) -> tuple[dict[str, Any], list[str]]:
    """The entry of a server in a client's format, and the keys that the client does not know. References stay.

    Raises:
        ConfigError: the client could not use the server; the message says why.
    """

    def secret(name: str) -> str:
        raise ConfigError(f"refers to the stored secret `{name}`, which {client.name} cannot read")

    kind = dict(zip("stdio http sse".split(), client.types, strict=False)).get(server.kind)
    if kind is None:
        raise ConfigError(f"is of the kind {server.kind}, which {client.name} does not know")
    entry, reference = server.written or server, client.reference or "${%s}"
    used = REFERENCE.findall(" ".join(text for _, text in texts(entry)))
    variables = {name: reference % name for _, scheme, name, _ in used if scheme in ("", "env")}
    ready = expanded(entry, {**variables, "HOME": str(home())}, secret, folder_of(entry.source.file))
    table = to_table(replace(ready, written=None))
    table["env"] = {name: reference % name for name in ready.inherit_env} | dict(ready.env)
    inherited = [name for name, text in table["env"].items() if client.variables and text == f"${{{name}}}"]
    table["env"] = {name: text for name, text in table["env"].items() if name not in inherited}
    shown: dict[str, Any] = ({"type": kind} if kind else {}) | ({client.variables: inherited} if inherited else {})
    known = [key for key in _CONNECTION if table.get(key) and (key != "cwd" or key in client.names)]
    shown |= {client.names.get(key, key): table.pop(key) for key in known}
    if client.name == "Codex":  # Codex also has keys for headers from variables instead of references
        for name, text in dict(shown.get("http_headers", {})).items():
            if found := re.fullmatch(r"(Bearer )?\$\{(\w+)\}", text):
                del shown["http_headers"][name]
                where = shown if found[1] else shown.setdefault("env_http_headers", {})
                where["bearer_token_env_var" if found[1] else name] = found[2]
    if not client.reference and (unset := re.search(r"\$\{\w+\}", str(shown))):
        raise ConfigError(f"refers to {unset[0]}, which {client.name} does not replace")
    if client.url_is_sse and server.kind == "http":
        shown["httpUrl"] = shown.pop("url")
    if client.name == "opencode" and "command" in shown:
        shown["command"] = [shown["command"], *shown.pop("args", ())]
    if client.name == "Continue" and "headers" in shown:
        shown["requestOptions"] = {"headers": shown.pop("headers")}
    defaults = [f"the default of {name}" for _, _, name, default in used if default]
    return shown, [*(key for key in table if table[key] and key not in _OURS), *defaults]


_CONNECTING = frozenset(
    "type transport command args cmd env envs environment url serverUrl httpUrl uri headers http_headers cwd env_vars"
    " env_keys env_http_headers bearer_token_env_var requestOptions".split()
)
"""Keys of an old entry that a new one replaces; its other keys, such as permissions by the person, stay."""


def merged(client: ForeignClient, file: Path, entries: Mapping[str, Mapping[str, Any]]) -> tuple[str, str]:
    """The text of a client's file before and after these entries are added; everything else in the text stays.

    Raises:
        ConfigError: the file cannot be read, or has comments that would be lost.
    """
    problems: list[Problem] = []
    document = read_file(file, problems)
    if problems:
        raise ConfigError(str(problems[0]), hint="It is unchanged.")
    values: dict[str, Any] = mapping(document.values) if document else {}
    text = document.content.decode("utf-8-sig") if document else ""
    servers, listed = values.get(client.key), client.name == "Continue"
    inner = mapping(servers).get("servers") if client.name == "opencode" else None
    # Since version 2 the servers may be in a table of their own, which is not a server called `servers`.
    nested = isinstance(inner, dict) and all(isinstance(one, dict) for one in mapping(inner).values())
    key, servers, more = ("servers", inner, {}) if nested else (client.key, servers, client.more)
    old = {mapping(one).get("name"): one for one in items_of(servers)} or mapping(servers)
    new: dict[str, Any] = {}
    for name, entry in entries.items():
        before = mapping(old.get(name))
        rest = {key: value for key, value in before.items() if key not in _CONNECTING}
        whole = {**({"name": name} if listed else {}), **more, **rest, **entry}
        if whole != before:
            new[name] = whole
    if not new:
        return text, text
    if file.suffix == ".toml":
        import tomlkit

        toml: Any = tomlkit.parse(text)
        added = {name: table_of(entry) for name, entry in new.items()}
        toml.setdefault(client.key, tomlkit.table(is_super_table=True)).update(added)
        return text, tomlkit.dumps(toml)
    both = {**old, **new}
    inside = [*both.values()] if listed else both
    wanted = {**values, client.key: {**values[client.key], key: inside} if nested else inside}
    if file.suffix in (".yaml", ".yml"):
        import yaml

        commented, edited = re.search(r"(?m)(^|\s)#", text), yaml.safe_dump(wanted, sort_keys=False)
    elif not new.keys() & old.keys() and (edited := _insert(text, key, new, wanted)):
        return text, edited
    else:
        commented, edited = text != without_comments(text), json.dumps(wanted, indent=2, ensure_ascii=False) + "\n"
    if commented:
        hint = f"To be added by hand: {json.dumps(new)}"
        raise ConfigError(f"{file} has comments, which would be lost: it is unchanged.", hint=hint)
    return text, edited


def _insert(text: str, key: str, new: dict[str, Any], wanted: Json) -> str:
    """Insert members at the beginning of the JSON object under a key and keep all other text.

    Returns an empty text where the result would not parse as `wanted`.
    """
    there = [*re.finditer(rf'"{key}"\s*:\s*\{{', text)]
    margin = "\n  " if there else "\n"
    added = json.dumps(new if there else {key: new}, indent=2, ensure_ascii=False)[1:-2].replace("\n", margin)
    for found in there or re.finditer(r"\{", text):
        rest = text[found.end() :]
        edited = text[: found.end()] + added + (margin if rest.lstrip()[:1] == "}" else ",") + rest
        with suppress(JsonProblem):
            if loads_lenient(edited) == wanted:
                return edited
    return ""


class Export(NamedTuple):
    """Servers to write into the file of a client."""

    client: ForeignClient
    file: Path
    entries: dict[str, dict[str, Any]]
    """The entries to write, by the names of the servers."""
    remarks: tuple[str, ...]
    """Sentences on what is not written, and on secrets that the file would hold in clear."""

    def changes(self) -> list[str]:
        """The changes to the file as a unified diff; empty where the file needs none (errors as `merged`)."""
        before, after = (text.splitlines() for text in merged(self.client, self.file, self.entries))
        return [*unified_diff(before, after, str(self.file), str(self.file), n=1, lineterm="")]

    def write(self) -> str:
        """Write the file, save its old content beside it, and return a sentence about both.

        Raises:
            ConfigError: as `merged`, or the file cannot be written.
        """
        backup = self.file.with_name(f"{self.file.name}.{datetime.now():%Y%m%d-%H%M%S-%f}.bak")

        def edit(before: bytes) -> bytes:
            if before:
                write_atomically(backup, before)
            return merged(self.client, self.file, self.entries)[1].encode()  # the client may have written meanwhile

        change_file(self.file, edit)
        saved = f"; before, it was {backup.name}" if backup.exists() else ""
        return f"Wrote {', '.join(self.entries)} to {self.file}{saved}."


def export(client: ForeignClient, file: Path, servers: Iterable[ServerConfig], redactor: Redactor) -> Export:
    """Prepare servers for a client; the redactor learns the secrets in them."""
    entries, remarks = dict[str, dict[str, Any]](), list[str]()
    for server in servers:
        for offer in (found := offers(server)):
            redactor.learn(offer.value)
        try:
            entries[server.name], left = entry_for(client, server)
        except ConfigError as problem:
            remarks.append(f"{server.name} is left out: {problem.key or 'it'} {problem.message.rstrip('.')}.")
            continue
        remarks += [f"{server.name} goes without {', '.join(left)}: {client.name} has no place for that."] * bool(left)
        remarks += [f"servers.{server.name}.{one.key} is a secret in clear, and would be there, too." for one in found]
    return Export(client, file, entries, tuple(remarks))
