"""The person's own editor: which program it is, the file it gets, and what it leaves."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from mcp_studio.errors import StudioError
from mcp_studio.paths import file_stem
from mcp_studio.record import record
from mcp_studio.safetext import safe

AT_ONCE = 0.5
"""Seconds in which nobody has edited anything."""
_FALLBACKS = ("nano", "vi", "vim", "notepad")
_ENDINGS = {
    "application/json": "json", "text/markdown": "md", "text/x-markdown": "md", "text/html": "html",
    "application/xhtml+xml": "html", "text/css": "css", "text/csv": "csv", "text/javascript": "js",
    "application/javascript": "js", "application/x-javascript": "js", "text/x-python": "py",
    "application/x-python": "py", "text/python": "py", "application/sql": "sql", "text/x-sql": "sql",
    "application/xml": "xml", "text/xml": "xml", "image/svg+xml": "svg", "application/yaml": "yaml",
    "application/x-yaml": "yaml", "text/yaml": "yaml", "application/toml": "toml", "application/x-sh": "sh",
    "text/x-shellscript": "sh", "text/x-diff": "diff", "application/graphql": "graphql",
}  # fmt: skip
_WAITING = {
    **dict.fromkeys(("code", "code-insiders", "codium", "vscodium", "cursor", "windsurf", "zed", "zeditor"), "--wait"),
    **dict.fromkeys(("subl", "sublime_text", "atom", "gedit", "pulsar", "lapce"), "--wait"),
    **dict.fromkeys(("gvim", "mvim", "nvim-qt", "neovide"), "-f"),
    "gnome-text-editor": "--standalone", "kate": "--block", "kwrite": "--block", "mate": "-w",
    "bbedit": "--wait", "xed": "--wait",
}  # fmt: skip


class NoEditor(StudioError):
    """There is no editor, or it could not be used; says what to do."""


@record(frozen=True)
class Editor:
    """A command that takes a file as its last argument."""

    argv: tuple[str, ...]
    source: str
    """Where it is set."""

    @property
    def name(self) -> str:
        """Its program, as people call it."""
        return Path(self.argv[0]).stem

    def waits(self) -> str:
        """The command with the option that lets it wait until its window is closed; empty where it is not known."""
        option = _WAITING.get(self.name.casefold(), "")
        return shlex.join((*self.argv, option)) if option and option not in self.argv else ""


def find_editor(
    setting: str, environ: Mapping[str, str] = os.environ, which: Callable[[str], str | None] = shutil.which
) -> Editor:
    """The editor of the setting, `$VISUAL`, `$EDITOR`, or a usual one that is there.

    Raises:
        NoEditor: there is none, or what is set cannot be used.
    """
    named = [(f"${name}", environ.get(name, "")) for name in ("VISUAL", "EDITOR")]
    for source, command in (("editor", setting), *named):
        if command.strip():
            return Editor(_split(command, source, which), source)
    for name in _FALLBACKS:
        if which(name):
            return Editor((name,), "found")
    raise NoEditor(
        "There is no editor.", hint="Set `editor` in config.toml, $VISUAL or $EDITOR, such as `nano` or `code --wait`."
    )


def _split(command: str, source: str, which: Callable[[str], str | None]) -> tuple[str, ...]:
    try:
        argv = tuple(shlex.split(command, posix=os.name != "nt"))
    except ValueError as problem:
        raise NoEditor(
            f"{source} is `{safe(command, 80)}`: {problem}.", hint="Quote its parts as in a shell."
        ) from None
    argv = (os.path.expanduser(argv[0]), *argv[1:]) if argv else argv
    if not argv or which(argv[0]) is None:
        name = argv[0] if argv else command
        raise NoEditor(
            f"{source} names `{safe(name, 80)}`, which is not there.", hint="Set it to a program on the PATH."
        )
    return argv


def ending_for(media_type: str, *, composite: bool) -> str:
    """The ending of the file's name, by which editors choose colours."""
    if composite:
        return "json"
    kind = media_type.split(";")[0].strip().casefold()
    return "json" if kind.endswith("+json") else _ENDINGS.get(kind, "txt")


def write_private(name: str, ending: str, text: str) -> Path:
    """Write text into a new file that only the person can read, in a folder of its own.

    Raises:
        OSError: it cannot be written.
    """
    folder = Path(tempfile.mkdtemp(prefix="mcp-studio-"))  # made 0700
    file = folder / f"{file_stem(name, 'result')}.{ending}"
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as stream:
            stream.write(text.encode("utf-8", "surrogatepass"))
    except OSError:
        remove(file)
        raise
    return file


def read_back(file: Path, most: int) -> str:
    """What the editor left; editors may have put another file in its place.

    Raises:
        NoEditor: it is gone, too large, or no UTF-8 text.
    """
    try:
        with file.open("rb") as stream:
            data = stream.read(most + 1)
    except OSError as problem:
        raise NoEditor(f"The file that was edited cannot be read: {problem.strerror or problem}.") from None
    if len(data) > most:
        raise NoEditor(f"What was written is larger than {most // 1_000_000 or 1} MB (limit field_file).")
    try:
        return data.decode("utf-8", "surrogatepass").removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise NoEditor("What was written is no UTF-8 text.") from None


def without_last_break(before: str, after: str) -> str:
    """What was written without the line break that editors put at the end of a file."""
    if before.endswith("\n") or not after.endswith("\n"):
        return after
    bare = after.removesuffix("\n").removesuffix("\r")
    return after if bare.endswith("\n") else bare


def remove(file: Path) -> None:
    """Take the file and its folder away, with what the editor put beside it."""
    shutil.rmtree(file.parent, ignore_errors=True)
