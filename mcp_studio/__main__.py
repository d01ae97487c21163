"""`mcp-studio`: help, version and completion are answered here at once; everything else is `cli.main`."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line; the way in for the console command. Does not return after a verb has run."""
    words = sys.argv[1:]
    if "--" in words:
        words = words[: words.index("--")]
    if "--help" in words or "-h" in words or words[:1] in (["--version"], ["-V"], ["help"]):
        from mcp_studio.cli.help import answer

        return answer(words)
    if words[:1] == ["completion"]:
        from mcp_studio.cli.shells import answer

        return answer(words)
    from mcp_studio.cli.main import leave, run

    leave(run(sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(main())
