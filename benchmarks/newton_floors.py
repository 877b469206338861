"""Newton fits with few features: how much of a fit are its Hessians, products with X and factorizations.

    python benchmarks/newton_floors.py --update-readme          about a minute

``solver="auto"`` is Newton's method on w8a and mnist.  Its work on the data is counted while it runs, in processor
seconds of one thread: the Hessians X^T D X of samples and of all rows, the products with X and X^T, among them those of
the certificate, the Cholesky factorizations, and the sums over examples of losses and their derivatives.  Together they
are what the method needs with as many steps; the rest are sums of the certificate, checks and what is between calls.
``--l1 --loss logistic`` counts the same of the proximal Newton method of the lasso, whose coordinate descent on the
Hessian or the columns of the working set takes the place of factorizations; the copies of these columns count as
products.
"""

# ruff: noqa: E402 (limits of threads before imports)

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/newton_floors.py`

from benchmarks.cells import is_held_out
from benchmarks.data import load
from benchmarks.ledger import Cell, Ledger, add_common_options, publish
from benchmarks.report import markdown_table

KEY = ("data", "loss", "regularizer", "C", "tol")
#: what the work of a fit consists of, and the compiled loops that do it
LOOPS = {
    "half_gram": "Hessians",
    "weighted_gram": "Hessians",
    "multiply": "products",
    "add_adjoint": "products",
    "sum_derivatives": "losses",
    "sum_dual_points": "losses",
    "descend": "inner",
    "newton_steps": "inner",
    "copy_columns": "products",
}
KINDS = ("Hessians", "products", "inner", "losses")


@contextmanager
def counted(spent: dict[str, float]) -> Iterator[None]:
    """Add the processor seconds of every kind of work to ``spent`` while this is entered."""
    from fenchel.compile.loop import Loop
    from fenchel.designs.csr import CSRDesign
    from fenchel.designs.dense import DenseDesign
    from fenchel.numerics import linear_algebra

    inside = False

    def timing(call: Callable[..., Any], kind_of: Callable[..., str | None]) -> Callable[..., Any]:
        def timed(*args: Any, **named: Any) -> Any:
            nonlocal inside
            kind = None if inside else kind_of(*args)
            if kind is None:
                return call(*args, **named)
            inside, begin = True, time.process_time()
            try:
                return call(*args, **named)
            finally:
                inside = False
                spent[kind] += time.process_time() - begin

        return timed

    with ExitStack() as stack:
        replace = stack.enter_context
        loops = timing(Loop.__call__, lambda loop, *_: LOOPS.get(loop.__name__))
        replace(mock.patch.object(Loop, "__call__", loops))
        for design in (CSRDesign, DenseDesign):
            for name, kind in (("scores", "products"), ("adjoint", "products"), ("gram", "Hessians")):
                call = timing(getattr(design, name), lambda *_, kind=kind: kind)
                replace(mock.patch.object(design, name, call))
        factorize = timing(linear_algebra.dpotrf, lambda *_: "inner")
        replace(mock.patch.object(linear_algebra, "dpotrf", factorize))
        yield


def measured(data: Any, loss: str, regularizer: str, C: float, tol: float, rounds: int) -> Cell:
    """Fits in turn, plain and counted: medians of processor seconds."""
    from fenchel import Problem, solve
    from fenchel.risks import MeanRisk

    def fit() -> Any:
        lam = 1.0 / (C * len(data.labels))
        return solve(Problem(data.matrix, MeanRisk(loss, data.labels), lam, regularizer), tol=tol)

    solution, plain, parts = fit(), [], defaultdict(list)
    for _ in range(rounds):
        begin = time.process_time()
        fit()
        plain.append(time.process_time() - begin)
        spent = dict.fromkeys(KINDS, 0.0)
        with counted(spent):
            fit()
        for kind, seconds in spent.items():
            parts[kind].append(seconds)
    cell: Cell = {"data": data.name, "loss": loss, "regularizer": regularizer, "C": C, "tol": tol}
    cell |= {"solver": solution.solver, "passes": solution.passes, "certificates": len(solution.trace)}
    question = "L1" if regularizer == "l1" else "classification"
    cell |= {"held_out": is_held_out(question, data.name, C), "load": os.getloadavg()[0]}
    return cell | {"fit": statistics.median(plain)} | {kind: statistics.median(parts[kind]) for kind in KINDS}


def markdown(cells: list[Cell]) -> str:
    """A line for each fit."""
    head = ["data set", "loss", "penalty", "C", "tol", "held out", "solver", "fit, ms"]
    rows = []
    for cell in cells:
        place = [cell["data"], cell["loss"], cell["regularizer"], f"{cell['C']:g}", f"{cell['tol']:g}"]
        place += ["yes" if cell["held_out"] else "", cell["solver"], f"{1e3 * cell['fit']:.1f}"]
        work = sum(cell[kind] for kind in KINDS)
        rows.append([*place, *(f"{1e3 * cell[kind]:.1f}" for kind in KINDS), f"{cell['fit'] / work:.2f}"])
    table = markdown_table([*head, "Hessians", "products", "factors or descent", "losses", "fit ÷ sum"], rows)
    loads = [cell["load"] for cell in cells]
    return (
        f"{table}\n\nProcessor milliseconds of one thread, medians. Load average {min(loads):.1f} to {max(loads):.1f}."
    )


def main() -> None:
    """Measure the fits that are missing and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["w8a", "mnist"])
    parser.add_argument("--loss", nargs="+", default=["squared_hinge", "logistic"])
    parser.add_argument("--C", nargs="+", type=float, default=[0.1, 1.0, 10.0])
    parser.add_argument("--tol", nargs="+", type=float, default=[1e-3])
    parser.add_argument("--l1", action="store_true", help="the lasso instead of ridge")
    parser.add_argument("--rounds", type=int, default=3)
    add_common_options(parser, "newton_floors.json and newton_floors.md")
    options = parser.parse_args()
    ledger = Ledger(options.output / "newton_floors.json", KEY, options.fresh and not options.report_only)
    regularizer = "l1" if options.l1 else "l2"
    for name in [] if options.report_only else options.data:
        data = load(name)
        for loss in options.loss:
            for C in options.C:
                for tol in options.tol:
                    place = {"data": name, "loss": loss, "regularizer": regularizer, "C": C, "tol": tol}
                    if options.again or not ledger.has(**place):
                        ledger.add([measured(data, loss, regularizer, C, tol, options.rounds)])
    publish(options, "newton_floors", markdown(ledger.cells))


if __name__ == "__main__":
    main()
