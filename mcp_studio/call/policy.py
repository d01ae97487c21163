"""Which calls may run: the risk of a tool, the person's rules, and approval by the person."""

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import date
from fnmatch import fnmatchcase, translate
from functools import lru_cache
from typing import Literal, NamedTuple

from mcp_studio.call.call import Call, Denied
from mcp_studio.call.history import number
from mcp_studio.call.secrets import parts_of
from mcp_studio.catalog.listing import Entry, Ref
from mcp_studio.config.model import RISKS, PolicyRule, Risk, ToolRule, Verdict
from mcp_studio.config.settings import fingerprint
from mcp_studio.jsontext import Json, mapping
from mcp_studio.protocol.views import ToolView
from mcp_studio.redact import is_secret_name
from mcp_studio.session.inbox import Answer, InputRequest, Recent

Origin = Literal["person", "program"]
"""Who wants the call: a person who pressed Call, or a workflow, gateway or toolset."""

_RISKY = r"(?i)(?<![a-z])(passwords?|secrets?|tokens?|credentials?|delete|drop|destroy|truncate|rm -rf)(?![a-z])"
"""Words in arguments that raise the risk of a call, besides the names of secrets."""
_PLACES = 2_000
"""Places of the arguments that are checked."""
_READ = 4_000
"""Characters of each value that are checked."""
_REMEMBERED = 500
"""Shapes of calls whose rules are cached, and tools whose profiles are."""


class Profile(NamedTuple):
    """The facts about a tool that the policy uses.

    They come from the annotations, from the `harness` object of a trusted server's definition, and from `[tools]` in
    the configuration, which takes precedence.
    """

    risk: Risk = "medium"
    category: str = ""
    approval: bool = False
    """Whether the server wants a person to approve each call."""
    repeatable: bool = False
    """Whether a call may be sent again after its answer was lost."""
    calls: int = 0
    """The number of calls allowed in `seconds`; 0 is any number."""
    seconds: float = 0.0
    total: float | None = None
    """Seconds after which a call has failed."""
    cost: float = 0.0
    """The price of a call, in the server's unit."""


class Judgement(NamedTuple):
    """A verdict, with the rule and the reasons in words."""

    verdict: Verdict
    rule: str
    reasons: tuple[str, ...] = ()
    unusable: bool = False
    """Whether the tool's definition forbids the call, which no rule and no approval changes."""
    risk: Risk = "medium"
    tool: ToolView | None = None
    profile: Profile = Profile()


_Ruling = tuple[Verdict, str, tuple[str, ...]]
"""A verdict with the rule and the reasons."""
_Value = tuple[tuple[int, ...], str, Callable[[str], object]]
"""A rule's demand on some arguments: their indexes, the beginning of their values, and a test of the values."""
_Shape = tuple[str, Risk, str, Origin, tuple[str, ...]]
"""Tool, risk, category, origin, and the names of the arguments."""
_Candidate = tuple[PolicyRule, list[_Value]]
_Text = tuple[str, str]
"""Name and text of a leaf of the arguments."""


