"""The sans-io core of an MCP client of both eras: frames in and out, without I/O and without a clock."""
