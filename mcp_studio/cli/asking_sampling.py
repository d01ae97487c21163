"""A sampling request, answered by hand on the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from mcp_studio.cli.content import blocks_text
from mcp_studio.cli.lines import Lines
from mcp_studio.cli.telling import frame, leave, prompt, say
from mcp_studio.jsontext import Json, JsonProblem, items_of, loads, mapping, pretty
from mcp_studio.safetext import safe
from mcp_studio.session.inbox import InputRequest
from mcp_studio.session.rules import message_result

_HELP = (
    "Type what the model would say; a line with a single dot ends it. @FILE sends the result in a JSON file. "
    ":decline refuses, :cancel gives up."
)
_SHOWN = ("modelPreferences", "maxTokens", "temperature", "stopSequences", "includeContext", "toolChoice", "metadata")


async def sample(request: InputRequest, lines: Lines) -> None:
    """Show the messages, take the reply, and answer.

    Raises:
        Left: the person declined or cancelled.
        EndOfInput: there is nobody any more.
    """
    say("It wants a model to answer:")
    show(request.params)
    say(_HELP)
    while True:
        try:
            request.answer("accept", await _reply(lines))
            return
        except ValueError as problem:
            say(f"  {safe(problem)}")


def show(params: dict[str, Json]) -> None:
    """The request, readable, behind a bar."""
    if isinstance(prompt_text := params.get("systemPrompt"), str):
        frame(f"system: {prompt_text}")
    messages = params.get("messages")
    for message in items_of(messages):
        known = mapping(message)
        content = known.get("content")
        blocks = cast("list[Json]", content) if isinstance(content, list) else [content]
        frame(f"{known.get('role', '?')}: {blocks_text(blocks)}")
    tools = params.get("tools")
    for tool in items_of(tools):
        known = mapping(tool)
        frame(f"tool {known.get('name', '?')}: {known.get('description', '')}")
    more = {key: params[key] for key in _SHOWN if key in params}
    if more:
        frame(pretty(cast("Json", more)))


async def _reply(lines: Lines) -> Json:
    typed: list[str] = []
    while True:
        prompt("> " if not typed else "… ")
        line = await lines.read()
        if not typed:
            leave(line)
            if line.startswith("@"):
                return _from_file(line[1:].strip())
        if line == ".":
            break
        typed.append(line)
    if not "".join(typed).strip():
        raise ValueError("An answer needs some text.")
    return message_result("\n".join(typed))


def _from_file(name: str) -> Json:
    file = Path(name).expanduser()
    try:
        value = loads(file.read_bytes(), exact=True)
    except OSError as problem:
        raise ValueError(f"{file} cannot be read: {problem.strerror or problem}.") from None
    except JsonProblem as problem:
        raise ValueError(f"{file} is no valid JSON: {problem}.") from None
    if not isinstance(value, dict) or "content" not in value:
        raise ValueError(f"{file} is no sampling result: it needs `content`.")
    return {**message_result(""), **value}
