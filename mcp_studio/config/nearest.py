"""The nearest known word, for messages about mistyped ones."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str:
    """A sentence that names the most similar known word, or an empty string."""
    from difflib import get_close_matches

    folded = {name.lower(): name for name in known}
    found = get_close_matches(word.lower(), folded, 1)
    return f"Did you mean `{folded[found[0]]}`?" if found else ""
