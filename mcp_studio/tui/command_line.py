"""The command line that does the same as an open entry."""

from __future__ import annotations

import shlex

from mcp_studio.catalog.ref import Ref
from mcp_studio.jsontext import Json, dumps


def command_for(ref: Ref, value: Json, uri: str = "", words: dict[str, str] | None = None) -> str:
    """`mcp-studio call …`, `read …` or `get …`, quoted for a shell."""
    match ref.kind:
        case "tool":
            named = f"{ref.server}.{ref.name}"
            parts = ["call", named] if "." not in ref.server else ["call", "--server", ref.server, "--tool", ref.name]
            if value:
                parts += ["--args", dumps(value).decode()]
        case "prompt":
            named = f"{ref.server}.{ref.name}"
            parts = ["get", named] if "." not in ref.server else ["get", "--server", ref.server, "--prompt", ref.name]
            parts += [f"{key}={text}" for key, text in (words or {}).items()]
        case _:
            parts = ["read", ref.server, uri or ref.name]
    return shlex.join(("mcp-studio", *parts))
