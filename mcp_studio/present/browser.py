"""Handing a page to the person's browser."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping

from mcp_studio.safetext import safe

_OPENERS = (["xdg-open"], ["gio", "open"], ["wslview"], ["x-www-browser"], ["firefox"], ["chromium"])
_PATIENCE = 1.0


NONE = "none"
"""The browser of a machine that has none (`[auth] browser`)."""


async def open_page(url: str, browser: str = "") -> bool:
    """Hand an address that `urls.judge` allows to the browser; False where there is none.

    Args:
        browser: the command to open it with (`Settings.browser`); empty for that of the desktop.
    """
    if sys.platform == "win32" and not browser:
        os.startfile(url)
        return True
    argv = command(url, os.environ, browser)
    return argv is not None and await asyncio.to_thread(_start, argv)


def is_there(environ: Mapping[str, str] = os.environ, browser: str = "") -> bool:
    """Whether a page can be opened from here; over SSH only with a browser that somebody has named."""
    named = browser or environ.get("BROWSER")
    if sys.platform == "win32" and not named:
        return True
    far = environ.get("SSH_CONNECTION") or environ.get("SSH_TTY")
    return (bool(named) or not far) and command("https://localhost/", environ, browser) is not None


def ssh_line(redirect: str, environ: Mapping[str, str]) -> str:
    """The command by which a browser on the machine that SSH comes from gets back here; empty where it is not SSH."""
    port = redirect.partition("://")[2].partition("/")[0].rpartition(":")[2]
    words = environ.get("SSH_CONNECTION", "").split()
    if not (words or environ.get("SSH_TTY")) or not port.isdecimal():
        return ""
    host, door = (words[2], words[3]) if len(words) == 4 else ("HOST", "22")
    user = environ.get("USER") or environ.get("LOGNAME") or ""
    at = f"{user}@" if user.replace("-", "").replace("_", "").replace(".", "").isalnum() else ""
    other = f" -p {door}" if door != "22" and door.isdecimal() else ""
    return f"ssh -N -L {port}:127.0.0.1:{port}{other} {at}{safe(host, 80)}"


def command(url: str, environ: Mapping[str, str], browser: str = "") -> list[str] | None:
    """The command that opens an address; None where no browser has a window of its own.

    The one that is named goes first, then `BROWSER`, as everywhere. A browser that draws on this terminal would draw
    over what is there.
    """
    if browser == NONE:
        return None
    for written in filter(None, (browser, *environ.get("BROWSER", "").split(os.pathsep))):
        try:
            words = shlex.split(written.strip().removesuffix("&"))
        except ValueError:
            continue
        if words and shutil.which(words[0]):
            filled = [word.replace("%s", url) for word in words]
            return filled if filled != words else [*words, url]
    if sys.platform == "darwin":
        return ["open", url]
    if environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY") or environ.get("WSL_DISTRO_NAME"):
        return next(([*words, url] for words in _OPENERS if shutil.which(words[0])), None)
    return None


def _start(argv: list[str]) -> bool:
    """Start it without our terminal, and without what is for us alone, such as a passphrase; what fails at once did
    not open anything.
    """
    environ = {name: value for name, value in os.environ.items() if not name.startswith("MCP_STUDIO_")}
    quiet = subprocess.DEVNULL
    try:
        started = subprocess.Popen(argv, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True, env=environ)
        return started.wait(_PATIENCE) == 0
    except subprocess.TimeoutExpired:
        return True
    except OSError:
        return False
