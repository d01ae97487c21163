"""Write the parts of the documentation that the code knows best.

keys.md, the verbs in cli.md, the schema of workflow files, and in reference.md the limits, the rules of the lint, and
what an HTTP status means:

    python docs/generate.py

A test compares the files with what this would write.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

from mcp_studio import limits  # noqa: E402 - found only after the line above
from mcp_studio.cli.grammar import CONNECTION, VERBS, Option  # noqa: E402
from mcp_studio.jsontext import pretty  # noqa: E402
from mcp_studio.trace.lint.rules import RULES  # noqa: E402
from mcp_studio.transport.http_errors import MEANINGS  # noqa: E402
from mcp_studio.tui.actions import KEYS, spell_all, table  # noqa: E402
from mcp_studio.workflow.model import schema  # noqa: E402

SCOPES = {
    "app": "On every screen", "main": "On the main screen", "servers": "Servers (1)", "catalog": "Catalog (2)",
    "tasks": "Tasks, a tab of the catalog (2)", "call": "Call (3)", "history": "History, a tab of the call (3)",
    "result": "Result (4)", "trace": "Trace (5)", "list": "In every list", "viewer": "In every viewer",
    "json": "In viewers of JSON", "table": "In tables", "form": "In every form", "editor": "In the editor of JSON",
    "exchange": "In an exchange of the trace", "sessions": "Among sessions", "dialog": "In every dialog",
    "run": "While a dialog makes calls",
}  # fmt: skip
CARD = (
    ("Everywhere", "palette help search jump next_pane next_tab zoom pending new_server back quit"),
    ("In lists and viewers", "open toggle_item find copy copy_as repeat cancel save"),
    ("While typing", "submit field_menu editor save_call"),
)
"""The keys to know first, with those of the panes."""
COMMON = 3
"""Options that so many verbs have are described once."""
BEGIN_VERBS, END_VERBS = "<!-- verbs: written by generate.py -->\n", "<!-- end of verbs -->"


def keys() -> str:
    """The text of keys.md: a card of those to know first, then all of them."""
    text = ["# Keys\n"]
    text.append(
        "`^j` is Ctrl with J. Letters act in lists and viewers, never while you type into a field; a letter means"
    )
    text.append("the same everywhere. `?` lists what can be done where you are, `^p` finds everything by its name.")
    for where, names in CARD:
        text.append(f"\n**{where}**\n\n| keys | |\n|------|-|")
        text += [f"| {_code(spell_all(KEYS[name].keys))} | {KEYS[name].meaning} |" for name in names.split()]
        if where == CARD[0][0]:
            text.append("| `1` … `5` | Go to servers, catalog, call, result, trace |")
    text.append("\n## All keys\n")
    text.append(
        "Every key can be changed in `[keys]` of `config.toml`, by the name in the last column, for all its places"
    )
    text.append('at once: `zoom = "f10,plus"`. What has no key is in the palette.')
    scope = ""
    for where, name, pressed, title in table():
        if where != scope:
            scope = where
            text.append(f"\n### {SCOPES[where]}\n")
            text.append("| keys | does | name |\n|------|------|------|")
        text.append(f"| {_code(pressed)} | {title} | `{name}` |")
    return "\n".join(text) + "\n"


def _code(keys: str) -> str:
    return " ".join(f"`{key}`" for key in keys.split()).replace("|", r"\|")


def limit_rows() -> str:
    """The table of limits, with the descriptions that stand in limits.py."""
    tree = ast.parse(Path(limits.__file__).read_text("utf-8"))
    body = next(node for node in tree.body if isinstance(node, ast.ClassDef)).body
    rows = ["| limit | bounds | default |", "|-------|--------|--------:|"]
    for field, words in pairwise(body):
        if not isinstance(field, ast.AnnAssign) or not isinstance(words, ast.Expr):
            continue
        assert isinstance(field.target, ast.Name) and isinstance(words.value, ast.Constant)
        rows.append(f"| `{field.target.id}` | {str(words.value.value).rstrip('.')} | {_shown(field.target.id)} |")
    return "\n".join(rows) + "\n"


def _shown(name: str) -> str:
    value = getattr(limits.DEFAULT, name)
    if isinstance(value, float):
        return f"{value:g} s"
    for unit, size in (("MB", limits.MB), ("KB", limits.KB)):
        if value % size == 0:
            return f"{value // size} {unit}"
    return f"{value:,}"


def rule_rows() -> str:
    """The table of what the lint checks."""
    rows = ["| rule | | what must hold | specification |", "|------|---|------|------|"]
    for name, rule in RULES.items():
        sections = rule.section if rule.section == rule.modern else f"{rule.section}; 2026-07-28: {rule.modern}"
        rows.append(f"| `{name}` | {rule.severity} | {rule.about} | {sections} |")
    return "\n".join(rows) + "\n"


def status_rows() -> str:
    """The table of what HTTP statuses mean."""
    rows = ["| status | the server says that | what to do |", "|---|---|---|"]
    for status, about in MEANINGS.items():
        says = f"{about[0]}".rstrip()
        rows.append(f"| {status} | {says.rstrip('.')} | {about[1]} |")
    return "\n".join(rows) + "\n"


def reference() -> str:
    """The text of reference.md."""
    return f"""# Reference

