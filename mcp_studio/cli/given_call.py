"""The arguments of a call: those of the command line, of the newest call, or of a saved one; and keeping them."""

from __future__ import annotations

from typing import NamedTuple, cast

from mcp_studio.call.call import Call
from mcp_studio.call.secret_fields import secret_places
from mcp_studio.catalog.ref import Ref
from mcp_studio.cli import late
from mcp_studio.cli.arguments import Unread, gather
from mcp_studio.cli.asking import Asker
from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output
from mcp_studio.cli.plan import Plan
from mcp_studio.errors import UsageError
from mcp_studio.jsontext import Json
from mcp_studio.schema.field import Form
from mcp_studio.schema.place import has, path_of
from mcp_studio.studio import Studio


class Given(NamedTuple):
    """What a call is made with."""

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


async def given(studio: Studio, plan: Plan, options: Options, out: Output, asker: Asker, form: Form, ref: Ref) -> Given:
    """The arguments, not checked yet.

    Raises:
        UsageError: something cannot be read, or there is no earlier call.
        StudioError: see `saved_call.saved_arguments`.
    """
    if plan.saved is not None and options.flag("--example"):
        raise UsageError("--example makes arguments up, and --saved has its own: one of them only.")
    if plan.saved is not None:
        value, hidden = await late.saved_arguments(studio, plan, options, asker, form)
        return Given(ref, form, _object(value, ref), hidden)
    unread: list[Unread] = []
    arguments = gather(options, plan.pairs, form, unread)
    if options.flag("--last"):
        arguments = {**await _last(studio, ref, arguments, out), **arguments}
    if options.flag("--example"):
        arguments = late.made_up(options, form, arguments, ref, out)
    elif options.flag("--seed"):
        raise UsageError("--seed is for --example.")
    return Given(ref, form, arguments, unread=tuple(unread))


def save(studio: Studio, options: Options, given: Given, out: Output) -> None:
    """Save the call where that is wanted.

    Raises:
        UsageError, ConfigError: it cannot be saved.
    """
    if name := options.value("--save"):
        value = None if given.ref.kind == "resource" else given.arguments
        late.save_call(studio, name, given.ref, value, given.form, out)


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
