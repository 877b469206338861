"""Bundle methods on measures: seconds to a relative gap of 1e-2, or the gap that is certified at the cap.

    python benchmarks/bundle.py --update-readme                          everything; goes on where it was interrupted
    python benchmarks/bundle.py --data a9a --risk f1 --variant level     these cells

The problems are lam/2 |w|^2 + R(Xw) without an intercept, which not every variant and not every measure has.  Seconds
are processor seconds of ``solve``, steps and all certificates, after the solver was compiled on tiny data: they mean
something on a machine that others use too.  The cap is one of the clock.  A step of a bundle
method makes one plane with two products, one with X and one with its transpose; one more plane is made at the start.

============  =========================================================================================
variant       what it is
============  =========================================================================================
level         ``Bundle()``, the default
plain         ``Bundle(stabilisation="none")``, the algorithm of the papers (BMRM)
segment       ``Bundle(stabilisation="segment")``
line search   ``Bundle(inner="line_search", stabilisation="none")``, two planes at a time
pegasos       ``Pegasos()``: one example a step, hinge only
============  =========================================================================================
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/bundle.py`

import numpy as np

from benchmarks.cells import held_out_mark
from benchmarks.data import DataSet, load
from benchmarks.ledger import Cell, Ledger, add_common_options, publish
from benchmarks.report import markdown_table

#: small ones first, since the cap comes sooner for large ones
SETS = ("reuters-moneyfx", "a9a", "w8a", "kddcup99", "covtype")
RISKS = ("hinge", "roc_auc", "prbep", "f1")
LAMBDAS = (1e-2, 1e-4, 1e-6)
VARIANTS = ("level", "plain", "segment", "line search", "pegasos")
KEY = ("data", "risk", "lam", "variant")
TARGET = 1e-2


def solver_of(variant: str) -> Any:
    """The solver object of that name."""
    from fenchel.solvers import Bundle, Pegasos

    return {
        "level": Bundle(),
        "plain": Bundle(stabilisation="none"),
        "segment": Bundle(stabilisation="segment"),
        "line search": Bundle(inner="line_search", stabilisation="none"),
        "pegasos": Pegasos(),
    }[variant]


def measured(data: DataSet, risk: str, lam: float, variant: str, cap: float) -> Cell:
    """One solve."""
    from fenchel import Problem, solve
    from fenchel.risks import F1, BreakEven, MeanRisk, RocAUC

    labels = data.labels
    kinds = {"hinge": lambda: MeanRisk("hinge", labels), "roc_auc": lambda: RocAUC(labels)}
    kinds |= {"prbep": lambda: BreakEven(labels), "f1": lambda: F1(labels)}
    problem = Problem(data.matrix, kinds[risk](), lam)
    load_before, begin = os.getloadavg()[0], time.process_time()
    solution = solve(problem, solver_of(variant), tol=TARGET, max_iter=np.inf, time_limit=cap, seed=0)
    seconds, last = time.process_time() - begin, solution.trace[-1]
    return {
        "data": data.name,
        "description": data.description,
        "risk": risk,
        "lam": lam,
        "variant": variant,
        "cap": cap,
        "status": solution.status.name,
        "reached": solution.converged,
        "seconds": seconds,
        "clock": last.seconds_solving + last.seconds_certifying,
        "certifying": last.seconds_certifying,
        "passes": solution.passes,
        "primal": solution.certificate.primal,
        "relative_gap": solution.certificate.relative_gap,
        "on_trust": not solution.certificate.recomputed,
        "load": [load_before, os.getloadavg()[0]],
    }


def is_known(ledger: Ledger, place: Cell, cap: float) -> bool:
    """Whether the cell was measured to its end, or with a cap that was at least as large."""
    found = [cell for cell in ledger.cells if all(cell[field] == place[field] for field in KEY)]
    return bool(found) and (found[0]["reached"] or found[0]["status"] == "STALLED" or found[0]["cap"] >= cap)


def markdown(cells: list[Cell]) -> str:
    """A line for each problem, a column for each variant, and how the others compare with the default."""
    by_key = {tuple(cell[field] for field in KEY): cell for cell in cells}
    variants = [variant for variant in VARIANTS if any(cell["variant"] == variant for cell in cells)]
    lines = []
    # the order is that of the lists above, whatever was measured first
    for data in sorted({cell["data"] for cell in cells}, key=lambda name: (*SETS, name).index(name)):
        for risk in RISKS:
            for lam in sorted({cell["lam"] for cell in cells}, reverse=True):
                row = [by_key.get((data, risk, lam, variant)) for variant in variants]
                first = next((cell for cell in row if cell is not None), None)
                if first is not None:
                    shown = [_shown(cell) for cell in row]
                    place = [f"{data} ({first['description']})", f"`{risk}`", f"{lam:g}"]
                    lines.append([*place, held_out_mark("measures", data), *shown])
    table = markdown_table(["data set", "risk", "λ", "held out", *variants], lines)
    return "\n\n".join([_summary(by_key, variants), table, _legend(cells)])


def _shown(cell: Cell | None) -> str:
    if cell is None:
        return "–"
    passes = f"{cell['passes']:.0f}"
    if cell["reached"]:
        return f"{cell['seconds']:.3g} ({passes})"
    why = "**stalled**, " if cell["status"] == "STALLED" else ""
    return f"{why}gap {cell['relative_gap']:.2g} at {cell['cap']:g} s ({passes})"


def _summary(by_key: dict[tuple[Any, ...], Cell], variants: list[str]) -> str:
    """For each variant: how many it solved, and its time beside the default's where both did."""
    sentences = []
    for variant in variants:
        own = {key[:3]: cell for key, cell in by_key.items() if key[3] == variant}
        reached = sum(cell["reached"] for cell in own.values())
        stalled = sum(cell["status"] == "STALLED" and not cell["reached"] for cell in own.values())
        text = f"{variant}: {reached} of {len(own)} problems to {TARGET:g}, {stalled} stalled"
        pairs = [(by_key.get((*place, "level")), cell) for place, cell in own.items()]
        ratios = [c["seconds"] / b["seconds"] for b, c in pairs if b is not None and b["reached"] and c["reached"]]
        if ratios and variant != "level":
            text += (
                f", {np.median(ratios):.2g} times the seconds of level in the median of {len(ratios)} solved by both"
            )
        sentences.append(f"- {text}.")
    return "\n".join(sentences)


