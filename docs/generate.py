"""Write the parts of the documentation that the code knows best.

keys.md, the verbs in cli.md, and in reference.md the limits, the rules of the lint, and what an HTTP status means:

    python docs/generate.py

A test compares the files with what this would write.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

from mcp_studio import limits  # noqa: E402 - found only after the line above
from mcp_studio.cli.grammar import COMMON, VERBS, Option  # noqa: E402
from mcp_studio.trace.lint.rules import RULES  # noqa: E402
from mcp_studio.transport.http_errors import MEANINGS  # noqa: E402
from mcp_studio.tui.actions import table  # noqa: E402

SCOPES = {
    "app": "Everywhere",
    "main": "On the main screen",
    "servers": "Servers (1)",
    "catalog": "Catalog (2)",
    "tasks": "Tasks, a tab of the catalog (2)",
    "task": "One task",
    "history": "History, a tab of the call (3)",
    "saved": "Choosing a saved call",
    "ask": "Filling in a form of the studio",
    "call": "Call (3)",
    "form": "In every form",
    "result": "Result (4)",
    "trace": "Trace (5)",
    "list": "In every list",
    "viewer": "In every viewer",
    "server dialog": "Adding or editing a server",
    "import": "Importing servers",
    "question": "When a server asks for a form",
    "page": "When a server asks for a page",
    "sampling": "When a server asks for the reply of a model",
    "rule": "Making a rule of an answer",
    "board": "What runs and what waits (F7)",
    "roots": "Roots of a server",
    "search": "Searching everything (^f)",
    "search servers": "Choosing the servers that are searched",
    "log": "Log messages",
    "statistics": "Statistics",
    "load": "Load: running something many times",
    "pages": "A list, page by page",
    "console": "Console of a server",
    "copy as": "Copying a call as something else",
    "fill": "Filling in a pasted call",
    "example": "Filling with an example",
    "json": "In every editor of JSON",
    "when": "Choosing a date or a time",
    "file": "Putting a file into a field",
    "trace detail": "One exchange of the trace",
    "detail": "The exchange beside the trace",
    "comment": "Commenting on a message of the trace",
    "difference": "How two messages of the trace differ",
    "sessions": "Sessions",
    "path": "Typing the path of a file",
    "export": "Exporting the trace",
    "mortem": "How a server ended",
    "stray": "What a server printed besides the protocol",
    "paste": "Pasting into a field",
    "details": "Details of a server",
    "sign in": "Signing in to a server",
    "exchanges": "The HTTP exchanges of signing in",
    "token": "The token of a server",
    "passphrase": "Typing a passphrase",
    "approval": "When a call needs approval",
    "confirm": "Yes or no",
    "trust": "When a project file is new",
    "choice": "Choosing one of several",
    "dialog": "In other dialogs",
}
BEGIN_VERBS, END_VERBS = "<!-- verbs: written by generate.py -->\n", "<!-- end of verbs -->"


def keys() -> str:
    """The text of keys.md."""
    text = ["# Keys\n"]
    text.append("`^j` is Ctrl with J. Letters act in lists and viewers, never while you type into a field.")
    text.append("Every key can be changed in `[keys]` of `config.toml`, by the name in the last column:")
    text.append('`call = "ctrl+j,alt+enter"`.')
    scope = ""
    for where, name, pressed, title in table():
        if where != scope:
            scope = where
            text.append(f"\n## {SCOPES.get(where, where.capitalize())}\n")
            text.append("| keys | does | name |\n|------|------|------|")
        shown = " ".join(f"`{key.replace('|', chr(92) + '|')}`" for key in pressed.split(" "))
        text.append(f"| {shown} | {title} | `{name}` |")
    return "\n".join(text) + "\n"


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
    for name, verb in VERBS.items():
        usage = "\n".join(f"mcp-studio {line}" for line in verb.usage.split("\n"))
        parts.append(
            f"### {name or 'The studio'}\n\n```\n{usage}\n```\n\n{verb.about or verb.summary}\n{_options(verb.options)}"
        )
    parts.append(f"### Options about servers\n{_options(COMMON)}")
    return _between("cli.md", BEGIN_VERBS, "\n".join(parts), END_VERBS)


def _options(options: Sequence[Option]) -> str:
    rows = ["", "| option | |", "|--------|---|"]
    for option in options:
        names = " ".join(f"`{part}`" for part in (option.name, option.short, option.value.replace("|", "\\|")) if part)
        choices = "" if not option.choices else f": {', '.join(option.choices)}"
        rows.append(f"| {names} | {option.help.replace('|', chr(92) + '|')}{choices} |")
    return "\n".join([*rows, ""]) if options else ""


def _between(page: str, begin: str, middle: str, end: str) -> str:
    """A page with what stands between two marks replaced."""
    before, rest = (HERE / page).read_text("utf-8").split(begin)
    return f"{before}{begin}{middle}{end}{rest.split(end)[1]}"


def main() -> None:
    """Write the files."""
    (HERE / "keys.md").write_text(keys(), "utf-8")
    (HERE / "reference.md").write_text(reference(), "utf-8")
    (HERE / "cli.md").write_text(cli(), "utf-8")


if __name__ == "__main__":
    main()
