"""What a call is made with: the arguments of the command line, of the newest call, of a saved or of a pasted one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple, cast

from mcp_studio.call.call import Call
from mcp_studio.call.copying.paste import LARGEST, Pasted, PasteProblem, read_paste
from mcp_studio.call.secrets import secret_places
from mcp_studio.catalog.listing import Ref
from mcp_studio.cli.arguments import Unread, gather
from mcp_studio.cli.entries import Plan
from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output
from mcp_studio.cli.saved import save_call, saved_arguments
from mcp_studio.config.model import Config
from mcp_studio.errors import UsageError
from mcp_studio.jsontext import Json, dumps
from mcp_studio.protocol.views import PromptView, ToolView
from mcp_studio.safetext import safe
from mcp_studio.schema.examples import Kind, example
from mcp_studio.schema.field import Form
from mcp_studio.schema.form import build, prompt_fields
from mcp_studio.schema.place import has, path_of
from mcp_studio.studio import Studio


class Intent(NamedTuple):
    """What is called, and with what."""

    ref: Ref
    form: Form
    arguments: dict[str, Json]
    hidden: frozenset[str] = frozenset()
    """Pointers of what is secret, and not by its looks."""
    unread: tuple[Unread, ...] = ()
    """What of the command line means nothing; to be told by `refuse_wrong`."""

    def begun(self, studio: Studio, call: Call) -> Call:
        """Have a call remembered once it has ended."""
        value = None if self.ref.kind == "resource" else self.arguments
        hidden = self.hidden | secret_places(self.form, value)
        studio.memory.history.follow(call, self.ref, value, origin="command line", hidden=hidden)
        if self.ref.kind == "template":  # the studio knows of the address that came of it only
            studio.usage.ran(self.ref)
        return call

    def save(self, studio: Studio, out: Output) -> None:
        """Save the call where `--save` wants that.

        Raises:
            UsageError, ConfigError: it cannot be saved.
        """
        if name := out.options.value("--save"):
            value = None if self.ref.kind == "resource" else self.arguments
            save_call(studio, name, self.ref, value, self.form, out)


def form_of(studio: Studio, ref: Ref) -> Form:
    """The arguments that a listed tool or prompt takes; any where it is not listed."""
    found = studio.catalog.find(ref)
    view = found[0].view if found else None
    if ref.kind == "prompt":
        return prompt_fields(list(view.arguments)) if isinstance(view, PromptView) else Form(whole=True)
    return build(view.input_schema if isinstance(view, ToolView) else {"type": "object"})


async def intent_of(studio: Studio, plan: Plan, out: Output, form: Form, ref: Ref) -> Intent:
    """The call with its arguments, which are not checked yet.

    Raises:
        UsageError: something cannot be read, or there is no earlier call.
        StudioError: see `saved_arguments`.
    """
    options = out.options
    if options.flag("--seed") and not options.flag("--example"):
        raise UsageError("--seed is for --example.")
    if plan.saved is not None:
        if options.flag("--example"):
            raise UsageError("--example makes arguments up, and --saved has its own: one of them only.")
        value, hidden = await saved_arguments(studio, plan, plan.saved, out, form)
        return Intent(ref, form, _object(value, ref), hidden)
    unread: list[Unread] = []
    arguments = gather(options, plan.pairs, form, unread)
    if options.flag("--last"):
        arguments = {**await _last(studio, ref, arguments, out), **arguments}
    if options.flag("--example"):
        arguments = {**_example(form, ref, out), **arguments}
    return Intent(ref, form, arguments, unread=tuple(unread))


async def _last(studio: Studio, ref: Ref, over: dict[str, Json], out: Output) -> dict[str, Json]:
    """The arguments of the newest call; says what of them was not kept and is not given now."""
    found = await studio.memory.history.of(ref)
    if not found:
        off = "" if studio.memory.history.keep else " The history is switched off: [history] keep = 0."
        raise UsageError(f"No earlier call of {ref} is remembered.{off}")
    if found[0].large or any(not has(over, path_of(place, over)) for place in found[0].left_out):
        out.warn(found[0].loss)
    return _object(found[0].arguments, ref)


def _object(value: Json, ref: Ref) -> dict[str, Json]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UsageError(f"The arguments of {ref} are no JSON object.")
    return cast("dict[str, Json]", value)


def _example(form: Form, ref: Ref, out: Output) -> dict[str, Json]:
    """Arguments that are made up; says which example it is."""
    kind, seed = cast("Kind", out.options.value("--example")), out.options.value("--seed") or "0"
    if not (seed.isascii() and seed.isdecimal() and len(seed) < 10):
        raise UsageError(f"--seed: `{seed}` is no whole number of at most 9 digits.")
    made = example(form, kind, int(seed))
    if not isinstance(made.value, dict):
        raise UsageError(f"{ref} takes no arguments by name: no example can be filled in.")
    out.note(f"Example ({kind}): {made.label}.")
    if made.remark:
        out.warn(made.remark)
    return cast("dict[str, Json]", made.value)


_VERBS = {"tool": "call", "prompt": "get", "resource": "read"}
_NAMES = {"call": "--tool", "get": "--prompt"}


def take_pasted(options: Options, config: Config) -> None:
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
