"""The runs behind Tables 4 to 7: one for each set, C, inner solver and seed, passing all three decays.

As in the paper: no intercept, no shrinking, the duality gap after every pass over the data, seconds of the solver
alone.  A run is over when the gap is less than 0.0009 times the one after the first pass.  Runs are kept in a ledger;
what is there is not run again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.classes import Split, load_split
from benchmarks.ledger import Cell, Ledger
from fenchel import Problem, solve
from fenchel.risks import WestonWatkins
from fenchel.solvers import BlockCoordinate
from fenchel.solving.solution import Progress
from reproductions.wang2021 import paper

RESULTS = Path(__file__).with_name("results")
KEY = ("data", "exponent", "seed", "inner")
#: greedy steps end at this violation of a margin, as in the authors' program
_SHARK_ACCURACY = 1e-6


class Job(NamedTuple):
    """What identifies a run."""

    data: str
    exponent: int
    seed: int
    inner: str


#: passes between certificates, where one costs several passes
_EVERY = {"sector": 3.0, "news20": 3.0, "mnist": 3.0}


def jobs(sets: Sequence[str], exponents: Sequence[int], seeds: Sequence[int]) -> Iterator[Job]:
    """Walrus for seed 0, else the default solver of blocks, which makes the same steps up to rounding."""
    for seed in seeds:
        for data in sets:
            for exponent in exponents:
                yield Job(data, exponent, seed, "walrus" if seed == 0 else "root")


@dataclass
class Crossings:
    """A callback of ``solve`` that notes when the gap falls below each decay times the first one."""

    split: Split
    decays: Sequence[float] = paper.DECAYS
    first_gap: float | None = None
    found: list[dict[str, float]] = field(default_factory=list)

    def __call__(self, progress: Progress) -> bool:
        """Whether the last decay has been passed."""
        present = progress.present
        gap = present.primal - present.dual
        if self.first_gap is None:
            self.first_gap = gap
        while len(self.found) < len(self.decays) and gap < self.decays[len(self.found)] * self.first_gap:
            times = {"solving": present.seconds_solving, "certifying": present.seconds_certifying}
            here = {"decay": self.decays[len(self.found)], "passes": present.passes, **times, "gap": gap}
            self.found.append({**here, "accuracy": self.split.accuracy(progress.model.weights)})
        return len(self.found) == len(self.decays)


def step_of_violation(split: Split, C: float, violation: float) -> float:
    """A violation of a margin as the length of a step of the greedy solver, for rows of the mean length."""
    square = split.matrix.multiply(split.matrix).sum() / split.matrix.shape[0]
    return float(violation / (2.0 * C * square))


def problem_of(split: Split, C: float) -> Problem:
    """(P) divided by C n."""
    return Problem(split.matrix, WestonWatkins(split.classes, split.count), 1.0 / (C * len(split.classes)))


def solver_of(split: Split, C: float, inner: str, seed: int) -> BlockCoordinate:
    """Block coordinate descent without shrinking, with the exact steps of the paper."""
    accuracy = step_of_violation(split, C, _SHARK_ACCURACY) if inner == "greedy" else 1e-12
    return BlockCoordinate(inner=inner, shrinking=False, seed=seed, accuracy=accuracy, stretch=1.0)


_load = lru_cache(maxsize=1)(load_split)


def run(job: Job, time_limit: float) -> Cell:
    """One run, as a cell of the ledger."""
    split, C = _load(job.data, job.seed if job.data == "news20" else 0), 2.0**job.exponent
    crossings = Crossings(split)
    solution = solve(
        problem_of(split, C),
        solver_of(split, C, job.inner, job.seed),
        tol=0.0,
        certify_every=_EVERY.get(job.data, 1.0),
        max_iter=100_000,
        time_limit=time_limit,
        callback=crossings,
    )
    about: dict[str, Any] = {"status": solution.status.name, "passes": solution.passes, "time_limit": time_limit}
    return {**job._asdict(), **about, "first_gap": crossings.first_gap, "crossings": crossings.found}


def warm_up() -> None:
    """Compile before anything is timed."""
    for inner in ("walrus", "greedy", "root"):
        run(Job("clouds", 0, 0, inner), 60.0)


def run_missing(ledger: Ledger, wanted: Iterator[Job], time_limit: float, again: bool = False) -> None:
    """Everything that is wanted and not in the ledger."""
    todo = [job for job in wanted if again or not ledger.has(**job._asdict())]
    if todo:
        warm_up()
    for place, job in enumerate(todo, 1):
        cell = run(job, time_limit)
        ledger.add([cell])
        shown = ", ".join(f"{found['accuracy']:.2f} in {found['solving']:.3g} s" for found in cell["crossings"])
        print(f"[{place}/{len(todo)}] {job.data} C = 2^{job.exponent} {job.inner} seed {job.seed}: {shown}", flush=True)
