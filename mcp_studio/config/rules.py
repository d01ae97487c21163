"""Rules that configuration files may have: what happens to calls, and how questions of servers are answered."""

from __future__ import annotations

from typing import Literal, NamedTuple

from mcp_studio.jsontext import Json

Verdict = Literal["allow", "ask", "deny"]


class PolicyRule(NamedTuple):
    """One `[[policy]]` table: a glob over `server.tool`, and what happens to calls it matches."""

    tools: str
    verdict: Verdict


RuleAction = Literal["accept", "decline", "cancel", "ask"]
"""How a rule answers; `ask` leaves it to the person, after `wait` seconds."""
RuleKind = Literal["any", "elicitation", "url", "sampling"]


class AnswerRule(NamedTuple):
    """One `[[answer]]` table: which questions of servers it is for, and how they are answered."""

    action: RuleAction
    server: str = "*"
    """A pattern over the server's name."""
    kind: RuleKind = "any"
    tool: str = "*"
    """A pattern over the name of the tool, prompt or resource whose call is waiting."""
    message: str = "*"
    """A pattern over what the server says."""
    schema: str = ""
    """The fingerprint of the requested schema (`config.answers.fingerprint`); empty fits any."""
    content: Json = None
    """The value of a form, or what a model says: text, or a whole `CreateMessageResult`. None: the defaults."""
    wait: float = 0.0
    """Seconds before it is answered."""
    source: str = ""
    """Where it stands, for the trace."""
