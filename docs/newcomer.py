"""Processor seconds of the twelve tasks of docs/newcomer.md, the columns "seconds before" and "seconds after".

    python docs/newcomer.py                     prints them
    python docs/newcomer.py --update            and writes them into the page
    git archive 'df6213e^' src | tar -x -C out/before
    python docs/newcomer.py --before out/before/src --update       also those of version 0.2.0, before the changes

The code of the page runs as the page shows it, all tasks in one process, so that each task includes the loading of the
loops that it is the first to use.  One run compiles what is not cached yet, then the median of three more is taken.  A
task that raises an error is "refused".
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import types
from pathlib import Path

PAGE = Path(__file__).resolve().parent / "newcomer.md"
SOURCE = PAGE.parent.parent / "src"
RUNS = 3
#: of the table: the first words of a row, the two columns of seconds, and the rest
ROW = re.compile(r"^(\| \[(.+?)\]\(#[\w-]+\) \|.*?\|.*?\|) (.+?) \| (.+?) (\|.*)$", re.MULTILINE)


def tasks(page: str) -> dict[str, str]:
    """The code of each task, by its heading."""
    found = re.findall(r"^## (.+?)\n\n```python\n(.*?)^```", page.partition("## Wrong usages")[0], re.S | re.M)
    return dict(found)


def measured() -> dict[str, float | None]:
    """The processor seconds of each task in this process; None if it raises an error."""
    module, found = types.ModuleType("newcomer_page"), {}
    # compiled loops ask for the module of a class
    sys.modules[module.__name__] = module
    for name, code in tasks(PAGE.read_text(encoding="utf-8")).items():
        begin = time.process_time()
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(code, name, "exec"), vars(module))
            found[name] = time.process_time() - begin
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
            found[name] = None
    return found


def medians(source: Path) -> dict[str, str]:
    """The median of the runs of each task with the package of this folder, as the page writes it."""
    environment = {**os.environ, "PYTHONPATH": str(source.resolve())}
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(1 + RUNS):
            command = [sys.executable, str(Path(__file__).resolve()), "--worker"]
            done = subprocess.run(
                command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True
            ).stdout
            runs.append(json.loads(done))
    seconds = {name: [run[name] for run in runs[1:]] for name in runs[0]}
    return {name: "refused" if None in own else f"{statistics.median(own):.1f}" for name, own in seconds.items()}


def main() -> None:
    """Measure, print and, if that is asked for, update the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, metavar="FOLDER", help="with the package as it was before")
    parser.add_argument("--update", action="store_true", help="write the seconds into the page")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(measured()))
        return
    if options.before is not None and not (options.before / "fenchel").is_dir():
        parser.error(f"--before {options.before}: there is no folder fenchel in it")
    before = {} if options.before is None else medians(options.before)
    after = medians(SOURCE)
    for name, seconds in after.items():
        print(f"{name:20} {before.get(name, '-'):>8} {seconds:>8}")
    if options.update:
        page = PAGE.read_text(encoding="utf-8")
        # a function: the seconds that were not measured stay as they are
        written = ROW.sub(lambda row: f"{row[1]} {before.get(row[2], row[3])} | {after[row[2]]} {row[5]}", page)
        PAGE.write_text(written, encoding="utf-8")


if __name__ == "__main__":
    main()
