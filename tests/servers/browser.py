"""A browser for tests, to be named as `[auth] browser`: it opens an address, logs in as ada, and presses Allow.

    browser.py FOLDER URL                  follows redirects, keeps cookies, fills in forms by itself
    browser.py --with PROGRAM FOLDER URL   runs Chromium without a window, until the file FOLDER/stop exists

It writes each address that it is given as a line to FOLDER/opened. It ends after half a minute at the latest.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urlencode, urljoin
from urllib.request import HTTPCookieProcessor, build_opener

LONGEST = 30.0
PAGES = 10
KNOWN = {"username": "ada", "login": "ada", "password": "lovelace"}
OPTIONS = "--headless=new --no-sandbox --no-first-run --disable-gpu --disable-sync --disable-background-networking"
OPTIONS += " --disable-component-update --disable-default-apps --disable-dev-shm-usage"


class Form(HTMLParser):
    """The last form of a page, filled in."""

    def __init__(self) -> None:
        super().__init__()
        self.action: str | None = None
        self.fields: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Fill in a field, or press a button; a button that refuses has no name, or the id `deny`."""
        found = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.action, self.fields = found.get("action", ""), {}
        elif tag in ("input", "button") and found.get("name") and found.get("id") != "deny":
            self.fields[found["name"]] = KNOWN.get(found["name"], found.get("value", ""))


def follow(url: str) -> None:
    """Follow the pages and submit their forms, until a page has none."""
    opener = build_opener(HTTPCookieProcessor(CookieJar()))
    data = None
    for _ in range(PAGES):
        with opener.open(url, data, timeout=LONGEST) as page:
            here, form = page.geturl(), Form()
            form.feed(page.read().decode("utf-8", "replace"))
        if form.action is None:
            return
        opener.addheaders = [("Referer", here)]
        url, data = urljoin(here, form.action), urlencode(form.fields).encode()


def run(program: str, folder: Path, url: str) -> None:
    """Run Chromium with its own profile, and end it and all its processes."""
    argv = [program, *OPTIONS.split(), f"--user-data-dir={folder / 'profile'}", url]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(argv, start_new_session=True, **quiet)  # type: ignore[call-overload]
    end = time.monotonic() + LONGEST
    while process.poll() is None and time.monotonic() < end and not (folder / "stop").exists():
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    (folder / "stopped").touch()


def main() -> None:
    """Open the address."""
    *option, folder, url = sys.argv[1:]
    with Path(folder, "opened").open("a") as opened:
        opened.write(url + "\n")
    if option:
        run(option[1], Path(folder), url)
    else:
        follow(url)


if __name__ == "__main__":
    main()
