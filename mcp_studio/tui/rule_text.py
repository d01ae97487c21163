"""A rule as it is written in answers.toml."""

from __future__ import annotations

from mcp_studio.config.model import AnswerRule
from mcp_studio.config.settings import to_table


def toml_of(rule: AnswerRule) -> str:
    """The `[[answer]]` table of a rule; in words, where TOML cannot say it."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.dumps({"answer": [to_table(rule)]}).strip()
    except TOMLKitError:
        return "Its values cannot be written as TOML, which knows no null."
