_mcp_studio() {
  local IFS=$'\n'
  COMPREPLY=($(mcp-studio completion -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _mcp_studio mcp-studio
