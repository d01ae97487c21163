"""One entry of the catalog as it is searched."""

from __future__ import annotations

from typing import NamedTuple

from mcp_studio.catalog.ref import Ref
from mcp_studio.jsontext import Json


class Document(NamedTuple):
    """What one server lists under one name, raw: foreign text, unsanitized, of any size and shape.

    Its fields are read out by `search.fields`, bounded; nobody keeps copies of the texts who need not.
    """

    ref: Ref
    raw: dict[str, Json]
    tags: tuple[str, ...] = ()
    """Words of the person or the studio about it: the server's group, what it is marked with."""
