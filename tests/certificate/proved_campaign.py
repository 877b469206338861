"""Random problems whose exact optimum is known in rational arithmetic: does it contradict a proved prediction?

    PYTHONPATH=src:tests python tests/certificate/proved_campaign.py --count 10000      (about an hour of one core)

Problem number i is the same on every machine.  For each problem a model and a dual point are computed for several tol,
then the optimum is perturbed, since solves of such small problems often end at it.  Certified predictions of the
training rows and of 20 new rows are compared with the exact optimum: the solution of the KKT conditions on its active
set, in fractions (``slow_optimum``).  A contradiction is a score outside its interval,
or a proved label that an optimum does not have.  ``--json`` writes the figures; ``--begin`` continues a run.
"""

import argparse
import json
import time
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np

from fenchel import Model, Problem, Witness, solve
from fenchel.certificate import certified_predictions
from fenchel.risks import MeanRisk
from slow_optimum import LOSSES, exact_optimum, optimal_intercepts, random_problem

STORAGES = ("dense", "weighted", "float32", "offset", "scaled")
TOLS = (1e-1, 1e-3, 1e-6, 1e-10)
#: new rows of each problem
_ROWS = 20


@dataclass
class Outcome:
    """What one problem showed."""

    loss: str
    #: whether its exact optimum was found: otherwise nothing was compared
    known: bool = False
    contradictions: list = field(default_factory=list)
    #: the share proved at a gap of 1e-10, of the rows about which all optima agree; None if the gap was not reached
    share: float | None = None
    #: half-width over the distance of the exact score from the middle of its interval, for a perturbed optimum; the
    #: median over the rows
    ratio: float | None = None


def examine(number):
    """Problem ``number``: its optimum and its proved predictions."""
    rng = np.random.default_rng([29, number])
    loss, storage = LOSSES[number % len(LOSSES)], STORAGES[int(rng.integers(len(STORAGES)))]
    intercept, found = bool(rng.integers(2)), Outcome(loss)
    offset, dtype = 100.0 * (storage == "offset"), np.float32 if storage == "float32" else np.float64
    X, y, weights, lam = random_problem(10**6 + number, loss, offset, storage == "weighted", dtype)
    if storage == "scaled":
        X = X * 10.0 ** rng.uniform(-2, 2, size=X.shape[1])
    problem = Problem(X, MeanRisk(loss, y, weights), lam, intercept=intercept)
    shares = problem.risk.shares
    optimum = exact_optimum(loss, X.astype(np.float64), y, shares, lam, intercept)
    if optimum is None:
        return found
    found.known = True
    w, b = optimum
    rows = np.vstack([X, rng.normal(size=(_ROWS, X.shape[1])) + offset])
    products = [sum(Fraction(float(a)) * v for a, v in zip(row, w, strict=True)) for row in rows]
    ends = optimal_intercepts(loss, X, y, shares, w, b) if intercept else [b]
    solution = None
    for tol in TOLS:
        solution = solve(problem, tol=tol, max_iter=3000, warm_start=solution)
        proved = certified_predictions(problem, solution.model, solution.witness, rows)
        _compare(found, proved, products, ends, tol)
        if proved.certificate.relative_gap <= 1e-10:
            found.share = _share(proved, products, ends)
    pair = _perturbed(problem, w, solution.witness.theta, 10.0 ** rng.uniform(-7.0, -0.5), rng)
    proved = certified_predictions(problem, *pair, rows)
    _compare(found, proved, products, ends, None)
    away = np.abs(0.5 * (proved.upper + proved.lower) - np.array([float(product + ends[0]) for product in products]))
    half = 0.5 * (proved.upper - proved.lower)
    found.ratio = float(np.median(half / np.maximum(away, 1e-300)))
    return found


def _perturbed(problem, weights, theta, noise, rng):
    """A model and a dual point about ``noise`` from an optimum, relative to their sizes."""
    w = np.array(weights, dtype=float)
    scores = problem.design.scores(w) + problem.best_intercept(problem.design.scores(w))
    other = -problem.risk.subgradient(scores + noise * rng.normal(size=scores.shape))
    moved = w + noise * (1.0 + np.abs(w)) * rng.normal(size=w.shape)
    return Model(moved, None if problem.intercept else 0.0), Witness(theta + noise * (other - theta))


def _compare(found, proved, products, ends, tol):
    for end in ends:
        for i, product in enumerate(products):
            score = product + end
            inside = proved.lower[i] <= score <= proved.upper[i]
            agrees = not proved.proved[i] or proved.kind != "sign" or (score > 0) == (proved.predictions[i] > 0)
            if not (inside and agrees):
                found.contradictions.append({"tol": tol, "row": i, "score": float(score)})


def _share(proved, products, ends):
    """Of the rows whose sign is the same at every optimum, the share whose interval decides it."""
    decided = (proved.lower > 0.0) | (proved.upper <= 0.0)
    agreed = [(product + ends[0] > 0) == (product + ends[-1] > 0) for product in products]
    return float(np.mean(decided[agreed])) if any(agreed) else None


def summary(outcomes, seconds):
    """The figures of a run."""
    known = [one for one in outcomes if one.known]
    shares = [one.share for one in known if one.share is not None]
    ratios = [one.ratio for one in known if one.ratio is not None]
    return {
        "problems": len(outcomes),
        "with an exact optimum": len(known),
        "contradictions": sum(len(one.contradictions) for one in known),
        "problems at a gap of 1e-10": len(shares),
        "mean share proved at 1e-10": float(np.mean(shares)) if shares else None,
        "median half-width over deviation": float(np.median(ratios)) if ratios else None,
        "losses": dict(Counter(one.loss for one in known)),
        "seconds": round(seconds, 1),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--begin", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    begin, outcomes = time.perf_counter(), []
    for number in range(options.begin, options.begin + options.count):
        outcomes.append(examine(number))
        if outcomes[-1].contradictions:
            print(f"problem {number}: {outcomes[-1].contradictions[:3]}", flush=True)
        if len(outcomes) % 500 == 0:
            print(json.dumps(summary(outcomes, time.perf_counter() - begin)), flush=True)
    figures = summary(outcomes, time.perf_counter() - begin)
    print(json.dumps(figures, indent=2))
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
