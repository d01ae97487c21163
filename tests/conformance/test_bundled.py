"""The official conformance suite's scenarios for servers, on the bundled servers of files and databases.

The other scenarios call tools, prompts and resources of a server that was made for the suite.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.conformance.suite import Suite
from tests.database.kit import Shop
from tests.files.kit import filled
from tests.support import python_program
from tests.support_servers import running

BOTH = (
    ("server-initialize", "2025-11-25"), ("server-session-lifecycle", "2025-11-25"), ("ping", "2025-11-25"),
    ("tools-list", "2025-11-25"), ("tools-list", "2026-07-28"), ("resources-list", "2025-11-25"),
    ("resources-list", "2026-07-28"), ("sep-2164-resource-not-found", "2026-07-28"),
    ("dns-rebinding-protection", "2025-11-25"), ("dns-rebinding-protection", "2026-07-28"),
    ("http-header-validation", "2026-07-28"),
)  # fmt: skip
FILES = (
    ("resources-subscribe", "2025-11-25"), ("resources-unsubscribe", "2025-11-25"),
    ("completion-complete", "2025-11-25"), ("completion-complete", "2026-07-28"),
)  # fmt: skip


@pytest.fixture(scope="module", params=["files", "database"])
def served(
    request: pytest.FixtureRequest, suite: Suite, tmp_path_factory: pytest.TempPathFactory
) -> Generator[tuple[str, str]]:
    """Which server it is, and its URL; there is none without the suite."""
    folder = tmp_path_factory.mktemp("conformance")
    word = str(filled(folder)) if request.param == "files" else f"shop={Shop(f'{folder}/shop.sqlite').owner}"
    with running(python_program("-m", "tests.servers.open_bundled", request.param, word)) as server:
        yield request.param, server.url


@pytest.mark.parametrize(("scenario", "version"), [*BOTH, *FILES])
def test_a_scenario_of_the_conformance_suite(
    suite: Suite, served: tuple[str, str], scenario: str, version: str
) -> None:
    kind, url = served
    if kind == "database" and (scenario, version) in FILES:
        pytest.skip("its resources change with no notice, and it completes nothing")
    code, said = suite.run(["server", "--url", url, "--scenario", scenario, "--spec-version", version])
    assert code == 0, said
