"""The runs behind Figures 1 and 2: Walrus against greedy steps as in Shark, ours and those of the authors' program.

    python reproductions/wang2021/race.py                      every run that is missing; can be interrupted
    python reproductions/wang2021/race.py --sets dna --again   these runs once more
    python reproductions/wang2021/race.py --report-only        results/race.md from results/race.json
    python reproductions/wang2021/race.py --quick              made-up data, nothing is kept

The authors' program takes part if ``FENCHEL_WW_TRAIN`` names it (see benchmarks/multiclass.py).  Within a set, C and
seed the contenders run right after each other.  No intercept, no shrinking, no averages; the duality gap of the present
weights after every pass; processor seconds of the passes alone.  Greedy steps end when no margin is violated by more
than 1e-6, as in the authors' program, whose order of examples has one seed: a seed here permutes the rows of its file.
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import argparse
import hashlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # for `python reproductions/wang2021/race.py`

import numpy as np

from benchmarks.classes import Split
from benchmarks.ledger import Cell
from benchmarks.multiclass import PROGRAM
from benchmarks.report import markdown_table
from fenchel.certificate import judge
from fenchel.solvers import BlockCoordinate, Hint
from reproductions.provenance import StampedLedger
from reproductions.wang2021 import paper
from reproductions.wang2021.race_sets import CLASSES, PLANS, load
from reproductions.wang2021.runs import RESULTS, problem_of, step_of_violation

KEY = ("data", "exponent", "seed", "contender")
OURS = ("walrus", "greedy")
#: of the authors' program, by the number of its option -s
AUTHORS = {"authors' walrus": 30, "authors' greedy": 31}
CONTENDERS = (*OURS, *AUTHORS)
#: violation of a margin at which greedy steps end
VIOLATION = 1e-6
#: passes of a run at most
_MOST = 2000
#: the authors' program may take this many times the passes of ours
_MORE = 1.5
#: about this many points of the curve of Figure 1 are kept
_POINTS = 60
DRAWN = ("satimage", "sector")


class Job(NamedTuple):
    """What identifies the runs that are compared."""

    data: str
    exponent: int
    seed: int


class Moment(NamedTuple):
    """After a pass, in the paper's scale."""

    seconds: float
    primal: float
    dual: float
    accuracy: float | None = None

    @property
    def gap(self) -> float:
        """The duality gap."""
        return self.primal - self.dual


def crossings(moments: Sequence[Moment], decays: Sequence[float]) -> list[Cell]:
    """The first moment at which the gap is below each decay times the first one."""
    found = []
    for decay in decays:
        place = next((place for place, moment in enumerate(moments) if moment.gap <= decay * moments[0].gap), None)
        if place is not None:
            accuracy = {} if moments[place].accuracy is None else {"accuracy": moments[place].accuracy}
            found.append({"decay": decay, "passes": place + 1, "seconds": moments[place].seconds, **accuracy})
    return found


def our_run(split: Split, job: Job, inner: str, last: float) -> list[Moment]:
    """Passes of our block coordinate descent until the gap has decayed to ``last``."""
    C = 2.0**job.exponent
    problem = problem_of(split, C)
    solver = BlockCoordinate(
        inner=inner, shrinking=False, single=False, seed=job.seed, accuracy=step_of_violation(split, C, VIOLATION)
    )
    hint = Hint(None, 0.0, lambda: False)
    begin = time.process_time()
    state = solver.start(problem, None)
    # the paper's weights are the present ones
    state.average = None
    seconds, scale = time.process_time() - begin, C * len(split.classes)
    moments: list[Moment] = []
    while len(moments) < _MOST and not (moments and moments[-1].gap <= last * moments[0].gap):
        passes, begin = 0.0, time.process_time()
        while passes < 1.0 - 1e-9:
            passes += max(solver.step(state, hint), 1e-12)
        seconds += time.process_time() - begin
        model, witness = solver.propose(state)
        certificate = judge(problem, model, witness).certificate
        accuracy = split.accuracy(np.asarray(model.weights))
        moments.append(Moment(seconds, scale * certificate.primal, scale * certificate.dual, accuracy))
    return moments


def authors_run(program: str, file: Path, job: Job, number: int, passes: int) -> list[Moment]:
    """What the authors' program prints after each pass: milliseconds, Σα, ½‖W‖², the losses, the objective."""
    command = [program, "-s", str(number), "-c", repr(2.0**job.exponent), "-t", str(passes), str(file)]
    text = subprocess.run([*command, os.devnull], capture_output=True, text=True, check=True).stdout
    lines = [[float(field) for field in line.split(",")] for line in text.splitlines() if line.count(",") == 4]
    return [Moment(line[0] / 1e3, line[4], line[1] - line[2]) for line in lines]


