"""Which project files a person has agreed to: a project file can start programs, so it is asked about once."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from typing import Any

from mcp_studio.atomic import write_atomically
from mcp_studio.config.model import ServerConfig
from mcp_studio.config.places import uses
from mcp_studio.errors import ConfigError

VERSION = 1
"""Version of the format: {"version": 1, "agreed": {digest: {"file", "time"}}}."""


def digest(file: Path, content: bytes) -> str:
    """What agreeing is remembered under: SHA-256 over absolute path and content.

    The path counts because an entry may start a program by a relative path.
    """
    return hashlib.sha256(str(file.absolute()).encode("utf-8", "surrogatepass") + b"\0" + content).hexdigest()


def cautions(server: ServerConfig) -> list[str]:
    """What an entry asks for that a person should know before agreeing to it, besides the server itself."""
    auth, tls = server.auth, server.tls
    found = ["accepts any certificate: whoever is in between can read and change everything"] if tls.insecure else []
    if tls.ca:
        found.append(f"accepts certificates of the authorities in {tls.ca}")
    if tls.cert:
        found.append(f"shows the client certificate in {tls.cert}")
    if auth.kind not in ("", "none", "code"):
        found.append(f"signs in by itself ({auth.kind.replace('_', ' ')})")
    places = (("signs in at", auth.issuer), ("sends an identity token to", auth.idp_token_endpoint))
    found += [f"{what} {where}" for what, where in places if where]
    if auth.assume_pkce:
        found.append("signs in without PKCE being promised")
    secrets = sorted({name for name, _ in uses(server)})
    return [*found, f"gets your kept secrets {', '.join(secrets)}"] if secrets else found


class TrustStore:
    """The agreed digests, kept in one JSON file that is read when it is first asked."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._known: dict[str, Any] | None = None

    def agreed(self, digest: str) -> bool:
        """Whether the person has agreed to exactly this."""
        if self._known is None:
            self._known = self._read()
        return digest in self._known

    def agree(self, digest: str, file: str = "") -> None:
        """Remember that the person agreed; `file` is noted for people who read the store.

        Raises:
            ConfigError: it cannot be written.
        """
        known = {**self._read(), digest: {"file": file, "time": int(time.time())}}
        text = json.dumps({"version": VERSION, "agreed": known}, indent=2) + "\n"
        try:
            write_atomically(self._file, text.encode())
        except OSError as problem:
            raise ConfigError(f"Cannot be written: {problem.strerror or problem}.", file=str(self._file)) from None
        self._known = known

    def _read(self) -> dict[str, Any]:
        # A damaged or newer store means asking again, which is always safe.
        try:
            stored = json.loads(self._file.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        good = isinstance(stored, dict) and stored.get("version") == VERSION and isinstance(stored.get("agreed"), dict)
        return stored["agreed"] if good else {}
