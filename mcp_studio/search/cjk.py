"""Scripts written without spaces, or with signs that are no letters: Chinese, Japanese, Korean, Thai, those of India.

Their texts are compared by single characters and by pairs of neighbours; where a dictionary is installed and wished
for, by its words as well.
"""

from __future__ import annotations

import logging
import re
import unicodedata
import warnings
from collections.abc import Callable
from functools import cache
from operator import add

DENSE = (
    "\u0900-\u0dff\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff"  # India, Thai, Lao, Burmese, Korean, Khmer
    "\u3005-\u3007\u3040-\u30fa\u30fc-\u31ff\u3400-\u4dbf\u4e00-\u9fff"  # kana, bopomofo, Chinese
    "\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af"  # Korean, compatibility, narrow kana, rare Chinese
)
"""The characters of these scripts, as the inside of a regular expression's brackets."""
_DENSE = re.compile(f"[{DENSE}]")
FIRST = "\u0900"
"""No character of these scripts comes before it."""


Segment = Callable[[str], list[str]]
"""Takes a stretch without spaces apart into words."""
MISSING = "Chinese was searched by characters; for its words: pip install 'mcp-studio[cjk]'."


@cache
def dictionary() -> Segment | None:
    """What finds the words of a stretch by the dictionary of the extra `cjk`; None where that is not installed.

    Slow the first time, by about a second.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of its own code
        try:
            import jieba
        except ImportError:
            return None
        jieba.setLogLevel(logging.CRITICAL)
        tokenizer = jieba.Tokenizer()
        # By itself it would keep its index in a folder that everybody on the machine can write to, and read it there.
        tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
        tokenizer.initialized = True
    return lambda run: list(tokenizer.cut(run))


def grams(run: str, segment: Segment | None = None) -> list[str]:
    """The characters of a stretch without spaces, the pairs of neighbours, and the longer words of a dictionary."""
    if any(char >= "\uff00" for char in run):
        run = unicodedata.normalize("NFKC", run)
    found = [*run, *map(add, run, run[1:])]
    if segment is not None:
        found += [word for word in segment(run) if len(word) > 2]
    return found


def is_dense(char: str) -> bool:
    """Whether a character is of one of these scripts."""
    return char >= FIRST and bool(_DENSE.match(char))
