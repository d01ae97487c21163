"""What a call is made with: the arguments of the command line, of the newest call, of a saved or of a pasted one."""

from __future__ import annotations

from typing import NamedTuple, cast

from mcp_studio.call.call import Call
from mcp_studio.call.copying.paste import PasteProblem, read_paste
from mcp_studio.call.secrets import secret_places
from mcp_studio.catalog.listing import Ref
from mcp_studio.cli.arguments import gather, given_bytes
from mcp_studio.cli.entries import Plan
from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output
from mcp_studio.cli.saved import save_call, saved_arguments
from mcp_studio.config.model import Config
from mcp_studio.errors import UsageError
from mcp_studio.jsontext import Json, dumps
from mcp_studio.protocol.views import PromptView, ToolView
from mcp_studio.schema.examples import Kind, example
from mcp_studio.schema.field import Form
from mcp_studio.schema.form import build, prompt_fields
from mcp_studio.studio import Studio

_LARGEST_SEED = 999_999_999


class Intent(NamedTuple):
    """What is called, and with what."""

    ref: Ref
    form: Form
    arguments: dict[str, Json]
    hidden: frozenset[str] = frozenset()
    """Pointers of what is secret, and not by its looks."""

    @property
    def value(self) -> Json:
        """The arguments as they are remembered; None for a resource, which takes none."""
        return None if self.ref.kind == "resource" else self.arguments

    @property
    def secrets(self) -> frozenset[str]:
        """Pointers of all that is secret."""
        return self.hidden | secret_places(self.form, self.value)

    def begun(self, studio: Studio, call: Call) -> Call:
        """Have a call remembered once it has ended."""
        studio.memory.history.follow(call, self.ref, self.value, origin="command line", hidden=self.secrets)
        if self.ref.kind == "template":  # the studio knows of the address that came of it only
            studio.usage.ran(self.ref)
        return call

    def save(self, studio: Studio, out: Output) -> None:
        """Save the call where `--save` wants that.

        Raises:
            UsageError, ConfigError: it cannot be saved.
        """
        if name := out.options.value("--save"):
            save_call(studio, name, self.ref, self.value, self.form, out)


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
    if plan.saved is not None:
        value, hidden = await saved_arguments(studio, plan, plan.saved, out, form)
        return Intent(ref, form, _object(value, ref), hidden)
    arguments = gather(options, plan.pairs, form)
    if options.flag("--last"):
        arguments = {**await _last(studio, ref, out), **arguments}
    if options.flag("--example"):
        arguments = {**_example(form, ref, out), **arguments}
    return Intent(ref, form, arguments)


async def _last(studio: Studio, ref: Ref, out: Output) -> dict[str, Json]:
    """The arguments of the newest call; says what of them was not kept."""
    found = await studio.memory.history.of(ref)
    if not found:
        off = "" if studio.memory.history.keep else " The history is switched off: [history] keep = 0."
        raise UsageError(f"No earlier call of {ref} is remembered.{off}")
    if found[0].loss:
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
    kind = cast("Kind", out.options.value("--example"))
    made = example(form, kind, out.options.count("--seed", _LARGEST_SEED, least=0) or 0)
    out.note(f"Example ({kind}): {made.label}.")
    if made.remark:
        out.warn(made.remark)
    return _object(made.value, ref)


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
    text = given_bytes("--from", file if file == "-" else f"@{file}").decode("utf-8", "replace")
    try:
        found = read_paste(text)
    except PasteProblem as problem:
        where = f"{file}, line {problem.line}" if problem.line and file != "-" else file
        raise UsageError(f"--from {where}: {problem}") from None
    verb = _VERBS.get(found.kind, options.verb)
    if verb != options.verb:
        raise UsageError(f"--from {file}: it is a call of a {found.kind}.", hint=f"mcp-studio {verb} --from {file}")
    words, option = options.words, _NAMES.get(options.verb, "")
    pairs_from = next((place for place, word in enumerate(words) if "=" in word), len(words))
    if found.name and not pairs_from and not options.flag(option):
        at_url = next((name for name, server in config.servers.items() if found.url and server.url == found.url), "")
        server = found.server if found.server in config.servers else at_url
        if server and not options.flag("--server"):
            options.given["--server"] = [server]
        if option:
            options.given[option] = [found.name]
        else:
            words, pairs_from = [found.name, *words], 1
    options.words = [*words[:pairs_from], *found.pairs, *words[pairs_from:]]
    if found.arguments:
        options.given["--args"] = [dumps(dict(found.arguments)).decode()]
