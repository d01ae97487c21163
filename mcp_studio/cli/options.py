"""The words of the command line: which options there are, and what they were given.

Not argparse: importing it takes as long as everything that `--help` may take, and what it does with `--` and with
option-like values is not what a front end for other programs' commands needs.
"""

from __future__ import annotations

from collections.abc import Sequence

from mcp_studio.config.servers import SCHEMES
from mcp_studio.config.table import nearest
from mcp_studio.errors import UsageError

VERBS = {
    "list": "what servers offer: servers, tools, resources, templates, prompts; history, saved",
    "search": "find tools, resources, templates and prompts by name, words, pattern or meaning",
    "call": "call a tool",
    "read": "read a resource",
    "get": "get a prompt",
    "complete": "values a server suggests for an argument",
    "skills": "skills of servers: list them; read one, and say whether it is what was listed",
    "tasks": "tasks of servers: list, get, result, cancel, watch",
    "watch": "a line for every change of lists and resources, and for log messages",
    "shell": "several commands on one connection, from the terminal or a pipe",
    "send": "send any message, well-formed or not, and show what comes back",
    "replay": "send what was recorded again, and show how the answers differ",
    "trace": "what was recorded: sessions, what is in them, live or exported",
    "mock": "a server that answers as a recorded one did",
    "doctor": "connect, and say what was done, how long it took, what failed and what to try",
    "auth": "sign in to servers at a URL: login, status, token, refresh, logout, forget",
    "config": "show and change the configuration",
    "demo": "the studio on the bundled demo server",
    "completion": "completion script for bash, zsh or fish",
}
"""Verb -> what it does, in the order of the help."""

BENDING = ("--era", "--protocol-version", "--capabilities", "--client-info", "--root", "--traceparent")
"""Options that every verb with a server takes: how to speak to it."""
_BENDING = " ".join(BENDING)
CERTIFICATES = ("--insecure", "--ca", "--cert", "--cert-key")
"""Options about certificates, for servers at a URL."""
_REMOTE = f"--header {' '.join(CERTIFICATES)}"
_COMMON = f"--config --url --transport {_REMOTE} --timeout --server --json --quiet {_BENDING}"
ALLOWED = {
    "": f"--config --url --transport {_REMOTE} --timeout {_BENDING}",
    "list": f"{_COMMON} --page",
    "search": f"{_COMMON} --method --kind --limit --offline",
    "call": f"{_COMMON} --output --tool --args --yes --unchecked --answer --log-level --task --ttl --detach"
    " --last --save --saved --set --example --seed --as --with-secrets --from --repeat --concurrency",
    "tasks": f"{_COMMON} --output --answer",
    "read": f"{_COMMON} --output --args --fresh --answer --log-level --last --save --as --with-secrets --from",
    "get": f"{_COMMON} --output --prompt --args --answer --log-level --last --save --example --seed --as --with-secrets"
    " --from",
    "complete": f"{_COMMON} --prompt",
    "skills": f"{_COMMON} --answer",
    "shell": f"{_COMMON} --answer --log-level",
    "watch": f"{_COMMON} --read --logs --log-level",
    "send": f"{_COMMON} --params --id --meta --no-stamp --notification --frame --newlines --wait --no-handshake",
    "replay": f"{_COMMON} --ignore --strict --set --paced --yes --answer",
    "trace": "--limit --follow --jsonl --span --body --diff --stats --export --output --to --header --delete"
    " --config --json --quiet",
    "mock": "--server --http --latency --quiet",
    "doctor": _COMMON,
    "auth": f"--config --url --transport {_REMOTE} --timeout --json --quiet --scope --issuer --client-id"
    " --client-secret --step --no-browser --redirect --register --claims --client",
    "config": "--config --name --keyring --from-env --yes --json --quiet",
    "demo": _BENDING,
}
"""Verb -> the options that it takes; the empty one is the studio itself."""
_RECORDED = "--strict --paced --follow --jsonl --stats --delete"
_SENDING = "--no-stamp --notification --newlines --no-handshake"
_ASKED = "--traceparent --json --quiet --yes --unchecked --fresh --read --logs --task --detach --last --with-secrets"
_SEARCHING = "--offline"
_SIGNING_IN = "--keyring --insecure --step --no-browser --register --claims --client"
FLAGS = frozenset(f"{_ASKED} {_SENDING} {_RECORDED} {_SIGNING_IN} {_SEARCHING}".split())
"""Options without a value."""
_OPTIONAL = {"--page", "--http"}
"""Options that may stand without their value."""
_REPEATED = {
    "--root",
    "--config",
    "--header",
    "--server",
    "--answer",
    "--frame",
    "--set",
    "--ignore",
    "--scope",
    "--kind",
}
_SHORT = {"-q": "--quiet", "-y": "--yes", "-o": "--output"}