class Policy:
    """Judges calls; `rules` are in order, and the first that matches decides."""

    def __init__(self, rules: Sequence[PolicyRule] = (), tools: Sequence[ToolRule] = ()) -> None:
        self._rules = tuple(rule for rule in rules if not rule.broken)
        self._broken = tuple(rule for rule in rules if rule.broken)
        self._tools = tuple(tools)
        self._candidates = lru_cache(_REMEMBERED)(self._fitting)
        self.profile = lru_cache(_REMEMBERED)(self._profile)
        """The facts about a tool, for a server that is trusted or not."""
        self._recent = Recent()

    def put_first(self, rule: PolicyRule) -> None:
        """Add a rule before all others."""
        self._rules = (rule, *self._rules)
        self._candidates.cache_clear()

    def _profile(self, ref: Ref, tool: ToolView | None, trusted: bool) -> Profile:
        found = _declared(tool) if tool and trusted else Profile("high" if tool and tool.destructive else "medium")
        for rule in self._tools:
            if fnmatchcase(str(ref), rule.tools):
                found = found._replace(
                    risk=rule.risk or found.risk, category=rule.category or found.category,
                    repeatable=rule.failover or found.repeatable,
                )  # fmt: skip
        return found

    def judge(
        self, ref: Ref, entries: Sequence[Entry], arguments: Json, *, origin: Origin, trusted: bool, counts: bool = True
    ) -> Judgement:
        """The first matching rule decides; without one, the origin and the tool's hints do.

        Hints of a server are not trusted: they can raise the risk, but lower it only for a trusted server. These calls
        need approval even if they are allowed: of a name that is listed more than once, because nobody knows which tool
        will run; of a tool whose definition changed since it was accepted; calls that an unreadable rule may concern;
        and calls whose arguments are too large for a rule that looks at them.

        Args:
            entries: the entries with the name.
            counts: whether the call runs now, so that rules with a number of calls count it.
        """
        tool = tool_of(entries)
        if entries and all([entry.excluded for entry in entries]):
            return Judgement("deny", entries[0].problem, unusable=True, tool=tool)
        profile = self.profile(ref, tool, trusted)
        texts, whole = _texts(arguments) if arguments else (list[_Text](), True)
        risk, raised = _raised(profile.risk, texts) if texts else (profile.risk, ())
        ruling = None
        if self._rules:
            ruling = self._by_rule(ref, profile._replace(risk=risk), arguments, texts, origin, counts)
        if ruling is None and profile.calls:
            if self._recent.too_often((None, str(ref)), profile.calls, profile.seconds, counts=counts):
                ruling = "deny", f"the server allows {profile.calls} in {profile.seconds:g} s", ()
        ruling = ruling or self._by_default(tool, profile, entries, origin, trusted)
        if ruling[0] == "allow":
            ruling = self._doubt(ref, entries, whole) or ruling
        verdict, rule, reasons = ruling
        if verdict != "allow":
            who = ("a program wants it",) if origin == "program" else ()
            reasons = (*reasons, *who, *_reasons(tool, trusted), *raised)
        return Judgement(verdict, rule, reasons, False, risk, tool, profile)

    def _doubt(self, ref: Ref, entries: Sequence[Entry], whole: bool) -> _Ruling | None:
        """Why an allowed call needs approval nevertheless; None where it does not."""
        for entry in entries:
            if entry.change and entry.change.unaccepted:
                return "ask", "its definition changed", (entry.change.words,)
        for rule in self._broken:
            if _pattern(rule.tools).match(str(ref)):
                return "ask", f"a policy rule for {rule.tools!r} could not be read", ()
        for rule in () if whole else self._rules:
            looks = rule.verdict != "allow" and (rule.arguments or rule.risk)
            if looks and _pattern(rule.tools).match(str(ref)):
                return "ask", "its arguments are too large to be looked at", ()
        return None

    def _by_rule(
        self, ref: Ref, profile: Profile, arguments: Json, texts: Sequence[_Text], origin: Origin, counts: bool
    ) -> _Ruling | None:
        names, said = tuple([name for name, _ in texts]), [text for _, text in texts]
        today, exactly = date.today().isoformat(), ""
        for rule, values in self._candidates((str(ref), profile.risk, profile.category, origin, names)):
            for places, begin, matches in values:  # no functions here, because there may be a thousand rules
                for at in places:
                    if said[at].startswith(begin) and matches(said[at]):
                        break
                else:
                    break  # the argument's values do not match
            else:
                if rule.exactly:
                    exactly = exactly or fingerprint(arguments)
                if (rule.until and rule.until < today) or rule.exactly not in ("", exactly):
                    continue
                if not rule.calls:
                    return rule.verdict, f"policy rule {rule.tools!r}", ()
                whose = {"tool": str(ref), "server": ref.server, "origin": origin}[rule.per]
                if self._recent.too_often((id(rule), whose), rule.calls, rule.seconds, counts=counts):
                    return rule.verdict, f"more than {rule.calls} in {rule.seconds:g} s of {whose}", ()
        return None

    def _by_default(
        self, tool: ToolView | None, profile: Profile, entries: Sequence[Entry], origin: Origin, trusted: bool
    ) -> _Ruling:
        if len(entries) > 1:
            return "ask", "listed more than once", ("listed more than once",)
        if profile.approval:
            return "ask", "the server wants approval for it", ("the server wants approval for it",)
        if origin == "person":
            quiet, rule = tool is None or not tool.destructive, "it is marked destructive"
        else:
            quiet = trusted and tool is not None and tool.read_only
            rule = "programs need approval, except for read-only tools of trusted servers"
        return ("allow", "no rule asks about it", ()) if quiet else ("ask", rule, ())

    def _fitting(self, shape: _Shape) -> list[_Candidate]:
        """The rules that may match calls of a shape; cached, because a thousand patterns take a while."""
        some = [(rule, _values(rule, shape[-1])) for rule in self._rules if _may_fit(rule, shape)]
        return [(rule, values) for rule, values in some if all(places for places, _, _ in values)]


def tool_of(entries: Sequence[Entry]) -> ToolView | None:
    return next((entry.view for entry in entries if isinstance(entry.view, ToolView)), None)


