"""The person's editor, which gets the terminal while servers and the trace go on; and the clipboard: the desktop's, or
else the terminal's.
"""

from __future__ import annotations

import asyncio
import mimetypes
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from mcp_studio.config.save import LONGEST_NAME, portable
from mcp_studio.errors import StudioError
from mcp_studio.safetext import hidden_in, safe

if TYPE_CHECKING:
    from mcp_studio.tui.app import StudioApp

AT_ONCE = 0.5
"""Seconds after which an editor cannot yet have been used: one that ends sooner did not wait for its window."""
GROUP = "external editor"
_FALLBACKS = ("nano", "vi", "vim", "notepad")
_HINT = "Set `editor` in config.toml, $VISUAL or $EDITOR, such as `nano` or `code --wait`."
OSC52_LIMIT = 74_000
"""Bytes of text that terminals commonly take in one OSC 52 sequence."""
_HIDDEN = r"[\x00-\x1f\x7f-\x9f]{0,8}"
"""Characters that some terminals drop from a paste, so that they may stand inside the sequence."""
_END_OF_PASTE = re.compile(rf"(?:\x1b{_HIDDEN}\[|\x9b){_HIDDEN}2{_HIDDEN}0{_HIDDEN}1{_HIDDEN}~")
"""The end of a bracketed paste: the terminal would type the text behind it, and a line end would run that text."""
_STEM = 60
"""Characters of a proposed file name."""


def file_stem(words: str, otherwise: str) -> str:
    """A file name without its ending, made from foreign text; `otherwise` if the text gives no name."""
    short = re.sub(r"[^\w.+@-]+", "-", words)[:_STEM].encode()[: LONGEST_NAME - 60]
    plain = short.decode("utf-8", "ignore").strip(".-_+@")
    if not plain:
        return otherwise
    return plain if portable(plain) else f"{otherwise}-{plain}"


class NoEditor(StudioError):
    """There is no editor, or it failed; the hint says what to do."""


def find_editor(setting: str) -> tuple[str, ...]:
    """The editor's command, from the setting, `$VISUAL`, `$EDITOR`, or a usual one that exists; a file is its argument.

    Raises:
        NoEditor: no editor exists, or the chosen one cannot be used.
    """
    commands = {"editor": setting, **{f"${name}": os.environ.get(name, "") for name in ("VISUAL", "EDITOR")}}
    source, command = next(((source, command) for source, command in commands.items() if command.strip()), ("", ""))
    command = command or next(filter(shutil.which, _FALLBACKS), "")
    try:
        program, *rest = shlex.split(command, posix=os.name != "nt") or [""]
    except ValueError as problem:
        raise NoEditor(f"{source} is `{safe(command, 80)}`: {problem}.", hint=_HINT) from None
    program = os.path.expanduser(program)
    if not program:
        raise NoEditor("There is no editor.", hint=_HINT)
    if shutil.which(program) is None:
        raise NoEditor(f"{source} names `{safe(program, 80)}`, which is not there.", hint=_HINT)
    return (program, *rest)


async def edit_outside(app: StudioApp, name: str, media_type: str, text: str) -> str | None:
    """Let the person edit a text in their editor; None if there is no new text, which a message explains.

    Run this in a worker of the app, which tells failures; a worker of a screen would end with the screen. The file is
    deleted afterwards, unless it holds a new text that could not be taken: then the message names it.

    Raises:
        NoEditor: there is no editor, or the text cannot be read back.
        OSError: the file cannot be written, or the editor cannot be started.
    """
    editor, keep = find_editor(app.studio.config.settings.editor), False
    file = await asyncio.to_thread(write_private, name, media_type, text)
    try:
        began = time.monotonic()
        code = await _run_away(app, (*editor, str(file)))
        keep = file.exists()
        after = await asyncio.to_thread(read_back, file, text, app.studio.limits.field_file)
        keep = code != 0 and after != text
    finally:
        if not keep:
            shutil.rmtree(file.parent, ignore_errors=True)
    if code != 0:
        place = f" The new text is kept in {file}." if keep else ""
        app.say(f"{Path(editor[0]).stem} ended with code {code}: the field is as it was.{place}", "warning")
    elif after == text and time.monotonic() - began < AT_ONCE:
        app.say(f"{Path(editor[0]).stem} ended at once. One that opens a window has to wait. {_HINT}", "warning")
    return after if code == 0 and after != text else None


