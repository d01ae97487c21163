function __mcp_studio
  set -l words (commandline -opc) (commandline -ct)
  set -l found (mcp-studio completion -- $words[2..-1] 2>/dev/null)
  if count $found >/dev/null
    printf '%s\n' $found
  else
    __fish_complete_path $words[-1]
  end
end
complete -c mcp-studio -f -a '(__mcp_studio)'
