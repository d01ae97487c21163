"""Where files are stored, and how small ones are read and written: as a whole."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from mcp_studio.jsontext import Json, loads_or, mapping, pretty
from mcp_studio.limits import MB
from mcp_studio.record import record

APP = "mcp-studio"


@record(frozen=True)
class Paths:
    """The three folders of one person; none of them needs to exist."""

    config: Path
    """Settings, servers and own themes: written by the person."""
    state: Path
    """What the studio remembers: drafts, agreed project files, catalogs."""
    cache: Path
    """Files that the person can delete at any time."""

    @classmethod
    def default(cls, environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Paths:
        """The usual folders of the operating system.

        `MCP_STUDIO_HOME` puts all three below one folder. The XDG variables are honoured wherever they are set to an
        absolute path, as the XDG base directory specification asks.
        """
        if own := environ.get("MCP_STUDIO_HOME"):
            root = Path(own).expanduser().absolute()
            return cls(root / "config", root / "state", root / "cache")
        usual = zip(("CONFIG", "STATE", "CACHE"), _usual(environ, platform), strict=True)
        wished = [(Path(environ.get(f"XDG_{name}_HOME", "")) / APP, folder) for name, folder in usual]
        return cls(*(wish if wish.is_absolute() else folder for wish, folder in wished))

    @property
    def config_file(self) -> Path:
        return self.config / "config.toml"

    @property
    def answers_file(self) -> Path:
        """The rules by which the studio answers servers without asking the person."""
        return self.config / "answers.toml"

    @property
    def trust_file(self) -> Path:
        """The list of project files that the person has agreed to."""
        return self.state / "trusted.json"


def home(environ: Mapping[str, str] = os.environ) -> Path:
    """The person's home folder; `environ` decides where it names one."""
    return Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())


def _usual(environ: Mapping[str, str], platform: str) -> tuple[Path, Path, Path]:
    if platform == "win32":
        roaming = Path(environ.get("APPDATA") or home(environ) / "AppData" / "Roaming") / APP
        local = Path(environ.get("LOCALAPPDATA") or home(environ) / "AppData" / "Local") / APP
        return roaming, local / "state", local / "cache"
    if platform == "darwin":
        library = home(environ) / "Library"
        support = library / "Application Support" / APP
        return support, support / "state", library / "Caches" / APP
    base = home(environ)
    return base / ".config" / APP, base / ".local" / "state" / APP, base / ".cache" / APP


def write_atomically(file: Path, data: bytes | Iterable[bytes], *, mode: int = 0o600) -> None:
    """Replace a file's content, which may come in parts. A missing folder is made; a symbolic link is followed, not
    replaced.

    Raises:
        OSError: it cannot be written; the old content is still there.
    """
    target = file.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    # Not tempfile: importing it costs 8 ms of every start.
    draft = target.with_name(f".{target.name}.{os.urandom(6).hex()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(handle, "wb") as out:
            out.writelines((data,) if isinstance(data, bytes) else data)
            out.flush()
            os.fsync(out.fileno())
        os.chmod(draft, target.stat().st_mode & 0o777 if target.exists() else mode)
        os.replace(draft, target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def read_object(file: Path, *, largest: int = 8 * MB, exact: bool = False) -> dict[str, Json]:
    """The JSON object in a small file of ours; empty where there is no such file or it cannot be read."""
    try:
        return mapping(loads_or(file.read_bytes(), exact=exact)) if file.stat().st_size <= largest else {}
    except OSError:
        return {}


def write_object(file: Path, value: Mapping[str, Json]) -> None:
    """Replace a small file of ours as `write_atomically` does; the JSON is indented for people.

    Raises:
        OSError: the file cannot be written; the old content is still there.
    """
    write_atomically(file, pretty(dict(value)).encode() + b"\n")
