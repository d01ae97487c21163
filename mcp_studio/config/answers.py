"""`[[answer]]` tables: rules that answer what servers ask, in answers.toml or any configuration file of ours.

[[answer]]
server = "bank"              # a pattern; every key but `action` may be left out
kind = "elicitation"         # elicitation, url, sampling
tool = "transfer"            # a pattern over the tool whose call is waiting
message = "*approve*"        # a pattern over what the server says
schema = "sha256:…"          # exactly this requested schema
action = "accept"            # accept, decline, cancel; ask leaves it to the person
content = { approve = true } # what is accepted; left out, the defaults of the form
wait = 2.5                   # seconds before it is answered
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from mcp_studio.atomic import write_atomically
from mcp_studio.config.bending import not_json
from mcp_studio.config.model import Problem
from mcp_studio.config.rules import AnswerRule, RuleAction, RuleKind
from mcp_studio.config.table import Table, kind_of, place_of
from mcp_studio.errors import ConfigError
from mcp_studio.jsontext import Json, JsonProblem, dumps, loads

ACTIONS: tuple[RuleAction, ...] = get_args(RuleAction)
KINDS: tuple[RuleKind, ...] = get_args(RuleKind)
_LONGEST = 600.0


def fingerprint(schema: Json) -> str:
    """What a rule names a requested schema by: it changes with anything in the schema but the order of keys."""
    return "sha256:" + hashlib.sha256(dumps(_sorted(schema))).hexdigest()[:16]


def read_answers(table: Table) -> list[AnswerRule]:
    """The rules under `answer` of a table; those that are wrong are left out with a problem noted."""
    given = table.take("answer")
    if given is None:
        return []
    if not isinstance(given, list):
        table.problem("answer", f"must be written as [[answer]] tables, not {kind_of(given)}.")
        return []
    rules = (_rule(values, f"answer[{number}]", number, table) for number, values in enumerate(given))
    return [rule for rule in rules if rule]


def load_answers(file: Path, problems: list[Problem]) -> tuple[AnswerRule, ...]:
    """The rules of a TOML or JSON file; a file that is not there has none.

    JSON may also be one value alone: it is what every form is answered with.
    """
    try:
        text = file.read_text("utf-8")
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as problem:
        problems.append(Problem(str(file), "", f"cannot be read: {getattr(problem, 'strerror', None) or problem}."))
        return ()
    is_json = _json(file, text)
    try:
        values = loads(text.encode(), exact=True) if text.lstrip()[:1] in ("{", "[") and is_json else None
        document: Any = values if values is not None else tomllib.loads(text)
    except (tomllib.TOMLDecodeError, JsonProblem) as problem:
        problems.append(Problem(str(file), "", f"is no valid {'JSON' if is_json else 'TOML'}: {problem}."))
        return ()
    if isinstance(document, list):
        document = {"answer": document}
    if is_json and isinstance(document, dict) and not isinstance(document.get("answer"), list):
        return (AnswerRule("accept", kind="elicitation", content=document, source=file.name),)
    table = Table(document, str(file), "", problems)
    rules = read_answers(table)
    table.refuse_rest()
    return tuple(rules)


def append_answer(file: Path, rule: AnswerRule) -> None:
    """Add a rule at the top of a file, so that it is found before older ones; comments and other rules stay.

    Raises:
        ConfigError: the file cannot be read or written, or is no valid TOML.
    """
    import tomlkit
    from tomlkit.exceptions import ConvertError

    try:
        before = file.read_text("utf-8") if file.exists() else ""
        tomllib.loads(before)
        added = tomlkit.dumps({"answer": [to_table(rule)]})
        text = f"{added}\n{before}" if before else added
        tomllib.loads(text)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, text.encode())
    except tomllib.TOMLDecodeError as problem:
        raise ConfigError(f"{file} is no valid TOML: {problem}.", hint="Mend the file, then make the rule.") from None
    except ConvertError:
        raise ConfigError("The answer has a null in it, which TOML cannot say.", hint="Answer it by hand.") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise ConfigError(f"The rule could not be written to {file}: {problem}.") from None


def to_table(rule: AnswerRule) -> dict[str, Any]:
    """The rule as it is written, without what is the default anyway."""
    bare = AnswerRule("ask")
    table: dict[str, Any] = {}
    for key in ("server", "kind", "tool", "message", "schema", "action", "content", "wait"):
        value = getattr(rule, key)
        if key == "action" or value != getattr(bare, key):
            table[key] = value
    return table


def _rule(values: object, where: str, number: int, outer: Table) -> AnswerRule | None:
    before = len(outer.problems)
    table = Table(values, outer.file, where, outer.problems)
    action: RuleAction | Literal[""] = table.take_word("action", "", ACTIONS)
    content = table.take("content")
    wait = table.take_seconds("wait") or 0.0
    rule = AnswerRule(
        action or "ask",
        server=table.take_text("server", "*"),
        kind=table.take_word("kind", "any", KINDS),
        tool=table.take_text("tool", "*"),
        message=table.take_text("message", "*"),
        schema=table.take_text("schema"),
        content=content,
        wait=min(wait, _LONGEST),
        source=f"rule {number + 1} of {Path(outer.file).name}",
    )
    table.refuse_rest()
    if content is not None and (wrong := place_of(content, "content", not_json)):
        table.problem(wrong, "is no JSON value.", "Dates and times have to be written as strings.")
    if len(outer.problems) == before and not action:
        table.problem("action", f"is missing: one of {', '.join(ACTIONS)}.")
    return rule if len(outer.problems) == before else None


def _json(file: Path, text: str) -> bool:
    """Whether a file is JSON: by its name, or, as a pipe has none, for it begins as no TOML does."""
    return file.suffix.lower() == ".json" or text.lstrip().startswith("{")


def _sorted(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value
