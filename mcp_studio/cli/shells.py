"""Completion scripts: verbs, options and their fixed values; made from the same tables as the help."""

from __future__ import annotations

import sys

from mcp_studio.catalog.listing import KINDS
from mcp_studio.cli.help import METHODS, USAGE, show
from mcp_studio.cli.options import ALLOWED, VERBS
from mcp_studio.config.importers import REMOTE
from mcp_studio.protocol.versions import LOG_LEVELS, VERSIONS

_KINDS = {
    "list": "servers tools resources templates prompts history saved",
    "tasks": "list get result cancel watch",
    "auth": "login status token refresh logout forget",
    "config": "show path keys add remove set trust import secrets",
    "trace": "last running",
    "completion": "bash zsh fish",
}
_SECRETS = "list set remove"
"""Words behind `config secrets`."""
_VALUES = {
    "--era": "legacy auto modern",
    "--protocol-version": " ".join(VERSIONS),
    "--transport": " ".join(REMOTE),
    "--log-level": " ".join(LOG_LEVELS),
    "--example": "minimal typical full",
    "--export": "jsonl bundle har otlp markdown",
    "--method": METHODS,
    "--kind": " ".join(KINDS),
    "--as": "command standalone python pytest curl json-rpc json literal",
}
_SERVERS = {"auth": 3, "doctor": 2}
"""Verb -> from which word on names of servers stand."""
_NAMES = "mcp-studio list servers --quiet 2>/dev/null | cut -d' ' -f1"
_FILES = ("--root", "--config", "--output", "-o", "--answer", "--from", "--ca", "--cert", "--cert-key")


def _options(verb: str) -> str:
    return f"{ALLOWED.get(verb, '')} --help".strip()


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
    values = "\n".join(
        f'    {option}) COMPREPLY=($(compgen -W "{known}" -- "$current")); return ;;'
        for option, known in _VALUES.items()
    )
    servers = "\n".join(
        f'    {verb}) [[ "$COMP_CWORD" -ge {word} && "$current" != -* ]] && words="$words $({_NAMES})" ;;'
        for verb, word in _SERVERS.items()
    )
    return f"""\
_mcp_studio() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" words=""
  case "$before" in
{values}
    --server) COMPREPLY=($(compgen -W "$({_NAMES})" -- "$current")); return ;;
    {"|".join(_FILES)}) COMPREPLY=($(compgen -f -- "$current")); return ;;
  esac
  case "${{COMP_WORDS[1]}}" in
{cases}
    *) words="{" ".join(VERBS)} {_options("")} --version" ;;
  esac
  case "${{COMP_WORDS[1]}}" in
{servers}
  esac
  [[ "${{COMP_WORDS[*]:1:2}}" = "config secrets" && "$COMP_CWORD" -eq 3 ]] && words="{_SECRETS} $words"
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
    values = "\n".join(f"    {option}) compadd {known}; return ;;" for option, known in _VALUES.items())
    servers = "\n".join(
        f'    {verb}) (( CURRENT > {word} )) && [[ "$words[CURRENT]" != -* ]] && known+=(${{(f)"$({_NAMES})"}}) ;;'
        for verb, word in _SERVERS.items()
    )
    return f"""\
#compdef mcp-studio
_mcp_studio() {{
  local -a verbs known
  verbs=(
{verbs}
  )
  case "$words[CURRENT-1]" in
{values}
    --server) compadd ${{(f)"$({_NAMES})"}}; return ;;
    {"|".join(_FILES)}) _files; return ;;
  esac
  if (( CURRENT == 2 )); then
    _describe verb verbs
    compadd -- {_options("")} --version
    return
  fi
  case "$words[2]" in
{cases}
  esac
  case "$words[2]" in
{servers}
  esac
  [[ "$words[2,3]" = "config secrets" ]] && (( CURRENT == 4 )) && known=({_SECRETS} $known)
  compadd -- $known
}}
if [[ "$funcstack[1]" = _mcp-studio ]]; then _mcp_studio "$@"; else compdef _mcp_studio mcp-studio; fi
"""


def _fish() -> str:
    lines = ["complete -c mcp-studio -f"]
    names = f"({_NAMES.replace(chr(39), chr(34))})"
    values = {**_VALUES, "--server": names}
    for verb, what in VERBS.items():
        lines.append(f"complete -c mcp-studio -n __fish_use_subcommand -a {verb} -d '{what}'")
        seen = f"'__fish_seen_subcommand_from {verb}'"
        if verb in _KINDS:
            lines.append(f"complete -c mcp-studio -n {seen} -a '{_KINDS[verb]}'")
        if verb in _SERVERS:
            lines.append(f"complete -c mcp-studio -n {seen} -a '{names}'")
        for option in _options(verb).split():
            rest = " -rF" if option in _FILES else f" -xa '{values[option]}'" if option in values else ""
            lines.append(f"complete -c mcp-studio -n {seen} -l {option[2:]}{rest}")
    lines.append(f"complete -c mcp-studio -n '__fish_seen_subcommand_from secrets' -a '{_SECRETS}'")
    return "\n".join(lines) + "\n"
