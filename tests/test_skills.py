"""Skills of a server: listed without being read, read on request, and refused where they were tampered with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from mcp_studio.errors import ConnectionLost, StudioError, UsageError
from mcp_studio.studio import Studio
from tests.studio_support import opened, stdio
from tests.support import python_server, run

SERVER = python_server("raw_skills")
BREW = "skill://brew/SKILL.md"


def on(body: Callable[[Studio], Awaitable[None]], *options: str) -> None:
    """Run something on a studio with the server of skills."""

    async def session() -> None:
        async with opened(stdio([*SERVER, *options])) as studio:
            await body(studio)

    run(session())


def reads(studio: Studio) -> list[str]:
    return [line.removeprefix("read ") for line in studio.manager.supervisor("s").tap.stderr_lines]


@pytest.mark.parametrize("options", [(), ("--legacy",)], ids=["modern", "legacy"])
def test_listing_reads_all_pages_and_none_of_the_files(options: tuple[str, ...]) -> None:
    async def body(studio: Studio) -> None:
        skills = await studio.caller.skills.listed("s")
        assert len(skills) == 13 and skills[0].name == "brew" and len(skills[0].files) == 3
        entries = studio.catalog.entries("resource")
        assert [entry.skill for entry in entries if entry.ref.name == "file:///plain"] == [""]
        assert [entry.ref.name for entry in entries].count(BREW) == 1
        assert {entry.skill for entry in entries if entry.ref.name.startswith("skill:")} == {"unread"}
        assert reads(studio) == []

    on(body, *options)


@pytest.mark.parametrize(
    ("which", "state", "why"),
    [
        ("brew", "verified", ""),
        ("skill://acme/support/refund/SKILL.md", "verified", ""),
        ("skill://hidden/SKILL.md", "verified", ""),
        ("made-now", "unverifiable", ""),
        ("wrong-digest", "refused", "another digest"),
        ("wrong-size", "refused", "bytes"),
        ("wrong-frontmatter", "refused", "description differs"),
        ("wrong-name", "refused", "not that of its folder"),
        ("no-resources", "refused", "neither a list"),
        ("bad-yaml", "refused", "anchor"),
    ],
)
def test_a_skill_is_read_on_request_and_compared(which: str, state: str, why: str) -> None:
    async def body(studio: Studio) -> None:
        reading = await studio.skill("s", which)
        assert reading.verdict.state == state and reading.usable is (state != "refused")
        assert why in " ".join(reading.verdict.findings)
        assert reads(studio) == [reading.uri]
        shown = {entry.skill for entry in studio.catalog.entries("resource") if entry.ref.name == reading.uri}
        assert shown <= {state}

    on(body)


def test_files_of_a_skill_are_named_by_path_and_only_listed_ones_are_read() -> None:
    async def body(studio: Studio) -> None:
        for file in ("references/water.md", "./logo.png", "skill://brew/logo.png"):
            assert (await studio.skill("s", "brew", file)).verdict.state == "verified"
        with pytest.raises(UsageError, match="lists no file"):
            await studio.skill("s", "brew", "secret.sh")
        assert reads(studio) == ["skill://brew/references/water.md", *["skill://brew/logo.png"] * 2]

    on(body)


def test_a_name_that_two_skills_share_has_to_be_an_address() -> None:
    async def body(studio: Studio) -> None:
        with pytest.raises(UsageError, match="2 skills 'refund': skill://acme/billing"):
            await studio.skill("s", "refund")
        with pytest.raises(UsageError, match="Did you mean `brew"):
            await studio.skill("s", "brw")
        with pytest.raises(UsageError, match="has no skill at"):
            await studio.skill("s", "skill://nowhere/SKILL.md")

    on(body)


def test_reading_a_skill_as_a_resource_tells_what_it_is_worth() -> None:
    async def body(studio: Studio) -> None:
        good = await studio.read_resource("s", BREW).wait()
        assert good.problems == () and good.notes == (
            "skill brew: this file is what its entry says: size and digest, and frontmatter",
        )
        bad = await studio.read_resource("s", "skill://wrong-size/SKILL.md").wait()
        assert bad.problems[0].startswith("skill wrong-size: It has") and bad.notes == ()
        states = {entry.ref.name: entry.skill for entry in studio.catalog.entries("resource")}
        assert states[BREW] == "verified" and states["skill://wrong-size/SKILL.md"] == "refused"

    on(body)


def test_a_list_without_end_is_cut_and_told() -> None:
    async def body(studio: Studio) -> None:
        assert studio.catalog.skills.of("s").error == "The list of skills was cut at 100 pages (limits.pages)."
        assert studio.catalog.listing("s", "resource").error.startswith("The list of skills was cut")
        assert len(await studio.caller.skills.listed("s")) == 300

    on(body, "--count", "400")


async def test_a_server_without_skills_is_not_asked_for_any(home: Path) -> None:
    async with opened(stdio(python_server("raw_server"))) as studio:
        with pytest.raises(UsageError, match="does not offer skills"):
            await studio.caller.skills.listed("s")
        assert not [message for message in studio.trace if "skills/" in message.method]
        await studio.manager.stop("s")
        with pytest.raises(StudioError) as caught:
            await studio.caller.skills.listed("s")
        assert not isinstance(caught.value, ConnectionLost)
