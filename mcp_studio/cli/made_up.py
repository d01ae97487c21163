"""`--example KIND`: arguments made up from the schema, for those that were not given."""

from __future__ import annotations

from typing import cast

from mcp_studio.catalog.ref import Ref
from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output
from mcp_studio.config.nearest import nearest
from mcp_studio.errors import UsageError
from mcp_studio.jsontext import Json
from mcp_studio.schema.examples import KINDS, example
from mcp_studio.schema.field import Form


def fill(options: Options, form: Form, given: dict[str, Json], ref: Ref, out: Output) -> dict[str, Json]:
    """The arguments that were given, and an example's where there are none; says which example it is.

    Raises:
        UsageError: there is no such kind, the seed is no number, or the arguments are no object.
    """
    kind = options.value("--example")
    if kind not in KINDS:
        raise UsageError(
            f"--example: there is no kind `{kind}`.", hint=nearest(kind, KINDS) or f"One of {', '.join(KINDS)}."
        )
    seed = options.value("--seed") or "0"
    if not (seed.isascii() and seed.isdecimal() and len(seed) < 10):
        raise UsageError(f"--seed: `{seed}` is no whole number of at most 9 digits.")
    made = example(form, kind, int(seed))
    if not isinstance(made.value, dict):
        raise UsageError(f"{ref} takes no arguments by name: no example can be filled in.")
    out.note(f"Example ({kind}): {made.label}.")
    if made.remark:
        out.warn(made.remark)
    return {**cast("dict[str, Json]", made.value), **given}
