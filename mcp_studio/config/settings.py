"""The content of our own files besides the servers; a wrong value affects only itself."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from mcp_studio.config.model import AnswerRule, GatewayClient, GatewaySettings, PolicyRule, Problem, Settings, ToolRule
from mcp_studio.config.servers import changed, is_metadata_url
from mcp_studio.config.table import LONGEST, Flaws, Table, kind_of, read_file, words_of
from mcp_studio.jsontext import Json
from mcp_studio.limits import Limits

_RULE_TEXTS = ("server", "kind", "tool", "message", "schema", "action")
_LONGEST = 600.0


def fingerprint(schema: Json) -> str:
    """The name of a requested schema in a rule; it changes with everything in the schema but the order of keys."""
    text = json.dumps(schema, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read_answers(table: Table) -> list[AnswerRule]:
    """The rules under `answer` of a table, without those that are wrong; their problems are added to the table's."""
    return [rule for number, row in enumerate(table.rows("answer"), 1) if (rule := _rule(row, number))]


def load_answers(file: Path, problems: list[Problem], *, required: bool = False) -> tuple[AnswerRule, ...]:
    """The rules of a TOML or JSON file; a JSON file may also hold a single value, with which every form is answered."""
    document = read_file(file, problems, required=required)
    if document is None:
        return ()
    values = {"answer": document.values} if isinstance(document.values, list) else document.values
    if not document.is_toml and isinstance(values, dict) and not isinstance(values.get("answer"), list):
        return (AnswerRule("accept", kind="elicitation", content=values, source=file.name),)
    table = Table(values, str(file), "", problems)
    rules = read_answers(table)
    table.refuse_rest()
    return tuple(rules)


def to_table(rule: AnswerRule) -> dict[str, Any]:
    """The rule as a table, without default values."""
    return {"action": rule.action} | changed(rule, AnswerRule("ask"), (*_RULE_TEXTS, "content", "wait"))


def _rule(table: Table, number: int) -> AnswerRule | None:
    before = len(table.problems)
    rule = table.take_fields(AnswerRule("ask", source=f"rule {number} of {Path(table.file).name}"), _RULE_TEXTS)
    rule = replace(rule, content=table.take_json("content"), wait=min(table.take_seconds("wait") or 0.0, _LONGEST))
    table.refuse_rest()
    if len(table.problems) == before and "action" not in table.keys():
        table.problem("action", f"is missing: one of {', '.join(words_of(AnswerRule)['action'])}.")
    return rule if len(table.problems) == before else None


