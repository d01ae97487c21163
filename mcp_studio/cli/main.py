"""The command line from its words to its exit code. The only module of a front end that imports others, and late:
servers are started before the engine is imported, and each verb is imported alone.
"""

from __future__ import annotations

import gc
import os
import sys

from mcp_studio.cli.options import Options, parse
from mcp_studio.errors import StudioError, Unreachable, UsageError

# Importing `typing` would delay the start of the first server.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NoReturn

    from mcp_studio.cli.output import Output

INTERRUPTED = 130


def run(argv: Sequence[str]) -> int:
    """Run a command line; returns its exit code."""
    # Collecting garbage while thousands of functions and classes are made finds none and costs a tenth of the start.
    gc.disable()
    try:
        options = parse(argv)
        _start_early(options)
    except StudioError as error:
        ours = argv[: argv.index("--")] if "--" in argv else argv
        return _output("--json" in ours, False).fail(error)
    out = _output(options.json, options.quiet)
    out.options = options
    try:
        return out.attempt(lambda: _run(options, out))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has had enough; nothing more can be said there.
        sys.stdout = open(os.devnull, "w")
        return 1
    finally:
        gc.enable()
        if lines := sys.modules.get("mcp_studio.cli.terminal"):
            lines.restore()


def _output(json: bool, quiet: bool) -> Output:
    from mcp_studio.cli.output import Output

    return Output(json=json, quiet=quiet)


def _start_early(options: Options) -> None:
    """Start the guard of all servers, and the server of `-- COMMAND`, before anything slow is imported."""
    listed = options.verb == "list" and options.words[:1] in (["servers"], ["history"], ["saved"])
    nothing = options.verb in ("auth", "config", "mock", "trace") or listed
    nothing = nothing or options.flag("--offline") or options.flag("--as")
    if nothing or options.value("--url") or (not options.verb and options.words):
        return
    from mcp_studio.transport.guard_start import inherited, process

    try:
        process.start()
        if options.command:
            process.launch_ahead(options.command, inherited(), os.path.abspath("."))
    except Unreachable:
        return  # the engine meets it again, and tells it in its place


def _passphrase(new: bool) -> str:
    """Ask for the passphrase of the encrypted file, where somebody is there."""
    from mcp_studio.cli.terminal import ask

    return ask(new)


def _run(options: Options, out: Output) -> int:
    from mcp_studio.vault.keyring import ask_with

    ask_with(_passphrase)
    if options.verb in ("", "demo"):
        return _studio(options)
    if options.verb == "mock":
        from mcp_studio.cli.verbs.mock import wanted
        from mcp_studio.servers.mock.start import run as serve

        return serve(*wanted(options))
    if options.verb == "trace":
        from mcp_studio.cli.verbs.trace import run as look

        return look(options, out)
    if options.verb == "auth":
        from mcp_studio.cli.verbs.auth import run as sign

        return sign(options, out)
    if options.verb == "config":
        from mcp_studio.cli.verbs.config import run as configure

        return configure(options, out, _keys)
    return _connecting(options, out)


def _connecting(options: Options, out: Output) -> int:
    """A verb that works on servers."""
    from dataclasses import replace

    from mcp_studio.cli import late, plan, targets
    from mcp_studio.paths import Paths

    config = targets.configuration(options, Paths.default(), targets.target(options), secrets=False)
    out.log_level = options.value("--log-level")
    targets.learn(config, out)
    targets.tell_problems(config, out)
    made = plan.make(options, config)
    if made.connects or options.verb not in ("list", "search"):
        made = replace(made, config=targets.with_secrets(made.config, options, out))
    if made.connects:
        targets.start_ahead(made.config)
    try:
        return late.perform(made, options, out)
    except plan.Outdated:
        everywhere = targets.with_secrets(targets.select(config, ()), options, out)
        return late.perform(replace(made, config=everywhere, server="", guessed=False, unknown=()), options, out)


def _studio(options: Options) -> int:
    """The studio itself."""
    from mcp_studio.cli import targets
    from mcp_studio.paths import Paths

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("The studio needs a terminal.", hint="For scripts there are verbs: mcp-studio --help")
    paths = Paths.default()
    own = targets.demo(options) if options.verb == "demo" else targets.target(options)
    config = targets.configuration(options, paths, own)
    targets.start_ahead(config)
    from mcp_studio.tui.run import run as open_studio

    return open_studio(config, paths)


def _keys(changed: Mapping[str, str]) -> list[tuple[str, str, str, str]]:
    """The keys of the studio, with the person's own: id, keys, what they do, where."""
    from mcp_studio.tui.actions import ACTIONS, remap

    own, _ = remap(changed)
    return [(action.id, own.get(action.id, action.keys), action.title, action.scope) for action in ACTIONS]


def leave(code: int) -> NoReturn:
    """End the process at once: all is closed by now, and tearing the interpreter down takes as long as a small verb."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            code = code or 1
    os._exit(code)
