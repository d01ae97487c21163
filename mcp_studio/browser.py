"""Opening a page in the person's browser, after they have agreed to it: by argument vector, never by a shell."""

from __future__ import annotations

import asyncio


async def open_page(url: str) -> bool:
    """Hand an address that `session.urls.judge` allows to the browser; False where there is none."""
    import webbrowser

    try:
        return await asyncio.to_thread(webbrowser.open, url)
    except (webbrowser.Error, OSError):
        return False
