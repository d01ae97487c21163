"""The actions of searching everything; part of the table in `actions`."""

from __future__ import annotations

MAIN = (("search", "ctrl+f,colon", "app.search", "Search everything: what all servers offer", "Search"),)
SEARCH = (
    ("search-open", "!enter", "open", "Open it in the call pane", "Open"),
    ("search-run", "!ctrl+j,alt+enter,ctrl+enter", "run", "Run it; where something is missing, ask for that", "Run"),
    ("search-mode", "!tab", "turn(1)", "Search in the next way: names, regex, words, meaning …", "Way"),
    ("search-servers", "!ctrl+s", "servers", "Servers: all, the one under the cursor, or chosen ones", "Servers"),
    ("search-kinds", "!ctrl+t", "kinds", "Kinds: everything, tools, resources, templates, prompts", "Kinds"),
    ("search-close", "escape", "close", "Back; the question is kept", "Back"),
    ("search-copy", "!alt+c", "copy('dotted')", "Copy its name: server.tool", ""),
    ("search-copy-flat", "!alt+m", "copy('flat')", "Copy its name as models see it: mcp__server__tool", ""),
    ("search-server", "!alt+s", "server", "Go to its server", ""),
    ("search-details", "!alt+i", "details", "Details of its server", ""),
    ("search-mode-before", "!shift+tab", "turn(-1)", "Search in the way before", ""),
    ("search-up", "!up", "move(-1)", "Up", ""),
    ("search-down", "!down", "move(1)", "Down", ""),
    ("search-page-up", "!pageup", "page(-1)", "Page up", ""),
    ("search-page-down", "!pagedown", "page(1)", "Page down", ""),
    ("search-first", "!ctrl+home,alt+home", "edge(False)", "First", ""),
    ("search-last", "!ctrl+end,alt+end", "edge(True)", "Last", ""),
)  # fmt: skip
SERVERS = (
    ("search-server-mark", "!space", "mark", "Search this server, or no longer", "Mark"),
    ("search-server-mark-all", "a", "mark_all", "Mark all, or none", "All"),
    ("search-server-take", "!enter,ctrl+j", "take", "Search what is marked, else the one under the cursor", "Search"),
    ("search-server-close", "escape,q", "close", "Back, as it was", "Back"),
)
"""In the list of servers to be searched."""
