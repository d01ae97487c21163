"""JSON in the words of a command line: as it stands, `@FILE`, or `-` for standard input."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import cast

from mcp_studio.errors import LimitExceeded, UsageError
from mcp_studio.jsontext import Json, JsonProblem, loads


def given_bytes(option: str, text: str) -> bytes:
    """What an option's value stands for: itself, the content of `@FILE`, or standard input.

    Raises:
        UsageError: the file cannot be read.
    """
    if text == "-":
        return sys.stdin.buffer.read()
    if not text.startswith("@"):
        return text.encode("utf-8", "surrogateescape")
    try:
        return Path(text[1:]).expanduser().read_bytes()
    except OSError as problem:
        raise UsageError(f"{option}: {text[1:]} cannot be read: {problem.strerror or problem}.") from None


def given_json(option: str, text: str) -> Json:
    """The JSON value that an option was given.

    Raises:
        UsageError: it cannot be read, or is no JSON.
    """
    data = given_bytes(option, text)
    try:
        return loads(data, exact=True)
    except JsonProblem as problem:
        raise UsageError(f"{option} is not valid JSON: {problem}.") from None
    except LimitExceeded as problem:
        raise UsageError(f"{option}: {problem.message}") from None


def given_object(option: str, text: str) -> dict[str, Json]:
    """The same, where only an object will do.

    Raises:
        UsageError: as `given_json`, or it is no object.
    """
    value = given_json(option, text)
    if not isinstance(value, dict):
        raise UsageError(f"{option} must be a JSON object.")
    return cast("dict[str, Json]", value)
