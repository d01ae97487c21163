"""The gateway: all servers of a studio, served to agents' clients as one MCP server."""