def _legend(cells: list[Cell]) -> str:
    loads = [value for cell in cells for value in cell["load"]]
    return (
        f"Processor seconds to a relative gap of {TARGET:g}, once each, one thread, or the relative gap that was "
        "certified at the cap, in seconds of wall time; a data set is held out as a whole; in parentheses passes over "
        "the data, which for a "
        f"bundle method are cutting planes. The load average of the machine meanwhile was {min(loads):.1f} to "
        f"{max(loads):.1f}: above the number of cores a solve had less than one of them, so it got less far until the "
        "cap. The bound of `f1` rests on "
        "cutting planes that are taken on trust; all other bounds are recomputed from the data."
    )


def main() -> None:
    """Measure what is missing, the default first, then report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(SETS), help="see benchmarks/data.py")
    parser.add_argument("--risk", nargs="+", choices=RISKS, default=list(RISKS))
    parser.add_argument("--lam", nargs="+", type=float, default=list(LAMBDAS))
    parser.add_argument("--variant", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--cap", type=float, default=600.0, help="seconds for each solve")
    add_common_options(parser, "bundle.json and bundle.md")
    options = parser.parse_args()
    ledger = Ledger(options.output / "bundle.json", KEY, options.fresh and not options.report_only)
    for variant in [] if options.report_only else options.variant:
        risks = [risk for risk in options.risk if variant != "pegasos" or risk == "hinge"]
        for risk in risks:
            measured(load("simulated"), risk, 0.1, variant, 1.0)
        for name in options.data:
            places = [
                {"data": name, "risk": risk, "lam": lam, "variant": variant} for risk in risks for lam in options.lam
            ]
            missing = [place for place in places if options.again or not is_known(ledger, place, options.cap)]
            data = load(name) if missing else None
            for place in missing:
                cell = measured(data, place["risk"], place["lam"], variant, options.cap)
                ledger.add([cell])
                print(variant, name, place["risk"], place["lam"], _shown(cell), flush=True)
    publish(options, "bundle", markdown(ledger.cells))


if __name__ == "__main__":
    main()
