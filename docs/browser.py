"""Opens every page of the built site in headless Chromium, at the width of a desktop and of a phone.

    python docs/browser.py                      what is wrong with the pages: exit status 1 if anything is
    python docs/browser.py --screenshots        also pictures of all pages, out/screenshots/<width>/*.png
    python docs/browser.py --all                the page of every class and function of the reference too
    python docs/browser.py --only index,faq     some pages alone

A page is wrong if it is wider than the window, if a picture or a formula of it could not be drawn, or if a script
raised an error.  Without Chromium (the Debian package ``chromium``) the script says so and does nothing.
"""

from __future__ import annotations

import argparse
import functools
import json
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SITE, PICTURES = ROOT / "out" / "docs", ROOT / "out" / "screenshots"
#: widths of windows in pixels, with their heights
WINDOWS = {1280: 1600, 390: 2400}
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
]
#: milliseconds that a page has to be loaded, and the patience for a call of the browser in seconds
PATIENCE, LIMIT = 20_000, 600
#: opens one page after the other in a frame and sends back what is wrong with them
INSPECTOR = """<!doctype html><body><script>
const pages = %s, width = %d, found = [];
const frame = document.createElement("iframe");
frame.style = `width:${width}px;height:900px;border:0`;
document.body.append(frame);
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const open = (page) => new Promise((done) => { frame.onload = done; setTimeout(done, %d); frame.src = page; });
(async () => {
  for (const page of pages) {
    await open(page);
    const inner = frame.contentWindow, body = frame.contentDocument;
    if (inner.MathJax?.startup?.promise) await inner.MathJax.startup.promise;
    await pause(50);
    const wide = body.documentElement.scrollWidth - width;
    if (wide > 1) found.push(`${page}: ${wide} pixels wider than a window of ${width}`);
    // the theme lets this part of a page scroll
    for (const part of body.querySelectorAll(".bd-article-container")) {
      const more = part.scrollWidth - part.clientWidth;
      if (more > 1) found.push(`${page}: text is ${more} pixels wider than its place in a window of ${width}`);
    }
    for (const img of body.images) {
      img.loading = "eager";
      await img.decode().catch(() => found.push(`${page}: no picture ${img.getAttribute("src")}`));
    }
    const formulas = body.querySelectorAll(".math").length;
    if (formulas && !body.querySelector("mjx-container")) found.push(`${page}: formulas are not drawn`);
    for (const bad of body.querySelectorAll("mjx-merror")) found.push(`${page}: wrong formula ${bad.title}`);
    for (const error of inner.seenErrors) found.push(`${page}: ${error}`);
  }
  await fetch("/found", {method: "POST", body: JSON.stringify(found)});
})();
</script>"""
#: the first script of every page: keeps the errors of the others, and addresses that could not be loaded
LISTENER = """<script>window.seenErrors = [];
const missing = (target) => `no ${target.src || target.href}`;
addEventListener("error", (event) => seenErrors.push(event.message || missing(event.target)), true);
addEventListener("unhandledrejection", (event) => seenErrors.push(String(event.reason)));
</script>"""


class Handler(SimpleHTTPRequestHandler):
    """Serves the site, with the listener in every page, and the pages of the inspector; takes what it found."""

    def do_GET(self) -> None:
        """Answer with a page of the inspector, a page of the site or another file."""
        text, file = self.server.inspectors.get(self.path), SITE / self.path.lstrip("/")
        if text is None and file.suffix == ".html" and file.is_file():
            text = file.read_text(encoding="utf-8").replace("<head>", f"<head>{LISTENER}", 1)
        if text is None:
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(text.encode())

    def do_POST(self) -> None:
        """Keep what the inspector found."""
        self.server.found.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """A server of the site on this machine."""

    def __init__(self, inspectors: dict[str, str]) -> None:
        """Listen at a free port."""
        super().__init__(("127.0.0.1", 0), functools.partial(Handler, directory=str(SITE)))
        self.inspectors, self.found = inspectors, queue.Queue[list[str]]()
        self.address = f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore pages that the browser left before it had all of them."""


@contextmanager
def served(inspectors: dict[str, str]) -> Iterator[Server]:
    """The running server, with these pages beside the site."""
    with Server(inspectors) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()


@contextmanager
def chromium(program: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Chromium with these arguments and an empty profile; it is ended with the block."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [program, *FLAGS, f"--user-data-dir={profile}", *arguments]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                yield process
            finally:
                process.terminate()


def inspect(program: str, pages: list[str]) -> list[str]:
    """What is wrong with the pages, in both windows."""
    texts = {f"/inspect-{width}": INSPECTOR % (json.dumps(pages), width, PATIENCE) for width in WINDOWS}
    problems: list[str] = []
    with served(texts) as server:
        for width in WINDOWS:
            with chromium(
                program, "--window-size=1400,1000", "--remote-debugging-port=0", f"{server.address}/inspect-{width}"
            ):
                try:
                    problems += server.found.get(timeout=LIMIT)
                except queue.Empty:
                    problems.append(f"Chromium did not finish {len(pages)} pages of {width} pixels in {LIMIT} s")
    return problems


def photograph(program: str, pages: list[str]) -> None:
    """Write a picture of every page in both windows."""
    with served({}) as server:
        for width, height in WINDOWS.items():
            for page in pages:
                picture = PICTURES / str(width) / f"{page.removesuffix('.html').replace('/', '-')}.png"
                picture.parent.mkdir(parents=True, exist_ok=True)
                size = f"--window-size={width},{height}"
                wait = f"--virtual-time-budget={PATIENCE}"
                with chromium(program, wait, size, f"--screenshot={picture}", f"{server.address}/{page}") as process:
                    process.wait(LIMIT)


def main() -> int:
    """Inspect, and take pictures if that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--screenshots", action="store_true", help="also write pictures")
    parser.add_argument("--only", help="names of pages with commas between, without .html")
    parser.add_argument("--all", action="store_true", help="the page of every class and function too")
    options = parser.parse_args()
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        print("skipped: the pages were not opened in a browser, since Chromium is not installed")
        return 0
    if options.only:
        pages = [f"{name}.html" for name in options.only.split(",")]
    else:
        left_out = {"_static"} if options.all else {"_static", "generated"}
        pages = sorted(str(page.relative_to(SITE)) for page in SITE.rglob("*.html") if not left_out & {*page.parts})
    problems = inspect(program, pages)
    print("\n".join(problems) or f"{len(pages)} pages are right in windows of {' and '.join(map(str, WINDOWS))} pixels")
    if options.screenshots:
        photograph(program, pages)
        print(f"pictures in {PICTURES.relative_to(ROOT)}")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
