"""Spans from the command line to a collector."""

from __future__ import annotations

import pytest

from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output
from mcp_studio.cli.recording import check, to_collector
from mcp_studio.errors import UsageError
from tests.support import run
from tests.trace.export.recorded import morning, recorded
from tests.trace.export.test_collector import listening, partial


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("har", "", "http://a"), "--export otlp alone"),
        (("otlp", "x", "http://a"), "cannot both"),
        (("otlp", "", "a:4318"), "begins with http://"),
    ],
)
def test_words_that_do_not_fit_together(words: tuple[str, str, str], says: str) -> None:
    check("otlp", "", "http://localhost:4318")
    with pytest.raises(UsageError) as caught:
        check(*words)
    assert says in caught.value.message


def test_a_collector_gets_spans_and_the_person_hears_how_many(capsys: pytest.CaptureFixture[str]) -> None:
    async def main() -> None:
        async with listening(partial(1, "late")) as one:
            await to_collector(recorded(morning()), None, one.url, [("X-Key", "v")], Output(Options("trace")))
            assert "x-key: v" in one.heads[0].lower()

    run(main())
    assert capsys.readouterr().err == "sent 3 spans to the collector\nit did not want 1 span. late\n"
