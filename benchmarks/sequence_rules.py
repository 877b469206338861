"""The rule of ``solver="auto"`` for labelled sequences: processor seconds of its candidates, and its regret.

    python benchmarks/sequence_rules.py                                what is not in the ledger yet
    python benchmarks/sequence_rules.py --data made --cap 0.5 --fresh  quick
    python benchmarks/sequence_rules.py --report-only

==================  ===================================================================================================
data                what they are
==================  ===================================================================================================
made                the sentences of ``benchmarks.sequence_growth``, 1,000 or 10,000 tokens, 5 to 40 labels; few dense
                    features are random combinations of the indicators, of squared norm 10, as theirs is
conll-N             the first N training sentences of CoNLL-2000 with the features of ``benchmarks.chunks``
letters             the first 150 words of the first fold of the OCR letters, 128 pixels, 26 labels
==================  ===================================================================================================

Seconds of one thread until a relative gap of 1e-3 is proved, the least of the rounds, of which there is one where a
solve takes more than a second; "–" if the cap, in processor seconds, ended it, with the gap then.  ``auto`` takes the
solver in the column before the last first, and is measured itself where another one takes over.  Its regret is its time
over that of the faster candidate; where the slower one was ended by the cap it is at least the quotient.  The rule may
be changed after a look at the rows that are not held out: made data and conll-500.
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import argparse
import os
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/sequence_rules.py`

import numpy as np

from benchmarks.chunks import conll2000
from benchmarks.ledger import Cell, Ledger
from benchmarks.report import RESULTS, markdown_table
from benchmarks.sequence_growth import sentences
from fenchel import Problem, solve
from fenchel.designs import ChainDesign
from fenchel.risks import ChainHinge, ChainLogistic
from fenchel.solvers.choose import choose
from fenchel.solvers.facts import facts_of
from reproductions.saha2009.sequences import letters

WORDS, TOL = 150, 1e-3
CANDIDATES = {"max-margin": ("frank_wolfe", "bundle"), "log-loss": ("exponentiated_gradient", "smoothing")}
RISKS = {"max-margin": ChainHinge, "log-loss": ChainLogistic}
HELD_OUT = ("conll-1000", "letters")
#: a solve that takes longer is not repeated, processor seconds
_LONG = 1.0


class Place(NamedTuple):
    """A problem: the data, the loss and C; of made data dense features (0: indicators), tokens a sequence and sizes."""

    data: str
    loss: str
    C: float
    features: int = 0
    length: int = 20
    tokens: int = 1000
    labels: int = 5


PLACES = (
    *(Place("made", "max-margin", C, features) for features in (10, 40, 100, 0) for C in (0.1, 1.0, 10.0)),
    *(Place("made", "log-loss", C, features) for features in (10, 40, 100) for C in (1.0, 100.0)),
    *(Place("made", "log-loss", C) for C in (1.0, 5.0, 20.0, 100.0)),
    *(Place("made", "log-loss", 1.0, 0, length) for length in (2, 1)),
    *(Place("made", "log-loss", 1.0, 0, 2, labels=labels) for labels in (20, 40)),
    *(Place("made", "log-loss", C, tokens=10_000) for C in (0.1, 1.0, 10.0, 100.0)),
    *(Place("made", "log-loss", C, 100, tokens=10_000) for C in (0.01, 0.1, 1.0)),
    *(Place("conll-500", "max-margin", C) for C in (1.0, 10.0)),
    *(Place("conll-500", "log-loss", C) for C in (1.0, 10.0, 100.0)),
    *(Place("conll-1000", "log-loss", C) for C in (1.0, 10.0, 100.0)),
    Place("conll-1000", "max-margin", 1.0),
    *(Place("letters", loss, C) for loss in RISKS for C in (0.1, 1.0, 10.0)),
)


def problem_of(place: Place) -> Problem:
    """The problem of a place."""
    X, y, lengths = flat(place)
    labels = int(np.max(y)) + 1
    return Problem(ChainDesign(X, labels), RISKS[place.loss](y, lengths, labels), 1.0 / (place.C * len(lengths)))


def flat(place: Place) -> tuple[Any, np.ndarray, np.ndarray]:
    """The features and labels of all tokens, and the tokens of each sequence."""
    if place.data != "made":
        return _letters() if place.data == "letters" else _chunks(int(place.data.removeprefix("conll-")))
    data = sentences(place.tokens, place.labels)
    X = data.X
    if place.features:
        X = X @ np.random.default_rng(0).standard_normal((X.shape[1], place.features)) / np.sqrt(place.features)
    return X, data.y, np.full(place.tokens // place.length, place.length)


@cache
def _letters() -> tuple[Any, np.ndarray, np.ndarray]:
    pixels, signs, folds = letters()
    own = np.flatnonzero(folds == folds.min())[:WORDS]
    y = np.unique([sign for word in own for sign in signs[word]], return_inverse=True)[1]
    return np.concatenate([pixels[word] for word in own]), y, np.array([len(signs[word]) for word in own])


@cache
def _chunks(count: int) -> tuple[Any, np.ndarray, np.ndarray]:
    corpus = conll2000(count)[0]
    y = np.unique([label for one in corpus.labels for label in one], return_inverse=True)[1]
    return corpus.X, y, corpus.lengths


def measured(place: Place, cap: float, rounds: int) -> list[Cell]:
    """The candidates in turn: processor seconds, whether the gap was proved, and the gap at the end."""
    problem = problem_of(place)
    runs: dict[str, list[tuple[float, Any]]] = {solver: [] for solver in CANDIDATES[place.loss]}
    for solver in runs:
        solve(problem, solver, max_iter=1)  # compiles
    for _ in range(rounds):
        for solver, own in runs.items():
            if own and min(own)[0] > _LONG:
                continue
            own.append(_timed(problem, solver, cap))
            own.sort(key=lambda run: run[0])
    first = choose(problem, "auto", tol=TOL)[0]
    if runs[first.solver.name][0][1].passes > first.patience:
        # another solver takes over before the end
        runs["auto"] = [_timed(problem, "auto", cap)]
    return [
        {
            **place._asdict(),
            "solver": solver,
            "seconds": own[0][0],
            "passes": own[0][1].passes,
            "reached": own[0][1].converged,
            "gap": own[0][1].certificate.relative_gap,
        }
        for solver, own in runs.items()
    ]


def _timed(problem: Problem, solver: str, cap: float) -> tuple[float, Any]:
    begin = time.process_time()
    found = solve(problem, solver, tol=TOL, max_iter=10**6, callback=lambda _: time.process_time() - begin > cap)
    return time.process_time() - begin, found


def row_of(place: Place, cells: list[Cell]) -> tuple[list[str], float]:
    """A row of the table, and the regret of ``auto``, NaN if no candidate proved the gap."""
    problem = problem_of(place)
    facts, chosen = facts_of(problem, TOL), choose(problem, "auto", tol=TOL)[0].solver.name
    regret = _regret(cells, chosen)
    size = f", {place.tokens:,} tokens" if place.data == "made" else ""
    name = place.data + size + (" (held out)" if place.data in HELD_OUT else "")
    numbers = [f"{facts.features:,}", f"{place.C:g}", f"{facts.curvature:.0f}", f"{facts.chain_pairs:.2g}"]
    shown = "–" if np.isnan(regret) else f"{regret:.1f}"
    by_solver = {cell["solver"]: cell for cell in cells}
    alone = [_shown(by_solver[solver]) for solver in CANDIDATES[place.loss]]
    taken = f"`{chosen}`" + (f", then the other: {_shown(by_solver['auto'])}" if "auto" in by_solver else "")
    return [place.loss, name, *numbers, *alone, taken, shown], regret


def _regret(cells: list[Cell], chosen: str) -> float:
    by_solver = {cell["solver"]: cell for cell in cells}
    reached = [cell["seconds"] for cell in cells if cell["reached"] and cell["solver"] != "auto"]
    own = by_solver.get("auto", by_solver[chosen])["seconds"]
    return own / min(reached) if reached else float("nan")


def _shown(cell: Cell) -> str:
    seconds = f"{cell['seconds']:.2f}"
    return seconds if cell["reached"] else f"– ({cell['gap']:.0e} after {seconds})"


def report(ledger: Ledger) -> str:
    """The table and the regret in words."""
    rows, regrets = [], {}
    for place in PLACES:
        known = [cell for cell in ledger.cells if all(cell[key] == value for key, value in place._asdict().items())]
        if len(known) >= len(CANDIDATES[place.loss]):
            row, regrets[place] = row_of(place, known)
            rows.append(row)
    head = ["loss", "data", "weights", "C", "curvature", "pairs", "block steps, s", "`bundle`, `smoothing`, s"]
    said = [markdown_table([*head, "`auto`", "regret"], rows)]
    for loss in RISKS:
        for kind, words in ((False, "open"), (True, "held out")):
            own = [r for p, r in regrets.items() if p.loss == loss and (p.data in HELD_OUT) is kind and not np.isnan(r)]
            if own:
                mean = float(np.exp(np.mean(np.log(own))))
                said.append(f"{loss}, {words}: regret {mean:.2f} in geometric mean, {max(own):.1f} at most.")
    return "\n\n".join(said)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(dict.fromkeys(place.data for place in PLACES)))
    parser.add_argument("--loss", choices=tuple(RISKS), help="one of the losses only")
    parser.add_argument("--cap", type=float, default=30.0, help="of each solve, processor seconds")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for sequence-rules.json")
    parser.add_argument("--fresh", action="store_true", help="forget all earlier results")
    parser.add_argument("--report-only", action="store_true", help="measure nothing, report what is in the file")
    options = parser.parse_args()
    ledger = Ledger(options.output / "sequence-rules.json", (*Place._fields, "solver"), options.fresh)
    for place in [] if options.report_only else PLACES:
        first = {**place._asdict(), "solver": CANDIDATES[place.loss][0]}
        wanted = place.data in options.data and options.loss in (None, place.loss)
        if wanted and not ledger.has(**first):
            cells = measured(place, options.cap, options.rounds)
            ledger.add(cells)
            print(" | ".join(row_of(place, cells)[0]), file=sys.stderr, flush=True)
    print(report(ledger))


if __name__ == "__main__":
    main()
