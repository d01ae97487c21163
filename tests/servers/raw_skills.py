"""A server with skills, standard library only: good ones, and one for each way of tampering.

    raw_skills.py [--legacy] [--count N]

`skills/list` has pages of three. Each read is written to standard error as `read URI`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys

VERSION = "2026-07-28"
EXTENSION = "io.modelcontextprotocol/skills"
PAGE = 3


def skill_md(name: str, more: str = "", body: str = "Do it well.\n") -> str:
    return f"---\nname: {name}\ndescription: How to {name}\n{more}---\n\n{body}"


def listed(uri: str, data: bytes) -> dict:
    return {"uri": uri, "digest": "sha256:" + hashlib.sha256(data).hexdigest(), "size": len(data)}


def entry(name: str, folder: str = "", front: dict | None = None, files: dict[str, bytes] | None = None) -> dict:
    """An honest entry; its files are remembered."""
    root = f"skill://{folder or name}"
    own = {"SKILL.md": skill_md(name).encode(), **(files or {})}
    for path, data in own.items():
        FILES[f"{root}/{path}"] = data
    return {
        "uri": f"{root}/SKILL.md",
        "frontmatter": front or {"name": name, "description": f"How to {name}"},
        "resources": [listed(f"{root}/{path}", data) for path, data in own.items()],
    }


FILES: dict[str, bytes] = {}
SKILLS = [
    entry("brew", files={"references/water.md": b"93 degrees\n", "logo.png": b"\x89PNG\r\n\x1a\n\xff"}),
    entry("refund", "acme/billing/refund"),
    entry("refund", "acme/support/refund"),
    entry("wrong-digest"),
    entry("wrong-size"),
    entry("wrong-frontmatter"),
    entry("wrong-name", "other-folder"),
    entry("no-resources"),
    entry("made-now"),
    entry("bad-yaml"),
    entry("evil\x1b[31m‮", "evil"),
    "no object",
    {"frontmatter": 7},
]
UNLISTED = entry("hidden")


def tamper() -> None:
    """Change files so that the server serves others than it lists."""
    FILES["skill://wrong-digest/SKILL.md"] = skill_md("wrong-digest").replace("well", "evil").encode()
    FILES["skill://wrong-size/SKILL.md"] += b"and more\n"
    by_name = {one["frontmatter"]["name"]: one for one in SKILLS if isinstance(one, dict) and "uri" in one}
    changed = skill_md("wrong-frontmatter").replace("How to", "Steal the").encode()
    FILES["skill://wrong-frontmatter/SKILL.md"] = changed
    by_name["wrong-frontmatter"]["resources"] = [listed("skill://wrong-frontmatter/SKILL.md", changed)]
    by_name["no-resources"].pop("resources")
    by_name["made-now"]["resources"] = "dynamic"
    yaml = b"---\nname: &a bad-yaml\ndescription: *a\n---\n"
    FILES["skill://bad-yaml/SKILL.md"] = yaml
    by_name["bad-yaml"]["resources"] = [listed("skill://bad-yaml/SKILL.md", yaml)]


def content(uri: str) -> dict:
    data = FILES[uri]
    try:
        return {"uri": uri, "mimeType": "text/markdown", "text": data.decode()}
    except UnicodeDecodeError:
        return {"uri": uri, "mimeType": "image/png", "blob": base64.b64encode(data).decode()}


def answer(method: str, params: dict, count: int) -> dict | None:
    """The result of a request; None if the method is unknown."""
    capabilities = {"resources": {}, "extensions": {EXTENSION: {}}}
    info = {"name": "raw-skills", "version": "1"}
    skills = [*SKILLS, *(dict(SKILLS[0], uri=f"skill://many/{n}/brew/SKILL.md", resources=[]) for n in range(count))]
    match method:
        case "server/discover":
            return {"supportedVersions": [VERSION], "capabilities": capabilities, "serverInfo": info}
        case "initialize":
            return {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info}
        case "resources/list":
            return {"resources": [{"uri": SKILLS[0]["uri"], "name": "brew"}, {"uri": "file:///plain", "name": "plain"}]}
        case "resources/templates/list":
            return {"resourceTemplates": []}
        case "skills/list":
            at = int(params.get("cursor", "0"))
            following = {"nextCursor": str(at + PAGE)} if at + PAGE < len(skills) else {}
            return {"skills": skills[at : at + PAGE], **following}
        case "skills/get" if params.get("uri") == UNLISTED["uri"]:
            return {"skill": UNLISTED}
        case "resources/read" if params.get("uri") in FILES:
            print("read", params["uri"], file=sys.stderr, flush=True)
            return {"contents": [content(params["uri"])]}
    return None


def main() -> None:
    legacy, count = "--legacy" in sys.argv, 0
    if "--count" in sys.argv:
        count = int(sys.argv[sys.argv.index("--count") + 1])
    tamper()
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        method = request["method"]
        known = method != ("server/discover" if legacy else "initialize")
        result = answer(method, request.get("params", {}), count) if known else None
        if result is None:
            reply = {"error": {"code": -32602 if "uri" in request.get("params", {}) else -32601, "message": "no such"}}
        else:
            caching = {} if legacy else {"resultType": "complete", "ttlMs": 60_000, "cacheScope": "private"}
            reply = {"result": {**caching, **result}}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)


if __name__ == "__main__":
    main()
