"""The verbs."""

from __future__ import annotations

VERBS = {
    "list": "what servers offer: servers, tools, resources, templates, prompts; history, saved",
    "search": "find tools, resources, templates and prompts by name, words, pattern or meaning",
    "call": "call a tool",
    "read": "read a resource",
    "get": "get a prompt",
    "complete": "values a server suggests for an argument",
    "skills": "skills of servers: list them; read one, and say whether it is what was listed",
    "tasks": "tasks of servers: list, get, result, cancel, watch",
    "watch": "a line for every change of lists and resources, and for log messages",
    "shell": "several commands on one connection, from the terminal or a pipe",
    "send": "send any message, well-formed or not, and show what comes back",
    "replay": "send what was recorded again, and show how the answers differ",
    "trace": "what was recorded: sessions, what is in them, live or exported",
    "mock": "a server that answers as a recorded one did",
    "doctor": "connect, and say what was done, how long it took, what failed and what to try",
    "auth": "sign in to servers at a URL: login, status, token, refresh, logout, forget",
    "config": "show and change the configuration",
    "demo": "the studio on the bundled demo server",
    "completion": "completion script for bash, zsh or fish",
}
"""Verb -> what it does, in the order of the help."""
