"""Why a server could not be started, or how it ended: in words."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from mcp_studio.errors import Unreachable
from mcp_studio.transport.guard_client import StartFailure

_FROM = {
    "npx": "npx comes with Node.js: https://nodejs.org",
    "node": "node comes with Node.js: https://nodejs.org",
    "npm": "npm comes with Node.js: https://nodejs.org",
    "uvx": "uvx comes with uv: https://docs.astral.sh/uv",
    "uv": "uv is at https://docs.astral.sh/uv",
    "python": "Many systems have it as python3 only.",
    "python3": "Python is at https://www.python.org",
    "docker": "Docker is at https://docs.docker.com",
    "bunx": "bunx comes with Bun: https://bun.sh",
    "deno": "Deno is at https://deno.com",
}
_NAMES_READ = 20_000
"""Names read from the PATH's folders when looking for a similar command."""
_LAST_LINES = 5
_LAST_CHARACTERS = 1_000


def cannot_start(failure: StartFailure, argv: Sequence[str], env: Mapping[str, str], cwd: str) -> Unreachable:
    """The sentence, and what to try, for a program that did not start."""
    reason = os.strerror(failure.errno)
    if failure.step == "cwd":
        what = {errno.ENOENT: "does not exist", errno.ENOTDIR: "is not a folder"}.get(failure.errno)
        text = f"The working folder {cwd} {what}." if what else f"The working folder {cwd} cannot be entered: {reason}."
        return Unreachable(text, hint="Correct cwd in the server's entry.")
    if failure.step == "fork":
        return Unreachable(f"No process could be made for {argv[0]}: {reason}.", hint="Too many processes are running.")
    if failure.step == "guard":
        return Unreachable(f"The guard process ended while {argv[0]} was being started.", hint="Connect again.")
    return _cannot_exec(failure.errno, argv, env, cwd)


def _cannot_exec(number: int, argv: Sequence[str], env: Mapping[str, str], cwd: str) -> Unreachable:
    command = argv[0]
    path = env.get("PATH", os.defpath)
    found = _find(command, path, cwd)
    if number in (errno.ENOENT, errno.ENOTDIR):
        if found:
            hint = "Its first line, or its loader, names a program that is not installed."
            return Unreachable(f"{found} cannot be run: the interpreter that it names does not exist.", hint=hint)
        if "/" in command:
            return Unreachable(f"There is no file {command}.", hint=_blank_hint(command))
        return Unreachable(f"There is no command {command} on the PATH.", hint=_name_hint(command, path))
    if number == errno.EACCES:
        if found and os.path.isdir(found):
            return Unreachable(f"{found} is a folder, not a program.")
        return Unreachable(f"{found or command} is not executable.", hint=f"Try: chmod +x {found or command}")
    if number == errno.ENOEXEC:
        hint = "Name its interpreter as the command and the file as first argument."
        return Unreachable(
            f"{found or command} is neither a program nor a script that names its interpreter.", hint=hint
        )
    if number == errno.E2BIG:
        return Unreachable(f"The arguments or the environment of {command} are too long for this system.")
    return Unreachable(f"{command} cannot be run: {os.strerror(number)}.")


def _find(command: str, path: str, cwd: str) -> str:
    """The file that the command names, executable or not; empty if there is none."""
    places = [""] if "/" in command else path.split(os.pathsep)
    files = (os.path.join(cwd, place, command) for place in places)
    return next((file for file in files if os.path.exists(file)), "")


def _blank_hint(command: str) -> str:
    if " " in command.strip():
        return "The command is the program alone: what follows it belongs into args."
    return ""


def _name_hint(command: str, path: str) -> str:
    if hint := _blank_hint(command) or _FROM.get(command, ""):
        return hint
    near = get_close_matches(command, _commands(path), n=1, cutoff=0.7)
    return f"Did you mean {near[0]}?" if near else ""


def _commands(path: str) -> list[str]:
    names: list[str] = list(_FROM)
    for place in path.split(os.pathsep):
        try:
            names += os.listdir(place or ".")
        except OSError:
            continue
        if len(names) > _NAMES_READ:
            break
    return names[:_NAMES_READ]


def how_it_ended(code: int | None) -> str:
    """`ended with exit code 3`, `was ended by SIGKILL`."""
    if code is None:
        return "ended together with its guard"
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def last_words(lines: Iterable[bytes]) -> str:
    """The end of what it wrote on standard error, on one line; empty if it wrote nothing."""
    told = [line.decode("utf-8", "replace").strip() for line in lines]
    return " | ".join([line for line in told if line][-_LAST_LINES:])[-_LAST_CHARACTERS:]
