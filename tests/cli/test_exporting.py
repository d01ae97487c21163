"""What the words for exporting mean, and doing it."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from mcp_studio.cli.exporting import Exporting, carry_out, wanted
from mcp_studio.errors import UsageError
from mcp_studio.limits import DEFAULT
from mcp_studio.redact import Redactor
from mcp_studio.trace.export.bundle import open_bundle
from tests.support import run
from tests.trace.export.recorded import morning, recorded
from tests.trace.export.test_collector import listening


def test_words_that_fit_together() -> None:
    assert wanted("jsonl", "", "") == Exporting("jsonl", "-", "")
    assert wanted("har", "a.har", "") == Exporting("har", "a.har", "")
    assert wanted("otlp", "", "http://a", [("K", "v")]) == Exporting("otlp", "-", "http://a", (("K", "v"),))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("xml", "", ""), "no format `xml`"),
        (("bundel", "", ""), "no format `bundel`"),
        (("har", "", "http://a"), "--export otlp alone"),
        (("otlp", "x", "http://a"), "cannot both"),
        (("otlp", "", "a:4318"), "begins with http://"),
        (("otlp", "", "", [("K", "v")]), "for the collector"),
    ],
)
def test_words_that_do_not(words: tuple[str, str, str], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        wanted(*words)
    assert says in caught.value.message


def carried(what: Exporting) -> list[str]:
    notes: list[str] = []
    run(carry_out(what, recorded(morning()), None, Redactor(), DEFAULT, notes.append))
    return notes


def test_a_file_is_written_once(tmp_path: Path) -> None:
    file = tmp_path / "x.mcptrace"
    assert carried(wanted("bundle", str(file), "")) == [f"wrote 9 messages to {file}"]
    assert len(open_bundle(file)) == 9 and [path.name for path in tmp_path.iterdir()] == ["x.mcptrace"]
    with pytest.raises(UsageError, match="is there already"):
        carried(wanted("jsonl", str(file), ""))
    assert len(open_bundle(file)) == 9


def test_a_folder_that_cannot_be_written_to_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        carried(wanted("jsonl", str(tmp_path / "file" / "x"), ""))


def test_standard_output_has_the_export_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=out, isatty=lambda: False))
    assert carried(wanted("markdown", "-", "")) == []
    assert out.getvalue().startswith(b"# ")
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(isatty=lambda: True))
    with pytest.raises(UsageError, match="no text for a terminal"):
        wanted("bundle", "-", "")


def test_a_collector_gets_spans_and_the_person_hears_how_many() -> None:
    async def main() -> None:
        async with listening((200, '{"partialSuccess":{"rejectedSpans":"1","errorMessage":"late"}}', "")) as one:
            notes: list[str] = []
            what = wanted("otlp", "", one.url, [("X-Key", "v")])
            await carry_out(what, recorded(morning()), None, Redactor(), DEFAULT, notes.append)
            assert notes == ["sent 3 spans to the collector", "it did not want 1 span. late"]
            assert "x-key: v" in one.heads[0].lower()

    run(main())
