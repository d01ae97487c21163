"""Reading a call from whatever people copy: nothing is run, no file is read, and any text is safe."""

from __future__ import annotations

import re
from dataclasses import replace

from mcp_studio.call.copying import paste_json, paste_shell
from mcp_studio.call.copying.pasted import Pasted, PasteProblem
from mcp_studio.config.jsonc import unfenced
from mcp_studio.redact import MARK

LARGEST = 8 * 1024 * 1024
"""Characters."""
EXPECTED = (
    "Expected: arguments as JSON, a JSON-RPC request, a command line of mcp-studio or curl, or a tool-use block of a "
    "model."
)
_EVENT = re.compile(r"(?m)^(?:(?:event|id|retry|:).*(?:\n|\Z)|data: ?)")
_LOGGED = re.compile(r'[^\n{]{1,400}?(?=\{\s*"(?:jsonrpc|method|id)")')
"""What a log writes in front of a message."""


def read_paste(text: str) -> Pasted:
    """The call that a text describes.

    Raises:
        PasteProblem: it describes none; a sentence says what was expected, or what is wrong with it.
    """
    if len(text) > LARGEST:
        raise PasteProblem(f"It is larger than {LARGEST // 1024 // 1024} MB.")
    text = text.removeprefix("\ufeff")
    if (bare := text.strip()).startswith("```"):
        text = unfenced(bare)
    elif text.startswith(("data:", "event:")):
        text = _EVENT.sub("", text)
    if not text.strip():
        raise PasteProblem(f"There is nothing in it. {EXPECTED}")
    found = _read(text)
    if MARK in text:
        return replace(found, remarks=(*found.remarks, f"{MARK} stands for a secret that was left out."))
    return found


def _read(text: str) -> Pasted:
    if paste_shell.is_curl(text):
        return paste_shell.curl(text)
    if paste_shell.is_ours(text):
        return paste_shell.ours(text)
    if text.lstrip()[0] in '{["/':
        return paste_json.call_in(paste_json.read(text))
    if logged := _LOGGED.match(text):
        return paste_json.call_in(paste_json.read(text[logged.end() :]))
    raise PasteProblem(f"It is nothing that is known. {EXPECTED}")
