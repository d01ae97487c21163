"""Scripts written without spaces: Chinese, Japanese, Korean, Thai and their neighbours.

Their texts are compared by single characters and by pairs of neighbours; where a dictionary is installed and wished
for, by its words as well.
"""

from __future__ import annotations

import re
import unicodedata
from operator import add

DENSE = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff"  # Thai, Lao, Burmese, Korean letters, Khmer
    "\u3005-\u3007\u3040-\u30fa\u30fc-\u31ff\u3400-\u4dbf\u4e00-\u9fff"  # kana, bopomofo, Chinese
    "\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af"  # Korean, compatibility, narrow kana, rare Chinese
)
"""The characters of these scripts, as the inside of a regular expression's brackets."""
_DENSE = re.compile(f"[{DENSE}]")
FIRST = "\u0e00"
"""No character of these scripts comes before it."""


def grams(run: str) -> list[str]:
    """The characters of a stretch without spaces, then the pairs of neighbours."""
    if any(char >= "\uff00" for char in run):
        run = unicodedata.normalize("NFKC", run)
    return [*run, *map(add, run, run[1:])]


def is_dense(char: str) -> bool:
    """Whether a character is of one of these scripts."""
    return bool(_DENSE.match(char))
