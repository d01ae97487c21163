"""The demo server: a small bookshop kept in memory, on which every feature of the studio can be tried.

`python -m mcp_studio.servers.demo` serves it on stdin and stdout, `--http PORT` on loopback. It uses no network
otherwise, keeps nothing on disk, and speaks every version of the protocol from 2024-11-05 to 2026-07-28.
"""