def run(split: Split, job: Job, decays: Sequence[float], program: str | None) -> list[Cell]:
    """All contenders on one problem in turn."""
    found = {inner: our_run(split, job, inner, decays[-1]) for inner in OURS}
    if program:
        from sklearn.datasets import dump_svmlight_file

        order = np.random.default_rng(job.seed).permutation(len(split.classes))
        # the program numbers classes in the order of their first rows, so that its model is not read here
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "data.svm"
            dump_svmlight_file(split.matrix[order], split.classes[order], str(file), zero_based=False)
            most = int(_MORE * max(len(moments) for moments in found.values())) + 3
            found |= {name: authors_run(program, file, job, number, most) for name, number in AUTHORS.items()}
    cells = []
    for name, moments in found.items():
        about: Cell = {"description": split.description, "passes": len(moments), "seconds": moments[-1].seconds}
        if job.data in DRAWN and job.exponent == 0 and job.seed == 0:
            about["curve"] = _thinned(moments)
        gap = {"first_gap": moments[0].gap, "crossings": crossings(moments, decays)}
        cells.append({**job._asdict(), "contender": name, **about, **gap})
    return cells


def _thinned(moments: Sequence[Moment]) -> dict[str, str]:
    places = sorted({*np.geomspace(1, len(moments), _POINTS).astype(int).tolist()})
    kept = [moments[place - 1] for place in places]
    return {name: " ".join(f"{getattr(moment, name):.6g}" for moment in kept) for name in ("seconds", "primal", "dual")}


def jobs(
    sets: Sequence[str], seeds: int | None = None, exponents: Sequence[int] | None = None
) -> Iterator[tuple[Job, Sequence[float]]]:
    """The plan: all sets once for every seed, so that seeds are measured at different times."""
    most = max(PLANS[data].seeds for data in sets) if seeds is None else seeds
    for seed in range(most):
        for data in sets:
            plan = PLANS[data]
            if seed < (plan.seeds if seeds is None else seeds):
                for exponent in plan.exponents if exponents is None else exponents:
                    yield Job(data, exponent, seed), paper.DECAYS[: plan.decays]