class Options:
    """What was asked for: the verb (empty for the studio itself), its words, and the options by their long names."""

    def __init__(self, verb: str) -> None:
        self.verb = verb
        self.words: list[str] = []
        self.command: list[str] | None = None
        """What came after `--`, or None where there was no `--`."""
        self.given: dict[str, list[str]] = {}

    def flag(self, name: str) -> bool:
        """Whether a flag was given."""
        return name in self.given

    def value(self, name: str) -> str:
        """The value of an option, or an empty string."""
        return self.given.get(name, [""])[-1]

    def values(self, name: str) -> list[str]:
        """All values of an option that may be repeated."""
        return self.given.get(name, [])

    @property
    def json(self) -> bool:
        """Whether one JSON object is wanted."""
        return self.flag("--json")

    @property
    def quiet(self) -> bool:
        """Whether narration is not wanted."""
        return self.flag("--quiet")

    @property
    def seconds(self) -> float | None:
        """The value of `--timeout`.

        Raises:
            UsageError: it is no number above 0.
        """
        return self.duration("--timeout")

    def duration(self, name: str) -> float | None:
        """The value of an option in seconds, or None where it was not given.

        Raises:
            UsageError: it is no number above 0.
        """
        text = self.value(name)
        if not text:
            return None
        try:
            seconds = float(text)
        except ValueError:
            seconds = 0.0
        if not 0 < seconds < float("inf"):
            raise UsageError(f"{name}: `{text}` is no number of seconds above 0.")
        return seconds

    def count(self, name: str, most: int) -> int | None:
        """The value of an option that counts something, or None where it was not given.

        Raises:
            UsageError: it is no whole number from 1 to `most`.
        """
        text = self.value(name)
        if not text:
            return None
        if not (text.isascii() and text.isdigit() and len(text) < 20 and 0 < int(text) <= most):
            raise UsageError(f"{name}: `{text}` is no whole number from 1 to {most:,}.")
        return int(text)

    @property
    def headers(self) -> list[tuple[str, str]]:
        """The values of `--header` as pairs.

        Raises:
            UsageError: one is not of the form `Name: value`.
        """
        pairs: list[tuple[str, str]] = []
        for text in self.values("--header"):
            name, colon, value = text.partition(":")
            if not colon or not name.strip() or " " in name.strip():
                raise UsageError(f"--header: `{text}` is not of the form `Name: value`.")
            pairs.append((name.strip(), value.strip()))
        return pairs


def parse(argv: Sequence[str]) -> Options:
    """Read the words of a command line.

    Raises:
        UsageError: an unknown verb or option (the nearest is named), or a missing value.
    """
    words = list(argv)
    options = Options(words.pop(0) if words and words[0] in VERBS else "")
    allowed = ALLOWED.get(options.verb, "").split()
    while words:
        word = words.pop(0)
        if word == "--":
            if words and words[0].startswith("-"):
                hint = "Options of mcp-studio stand before it, those of the server behind the command."
                raise UsageError(f"{words[0]} stands behind --, where the command of the server begins.", hint=hint)
            options.command = words
            break
        if word.startswith("-") and word != "-" and (options.verb != "trace" or word in _SHORT or word[:2] == "--"):
            _take(options, _SHORT.get(word, word), words, allowed)
        else:
            options.words.append(word)
    if not options.verb and options.words and options.words[0] in VERBS:
        raise UsageError(f"The verb comes first: mcp-studio {options.words[0]} …", hint="Options stand behind it.")
    if not options.verb and options.words and not options.words[0].startswith(SCHEMES):
        raise UsageError(
            f"There is no verb `{options.words[0]}`.",
            hint=nearest(options.words[0], VERBS) or "`mcp-studio --help` shows all verbs.",
        )
    return options


def _misplaced(verb: str, name: str, words: list[str], allowed: list[str]) -> UsageError:
    """An option that does not belong here: where it does."""
    later = next((word for word in words if word in VERBS), "") if not verb else ""
    takers = [one for one, takes in ALLOWED.items() if one and name in takes.split()]
    if later in takers:
        return UsageError(f"{name} stands before the verb.", hint=f"It belongs behind it: mcp-studio {later} {name} …")
    whose = (
        ", ".join(f"`{one}`" for one in takers)
        if len(takers) < 8
        else "verbs with a server (mcp-studio --help connection)"
    )
    hint = f"It is an option of {whose}." if takers else nearest(name, allowed)
    if not takers and "--" in words:
        hint = f"{hint}\nOptions of the server stand behind its command: -- COMMAND ARGS…".strip()
    return UsageError(f"`{verb}` has no option {name}." if verb else f"There is no option {name}.", hint=hint)


def _take(options: Options, word: str, words: list[str], allowed: list[str]) -> None:
    name, sign, value = word.partition("=")
    if name not in allowed:
        raise _misplaced(options.verb, name, words, allowed)
    if name in FLAGS or (name == "--header" and options.verb == "auth" and options.words[:1] == ["token"]):
        if sign:
            raise UsageError(f"{name} takes no value.")
        options.given[name] = []
        return
    if not sign and name in _OPTIONAL and (not words or words[0].startswith("-")):
        options.given[name] = []
        return
    if not sign:
        if not words or words[0] == "--":
            raise UsageError(f"{name} needs a value.")
        value = words.pop(0)
    if name in options.given and name not in _REPEATED:
        raise UsageError(f"{name} was given twice.")
    options.given.setdefault(name, []).append(value)
