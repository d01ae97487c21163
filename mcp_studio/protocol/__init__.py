"""Sans-io MCP client core: frames in and out, both eras, no I/O and no clock of its own."""