def _declared(tool: ToolView) -> Profile:
    harness = mapping(tool.raw.get("harness")) or mapping(mapping(tool.raw.get("_meta")).get("harness"))
    limit, level, timeout = mapping(harness.get("rateLimit")), harness.get("riskLevel"), number(harness.get("timeout"))
    usual: Risk = "high" if tool.destructive else "low" if tool.read_only else "medium"
    return Profile(
        risk=level if level in RISKS else usual,
        category=str(harness.get("category") or "")[:80],
        approval=harness.get("requiresApproval") is True,
        repeatable=tool.read_only or tool.idempotent or harness.get("idempotent") is True,
        calls=int(number(limit.get("maxCalls"))),
        seconds=number(limit.get("windowMs")) / 1000 or 60.0,
        total=timeout / 1000 if timeout else None,
        cost=number(harness.get("costPerCall")),
    )


def prices_of(tools: Iterable[Entry]) -> dict[Ref, float]:
    """The price of a call of each of these tools, where a trusted server declares it."""
    views = [(one.ref, one.view) for one in tools if isinstance(one.view, ToolView)]
    return {ref: cost for ref, view in views if (cost := _declared(view).cost)}


def _raised(risk: Risk, texts: Sequence[_Text]) -> tuple[Risk, tuple[str, ...]]:
    """The risk with regard to the arguments, and the reason if it was raised."""
    for name, value in texts:
        found = re.search(_RISKY, f"{name}\n{value}")
        if found or is_secret_name(name.rpartition(".")[2]):
            raised = RISKS[min(RISKS.index(risk) + 1, len(RISKS) - 1)]
            return raised, (f"argument {name[:60]} " + (f"says {found[0]}" if found else "is secret by its name"),)
    return risk, ()


def _texts(arguments: Json) -> tuple[list[_Text], bool]:
    """The leaves of the arguments, with and without the indexes of lists in their names; and whether these are all."""
    texts: list[_Text] = []
    todo: list[tuple[str, str, Json]] = [("", "", arguments)]
    whole, left = True, _PLACES
    while todo and left:
        (name, plain, value), left = todo.pop(), left - 1
        if isinstance(value, (dict, list)):
            keyed, inside = isinstance(value, dict), reversed(parts_of(value))
            todo += [(f"{name}.{part}", f"{plain}.{part}" if keyed else plain, below) for part, below in inside]
        elif name:
            text = value if isinstance(value, str) else json.dumps(value)
            whole = whole and len(text) <= _READ
            texts += [(one[1:], text[:_READ]) for one in {name: 0, plain: 0}]
    return texts, whole and not todo


@lru_cache(4_096)
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(translate(text))


def _may_fit(rule: PolicyRule, shape: _Shape) -> bool:
    """Whether a rule matches a shape in everything except the values of arguments and days."""
    name, risk, category, origin, _ = shape
    if rule.origin not in ("", origin) or (rule.category and not fnmatchcase(category, rule.category)):
        return False
    return not (rule.risk and RISKS.index(risk) < RISKS.index(rule.risk)) and bool(_pattern(rule.tools).match(name))


def _values(rule: PolicyRule, names: tuple[str, ...]) -> list[_Value]:
    found: list[_Value] = []
    for pattern, wanted in rule.arguments.items():
        places = tuple(at for at, name in enumerate(names) if _pattern(pattern).match(name))
        found.append((places, re.split(r"[*?[]", wanted, maxsplit=1)[0], _pattern(wanted).match))
    return found


def _reasons(tool: ToolView | None, trusted: bool) -> tuple[str, ...]:
    if tool is None:
        return ("the server does not list this tool",)
    effect = "it is marked destructive" if tool.destructive else "read-only" if tool.read_only else "writes"
    again, world = "" if tool.idempotent else "not ", "open" if tool.open_world else "closed"
    return (effect, *([] if trusted else ["its server is not trusted"]), f"{again}idempotent", f"{world} world")


Ask = Callable[[InputRequest], Awaitable[Answer]]


async def consent(ask: Ask, judgement: Judgement, call: Call, *, approved: bool, times: str = "") -> Denied | None:
    """Ask for approval if the verdict demands it; None when the call may run. A rule that denies beats an approval.

    Args:
        call: the call that waits for the answer; it records who approved.
        times: how often the call will run, if more than once.
    """
    if judgement.verdict == "deny":
        return Denied(rule=judgement.rule, unusable=judgement.unusable)
    call.approved_by = "beforehand" if approved and judgement.verdict == "ask" else ""
    if judgement.verdict == "allow" or approved:
        return None
    subject = f"{call.ref} {times}".rstrip()
    reasons = dict.fromkeys((judgement.rule, *judgement.reasons, f"risk {judgement.risk}"))  # without a repetition
    question = InputRequest(
        "approval", call.ref.server, f"Run {subject}?", subject=subject, arguments=call.params["arguments"],
        reasons=tuple(reasons),
    )  # fmt: skip
    call.on_asking(True)
    try:
        answer = await ask(question)
    finally:
        call.on_asking(False)
    if answer.action != "accept":
        return Denied(rule=answer.refusal)
    call.approved_by = answer.by or "you"
    return None
