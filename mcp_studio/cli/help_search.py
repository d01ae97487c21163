"""Help of `search`."""

from __future__ import annotations

METHODS = "auto substring regex bm25 okapi semantic hybrid"
"""The methods of our own; packages may bring more."""


def usage(common: str) -> dict[str, str]:
    """Verb -> its help; `common` is a paragraph that verbs have in common."""
    return {
        "search": f"""\
mcp-studio search [QUERY…] [options] [-- COMMAND ARGS…]

Finds tools, resources, templates and prompts of all servers, the best first, and says of each why it was found. Of
servers that cannot be reached it searches what they offered last time. Several words are one query; without any it
lists what was used last and most.

  --method METHOD      auto (names, then words, then meaning), substring (words anywhere, names nearly right), regex,
                       bm25, okapi, semantic, hybrid, or one of a package's; [search] method says which is usual
  --kind KIND          only tool, resource, template or prompt (may be repeated)
  --limit N            so many at most (20)
  --offline            start and ask no server: search what they offered last time

{common}
Exit codes: 0 found, 1 nothing found or failure, 2 usage, a method that is not installed, or a pattern that is none;
3 to 130 as everywhere.
""",
    }
