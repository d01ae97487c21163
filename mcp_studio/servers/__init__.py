"""Bundled MCP servers, each its own process (`python -m mcp_studio.servers.NAME`); importing this imports no SDK."""
