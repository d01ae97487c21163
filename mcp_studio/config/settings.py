"""Everything in our own files besides the servers; a wrong value costs only itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from mcp_studio.config.answers import read_answers
from mcp_studio.config.auth import is_metadata_url
from mcp_studio.config.model import Cjk, Keeping, Problem, Settings
from mcp_studio.config.rules import PolicyRule, Verdict
from mcp_studio.config.table import LONGEST, Table, kind_of
from mcp_studio.limits import Limits

T = TypeVar("T")
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) *([kKmMgG]i?)?[bB]?\Z")
_FACTORS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_AGE = re.compile(r"([0-9]+(?:\.[0-9]+)?) *(m(?:in(?:ute)?s?)?|h(?:ours?)?|d(?:ays?)?|w(?:eeks?)?)?\Z", re.IGNORECASE)
_TIMES = {"m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}
_MOST_CALLS = 1_000
_VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
_CJK: tuple[Cjk, ...] = get_args(Cjk)
KEEPING: tuple[Keeping, ...] = get_args(Keeping)
_LIMITS = {item.name: str(item.type) for item in fields(Limits)}


def read_settings(values: Mapping[str, Any], file: str, problems: list[Problem], base: Settings) -> Settings:
    """`base` with what the file says put over it; rules and names to redact are added to those of `base`."""
    table = Table(values, file, "", problems)
    table.take("servers")
    trace, history = table.inner("trace"), table.inner("history")
    secrets, signing = table.inner("secrets"), table.inner("auth")
    base = _search(table.inner("search"), base)
    limits = _limits(table.inner("limits"), base.limits)
    settings = replace(
        base,
        theme=table.take_text("theme", base.theme),
        ascii=table.take_flag("ascii", base.ascii),
        keys={**base.keys, **table.take_pairs("keys")},
        editor=table.take_text("editor", base.editor),
        start_processes=table.take_integer("start_processes", base.start_processes, 1),
        start_remote=table.take_integer("start_remote", base.start_remote, 1),
        limits=limits,
        policy=(*base.policy, *_policy(table)),
        answers=(*base.answers, *read_answers(table)),
        history=min(history.take_integer("keep", base.history, 0), _MOST_CALLS),
        calls=_folder(table, base.calls),
        record=trace.take_flag("record", base.record),
        record_bytes=_given(trace, "max_bytes", _size) or base.record_bytes,
        record_age=_given(trace, "max_age", _age) or base.record_age,
        traceparent=trace.take_flag("traceparent", base.traceparent),
        secrets=secrets.take_word("store", base.secrets, KEEPING),
        browser=signing.take_text("browser", base.browser),
        client_metadata_url=_document(signing) or base.client_metadata_url,
        redact=(*base.redact, *_patterns(trace)),
    )
    secrets.refuse_rest()
    signing.refuse_rest()
    history.refuse_rest()
    trace.refuse_rest()
    table.refuse_rest()
    return settings


def _search(search: Table, base: Settings) -> Settings:
    """`[search]`; whether there is a method of that name is told when it is used, for packages may bring some."""
    settings = replace(
        base,
        search_method=search.take_text("method", base.search_method) or base.search_method,
        search_cjk=search.take_word("cjk", base.search_cjk, _CJK),
        search_semantic=search.take_flag("semantic", base.search_semantic),
        search_usage=search.take_flag("usage", base.search_usage),
    )
    search.refuse_rest()
    return settings


def _folder(table: Table, base: str) -> str:
    """`calls`: a relative path is one from the folder of the file."""
    text = table.take_text("calls")
    return str(Path(table.file).absolute().parent / Path(text).expanduser()) if text else base


def _document(table: Table) -> str:
    """`client_metadata_url`: where our client id metadata document is kept."""
    url = table.take_text("client_metadata_url")
    if url and (url.startswith("$") or not is_metadata_url(url)):
        table.problem("client_metadata_url", f"`{url}` is no https:// address with a path.")
        return ""
    return url


def _limits(table: Table, base: Limits) -> Limits:
    changes: dict[str, float | int] = {}
    for key in table.keys():
        if key not in _LIMITS:
            continue
        value = table.take(key)
        size = _size(table, key, value) if _LIMITS[key] == "int" else _seconds(table, key, value)
        if size is not None:
            changes[key] = size
    table.refuse_rest(_LIMITS)
    return replace(base, **changes)  # type: ignore[arg-type]


def _size(table: Table, key: str, value: object) -> int | None:
    found = _SIZE.match(value) if isinstance(value, str) else None
    if found:
        value = int(float(found[1]) * _FACTORS[(found[2] or "")[:1].lower()])
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        table.problem(key, f"must be a whole number above 0, or a size such as `64 MB`, not {_shown(value)}.")
        return None
    return value


def _age(table: Table, key: str, value: object) -> float | None:
    """Seconds; a bare number means days."""
    found = _AGE.match(value) if isinstance(value, str) else None
    number = float(found[1]) if found else value
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not 0 < number < float("inf"):
        table.problem(
            key, f"must be a number of days above 0, or a time such as `14 days` or `12 h`, not {_shown(value)}."
        )
        return None
    return float(min(number, LONGEST)) * _TIMES[(found[2] or "d")[0].lower() if found else "d"]


def _given(table: Table, key: str, read: Callable[[Table, str, object], T | None]) -> T | None:
    value = table.take(key)
    return None if value is None else read(table, key, value)


def _seconds(table: Table, key: str, value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
        table.problem(key, f"must be a number of seconds above 0, not {_shown(value)}.")
        return None
    return float(min(value, LONGEST))


def _shown(value: object) -> str:
    return f"`{value}`" if isinstance(value, (str, int, float)) else kind_of(value)


def _policy(table: Table) -> list[PolicyRule]:
    rules: list[PolicyRule] = []
    given = table.take("policy")
    if given is not None and not isinstance(given, list):
        table.problem("policy", f"must be written as [[policy]] tables, not {kind_of(given)}.")
        return []
    for number, values in enumerate(given or ()):
        before = len(table.problems)
        rule = Table(values, table.file, f"policy[{number}]", table.problems)
        tools = rule.take_text("tools")
        verdict: Verdict | Literal[""] = rule.take_word("verdict", "", _VERDICTS)
        rule.refuse_rest()
        if len(table.problems) == before and not (tools and verdict):
            rule.problem("", "needs `tools` (a pattern such as `*.delete_*`) and `verdict`.")
        elif len(table.problems) == before and verdict:
            rules.append(PolicyRule(tools, verdict))
    return rules


def _patterns(trace: Table) -> list[str]:
    good: list[str] = []
    for number, pattern in enumerate(trace.take_texts("redact")):
        try:
            re.compile(pattern)
            good.append(pattern)
        except re.error as problem:
            trace.problem(f"redact[{number}]", f"`{pattern}` is no regular expression: {problem}.")
    return good
