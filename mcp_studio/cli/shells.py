"""Completion scripts: verbs, options and their fixed values; made from the same tables as the help."""

from __future__ import annotations

import sys

from mcp_studio.cli.help import USAGE, show
from mcp_studio.cli.options import BENDING
from mcp_studio.cli.words import VERBS
from mcp_studio.config.target import REMOTE
from mcp_studio.protocol.versions import LOG_LEVELS, VERSIONS

_KINDS = {
    "list": "servers tools resources templates prompts",
    "tasks": "list get result cancel watch",
    "config": "show path keys add remove set trust import",
    "completion": "bash zsh fish",
}
_COMMON = ["--config", "--url", "--transport", "--header", *BENDING, "--timeout", "--server", "--json", "--quiet"]
_MORE = {
    "call": ["--tool", "--args", "--yes", "--unchecked", "--answer", "--log-level", "--task", "--ttl", "--detach"],
    "tasks": ["--answer"],
    "list": ["--page"],
    "skills": ["--answer"],
    "read": ["--output", "--args", "--fresh", "--answer", "--log-level"],
    "get": ["--prompt", "--args", "--answer", "--log-level"],
    "complete": ["--prompt"],
    "send": [
        *("--params", "--id", "--meta", "--no-stamp", "--notification"),
        *("--frame", "--newlines", "--wait", "--no-handshake"),
    ],
    "watch": ["--read", "--logs", "--log-level"],
}


_FISH = {
    "--era": " -xa 'legacy auto modern'",
    "--protocol-version": f" -xa '{' '.join(VERSIONS)}'",
    "--transport": f" -xa '{' '.join(REMOTE)}'",
    "--log-level": f" -xa '{' '.join(LOG_LEVELS)}'",
    "--config": " -rF",
    "--output": " -rF",
}
"""What fish is told of the values of some options."""


def _options(verb: str) -> str:
    if verb == "config":
        return "--config --name --yes --json --quiet --help"
    if verb in ("demo", "completion"):
        return "--help"
    return " ".join([*_COMMON, *_MORE.get(verb, []), "--help"])


def answer(words: list[str]) -> int:
    """Answer `completion SHELL`; returns the exit code."""
    if len(words) == 2 and (text := script(words[1])):
        return show(text)
    sys.stderr.write(f"error: Which shell?\n  {USAGE['completion']}")
    return 2


def script(shell: str) -> str:
    """The completion script of a shell, or an empty string for an unknown one."""
    makers = {"bash": _bash, "zsh": _zsh, "fish": _fish}
    return makers[shell]() if shell in makers else ""


def _bash() -> str:
    cases = "\n".join(
        f'    {verb}) words="{_options(verb)}"; [ "$COMP_CWORD" -eq 2 ] && words="{_KINDS.get(verb, "")} $words" ;;'
        for verb in VERBS
    )
    return f"""\
_mcp_studio() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" words=""
  case "$before" in
    --era) COMPREPLY=($(compgen -W "legacy auto modern" -- "$current")); return ;;
    --protocol-version) COMPREPLY=($(compgen -W "{" ".join(VERSIONS)}" -- "$current")); return ;;
    --transport) COMPREPLY=($(compgen -W "{" ".join(REMOTE)}" -- "$current")); return ;;
    --config|--output|-o) COMPREPLY=($(compgen -f -- "$current")); return ;;
  esac
  case "${{COMP_WORDS[1]}}" in
{cases}
    *) words="{" ".join(VERBS)} --config --url --transport --header {" ".join(BENDING)} --timeout --help --version" ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -F _mcp_studio mcp-studio
"""


def _zsh() -> str:
    verbs = "\n".join(f"    '{verb}:{what}'" for verb, what in VERBS.items())
    cases = "\n".join(
        f"    {verb}) known=({_options(verb)}); (( CURRENT == 3 )) && known=({_KINDS.get(verb, '')} $known) ;;"
        for verb in VERBS
    )
    return f"""\
#compdef mcp-studio
_mcp_studio() {{
  local -a verbs known
  verbs=(
{verbs}
  )
  case "$words[CURRENT-1]" in
    --era) compadd legacy auto modern; return ;;
    --protocol-version) compadd {" ".join(VERSIONS)}; return ;;
    --config|--output|-o) _files; return ;;
  esac
  if (( CURRENT == 2 )); then
    _describe verb verbs
    compadd -- --config --url --help --version
    return
  fi
  case "$words[2]" in
{cases}
  esac
  compadd -- $known
}}
_mcp_studio "$@"
"""


def _fish() -> str:
    lines = ["complete -c mcp-studio -f"]
    for verb, what in VERBS.items():
        lines.append(f"complete -c mcp-studio -n __fish_use_subcommand -a {verb} -d '{what}'")
        seen = f"'__fish_seen_subcommand_from {verb}'"
        if verb in _KINDS:
            lines.append(f"complete -c mcp-studio -n {seen} -a '{_KINDS[verb]}'")
        for option in _options(verb).split():
            rest = _FISH.get(option, "")
            lines.append(f"complete -c mcp-studio -n {seen} -l {option[2:]}{rest}")
    return "\n".join(lines) + "\n"
