"""The YAML frontmatter of a skill's `SKILL.md`: read, and compared with what the skill's entry says.

PyYAML reads it, event by event, so that what makes YAML dangerous or ambiguous is refused before anything is made of
it: anchors, aliases, tags, merges, complex and duplicate keys, and what is larger or deeper than frontmatter ever is.
"""

from __future__ import annotations

import re
from typing import cast

from mcp_studio.jsontext import Json

Node = dict[str, "Node"] | list["Node"] | str | None
"""What was read; a `Plain` is a text whose type its reader chooses."""

LONGEST = 64 * 1024
"""Characters of frontmatter that are read."""
_DEPTH = 20
_FENCED = re.compile(r"\ufeff?---[ \t]*\r?\n(.*?)(?:^|\r?\n)---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)


class YamlProblem(ValueError):
    """What cannot be read, as the rest of a sentence about it."""


class Plain(str):
    """A text without quotes, which may mean a number, true or false, or nothing."""

    __slots__ = ()


def parse(text: str) -> dict[str, Node]:
    """The frontmatter at the beginning of a file.

    Raises:
        YamlProblem: there is none, or it cannot be read; says why.
    """
    import yaml

    found = _FENCED.match(text[: LONGEST + 100])
    if not found:
        longer = f", or it is longer than {LONGEST // 1024} KiB" if len(text) > LONGEST else ""
        raise YamlProblem(f"it does not begin with frontmatter between two lines of ---{longer}")
    try:
        node = _read(found[1] + "\n")
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 1
        raise YamlProblem(f"line {line}: {error.problem or error.context}"[:150]) from None
    except (yaml.YAMLError, ValueError) as error:
        raise YamlProblem(str(error).partition("\n")[0][:150]) from None
    if not isinstance(node, dict):
        raise YamlProblem("it is no mapping of names to values")
    return node


def _read(text: str) -> Node:
    """Make values of a document's events; the last of `open_nodes` is the collection that is being filled."""
    import yaml

    root: list[Node] = []
    open_nodes: list[tuple[dict[str, Node] | list[Node], list[str]]] = [(root, [])]
    for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        if isinstance(event, yaml.CollectionEndEvent):
            open_nodes.pop()
        if not isinstance(event, yaml.NodeEvent):
            continue
        line = f"line {event.start_mark.line + 2}"
        if event.anchor or getattr(event, "tag", None):
            raise YamlProblem(f"{line} has an anchor, an alias or a tag, which is not read here")
        scalar = event.value if isinstance(event, yaml.ScalarEvent) else None
        holder, keys = open_nodes[-1]
        if isinstance(holder, dict) and not keys:
            if scalar is None or scalar == "<<":
                raise YamlProblem(f"{line} has a complex key or merges another mapping, which is not read here")
            if scalar in holder:
                raise YamlProblem(f"{line} has the key {scalar[:40]!r} for the second time")
            keys.append(scalar)
            continue
        node: Node = [] if isinstance(event, yaml.SequenceStartEvent) else {}
        if isinstance(event, yaml.ScalarEvent):
            node = event.value if event.style else Plain(event.value)
        if isinstance(holder, dict):
            holder[keys.pop()] = node
        else:
            holder.append(node)
        if isinstance(node, dict | list):
            open_nodes.append((node, []))
            if len(open_nodes) > _DEPTH + 2:
                raise YamlProblem(f"{line} is nested deeper than {_DEPTH} levels")
    return root[0] if root else {}


def differences(written: Node, listed: Json, where: str = "") -> list[str]:
    """Where a file's frontmatter and the one of its entry differ, in words."""
    if isinstance(written, dict) and isinstance(listed, dict):
        known = cast("dict[str, Json]", listed)
        found = [f"{_name(where, key)} is in the file, but not in the entry" for key in written if key not in known]
        found += [f"{_name(where, key)} is in the entry, but not in the file" for key in known if key not in written]
        for key, value in written.items():
            if key in known:
                found += differences(value, known[key], _name(where, key))
        return found
    if isinstance(written, list) and isinstance(listed, list):
        items = cast("list[Json]", listed)
        if len(written) != len(items):
            return [f"{where} has {len(written)} items in the file, and {len(items)} in the entry"]
        pairs = enumerate(zip(written, items, strict=True))
        return [one for at, (mine, other) in pairs for one in differences(mine, other, f"{where}[{at}]")]
    return (
        [] if _same(written, listed) else [f"{where} differs: {_short(written)} in the file, {_short(listed)} listed"]
    )


def _same(written: Node, listed: Json) -> bool:
    """Whether a scalar is the value that was listed; versions of YAML disagree about which words are more than text."""
    import yaml

    if isinstance(listed, str) or not isinstance(written, Plain):
        return type(listed) is str and isinstance(written, str) and str(written) == listed
    if len(written) > 40 or isinstance(listed, dict | list):
        return False
    try:
        meant = yaml.safe_load(written)
        if listed is None or isinstance(listed, bool):
            return meant is listed
        return not isinstance(meant, bool) and (meant == listed or float(written) == listed)
    except (yaml.YAMLError, ValueError, OverflowError):
        return False


def _name(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _short(value: object) -> str:
    text = repr(str(value)) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:59] + "…"
