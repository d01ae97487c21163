"""The demo server: a small bookshop in memory, for trying every feature of the studio.

`python -m mcp_studio.servers.demo` serves it on stdin and stdout, `--http PORT` on loopback. It uses no other network,
stores nothing on disk, and speaks every version of the protocol from 2024-11-05 to 2026-07-28.
"""