_Unit = tuple[str, Mapping[str, float], str]
"""The pattern of the unit's names, the factors by the names' first letters, and a description for problems."""
_SIZES = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_SIZE: _Unit = ("[kmg]?i?b?", _SIZES, "a whole number above 0, or a size such as `64 MB`")
_AGES = {"": 86_400, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_DAYS = "a number of days above 0, or a time such as `14 days` or `12 h`"
_AGE: _Unit = ("|m(in(ute)?s?)?|h(ours?)?|d(ays?)?|w(eeks?)?", _AGES, _DAYS)
_POLICY = tuple(item.name for item in fields(PolicyRule) if item.name != "broken")
_GATEWAY = tuple(item.name for item in fields(GatewaySettings) if item.name != "clients")
_LIMITS = {item.name: str(item.type) for item in fields(Limits)}


def read_settings(values: Mapping[str, Any], file: str, problems: list[Problem], base: Settings) -> Settings:
    """`base` overridden by a file's values; the file's rules and names to redact are added to those of `base`."""
    table = Table(values, file, "", problems)
    table.take("servers")
    inner = ("trace", "history", "secrets", "auth", "search", "registry", "limits")
    trace, history, secrets, signing, search, registry, limits = map(table.inner, inner)
    settings = table.take_fields(base, ("theme", "ascii", "editor", "cache_ttl", "filter"))
    settings = trace.take_fields(settings, ("record", "traceparent"))
    # Packages may bring methods, so the name of a method is checked when it is used.
    settings = search.take_fields(settings, ("method", "cjk", "semantic", "usage"), "search_")
    settings = registry.take_fields(settings, ("storage",), "registry_")
    settings = signing.take_fields(settings, ("browser", "client_metadata_url"))
    if (url := settings.client_metadata_url) and (url.startswith("$") or not is_metadata_url(url)):
        signing.problem("client_metadata_url", f"`{url}` is no https:// address with a path.")
        settings = replace(settings, client_metadata_url=base.client_metadata_url)
    settings = replace(
        settings,
        keys={**base.keys, **table.take_pairs("keys")},
        start_processes=table.take_integer("start_processes", base.start_processes, 1),
        start_remote=table.take_integer("start_remote", base.start_remote, 1),
        limits=_limits(limits, base.limits),
        policy=(*base.policy, *_policy(table)),
        tools=(*base.tools, *_tools(table)),
        answers=(*base.answers, *read_answers(table)),
        history=min(history.take_integer("keep", base.history, 0), 1_000),
        calls=_folder(table, base.calls),
        record_bytes=int(_quantity(trace, "max_bytes", _SIZE)) or base.record_bytes,
        record_age=_quantity(trace, "max_age", _AGE) or base.record_age,
        secrets=secrets.take_word("store", base.secrets, words_of(Settings)["secrets"]),
        redact=(*base.redact, *_patterns(trace)),
        gateway=_gateway(table.inner("gateway"), base.gateway),
    )
    for read in (limits, trace, history, secrets, signing, search, registry, table):
        read.refuse_rest()
    return settings


def _folder(table: Table, base: str) -> str:
    """Read `calls`; a relative path starts from the folder of the file."""
    text = table.take_text("calls")
    return str(Path(table.file).absolute().parent / Path(text).expanduser()) if text else base


def _limits(table: Table, base: Limits) -> Limits:
    sizes = {key: int(_quantity(table, key, _SIZE)) for key, kind in _LIMITS.items() if kind == "int"}
    times = {key: table.take_seconds(key) for key, kind in _LIMITS.items() if kind != "int"}
    return replace(base, **{key: value for key, value in (*sizes.items(), *times.items()) if value})  # type: ignore[arg-type]


def _quantity(table: Table, key: str, unit: _Unit) -> float:
    """Read a number, or a text with a number and a unit; 0 where the key is missing."""
    value = table.take(key)
    if value is None:
        return 0.0
    pattern, factors, words = unit
    text = value if isinstance(value, str) else "" if isinstance(value, bool) else str(value)
    found = re.fullmatch(rf"([0-9]+(?:\.[0-9]+)?) *({pattern})", text, re.IGNORECASE)
    number = min(float(found[1]), LONGEST) * factors.get(found[2][:1].lower(), 0) if found else 0.0
    if number <= 0 or (unit is _SIZE and isinstance(value, float)):
        shown = f"`{value}`" if isinstance(value, (str, int, float)) else kind_of(value)
        table.problem(key, f"must be {words}, not {shown}.")
        return 0.0
    return number


def _policy(table: Table) -> list[PolicyRule]:
    before, rules = len(table.problems), list[PolicyRule]()
    for row in table.rows("policy"):
        rule = row.take_record(PolicyRule(), _POLICY, partial(_wrong_policy, row.keys()))
        tools = row.take("tools")
        rules.append(rule or PolicyRule(tools if isinstance(tools, str) else "*", broken=True))
    return rules or [PolicyRule(broken=True)] * (len(table.problems) > before)


def _wrong_policy(keys: Collection[str], rule: PolicyRule) -> Flaws:
    if "verdict" not in keys or len(keys) == 1:
        yield "", "needs `verdict`, and `tools` (a pattern such as `*.delete_*`) or another condition.", ""
    elif rule.until and not re.fullmatch(r"\d{4}-\d\d-\d\d", rule.until):
        yield "until", "must be a day such as `2026-12-31`.", ""
    elif rule.calls and not rule.seconds > 0:
        yield "seconds", "must be above 0.", ""


def _tools(table: Table) -> list[ToolRule]:
    inner, names = table.inner("tools"), ("category", "risk", "failover")
    return [*filter(None, (inner.inner(tools).take_record(ToolRule(tools), names) for tools in inner.keys()))]


def _gateway(table: Table, base: GatewaySettings) -> GatewaySettings:
    before, inner, names = len(table.problems), table.inner("clients"), ("token", "tools", "register")
    some = [inner.inner(name).take_record(GatewayClient(name), names, _wrong_client) for name in inner.keys()]
    found = replace(table.take_fields(base, _GATEWAY), clients=(*base.clients, *filter(None, some)))
    table.refuse_rest()
    # Missing values stay as another file has them. Unreadable values may have hidden tools, so all are hidden then.
    return replace(found, hidden=("*",)) if len(table.problems) > before else found


def _wrong_client(client: GatewayClient) -> Flaws:
    if not client.token:
        yield "token", "is missing: what the client shows, such as `${keyring:NAME}`.", ""


def _patterns(trace: Table) -> list[str]:
    import regex

    good: list[str] = []
    for number, pattern in enumerate(trace.take_texts("redact")):
        try:
            regex.compile(pattern)
            good.append(pattern)
        except regex.error as problem:
            trace.problem(f"redact[{number}]", f"`{pattern}` is no regular expression: {problem}.")
    return good
