"""When the studio itself makes a mistake: one sentence on the terminal, the details redacted in a file."""

from __future__ import annotations

import time
import traceback
from pathlib import Path

from mcp_studio.redact import Redactor
from mcp_studio.safetext import safe

_MOST = 200_000


def report(error: BaseException, folder: Path, redactor: Redactor) -> str:
    """Write where it happened (no local variables) into a file; returns the sentence for the terminal."""
    what = type(error).__name__
    text = "".join(traceback.format_exception(error))[-_MOST:]
    stamp = time.strftime("%Y%m%d-%H%M%S")
    file = folder / f"crash-{stamp}.log"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(safe(redactor.text(text), _MOST, lines=True) + "\n", encoding="utf-8")
    except OSError as problem:
        return f"mcp-studio ended by a mistake of its own ({what}), and the details could not be written: {problem}"
    return f"mcp-studio ended by a mistake of its own ({what}). Nothing of yours is lost; the details are in {file}"
