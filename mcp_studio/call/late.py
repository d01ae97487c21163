"""What only some calls need, skills, completion and what is remembered: imported for the first of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_studio.catalog.catalog import Catalog
from mcp_studio.catalog.listing import Ref
from mcp_studio.catalog.skills import Skill, Verdict
from mcp_studio.jsontext import Json
from mcp_studio.session.manager import ConnectionManager

if TYPE_CHECKING:
    from mcp_studio.call.completion import Completion
    from mcp_studio.call.history import History, Keeper
    from mcp_studio.call.skills import SkillReader


def history(file: Path, keep: int, keeper: Keeper) -> History:
    """Calls that have ended."""
    from mcp_studio.call.history import History

    return History(file, keep, keeper)


def verify(skill: Skill, uri: str, result: Json) -> Verdict:
    """See `catalog.verifying.verify`."""
    from mcp_studio.catalog.skills import verify as check

    return check(skill, uri, result)


def skill_reader(manager: ConnectionManager, catalog: Catalog) -> SkillReader:
    """Who loads skills."""
    from mcp_studio.call.skills import SkillReader

    return SkillReader(manager, catalog)


def secret_places(schema: Json) -> Callable[[Json], frozenset[str]]:
    """See `secret_fields.secret_places`; for values of one schema."""
    from mcp_studio.call.secret_fields import secret_places as places
    from mcp_studio.schema.form import build

    return partial(places, build(schema))


async def complete(
    manager: ConnectionManager, ref: Ref, argument: str, value: str, known: Mapping[str, str]
) -> Completion:
    """See `completing.complete`."""
    from mcp_studio.call import completion as completing

    return await completing.complete(manager, ref, argument, value, known)
