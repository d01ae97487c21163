"""Spans from the command line to a collector."""

from __future__ import annotations

import pytest

from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output
from mcp_studio.cli.verbs.trace import send_to_collector
from tests.support import run
from tests.trace.export.recorded import morning, recorded
from tests.trace.export.test_collector import listening, partial


def test_a_collector_gets_spans_and_the_person_hears_how_many(capsys: pytest.CaptureFixture[str]) -> None:
    async def main() -> None:
        async with listening(partial(1, "late")) as one:
            await send_to_collector(recorded(morning()), None, one.url, [("X-Key", "v")], Output(Options("trace")))
            assert "x-key: v" in one.heads[0].lower()

    run(main())
    assert capsys.readouterr().err == "sent 3 spans to the collector\nit did not want 1 span. late\n"