def write_private(name: str, media_type: str, text: str) -> Path:
    """Write text into a new file that only the person can read, in a folder of its own."""
    kind = media_type.split(";")[0].strip().casefold()
    ending = ".json" if kind.endswith("json") else mimetypes.guess_extension(kind) or ".txt"
    folder = Path(tempfile.mkdtemp(prefix="mcp-studio-"))  # made 0700
    file = folder / f"{file_stem(name, 'value')}{ending}"
    file.touch(0o600)
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    return file


def read_back(file: Path, before: str, most: int) -> str:
    """The text that the editor left, without the line break that editors add at the end of a file.

    Raises:
        NoEditor: the file is gone, too large, or no UTF-8 text.
    """
    kept = f"It is kept in {file}."
    try:
        with file.open("rb") as stream:  # the editor may have replaced the file
            data = stream.read(most + 1)
        if len(data) > most:
            raise NoEditor(f"The new text is larger than {most:,} bytes (limit field_file).", hint=kept)
        after = data.decode("utf-8", "surrogatepass").removeprefix("\ufeff")
    except OSError as problem:
        what = f"The file that was edited cannot be read: {problem.strerror or problem}."
        raise NoEditor(what, hint=kept * file.exists()) from None
    except UnicodeDecodeError:
        raise NoEditor("The new text is not UTF-8.", hint=kept) from None
    bare = after.removesuffix("\n").removesuffix("\r")
    return after if before.endswith("\n") or bare.endswith("\n") or not after.endswith("\n") else bare


async def edit_file(app: StudioApp, file: str) -> None:
    """Open a file of the person in their editor; if that fails, say where the file is."""
    try:
        await _run_away(app, (*find_editor(app.studio.config.settings.editor), file))
    except NoEditor as problem:
        app.say(f"{problem.message} {problem.hint} The file is {file}.", "warning")
    except OSError as problem:
        app.say(f"{problem.strerror or problem}. The file is {file}.", "error")


async def _run_away(app: StudioApp, argv: Sequence[str]) -> int:
    """Run a program on the terminal, or without one if the app cannot give it away; returns the exit code."""
    with _ignored_interrupts(), _suspended(app) as stream:
        try:
            process = await asyncio.create_subprocess_exec(*argv, stdin=stream, stdout=stream, stderr=stream)
        except OSError as problem:
            failure = problem  # raised here, the exception would leave the app suspended
        else:
            try:
                return await process.wait()
            finally:
                if process.returncode is None:  # the app ends, and so does the program on its terminal
                    process.kill()
                    await process.wait()
    raise failure


@contextmanager
def _suspended(app: StudioApp) -> Generator[int | None]:
    """Take the app off the terminal; yields the program's streams, None meaning the terminal itself."""
    try:
        with app.suspend(), app.batch_update():
            yield None
    except SuspendNotSupported:
        yield subprocess.DEVNULL


@contextmanager
def _ignored_interrupts() -> Generator[None]:
    """Keep Ctrl+C in the editor from stopping us. Programs inherit an ignored signal, but not a handler."""
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGQUIT") if hasattr(signal, name)]
    before = {number: signal.signal(number, lambda *_: None) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)


# The clipboard


def copied(text: str, through_terminal: Callable[[str], None], words: str = "") -> str:
    """Copy a text; returns what happened, as a sentence that calls the text by `words`, or else by its size."""
    # No encoding takes half a character, which servers and file names may contain.
    whole = text.encode("utf-8", "replace").decode()
    text = pasteable(whole)
    note = ", without what would end a paste and type the rest" * (text != whole)
    hidden = " It holds control or invisible characters, which are copied as they are." * hidden_in(text)
    if _by_desktop(text):
        return f"Copied {words or _amount(text)}{note}.{hidden}"
    if len(text.encode()) > OSC52_LIMIT:
        return f"Not copied: {_amount(text)} is more than terminals take. Save it instead."
    through_terminal(text)
    return f"Copied {words or _amount(text)} through the terminal{note}.{hidden}"


def pasteable(text: str) -> str:
    """The text without the end of a bracketed paste; without escapes where removing one end puts another together."""
    text = _END_OF_PASTE.sub("", text)
    return re.sub("[\x1b\x9b]", "", text) if _END_OF_PASTE.search(text) else text


def _amount(text: str) -> str:
    lines = text.removesuffix("\n").count("\n") + 1
    return f"{len(text):,} characters" if lines == 1 else f"{lines:,} lines"


def _by_desktop(text: str) -> bool:
    """Whether the desktop has taken a text; in a session over SSH, its clipboard is not the person's own."""
    import pyperclip

    with suppress(pyperclip.PyperclipException, OSError):  # there is no desktop
        if not os.environ.get("SSH_CONNECTION"):
            pyperclip.copy(text)
            return True
    return False
