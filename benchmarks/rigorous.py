"""What a rigorous certificate costs beside an ordinary one, in processor time, and how much narrower it is.

    python benchmarks/rigorous.py            a9a and 20news.binary with two losses (some minutes)
    python benchmarks/rigorous.py --quick    a thousand rows of a9a, one round

Both certificates are of the same model and witness, solved to a relative gap of 1e-6 with C = 1 and an intercept, and
are computed in turn; the table has medians.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

# processor time is compared, so no second thread for BLAS
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/rigorous.py`

from benchmarks.data import load
from benchmarks.report import RESULTS, markdown_table, write_json

SETS, LOSSES = ("a9a", "20news.binary"), ("hinge", "logistic")
_ROUNDS = 3


def main() -> None:
    """Measure every set with every loss."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a thousand rows, one round")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for rigorous.json")
    options = parser.parse_args()
    sets, rounds = (("a9a@1000",), 1) if options.quick else (SETS, _ROUNDS)
    cells = [measured(name, loss, rounds) for name in sets for loss in LOSSES]
    write_json(options.output / "rigorous.json", {"cells": cells})
    print(markdown(cells))


def measured(name: str, loss: str, rounds: int) -> dict[str, Any]:
    """The processor seconds and the rounding floors of both certificates."""
    from fenchel import Problem, certify, solve
    from fenchel.risks import MeanRisk

    data = load(name)
    problem = Problem(data.matrix, MeanRisk(loss, data.labels), 1.0 / len(data.labels), intercept=True)
    solution = solve(problem, tol=1e-6)
    seconds: dict[bool, list[float]] = {False: [], True: []}
    floors = {}
    for _ in range(rounds):
        for rigorous, times in seconds.items():
            begin = time.process_time()
            found = certify(problem, solution.model, solution.witness, rigorous=rigorous)
            times.append(time.process_time() - begin)
            floors[rigorous] = found.rounding_floor / found.scale
    return {
        "data": name,
        "description": data.description,
        "loss": loss,
        "ordinary_seconds": statistics.median(seconds[False]),
        "rigorous_seconds": statistics.median(seconds[True]),
        "ordinary_floor": floors[False],
        "rigorous_floor": floors[True],
    }


def markdown(cells: list[dict[str, Any]]) -> str:
    """The table of the page on certificates."""
    head = ["data", "loss", "ordinary, s", "rigorous, s", "times", "ordinary floor", "rigorous floor"]
    rows = [
        [
            f"{cell['data']} ({cell['description']})",
            cell["loss"],
            f"{cell['ordinary_seconds']:.3f}",
            f"{cell['rigorous_seconds']:.2f}",
            f"{cell['rigorous_seconds'] / max(cell['ordinary_seconds'], 1e-9):.0f}",
            f"{cell['ordinary_floor']:.1e}",
            f"{cell['rigorous_floor']:.1e}",
        ]
        for cell in cells
    ]
    return markdown_table(head, rows)


if __name__ == "__main__":
    main()
