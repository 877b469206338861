"""What the work on speed gained: processor seconds before and after it, on cells open to tuning and on those held out.

    mkdir -p out/then && git archive 55089db9 src | tar -x -C out/then
    python benchmarks/gain.py --before out/then --update-readme     everything; goes on where it was interrupted
    python benchmarks/gain.py --before out/then --question text     these cells

The commit is the one that wrote the list of cells (cells.py).  Two processes, one with its sources and one with these,
solve each problem of the list in turn, with ``solver="auto"`` and without an intercept, to the relative gap that each
proves itself.  A rule or a constant that fits the open cells alone would gain there and not on the held-out ones; the
speed against a peer differs between them for another reason too, which is how fast the peer is there.
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import argparse
import functools
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/gain.py`

from benchmarks import cells, data, ledger
from benchmarks.report import markdown_table
from benchmarks.solvers import problem_of

HERE = Path(__file__).resolve().parents[1]
KEY = ("question", "data", "loss", "C")
#: relative gap of each question, as its own table has it
TOLS = {"classification": 1e-3, "text": 1e-3, "several classes": 1e-2, "L1": 1e-4, "regression": 1e-3}
#: names of the list of cells that are others in data.py
_SPELLED = {"dna": "dna.scale", "letter": "letter.scale", "satimage": "satimage.scale", "sector": "sector.scale"}
#: rounds, and those of a fit that takes more seconds than this
_ROUNDS, _LONG_ROUNDS, _LONG = 3, 1, 2.0
_SIDES = ("before", "after")


class Side:
    """A process that solves problems with the package of one tree."""

    def __init__(self, tree: Path) -> None:
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
        environment = {**os.environ, **threads, "PYTHONPATH": os.pathsep.join((str(tree / "src"), str(HERE)))}
        command = [sys.executable, "-m", "benchmarks.gain", "--serve"]
        self._process = subprocess.Popen(
            command, cwd=HERE, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def solved(self, cell: cells.Cell, cap: float) -> dict[str, Any]:
        """One solve: its processor seconds, and whether it proved its gap before the cap."""
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps([*cell, cap]), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the process of {cell} ended: see its message above")
        return json.loads(answer)


def serve() -> None:
    """Solve what is asked for, a line of JSON each."""
    import fenchel

    assert fenchel.__file__ is not None
    loaded = functools.lru_cache(maxsize=1)(_loaded)
    for line in sys.stdin:
        *fields, cap = json.loads(line)
        cell = cells.Cell(*fields)
        problem = problem_of(cell.question, loaded(cell.question, cell.data, cell.loss), cell.loss, cell.C)
        begin = time.process_time()
        solution = fenchel.solve(problem, tol=TOLS[cell.question], max_iter=math.inf, time_limit=cap)
        print(json.dumps({"seconds": time.process_time() - begin, "reached": bool(solution.converged)}), flush=True)


def _loaded(question: str, name: str, loss: str) -> data.DataSet:
    """The data of a cell, with labels that its loss takes."""
    from benchmarks.l1 import labelled

    several = question == "several classes" and name == "mnist"
    found = data.load("mnist-classes" if several else _SPELLED.get(name, name))
    return labelled(found, loss) if question == "L1" else found


def measured(cell: cells.Cell, sides: dict[str, Side], cap: float) -> ledger.Cell:
    """Solves in turn; the first of each side, which compiles and allocates, does not count."""
    first = {name: side.solved(cell, cap) for name, side in sides.items()}
    again = {name: side.solved(cell, cap) for name, side in sides.items() if first[name]["seconds"] < cap}
    runs = {name: [again.get(name, first[name])] for name in sides}
    longest = max(run["seconds"] for found in runs.values() for run in found)
    for _ in range((_LONG_ROUNDS if longest > _LONG else _ROUNDS) - 1):
        for name, side in sides.items():
            runs[name].append(side.solved(cell, cap))
    result: ledger.Cell = {**cell._asdict(), "load": os.getloadavg()[0]}
    for name, found in runs.items():
        result[name] = [run["seconds"] for run in found]
        result[f"{name} reached"] = all(run["reached"] for run in found)
    return result


def gain(cell: ledger.Cell) -> float | None:
    """Seconds before over seconds after: a bound if only the new code proved its gap, none if the new one did not."""
    if not cell["after reached"]:
        return None
    return statistics.median(cell["before"]) / statistics.median(cell["after"])


def markdown(found: list[ledger.Cell]) -> str:
    """The gains of each question, open and held out."""
    rows = [_line(name, [cell for cell in found if cell["question"] == name]) for name in TOLS]
    rows.append(_line("**all**", found))
    head = ["question", "relative gap", "open to tuning", "held out", "least, open", "least, held out", "bounds"]
    missed = [cell for cell in found if not cell["after reached"]]
    loads = [cell["load"] for cell in found]
    note = (
        "Median of seconds before ÷ after (number of cells; above 1: faster now). A bound is a cell that the code "
        "before did not prove within the cap. "
    )
    if missed:
        names = ", ".join(f"{cell['data']} {cell['loss']} C = {cell['C']:g}" for cell in missed)
        note += f"Left out, since the present code did not prove its gap within the cap: {names}. "
    return markdown_table(head, rows) + f"\n\n{note}The load average was {min(loads):.1f} to {max(loads):.1f}."


def _line(name: str, found: Iterable[ledger.Cell]) -> list[str]:
    known = [(cell, ratio) for cell in found if (ratio := gain(cell)) is not None]
    parts = [[ratio for cell, ratio in known if cell["held_out"] is which] for which in (False, True)]
    medians = [f"{statistics.median(part):.2f} ({len(part)})" if part else "–" for part in parts]
    least = [f"{min(part):.2f}" if part else "–" for part in parts]
    bounds = sum(not cell["before reached"] for cell, _ in known)
    return [name, f"{TOLS[name]:g}" if name in TOLS else "", *medians, *least, str(bounds)]


def asked(questions: Iterable[str], names: list[str] | None) -> list[cells.Cell]:
    """The cells of these questions; the squared loss of L1 is for targets too, the logistic loss for classes."""
    return [cell for question in questions for cell in cells.cells(question) if cell.data in (names or [cell.data])]


def main() -> None:
    """Measure what is missing, then report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--before", type=Path, help="a folder with the src/ of the commit above")
    parser.add_argument("--question", nargs="+", choices=tuple(TOLS), default=list(TOLS))
    parser.add_argument("--data", nargs="+", help="these data sets only")
    parser.add_argument("--cap", type=float, default=20.0, help="seconds that a solve may take")
    ledger.add_common_options(parser, "gain.json and gain.md")
    options = parser.parse_args()
    if options.serve:
        serve()
        return
    kept = ledger.Ledger(options.output / "gain.json", KEY, options.fresh and not options.report_only)
    if not options.report_only:
        if options.before is None or not (options.before / "src" / "fenchel").is_dir():
            parser.error(f"--before {options.before}: there is no src/fenchel: see --help")
        sides = dict(zip(_SIDES, map(Side, (options.before.resolve(), HERE)), strict=True))
        for cell in asked(options.question, options.data):
            if options.again or not kept.has(**{field: getattr(cell, field) for field in KEY}):
                kept.add([measured(cell, sides, options.cap)])
                ledger.teller(options.verbose)(f"{cell} {gain(kept.cells[-1])}")
    ledger.publish(options, "gain", markdown(kept.cells))


if __name__ == "__main__":
    main()
