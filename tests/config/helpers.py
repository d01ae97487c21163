"""What the tests of the configuration share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mcp_studio.config.load import TrustStore, load
from mcp_studio.config.model import Config
from mcp_studio.errors import ConfigError
from mcp_studio.paths import Paths

PASSWORDS = {"github": "gh-secret-1", "empty": ""}


def keyring(name: str) -> str:
    """A keyring that holds PASSWORDS."""
    if name not in PASSWORDS:
        raise ConfigError(f"The keyring holds nothing under `{name}`.")
    return PASSWORDS[name]


def load_user(text: str, environ: Mapping[str, str] | None = None, cwd: Path | None = None) -> Config:
    """Load with this text as the person's config.toml."""
    paths = Paths.default()
    paths.config.mkdir(parents=True, exist_ok=True)
    paths.config_file.write_text(text, "utf-8")
    return load(paths, cwd or paths.state, environ=environ or {}, secrets=keyring)


def load_file(file: Path, text: str, environ: Mapping[str, str] | None = None) -> Config:
    """Load with `--config FILE` and this text in it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    return load(Paths.default(), file.parent, files=[file], environ=environ or {}, secrets=keyring)


def trust() -> TrustStore:
    """The person's own store."""
    return TrustStore(Paths.default().trust_file)
