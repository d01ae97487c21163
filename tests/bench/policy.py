"""What judging a call costs with a thousand policy rules, and what giving a kept result again costs.

    python -m tests.bench.policy [--rules 1000]

Rules of five kinds: by names of tools, by names of arguments, by their values, by risk and origin, for exact arguments.
None of them matches, so that all are looked at.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from mcp_studio.call.cache import ResourceCache
from mcp_studio.call.call import Call, Succeeded
from mcp_studio.call.policy import Policy
from mcp_studio.catalog.listing import Entry, Ref
from mcp_studio.config.model import PolicyRule, ServerConfig, Settings
from mcp_studio.protocol.views import ToolView

REF = Ref("tool", "files", "write")
TOOL = (Entry(REF, ToolView({"name": "write", "inputSchema": {"type": "object"}})),)
ARGUMENTS = {
    "path": "/srv/data/report.txt",
    "text": "all is well",
    "mode": 420,
    "options": {"create": True, "tries": 3},
}
KINDS: dict[str, Callable[[int], PolicyRule]] = {
    "names of tools": lambda n: PolicyRule(f"*.tool_{n}_*", "deny"),
    "names of arguments": lambda n: PolicyRule("*", "deny", arguments={f"*name_{n}": "*"}),
    "values of arguments": lambda n: PolicyRule("*", "deny", arguments={"*path": f"/etc/{n}/*"}),
    "risk and origin": lambda n: PolicyRule("files.*", "deny", risk="high", origin="program"),
    "exact arguments": lambda n: PolicyRule("*", "deny", exactly=f"sha256:{n:016}"),
}


def cost(work: Callable[[], object], times: int = 2_000) -> float:
    """Microseconds of processor time of one, the best of five rounds."""
    work()
    rounds: list[float] = []
    for _ in range(5):
        began = time.process_time()
        for _ in range(times):
            work()
        rounds.append((time.process_time() - began) / times * 1e6)
    return min(rounds)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rules", type=int, default=1_000)
    many = parser.parse_args().rules
    mixed = [rule(n) for n, rule in enumerate([*KINDS.values()] * (many // len(KINDS)))]
    sets = {what: [rule(n) for n in range(many)] for what, rule in KINDS.items()}
    for what, rules in {**sets, "all kinds": mixed}.items():
        policy = Policy(rules)
        took = cost(lambda policy=policy: policy.judge(REF, TOOL, ARGUMENTS, origin="person", trusted=False), 200)
        print(f"{len(rules):,} rules by {what:<20} {took / 1000:8.3f} ms a call")
    reads = ResourceCache(lambda name: ServerConfig(name, command="x", cache_ttl=0), Settings())
    one = Ref("resource", "files", "file:///srv/data/report.txt")
    reads.keep(Call(one, "resources/read", {}, sendings=1), Succeeded(result={"contents": []}, size=100), modern=False)
    print(f"a hit of the resource cache {cost(lambda: reads.get(one)):24.2f} µs")


if __name__ == "__main__":
    main()
