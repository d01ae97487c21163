"""Arguments from the command line: `key=value` typed by a form, and `--args`."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_studio.cli.given import given_object
from mcp_studio.cli.options import Options
from mcp_studio.errors import UsageError
from mcp_studio.jsontext import Json
from mcp_studio.schema.check import quick
from mcp_studio.schema.field import Form
from mcp_studio.schema.pairs import set_pair
from mcp_studio.schema.problem import errors


def gather(options: Options, pairs: Sequence[str], form: Form) -> dict[str, Json]:
    """All arguments: those of `--args`, and each pair over them.

    Raises:
        UsageError: something cannot be read; the sentence says what.
    """
    value = given_object("--args", options.value("--args")) if options.value("--args") else {}
    for pair in pairs:
        try:
            value = set_pair(form, value, pair)
        except ValueError as problem:
            raise UsageError(f"{str(problem)[:1].upper()}{str(problem)[1:]}.".replace("?.", "?")) from None
    return value


def refuse_wrong(
    form: Form, value: dict[str, Json], what: str, hint: str = "--unchecked sends them all the same."
) -> None:
    """Refuse arguments that do not match, before anything is sent.

    Raises:
        UsageError: names every argument that is wrong, and why.
    """
    wrong = errors(quick(form, value))
    if wrong:
        said = "; ".join(f"{problem.pointer.lstrip('/') or 'the arguments'} {problem.message}" for problem in wrong)
        raise UsageError(f"The arguments of {what} are not right: {said}.", hint=hint)


def texts(value: dict[str, Json]) -> dict[str, str]:
    """Arguments of a prompt: the protocol knows only strings there."""
    return {name: item if isinstance(item, str) else str(item) for name, item in value.items()}
