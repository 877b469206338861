"""Builds the site in out/docs: MathJax, Sphinx with warnings as errors, and a check of every link of the HTML.

``make docs`` runs it.  The built site needs no network: MathJax is fetched through npm, once, into
``out/site-static``.  Without npm the build goes on, and formulas are drawn by MathJax from the network when a page is
read.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from links import broken

HERE = Path(__file__).resolve().parent
OUT = HERE.parent / "out"
SITE = OUT / "docs"
MATHJAX = OUT / "site-static" / "mathjax"
#: version 3: one package holds the program and its fonts; pinned, so that a site is built from the same files tomorrow
VERSION = "3.2.2"
PACKAGE = f"mathjax@{VERSION}"
#: what pages load: TeX input, HTML output with its fonts, and extensions of TeX on demand
PARTS = ("tex-chtml.js", "input/tex", "output/chtml")


def fetch_mathjax() -> str | None:
    """Unpack MathJax unless it is there; return why that failed, or None."""
    stamp = MATHJAX / "version"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == VERSION:
        return None
    npm = shutil.which("npm")
    if npm is None:
        return "npm is not installed"
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([npm, "pack", "--silent", PACKAGE], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            return f"npm pack {PACKAGE} failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}"
        (archive,) = Path(folder).glob("*.tgz")
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        MATHJAX.parent.mkdir(parents=True, exist_ok=True)
        unpacked = MATHJAX.with_name("mathjax.part")
        shutil.rmtree(unpacked, ignore_errors=True)
        for part in PARTS:
            source, target = Path(folder) / "package" / "es5" / part, unpacked / part
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
        (unpacked / stamp.name).write_text(VERSION, encoding="utf-8")
        shutil.rmtree(MATHJAX, ignore_errors=True)
        unpacked.rename(MATHJAX)
    return None


def main() -> int:
    """Build and check; the number of problems is the exit status."""
    began = time.perf_counter()
    why = fetch_mathjax()
    if why:
        print(f"MathJax is not part of the site ({why}): its formulas need the network when they are read")
    # -E: with the environment of an earlier build, pages of the reference that are new would have no stubs
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-q",
        "-E",
        "-b",
        "html",
        "-d",
        str(OUT / "doctrees"),
    ]
    status = subprocess.run([*command, str(HERE), str(SITE)]).returncode
    problems = broken(SITE, remote_scripts=why is not None) if status == 0 else []
    for problem in problems:
        print(problem)
    pages = len(list(SITE.rglob("*.html")))
    print(f"{pages} pages in {SITE.relative_to(HERE.parent)}, {time.perf_counter() - began:.0f} s")
    return status or bool(problems)


if __name__ == "__main__":
    sys.exit(main())
