"""`--as`, `--from` and `--example`: a call as text, from pasted text, or with arguments that are made up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from mcp_studio.call.copying.formats import copy_as
from mcp_studio.call.copying.paste import read_paste
from mcp_studio.call.copying.shell import PasteProblem
from mcp_studio.call.copying.subject import subject_of
from mcp_studio.catalog.listing import Ref
from mcp_studio.cli.options import Options
from mcp_studio.cli.terminal import Output
from mcp_studio.config.model import Config
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.jsontext import Json, dumps
from mcp_studio.schema.examples import Kind, example
from mcp_studio.schema.field import Form
from mcp_studio.studio import Studio

if TYPE_CHECKING:
    from mcp_studio.cli.call_arguments import Intent


def copied(studio: Studio, intent: Intent, uri: str, out: Output) -> int:
    """With `--as FORM`, print the call in that form instead of making it.

    Raises:
        StudioError: this call cannot be written in that form.
    """
    options, ref = out.options, intent.ref
    if uri:
        ref, value = Ref("resource", ref.server, ref.name), None
    else:
        value = cast("Json", intent.texts if ref.kind == "prompt" else intent.arguments)
    subject = subject_of(studio.manager, studio.catalog, ref, value, uri=uri, task=options.flag("--task"))
    subject = replace(subject, hidden=intent.hidden)
    copy = copy_as(subject, options.value("--as"), secrets=options.flag("--with-secrets"))
    if copy.why_not:
        raise StudioError(copy.why_not)
    out.note(*copy.remarks)
    out.data(copy.text.removesuffix("\n"))
    return out.done({"form": copy.id, "text": copy.text, "remarks": list(copy.remarks)})


def take_pasted(options: Options, config: Config) -> None:
    """Put the pasted call of `--from` into the options, as if it had been typed as words. Other words are kept.

    Raises:
        UsageError: the text cannot be read, contains no call, or contains a call for another verb.
    """
    file, words = options.value("--from"), options.words
    text = options.read("--from", file if file == "-" else f"@{file}").decode("utf-8", "replace")
    try:
        found = read_paste(text)
    except PasteProblem as problem:
        line = f", line {problem.line}" if problem.line else ""
        raise UsageError(f"--from {file}{line}: {problem}") from None
    verb = {"tool": "call", "prompt": "get", "resource": "read"}.get(found.kind, options.verb)
    if verb != options.verb:
        raise UsageError(f"--from {file}: it is a {found.kind}.", hint=f"mcp-studio {verb} --from {file}")
    names = [word for word in words if "=" not in word]
    if found.name and not names:
        servers = config.servers.values()
        known = [one.name for one in servers if one.name == found.server or (one.url and one.url == found.url)]
        if known:
            options.given.setdefault("--server", known[:1])
        names = [found.name]
    options.words = [*names, *found.pairs, *(word for word in words if "=" in word)]
    if found.arguments:
        options.given["--args"] = [dumps({**found.arguments}).decode()]


def made_up(form: Form, out: Output) -> Json:
    """Make up example arguments, and say which example it is."""
    kind = cast("Kind", out.options.value("--example"))
    made = example(form, kind, out.options.count("--seed", 999_999_999, least=0) or 0)
    out.note(f"Example ({kind}): {made.label}.")
    out.warn(made.remark)
    return made.value
