"""How a server ended, as the command line tells it: under the error of a call, and in the report of `doctor`."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_studio.cli.output import Output
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json
from mcp_studio.studio import Studio
from mcp_studio.trace import mortem_words as words
from mcp_studio.trace.language import language_of, launcher_of
from mcp_studio.trace.postmortem import Mortem
from mcp_studio.trace.stray import bursts, explain, text_of
from mcp_studio.trace.stray import words as sort_words

_SAID = ("stderr",)
"""What the error has said already."""
_LINES = 3


def lost(error: StudioError, ending: Mortem, sent: bool, out: Output) -> int:
    """Tell why a call was lost, and how its server ended; returns the exit code."""
    code = out.fail(error, {"sent": sent, "ending": words.as_json(ending)})
    for name, value in words.facts(ending):
        if name not in _SAID:
            out.note(f"  {name:<9}  {value}")
    return code


def ending_of(studio: Studio, name: str) -> Json:
    """How a server ended last, as JSON; None where it did not."""
    mortems = studio.manager.supervisor(name).mortems
    return words.as_json(mortems[-1]) if mortems else None


def ending_lines(ending: dict[str, Json]) -> Iterator[str]:
    """The same as text."""
    if ending["uptime"] is not None:
        yield f"  ran          for {words.span_text(ending['uptime'])}" + ("" if ending["ready"] else ", not ready yet")
    if ending["means"]:
        yield f"  which means  {ending['means']}"
    for one in ending["inFlight"]:
        what = f"{one['method']} {one['target']}".strip()
        yield f"  in flight    {what}, for {words.span_text(one['ms'] / 1000)}"


def stray_of(studio: Studio, name: str) -> Json:
    """What a server printed besides the protocol, sorted: how many lines of each kind, and where they come from."""
    config = studio.manager.config(name)
    if config.kind != "stdio":
        return []
    argv = (config.command, *config.args)
    language, launcher = language_of(argv, config.cwd), launcher_of(argv)
    found: dict[str, dict[str, Json]] = {}
    for burst in reversed(bursts(studio.trace, name)):
        before = f"{burst.before.method} {burst.before.target}".strip() if burst.before is not None else ""
        for line in burst.lines:
            one = found.setdefault(
                line.sort,
                {"kind": sort_words(line.sort), "count": 0, "explanation": explain(line.sort, language, launcher),
                 "after": before, "lines": []},
            )  # fmt: skip
            one["count"] += 1
            if len(one["lines"]) < _LINES:
                one["lines"].append(text_of(line.entry)[:300].decode("utf-8", "replace"))
    return list(found.values())


def stray_lines(found: list[Json]) -> Iterator[str]:
    """The same as text."""
    for one in found:
        after = f", first after {one['after']}" if one["after"] else ", before the first message"
        yield f"  stdout       {one['count']:,} times {one['kind']}{after}"
        yield f"      {one['explanation']}"
        yield from (f"      │ {line}" for line in one["lines"])
