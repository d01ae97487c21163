"""Arguments from the command line: `key=value` typed by a form, and `--args`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from mcp_studio.cli.given import given_object
from mcp_studio.cli.options import Options
from mcp_studio.errors import UsageError
from mcp_studio.jsontext import Json
from mcp_studio.schema.field import Form
from mcp_studio.schema.pairs import key_of, set_pair
from mcp_studio.schema.place import path_of
from mcp_studio.schema.problem import SchemaProblem, errors
from mcp_studio.schema.wording import REQUIRED


class Unread(NamedTuple):
    """A `key=value` without a meaning."""

    key: str
    said: str
    """Why, as a sentence of its own or, where it begins with the key, behind it."""


def gather(options: Options, pairs: Sequence[str], form: Form, unread: list[Unread] | None = None) -> dict[str, Json]:
    """All arguments: those of `--args`, and each pair over them.

    Args:
        unread: takes the pairs that mean nothing, to be told with everything else that is wrong.

    Raises:
        UsageError: something cannot be read; the sentence says what.
    """
    value = given_object("--args", options.value("--args")) if options.value("--args") else {}
    value, wrong = with_pairs(form, value, pairs)
    if unread is None:
        refuse_wrong((), value, "", wrong)
    else:
        unread += wrong
    return value


def with_pairs(form: Form, value: dict[str, Json], pairs: Sequence[str]) -> tuple[dict[str, Json], list[Unread]]:
    """The value with what pairs say, and those that say nothing."""
    wrong: list[Unread] = []
    for pair in pairs:
        try:
            value = set_pair(form, value, pair)
        except ValueError as problem:
            wrong.append(Unread(pair.partition("=")[0].removesuffix(":"), str(problem)))
    return value, wrong


def refuse_wrong(
    problems: Iterable[SchemaProblem],
    value: Json,
    what: str,
    unread: Sequence[Unread] = (),
    hint: str = "--unchecked sends them all the same.",
) -> None:
    """Refuse arguments that do not match, before anything is sent.

    Raises:
        UsageError: names every argument that is wrong, and why.
    """
    said: dict[str, str] = {}
    sentences: list[str] = []
    for key, why in unread:
        if why.startswith(f"{key}: "):
            said[key] = why[len(key) + 2 :]
        else:
            sentences.append(f"{why}.".replace("there ", "There ", why.startswith("there ")).replace("?.", "?"))
    for problem in errors(problems):
        key = key_of(path_of(problem.pointer, value))
        if problem.message != REQUIRED or not any(one.key == key or _inside(one.key, key) for one in unread):
            said.setdefault(key, problem.message)
    if said:
        wrong = "; ".join(f"{key}= {why}" if key else f"all of them {why}" for key, why in said.items())
        sentences.append(f"The arguments of {what} are not right: {wrong}." if what else f"{wrong}.")
    if sentences:
        raise UsageError(" ".join(sentences), hint="" if unread else hint)


def _inside(key: str, holder: str) -> bool:
    return key.startswith((f"{holder}.", f"{holder}["))


def texts(value: dict[str, Json]) -> dict[str, str]:
    """Arguments of a prompt: the protocol knows only strings there."""
    return {name: item if isinstance(item, str) else str(item) for name, item in value.items()}
