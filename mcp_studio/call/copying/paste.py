"""Reading a call from whatever people copy: nothing is run, no file is read, and any text is safe."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from mcp_studio.call.copying import paste_json
from mcp_studio.call.copying.pasted import Meant, Pasted, PasteProblem
from mcp_studio.call.copying.sh import END, Unclosed, words
from mcp_studio.config.jsonc import unfenced
from mcp_studio.redact import MARK

LARGEST = 8 * 1024 * 1024
"""Characters."""
EXPECTED = (
    "Expected: arguments as JSON, a JSON-RPC request, a command line of mcp-studio or curl, or a tool-use block of a "
    "model."
)
_EVENT = re.compile(r"(?m)^(?:(?:event|id|retry|:).*(?:\n|\Z)|data: ?)")
_LOGGED = re.compile(r'[^\n{]{1,400}?(?=\{\s*"(?:jsonrpc|method|id)")')
"""What a log writes in front of a message."""
FLAGS = frozenset(
    "--json --quiet --yes --unchecked --fresh --read --logs --task --detach --last --no-stamp --notification --newlines"
    " --no-handshake --with-secrets --traceparent --strict --paced --follow --jsonl --stats --delete --keyring"
    " --insecure --step --no-browser --claims --client --register --offline -q -y".split()
)
"""Options of ours without a value."""
_VERBS: dict[str, Meant] = {"call": "tool", "get": "prompt", "read": "resource"}
_OURS = re.compile(r"(?:^|[\\/])mcp[-_]studio(?:\.exe)?\Z")
_BODY = re.compile(r"--(?:data|data-raw|data-binary|data-ascii|json)(?:=(.*))?\Z|-d(.+)?\Z", re.DOTALL)
_PROMPT = re.compile(r"\A\s*[$%>#] +(?=\S)")
_URL = re.compile(r"https?://[^\s\"']+")


def read_paste(text: str) -> Pasted:
    """The call that a text describes.

    Raises:
        PasteProblem: it describes none; a sentence says what was expected, or what is wrong with it.
    """
    if len(text) > LARGEST:
        raise PasteProblem(f"It is larger than {LARGEST // 1024 // 1024} MB.")
    text = text.removeprefix("\ufeff")
    if (bare := text.strip()).startswith("```"):
        text = unfenced(bare)
    elif text.startswith(("data:", "event:")):
        text = _EVENT.sub("", text)
    if not text.strip():
        raise PasteProblem(f"There is nothing in it. {EXPECTED}")
    found = _read(text)
    if MARK in text:
        return replace(found, remarks=(*found.remarks, f"{MARK} stands for a secret that was left out."))
    return found


def _read(text: str) -> Pasted:
    if _is_curl(text):
        return _curl(text)
    if _is_ours(text):
        return _ours(text)
    if text.lstrip()[0] in '{["/':
        return paste_json.call_in(paste_json.read(text))
    if logged := _LOGGED.match(text):
        return paste_json.call_in(paste_json.read(text[logged.end() :]))
    raise PasteProblem(f"It is nothing that is known. {EXPECTED}")


# ---------------------------------------------------------------------- command lines: ours, and those of curl


def _is_curl(text: str) -> bool:
    """Whether a text seems to be a command of curl."""
    # Possessive, and no longer than a path: what comes from anywhere may be a megabyte of `$`.
    return re.match(r"[\s$%>#(]*+(?:\w{1,200}+=\$\()?(?:\S{0,1000}/)?curl(?:\.exe)?\s", text) is not None


def _is_ours(text: str) -> bool:
    """Whether a text seems to be a command line of ours."""
    return (
        re.search(r"(?:^|[\s/\\(])mcp[-_]studio(?:\.exe)?\s", text[:2_000]) is not None
        and text.lstrip()[:1] not in '{["'
    )


def _words(text: str) -> list[str]:
    try:
        return words(_PROMPT.sub("", text))
    except Unclosed as problem:
        raise PasteProblem("A quote is not closed.", problem.line) from None


# ---------------------------------------------------------------------- curl


def _curl(text: str) -> Pasted:
    """The call in the body of a curl command; of several commands the first that has one.

    Raises:
        PasteProblem: there is none.
    """
    found = _words(text)
    problem = PasteProblem("The command has no JSON body: it has to be there with -d, --data-raw or --json.")
    for body in _bodies(found):
        if body.startswith("@"):
            problem = PasteProblem(f"The body is in the file {body[1:80]}, which is not read: paste what is in it.")
            continue
        try:
            call = paste_json.call_in(paste_json.read(body))
        except PasteProblem as reason:
            problem = PasteProblem(f"The body of the curl command: {str(reason)[:1].lower()}{str(reason)[1:]}")
            continue
        url = next((word for word in found if _URL.match(word)), "")
        return replace(call, form=f"curl command with {_with(call.form)}", url=url)
    raise problem


def _with(form: str) -> str:
    return "JSON" if form == "JSON" else f"a {form}"


def _bodies(found: list[str]) -> Iterable[str]:
    for index, word in enumerate(found):
        if option := _BODY.match(word):
            given = option[1] if option[1] is not None else option[2]
            following = found[index + 1] if index + 1 < len(found) else ""
            yield given if given is not None else following


# ---------------------------------------------------------------------- ours


def _ours(text: str) -> Pasted:
    """The call of a command line of ours.

    Raises:
        PasteProblem: it is none that calls, gets or reads.
    """
    found = _words(text)
    start = next((index for index, word in enumerate(found) if _OURS.search(word)), -1)
    line = found[start + 1 :]
    line = line[: line.index(END)] if END in line else line
    verb = line.pop(0) if line else ""
    if start < 0 or verb not in _VERBS:
        raise PasteProblem(
            f"The command line calls nothing: its verb is {verb[:40] or 'missing'}, not call, get or read."
        )
    options, rest, command = _sorted(line)
    arguments = _given(options)
    server, name = options.get("--server", ""), options.get("--prompt" if verb == "get" else "--tool", "")
    if verb == "read":
        if not server and len(rest) > 1 and "://" not in rest[0] and "=" not in rest[0]:
            server = rest.pop(0)
        name = rest.pop(0) if rest else ""
    elif not name:
        first = rest.pop(0) if rest else ""
        alone = command or "--url" in options or server
        server, name = (
            (server, first) if alone or "." not in first else (first.partition(".")[0], first.partition(".")[2])
        )
    if wrong := next((word for word in rest if "=" not in word), ""):
        raise PasteProblem(f"`{wrong[:60]}` is not of the form key=value.")
    return Pasted(
        "mcp-studio command line", arguments, _VERBS[verb], name, server, options.get("--url", ""), tuple(rest)
    )


def _given(options: dict[str, str]) -> dict[str, object]:
    """What `--args` says.

    Raises:
        PasteProblem: it is in a file, or no object.
    """
    text = options.get("--args", "")
    if text.startswith("@") or text == "-" or "--from" in options:
        raise PasteProblem("The arguments are in a file, which is not read: paste what is in it.")
    if not text:
        return {}
    value = paste_json.read(text)
    if not isinstance(value, dict):
        raise PasteProblem("What --args says is no object.")
    return value


def _sorted(line: list[str]) -> tuple[dict[str, str], list[str], bool]:
    """Options, other words, and whether a server's command follows."""
    options: dict[str, str] = {}
    rest: list[str] = []
    todo = iter(line)
    for word in todo:
        if word == "--":
            return options, rest, True
        if not word.startswith("-") or word == "-":
            rest.append(word)
            continue
        name, sign, value = word.partition("=")
        options[name] = value if sign else "" if name in FLAGS else next(todo, "")
    return options, rest, False
