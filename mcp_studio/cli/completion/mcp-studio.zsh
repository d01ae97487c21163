#compdef mcp-studio
_mcp_studio() {
  local -a found
  found=(${(f)"$(mcp-studio completion -- "${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if (( $#found )); then compadd -- $found; else _files; fi
}
if [[ "$funcstack[1]" = _mcp-studio ]]; then _mcp_studio "$@"; else compdef _mcp_studio mcp-studio; fi
