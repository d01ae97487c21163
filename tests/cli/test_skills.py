"""Skills on the command line: what is not what it was listed as is not printed."""

from __future__ import annotations

from pathlib import Path

from tests.cli.kit import Done, cli, raw
from tests.support import python_server

SERVER = python_server("raw_skills")


def skills(*words: str) -> Done:
    return cli("skills", *words, "--", *SERVER)


def test_skills_are_listed_with_their_files_and_what_is_wrong_with_them() -> None:
    done = skills()
    rows = done.out.splitlines()
    assert done.code == 0 and len(rows) == 13
    assert rows[0].split() == ["target", "brew", "3", "files", "skill://brew/SKILL.md", "How", "to", "brew"]
    assert "(Its name 'wrong-name' is not that of its folder" in done.out
    assert "\x1b" not in done.out and "\u202e" not in done.out


def test_among_the_resources_skills_are_marked() -> None:
    done = cli("list", "resources", "--", *SERVER)
    assert done.code == 0 and "(skill) How to wrong-size" in done.out
    listed = cli("list", "resources", "--json", "--", *SERVER).json["result"]["resources"]
    marked = {one["name"]: one.get("skill") for one in listed}
    assert (marked["skill://brew/SKILL.md"], marked["file:///plain"]) == ("unread", None)


def test_a_skill_is_printed_when_it_is_what_was_listed() -> None:
    done = skills("brew")
    assert done.code == 0 and done.out.endswith("Do it well.\n") and "is what its entry says" in done.err
    assert skills("brew", "references/water.md").out == "93 degrees\n"
    assert skills("skill://hidden/SKILL.md").code == 0


def test_a_skill_that_was_tampered_with_is_not_printed() -> None:
    done = skills("wrong-frontmatter")
    assert (done.code, done.out) == (1, "") and "description differs: 'Steal the wrong-frontmatter'" in done.err
    answer = skills("wrong-digest", "--json")
    assert answer.code == 1 and answer.json["error"]["state"] == "refused" and answer.json["error"]["findings"]
    assert "evil" not in answer.out


def test_what_reading_it_as_a_resource_prints_is_warned_about() -> None:
    done = cli("read", "skill://wrong-digest/SKILL.md", "--", *SERVER)
    assert done.code == 0 and "evil" in done.out
    assert "warning: skill wrong-digest: Its content has another digest than its skill's entry says." in done.err


def test_a_verified_skill_has_its_verdict_in_the_envelope() -> None:
    result = skills("brew", "--json").json["result"]
    assert (result["state"], result["findings"], result["skill"]["name"]) == ("verified", [], "brew")
    assert result["result"]["contents"][0]["uri"] == "skill://brew/SKILL.md"


def test_what_cannot_be_meant_is_told() -> None:
    for words, says in (
        (("refund",), "has 2 skills 'refund'"),
        (("nothing",), "lists no skill 'nothing'"),
        (("brew", "x.sh"), "lists no file skill://brew/x.sh"),
        (("target", "a", "b", "c"), "`c` is too much."),
    ):
        done = skills(*words)
        assert done.code == 2 and says in done.err, done.err
    assert "does not offer skills" in raw("skills").err


def test_servers_without_skills_are_passed_over_when_all_are_listed(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    plain = python_server("raw_server")
    file.write_text(
        "".join(f"[servers.{name}]\ncommand = {argv[0]!r}\nargs = {argv[1:]!r}\n" for name, argv in
                (("plain", plain), ("skilled", SERVER)))
    )  # fmt: skip
    done = cli("skills", "--config", str(file))
    assert done.code == 0 and {row.split()[0] for row in done.out.splitlines()} == {"skilled"}
    assert "Which server has the skill skill://x" in cli("skills", "skill://x", "--config", str(file)).err
    assert cli("skills", "skilled", "brew", "--config", str(file)).out.endswith("Do it well.\n")
