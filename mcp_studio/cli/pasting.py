"""`--from FILE`: a call as other programs write it, put in the place of the words that it stands for."""

from __future__ import annotations

import sys
from pathlib import Path

from mcp_studio.call.copying.paste import LARGEST, read_paste
from mcp_studio.call.copying.pasted import Pasted, PasteProblem
from mcp_studio.cli.options import Options
from mcp_studio.config.model import Config
from mcp_studio.errors import UsageError
from mcp_studio.jsontext import dumps
from mcp_studio.safetext import safe

_VERBS = {"tool": "call", "prompt": "get", "resource": "read"}
_NAMES = {"call": "--tool", "get": "--prompt"}


def take(options: Options, config: Config) -> None:
    """Change the options to what they would be, had the call been written as words.

    Raises:
        UsageError: the file cannot be read, or has no call of this verb in it.
    """
    if options.flag("--args"):
        raise UsageError("Give one of --args and --from.")
    file = options.value("--from")
    try:
        found = read_paste(_text(file))
    except PasteProblem as problem:
        where = f"{file}, line {problem.line}" if problem.line and file != "-" else file
        raise UsageError(f"--from {where}: {problem}") from None
    verb = _VERBS.get(found.kind, options.verb)
    if verb != options.verb:
        raise UsageError(f"--from {file}: it is a call of a {found.kind}.", hint=f"mcp-studio {verb} --from {file}")
    words, option = list(options.words), _NAMES.get(options.verb, "")
    own = [] if options.flag(option) or not words or "=" in words[0] else words[:1]
    if options.verb == "read" and len(words) > 1 and "=" not in words[1]:
        own = words[:2]
    rest = words[len(own) :]
    if own and found.name and not own[-1].endswith(found.name):
        raise UsageError(f"--from {file}: it is about {safe(found.name, 80)}, not {own[-1]}.")
    if not own and not options.flag(option):
        own = _named(options, config, found, option)
    options.words = [*own, *found.pairs, *rest]
    if found.arguments:
        options.given["--args"] = [dumps(dict(found.arguments)).decode()]


def _named(options: Options, config: Config, found: Pasted, option: str) -> list[str]:
    """Say which server and which entry it is about, as far as the text does; the words that stand for it."""
    server = found.server if found.server in config.servers else _at(config, found.url)
    if server and not options.flag("--server"):
        options.given["--server"] = [server]
    if option and found.name:
        options.given[option] = [found.name]
        return []
    return [found.name] if found.name else []


def _at(config: Config, url: str) -> str:
    """The server at this address."""
    return next((name for name, server in config.servers.items() if url and server.url == url), "")


def _text(file: str) -> str:
    """What is in the file, or comes on standard input.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        if file == "-":
            data = sys.stdin.buffer.read(4 * LARGEST + 1)
        else:
            with open(Path(file).expanduser(), "rb") as stream:
                data = stream.read(4 * LARGEST + 1)
    except OSError as problem:
        raise UsageError(f"--from: {file} cannot be read: {problem.strerror or problem}.") from None
    return data.decode("utf-8", "replace")
