"""How the kinds of questions are put on the terminal: imported for the first question."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_studio.cli.lines import Lines
    from mcp_studio.redact import Redactor
    from mcp_studio.session.inbox import Inbox, InputRequest


async def fill(request: InputRequest, lines: Lines, redactor: Redactor | None) -> None:
    """See `asking_form.fill`."""
    from mcp_studio.cli import asking_form

    await asking_form.fill(request, lines, redactor)


async def visit(request: InputRequest, inbox: Inbox, lines: Lines) -> None:
    """See `asking_page.visit`."""
    from mcp_studio.cli import asking_page

    await asking_page.visit(request, inbox, lines)


async def sample(request: InputRequest, lines: Lines) -> None:
    """See `asking_sampling.sample`."""
    from mcp_studio.cli import asking_sampling

    await asking_sampling.sample(request, lines)
