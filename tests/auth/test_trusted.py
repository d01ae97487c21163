"""Which authorization server a configured client belongs to is remembered, whatever the file is."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_studio.auth.store import Trusted

KEY = ("https://mcp.example/mcp", "", "me")


def test_the_first_authorization_server_is_remembered_and_forgotten_with_the_server(tmp_path: Path) -> None:
    file = tmp_path / "state" / "servers.json"
    Trusted(file).put(KEY, "https://one.example")
    Trusted(file).put((KEY[0], "work", "me"), "https://two.example")
    assert Trusted(file).issuer(KEY) == "https://one.example"
    assert Trusted(file).issuer((KEY[0], "", "another")) == ""
    Trusted(file).forget(KEY[0], "")
    assert (Trusted(file).issuer(KEY), Trusted(file).issuer((KEY[0], "work", "me"))) == ("", "https://two.example")


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"servers": [1, {"resource": 2}]}', '{"servers": {}}', "\ufeff\ud800"]
)
def test_a_damaged_file_counts_as_empty_and_is_written_anew(tmp_path: Path, text: str) -> None:
    file = tmp_path / "servers.json"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    trusted = Trusted(file)
    assert trusted.issuer(KEY) == ""
    trusted.put(KEY, "https://one.example")
    assert Trusted(file).issuer(KEY) == "https://one.example"


def test_a_folder_that_cannot_be_written_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where a folder should be")
    trusted = Trusted(tmp_path / "state" / "servers.json")
    trusted.put(KEY, "https://one.example")
    assert trusted.issuer(KEY) == ""