def commit_of(program: str) -> str:
    """The commit that the authors' program was built from, or the hash of the file where it is not in a checkout."""
    command = ["git", "-C", str(Path(program).resolve().parent), "rev-parse", "HEAD"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return found.stdout.strip() or f"sha256 {hashlib.sha256(Path(program).read_bytes()).hexdigest()}"


def run_missing(ledger: Any, wanted: Iterator[tuple[Job, Sequence[float]]], again: bool = False) -> None:
    """Everything that is wanted and not in the ledger."""
    program = os.environ.get(PROGRAM)
    names = CONTENDERS if program else OURS
    if not program:
        print(f"{PROGRAM} is not set: the authors' program is left out")
    version = commit_of(program) if program else ""
    todo = [one for one in wanted if again or not all(ledger.has(**one[0]._asdict(), contender=name) for name in names)]
    if todo:
        # compiles
        run(load("clouds"), Job("clouds", 0, 0), paper.DECAYS[:1], None)
    for place, (job, decays) in enumerate(todo, 1):
        cells = run(load(job.data), job, decays, program)
        ledger.add({**cell, "program": version} if cell["contender"] in AUTHORS else cell for cell in cells)
        shown = ", ".join(f"{cell['contender']} {cell['seconds']:.3g} s" for cell in cells)
        print(f"[{place}/{len(todo)}] {job.data} C = 2^{job.exponent} seed {job.seed}: {shown}", flush=True)


def ratios(cells: list[Cell], authors: bool) -> dict[tuple[str, int, float], list[float]]:
    """Seconds of Walrus over those of greedy steps, by set, exponent and decay; a value for each seed."""
    names = ("authors' walrus", "authors' greedy") if authors else OURS
    times: dict[tuple[Any, ...], float] = {}
    for cell in cells:
        for crossing in cell["crossings"]:
            where = (cell["data"], cell["exponent"], crossing["decay"], cell["seed"], cell["contender"])
            times[where] = crossing["seconds"]
    found: dict[tuple[str, int, float], list[float]] = {}
    for *place, name in times:
        other = (*place, names[1])
        # the authors' clock has milliseconds
        if name == names[0] and times.get(other, 0.0) > 0.0:
            found.setdefault((place[0], place[1], place[2]), []).append(times[(*place, name)] / times[other])
    return found


def sets_of(cells: list[Cell]) -> list[str]:
    """The sets that were run, by the number of classes."""
    return sorted({cell["data"] for cell in cells}, key=CLASSES.__getitem__)


def markdown(cells: list[Cell]) -> str:
    """Ratios of seconds, and whether accuracies and first gaps are the same."""
    parts = ["# Figures 1 and 2 in numbers", _LEGEND]
    for authors, title in ((True, "The authors' program"), (False, "Ours")):
        lines = []
        own = ratios(cells, authors)
        for data in sets_of(cells):
            for exponent in sorted({place[1] for place in own if place[0] == data}):
                shown = [_shown(own.get((data, exponent, decay), [])) for decay in paper.DECAYS]
                lines.append([f"{data} (k = {CLASSES[data]:,})", f"2^{exponent}", *shown])
        if lines:
            head = ["data", "C", *(f"δ = {decay:g}" for decay in paper.DECAYS)]
            parts += [f"## {title}: seconds of Walrus ÷ seconds of greedy steps", markdown_table(head, lines)]
    parts += ["## The claims", _claims(cells)]
    return "\n\n".join(parts)


_LEGEND = (
    "Below 1: Walrus is faster. Processor seconds until the duality gap is below δ times the one after the first pass: "
    "the median over the seeds [least–most]. Greedy steps end at a violation of a margin of 1e-6. A dash: not run so "
    "far."
)


def _shown(values: list[float]) -> str:
    if not values:
        return "–"
    middle = f"{statistics.median(values):.2f}"
    return middle if len(values) == 1 else f"{middle} [{min(values):.2f}–{max(values):.2f}]"


def same_accuracy(cells: list[Cell]) -> list[float]:
    """Differences of our Walrus' and greedy test accuracy at equal crossings, in points."""
    known = {
        (cell["data"], cell["exponent"], cell["seed"], crossing["decay"], cell["contender"]): crossing["accuracy"]
        for cell in cells
        for crossing in cell["crossings"]
        if "accuracy" in crossing
    }
    return [
        known[(*place, "walrus")] - known[(*place, "greedy")]
        for *place, name in known
        if name == "walrus" and (*place, "greedy") in known
    ]


def _claims(cells: list[Cell]) -> str:
    lines = []
    for authors, title in ((True, "the authors' program"), (False, "ours")):
        for decay in paper.DECAYS:
            middle: dict[str, list[float]] = {}
            for (data, _, at), values in ratios(cells, authors).items():
                if at == decay:
                    middle.setdefault(data, []).append(statistics.median(values))
            cells_of = [f"{statistics.median(middle[data]):.2f}" if data in middle else "–" for data in sets_of(cells)]
            if middle:
                lines.append([title, f"{decay:g}", *cells_of])
    table = markdown_table(["medians over C", "δ", *sets_of(cells)], lines)
    apart = same_accuracy(cells)
    equal = sum(abs(value) < 5e-3 for value in apart)
    gaps: dict[tuple[Any, ...], list[float]] = {}
    for cell in cells:
        gaps.setdefault((cell["data"], cell["exponent"], cell["seed"], cell["contender"] in OURS), []).append(
            cell["first_gap"]
        )
    spread = max((max(own) / min(own) for own in gaps.values()), default=1.0)
    worst = max(map(abs, apart), default=0.0)
    return (
        f"{table}\n\nTest accuracies of our Walrus and greedy runs at equal δ: the same to 0.005 points in {equal} of "
        f"{len(apart)} pairs, {worst:.2f} points apart at most. First gaps of Walrus and greedy steps differ by a "
        f"factor of {spread:.7g} at most (the paper: 1.00001)."
    )


def main() -> None:
    """Run what is missing and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=list(PLANS), default=[name for name in PLANS if name != "clouds"])
    parser.add_argument("--seeds", type=int, help="instead of those of the plan (race_sets.py)")
    parser.add_argument("--exponents", nargs="+", type=int, help="log2 of C, instead of those of the plan")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for race.json and race.md")
    parser.add_argument("--again", action="store_true", help="run again what was asked for, if it is there already")
    parser.add_argument("--report-only", action="store_true", help="run nothing")
    parser.add_argument("--quick", action="store_true", help="made-up data")
    options = parser.parse_args()
    from reproductions.wang2021.origin import RACE

    if options.quick:
        options.sets = ["clouds"]
        if options.output == RESULTS:
            options.output = Path(tempfile.mkdtemp())
    ledger = StampedLedger(RACE, options.output)
    if not options.report_only:
        run_missing(ledger, jobs(options.sets, options.seeds, options.exponents), options.again)
    text = markdown(ledger.cells)
    (options.output / "race.md").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
