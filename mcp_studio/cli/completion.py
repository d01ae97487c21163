"""Completion: scripts of shells ask `mcp-studio completion -- WORDS…` what can stand in place of the last word."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from mcp_studio.cli.grammar import VERBS
from mcp_studio.cli.options import Options
from mcp_studio.errors import UsageError

_SCRIPTS = {
    "bash": """\
_mcp_studio() {
  local IFS=$'\\n'
  COMPREPLY=($(mcp-studio completion -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _mcp_studio mcp-studio
""",
    "zsh": """\
#compdef mcp-studio
_mcp_studio() {
  local -a found
  found=(${(f)"$(mcp-studio completion -- "${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if (( $#found )); then compadd -- $found; else _files; fi
}
if [[ "$funcstack[1]" = _mcp-studio ]]; then _mcp_studio "$@"; else compdef _mcp_studio mcp-studio; fi
""",
    "fish": """\
function __mcp_studio
  set -l words (commandline -opc) (commandline -ct)
  set -l found (mcp-studio completion -- $words[2..-1] 2>/dev/null)
  if count $found >/dev/null
    printf '%s\\n' $found
  else
    __fish_complete_path $words[-1]
  end
end
complete -c mcp-studio -f -a '(__mcp_studio)'
""",
}


def answer(options: Options, servers: Callable[[], Iterable[str]]) -> str:
    """What `completion SHELL` prints, or what can stand in place of the last word behind `--`.

    Args:
        servers: gives the names of servers, where they are needed.

    Raises:
        UsageError: no such shell.
    """
    if options.command is not None:
        return "".join(f"{word}\n" for word in candidates(options.command, servers))
    if len(options.words) != 1 or options.words[0] not in _SCRIPTS:
        raise UsageError("Which shell?", hint=f"mcp-studio {VERBS['completion'].usage}")
    return _SCRIPTS[options.words[0]]


def candidates(words: Sequence[str], servers: Callable[[], Iterable[str]]) -> list[str]:
    """What can stand in place of the last word; nothing where files can, or the words of a server's command."""
    *before, last = words or [""]
    if "--" in before:
        return []
    verb = VERBS.get(before[0] if before else "", VERBS[""])
    option = verb.option(before[-1] if before else "")
    if option is not None and option.value and not option.optional:
        found = servers() if option.name == "--server" else option.choices
    else:
        found = [*(one.name for one in (*verb.options, *verb.shared)), "--help"]
        if not before:
            found += [*filter(None, VERBS), "--version"]
        elif len(before) == 1:
            found += verb.words
        elif before == ["config", "secrets"]:
            found += ["list", "set", "remove"]
        if before and 0 < verb.servers <= len(before) and not last.startswith("-"):
            found += servers()
    return [word for word in found if word.startswith(last)]
