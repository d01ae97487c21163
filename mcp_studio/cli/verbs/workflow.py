"""`run`: run a workflow from its file. `worker`: take on items of durable workflows. `workflow`: check workflows and
show their runs.
"""

from __future__ import annotations

from mcp_studio.cli.engine import execute
from mcp_studio.cli.targets import configured, select
from mcp_studio.cli.terminal import Output
from mcp_studio.workflow.program import Program


def run(out: Output) -> int:
    """Run on the servers that the workflow calls, or on all servers if one of its calls names none.

    Returns the exit code.
    """
    line = out.options
    program, config = Program(line.verb, line.words, line.given, line.object("--args"), out), configured(out)
    if program.connects:
        named = program.servers <= config.servers.keys()
        config = select(config, [*program.servers] if named else line.values("--server"))
    return execute(config, out, program.run, answers=line.verb != "workflow", connects=program.connects)
