"""Bundled MCP servers, each a process of its own (`python -m mcp_studio.servers.NAME`); this module imports no SDK."""
