"""`run`: a workflow, from its file to its output, and `worker`, which takes items of durable ones; `workflow`: what is
wrong with one, and what runs did.
"""

from __future__ import annotations

from mcp_studio.cli.engine import execute
from mcp_studio.cli.targets import configured, select
from mcp_studio.cli.terminal import Output
from mcp_studio.workflow.program import Program


def run(out: Output) -> int:
    """Do it on the servers that it calls, on all where one of its calls names none; returns the exit code."""
    line = out.options
    program, config = Program(line.verb, line.words, line.given, line.object("--args"), out), configured(out)
    if program.connects:
        named = program.servers <= config.servers.keys()
        config = select(config, [*program.servers] if named else line.values("--server"))
    return execute(config, out, program.run, answers=line.verb != "workflow", connects=program.connects)
