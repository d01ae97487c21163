"""The entry point of the console command."""

import sys

from mcp_studio.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
