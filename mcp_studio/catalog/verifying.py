"""Whether the file of a skill is what the skill's entry says (extension `io.modelcontextprotocol/skills`)."""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import cast

from mcp_studio.catalog.frontmatter import YamlProblem, differences, parse
from mcp_studio.catalog.skills import Skill, SkillFile, Verdict
from mcp_studio.jsontext import Json, items_of, mapping

_MOST = 10


def verify(skill: Skill, uri: str, result: Json) -> Verdict:
    """Compare the result of `resources/read` with a skill's entry (extension, Integrity and Verification)."""
    findings = [f"The skill's entry is invalid. {error}" for error in skill.errors]
    data, problem = _bytes(uri, result)
    if data is None:
        return Verdict("refused", (*findings, problem))
    file = skill.file(uri)
    if not skill.dynamic:
        findings += _mismatches(file, data) if file else ["The skill's entry does not list this file."]
    if uri == skill.uri:
        findings += _frontmatter_problems(skill, data)
    if findings:
        return Verdict("refused", tuple(findings[:_MOST]))
    if skill.dynamic:
        return Verdict("unverifiable")
    return Verdict("verified")


def _mismatches(file: SkillFile, data: bytes) -> list[str]:
    found: list[str] = []
    if len(data) != file.size:
        found.append(f"It has {len(data):,} bytes, and its skill's entry says {file.size:,}.")
    if f"sha256:{hashlib.sha256(data).hexdigest()}" != file.digest:
        found.append("Its content has another digest than its skill's entry says.")
    return found


def _frontmatter_problems(skill: Skill, data: bytes) -> list[str]:
    try:
        written = parse(data.decode("utf-8"))
    except UnicodeDecodeError:
        return ["Its SKILL.md is not UTF-8."]
    except YamlProblem as problem:
        return [f"The frontmatter of its SKILL.md cannot be read: {problem}."]
    return [f"Its frontmatter is not that of its entry: {one}." for one in differences(written, skill.frontmatter)]


def _bytes(uri: str, result: Json) -> tuple[bytes | None, str]:
    """The bytes that a result has for an address, or why there are none."""
    contents = mapping(result).get("contents")
    items = items_of(contents)
    found = [cast("dict[str, Json]", item) for item in items if isinstance(item, dict)]
    own = [item for item in found if item.get("uri") == uri]
    if len(own) != 1:
        return None, f"The answer has {len(own)} contents for this address, where there should be one."
    text, blob = own[0].get("text"), own[0].get("blob")
    if isinstance(text, str):
        return text.encode("utf-8", "surrogatepass"), ""
    try:
        return (base64.b64decode(blob, validate=True), "") if isinstance(blob, str) else (None, "It has no content.")
    except (binascii.Error, ValueError):
        return None, "Its content is not valid base64."