`docs/generate.py` writes this page from the code.

## Limits

Each can be set in `[limits]` of [config.toml](configuration.md). Sizes may be written as `"64 MB"`, times are seconds.

{limit_rows()}
## Rules of the lint

The pages are below `https://modelcontextprotocol.io/specification/2025-11-25/`, or the version that was negotiated.

{rule_rows()}
## HTTP statuses

{status_rows()}"""


def cli() -> str:
    """The text of cli.md with the verbs and options of today."""
    parts: list[str] = []
    rows = [_option(option) for verb in VERBS.values() for option in verb.options]
    common = {row: None for row in rows if rows.count(row) >= COMMON}
    for name, verb in VERBS.items():
        usage = "\n".join(f"mcp-studio {line}" for line in verb.usage.split("\n"))
        own = [option for option in verb.options if _option(option) not in common]
        also = ", ".join(f"`{option.name}`" for option in verb.options if option not in own)
        text = f"### {name or 'The studio'}\n\n```\n{usage}\n```\n\n{verb.about or verb.summary}\n"
        parts.append(
            text
            + _table(map(_option, own))
            + (f"\n[Of several verbs](#options-of-several-verbs): {also}\n" if also else "")
        )
    parts.append(f"### Options of several verbs\n{_table(common)}")
    parts.append(f"### Options about servers\n{_table(map(_option, CONNECTION.options))}")
    return _between("cli.md", BEGIN_VERBS, "\n".join(parts), END_VERBS)


def _table(rows: Iterable[str]) -> str:
    found = [*rows]
    return "\n".join(["", "| option | |", "|--------|---|", *found, ""]) if found else ""


def _option(option: Option) -> str:
    names = " ".join(f"`{part}`" for part in (option.name, option.short, option.value.replace("|", "\\|")) if part)
    choices = "" if not option.choices else f": {', '.join(option.choices)}"
    return f"| {names} | {option.help.replace('|', chr(92) + '|')}{choices} |"


def _between(page: str, begin: str, middle: str, end: str) -> str:
    """A page with what stands between two marks replaced."""
    before, rest = (HERE / page).read_text("utf-8").split(begin)
    return f"{before}{begin}{middle}{end}{rest.split(end)[1]}"


def workflows() -> str:
    """The text of workflow.schema.json."""
    return pretty(schema()) + "\n"


def main() -> None:
    """Write the files."""
    (HERE / "keys.md").write_text(keys(), "utf-8")
    (HERE / "reference.md").write_text(reference(), "utf-8")
    (HERE / "cli.md").write_text(cli(), "utf-8")
    (HERE / "workflow.schema.json").write_text(workflows(), "utf-8")


if __name__ == "__main__":
    main()
