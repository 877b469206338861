"""Sequences: CoNLL-2000 chunking beside CRFsuite on the equal problem, in processor seconds of one thread.

    python benchmarks/sequences.py                              all sentences
    python benchmarks/sequences.py --sentences 2000 --rounds 1  fewer
    python benchmarks/sequences.py --once                       one solve of each risk, one run of CRFsuite
    python benchmarks/sequences.py --once --only max-margin     the max-margin risk alone
    python benchmarks/sequences.py --solver smoothing           the CRF by L-BFGS

Both minimize ``|w|^2 / 2 + C sum of log-losses`` over weights of features and labels and of pairs of labels: CRFsuite's
L-BFGS with ``c2 = 1 / (2 C)``, ``all_possible_states`` and ``all_possible_transitions`` (its default features, which
are those that occur in the data, beside it), Fenchel with ``transitions="pairs"``.  Time of CRFsuite is that to an
objective within ``tol`` of the best dual bound; Fenchel's is that of the whole solve until it has proved ``tol``,
certificates included, and that until its own objective is within ``tol``.  The attributes of tokens are made before the
clock starts; CRFsuite makes its features of attributes and labels afterwards, and its time has that.
CRFsuite (python-crfsuite) is left out if it is not installed.  The max-margin risk, and CRFsuite's averaged perceptron,
are reported beside.  The last line compares the objectives at the optimum: Fenchel's with a proved gap of 1e-4 and that
of CRFsuite's last iteration.

With ``--once`` one solve of the CRF to a gap of 1e-4 and one of the max-margin risk to 1e-3 are watched: a tolerance
is proved at the first certificate, of one every 20 or 50 passes, that proves it, so no solve is repeated for another
tolerance.
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/sequences.py`

import numpy as np

from benchmarks.chunks import Corpus, conll2000
from benchmarks.report import markdown_table
from fenchel import Problem, Progress, Solution, solve
from fenchel.designs import ChainDesign
from fenchel.metrics import phrase_f1_score
from fenchel.risks import ChainHinge, ChainLogistic
from fenchel.risks.chains.oracles import viterbi
from fenchel.risks.chains.sequences import Sequences

TOLS = (1e-2, 1e-3)
#: the gap of the objective that is compared with CRFsuite's
OPTIMUM = 1e-4
#: those of a solve that is watched
ALL_TOLS = (*TOLS, OPTIMUM)
#: passes between two looks at Fenchel's objective, whose certificates are not timed
_LOOK_EVERY = 2.0
#: passes between two certificates of a solve that is watched, whose certificates are timed
_CERTIFY_EVERY = {"chain_logistic": 20.0, "chain_hinge": 50.0}


class Chunking:
    """The training problem, and the test sentences."""

    def __init__(self, train: Corpus, test: Corpus, C: float, solver: str = "auto") -> None:
        self.train, self.test, self.C = train, test, C
        self._solver = solver
        self.classes, self.codes = np.unique([label for one in train.labels for label in one], return_inverse=True)
        self.design = ChainDesign(train.X, len(self.classes), ends=False)

    def problem(self, kind: Any) -> Problem:
        """The problem of one of the risks."""
        risk = kind(self.codes, self.train.lengths, len(self.classes))
        return Problem(self.design, risk, 1.0 / (self.C * len(self.train.lengths)))

    def solver(self, kind: Any) -> str:
        """The solver of one of the risks: the one that was asked for is that of the CRF."""
        return self._solver if kind is ChainLogistic else "auto"

    def f1(self, weights: Any) -> float:
        """Phrase F1 on the test sentences."""
        sequences = Sequences(self.test.lengths, len(self.classes))
        scores = ChainDesign(self.test.X, len(self.classes), ends=False).scores(weights)
        labels = self.classes[viterbi(sequences, sequences.split(scores)).labels]
        parts = np.split(labels, np.cumsum(self.test.lengths)[:-1])
        return phrase_f1_score(self.test.labels, [part.tolist() for part in parts])


def fenchel_run(task: Chunking, kind: Any, tol: float) -> tuple[float, Solution]:
    """Processor seconds until tol is proved."""
    problem = task.problem(kind)
    begin = time.process_time()
    solution = solve(problem, task.solver(kind), tol=tol)
    seconds = time.process_time() - begin
    print(f"{kind.__name__} to {tol:g}: {seconds:.1f} s, {solution.passes:.0f} passes", file=sys.stderr, flush=True)
    return seconds, solution


def fenchel_curve(task: Chunking, kind: Any, tol: float) -> list[tuple[float, float]]:
    """Processor seconds of the solver alone, and the objective, every two passes."""
    problem, curve = task.problem(kind), []
    share = {"last": time.process_time(), "solving": 0.0, "certifying": 0.0}

    def look(progress: Progress) -> None:
        now, present = time.process_time(), progress.present
        # processor time is divided as the clock's time is
        total = present.seconds_solving + present.seconds_certifying - share["solving"] - share["certifying"]
        own = (present.seconds_solving - share["solving"]) / max(total, 1e-9)
        before = curve[-1][0] if curve else 0.0
        curve.append((before + own * (now - share["last"]), present.primal))
        share.update(last=now, solving=present.seconds_solving, certifying=present.seconds_certifying)

    solve(problem, task.solver(kind), tol=tol, callback=look, certify_every=_LOOK_EVERY)
    return curve


def crfsuite_curve(task: Chunking, *, everything: bool, iterations: int) -> tuple[list[tuple[float, float]], float]:
    """Processor seconds and the objective (divided as Fenchel's is) of each iteration of L-BFGS, and phrase F1."""
    # the run ends with max_iterations
    smoothness = {"c1": 0.0, "c2": 1.0 / (2.0 * task.C), "epsilon": 1e-9, "delta": 1e-9}
    return crfsuite_run(task, "lbfgs", everything=everything, max_iterations=iterations, **smoothness)


def crfsuite_run(
    task: Chunking, algorithm: str, *, everything: bool, **parameters: float
) -> tuple[list[tuple[float, float]], float]:
    """Processor seconds and the objective of each iteration of any of CRFsuite's algorithms, and phrase F1."""
    import pycrfsuite

    curve: list[tuple[float, float]] = []
    scale = 1.0 / len(task.train.lengths)

    class Trainer(pycrfsuite.Trainer):  # type: ignore[misc]
        def message(self, message: str) -> None:
            if self.logparser.feed(message) == "iteration":
                curve.append((time.process_time() - begin, self.logparser.last_iteration["loss"] * scale))

    trainer = Trainer(verbose=False)
    for names, labels in zip(task.train.names, task.train.labels, strict=True):
        trainer.append(names, labels)
    trainer.select(algorithm)
    trainer.set_params(
        {"feature.possible_states": everything, "feature.possible_transitions": everything, **parameters}
    )
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "model")
        begin = time.process_time()
        trainer.train(file)
        tagger = pycrfsuite.Tagger()
        tagger.open(file)
        predicted = [tagger.tag(names) for names in task.test.names]
        tagger.close()
    return curve, phrase_f1_score(task.test.labels, predicted)


def first_below(curve: list[tuple[float, float]], bound: float) -> str:
    """The first time at which the objective is below a bound."""
    reached = [seconds for seconds, value in curve if value <= bound]
    return f"{reached[0]:.1f}" if reached else "–"


class Rows(list[list[str]]):
    """The rows of the table, which are also told as they come: all sentences take a while."""

    def append(self, row: list[str]) -> None:
        super().append(row)
        print(" | ".join(row), file=sys.stderr, flush=True)


def watched(task: Chunking, kind: Any, tol: float, cap: float | None) -> tuple[list[str], Solution]:
    """Of one solve, processor seconds until each of ``ALL_TOLS`` was proved, with certificates, and the solution."""
    problem, proved = task.problem(kind), {}
    begin = time.process_time()

    def note(gap: float, passes: float) -> None:
        seconds = time.process_time() - begin
        print(f"{kind.__name__}: {seconds:.1f} s, {passes:.0f} passes, gap {gap:.2e}", file=sys.stderr, flush=True)
        for limit in ALL_TOLS:
            if gap <= limit:
                proved.setdefault(limit, f"{seconds:.1f}")

    def look(progress: Progress) -> None:
        note(progress.certificate.relative_gap, progress.passes)

    every, solver = _CERTIFY_EVERY[kind.name], task.solver(kind)
    solution = solve(problem, solver, tol=tol, time_limit=cap, callback=look, certify_every=every)
    note(solution.certificate.relative_gap, solution.passes)
    return [proved.get(limit, "–") for limit in ALL_TOLS], solution


def crf_once(task: Chunking, iterations: int, cap: float | None) -> list[list[str]]:
    """The rows of the CRF from one solve, and those of one run of each of CRFsuite's algorithms."""
    rows = Rows()
    solve(task.problem(ChainLogistic), max_iter=1)  # compiles
    seconds, optimum = watched(task, ChainLogistic, OPTIMUM, cap)
    own = optimum.certificate
    f1 = f"{100 * task.f1(optimum.model.weights):.2f}"
    rows.append(["Fenchel, CRF, until proved", *seconds, f"{own.primal:.6f} (gap {own.relative_gap:.1e})", f1])
    try:
        curve, peer_f1 = crfsuite_curve(task, everything=True, iterations=iterations)
        end = min(value for _, value in curve)
        times = [first_below(curve, (1.0 + tol) * own.dual) for tol in TOLS]
        rows.append(["CRFsuite, all features", *times, "–", f"{end:.6f}", f"{100 * peer_f1:.2f}"])
        rows.append([f"difference: {abs(end - own.primal) / own.primal:.1e}", "", "", "", "", ""])
        _, perceptron_f1 = crfsuite_run(task, "ap", everything=False)
        rows.append(["CRFsuite, averaged perceptron", "–", "–", "–", "–", f"{100 * perceptron_f1:.2f}"])
    except ImportError:
        pass
    return rows


def max_margin_once(task: Chunking, cap: float | None) -> list[list[str]]:
    """The row of the max-margin risk from one solve."""
    rows = Rows()
    solve(task.problem(ChainHinge), max_iter=1)  # compiles
    seconds, hinge = watched(task, ChainHinge, TOLS[-1], cap)
    reached = f"{hinge.certificate.primal:.6f} (gap {hinge.certificate.relative_gap:.1e})"
    rows.append(["Fenchel, max-margin, until proved", *seconds, reached, f"{100 * task.f1(hinge.model.weights):.2f}"])
    return rows


def measured(task: Chunking, rounds: int, iterations: int) -> list[list[str]]:
    """The rows of the table."""
    rows, last = Rows(), TOLS[-1]
    solve(task.problem(ChainHinge), max_iter=1)  # compiles
    proofs: dict[float, list[float]] = {tol: [] for tol in TOLS}
    peers, own = [], []
    solution: Solution | None = None
    for _ in range(rounds):
        for tol in TOLS:
            seconds, solution = fenchel_run(task, ChainLogistic, tol)
            proofs[tol].append(seconds)
        own.append(fenchel_curve(task, ChainLogistic, last))
        try:
            peers.append(crfsuite_curve(task, everything=True, iterations=iterations))
        except ImportError:
            break
    assert solution is not None
    _, optimum = fenchel_run(task, ChainLogistic, OPTIMUM)
    best = optimum.certificate.dual
    proved = [f"{np.median(proofs[tol]):.1f}" for tol in TOLS]
    f1 = f"{100 * task.f1(solution.model.weights):.2f}"
    rows.append(["Fenchel, CRF, until proved", *proved, f"{solution.certificate.primal:.5f}", f1])
    rows.append(["Fenchel, CRF, objective", *_medians(own, best), f"{min(v for _, v in own[0]):.5f}", f1])
    if peers:
        curves = [curve for curve, _ in peers]
        rows.append(
            [
                "CRFsuite, all features",
                *_medians(curves, best),
                f"{curves[0][-1][1]:.5f}",
                f"{100 * peers[0][1]:.2f}",
            ]
        )
        _, default_f1 = crfsuite_curve(task, everything=False, iterations=iterations)
        rows.append(["CRFsuite, default features", "–", "–", "–", f"{100 * default_f1:.2f}"])
        _, perceptron_f1 = crfsuite_run(task, "ap", everything=False)
        rows.append(["CRFsuite, averaged perceptron", "–", "–", "–", f"{100 * perceptron_f1:.2f}"])
        own_end, end = optimum.certificate.primal, min(value for _, value in curves[0])
        apart = abs(end - own_end) / own_end
        rows.append([f"difference at the optimum: {apart:.1e}", "", "", f"{own_end:.6f} {end:.6f}", ""])
    hinges = [fenchel_run(task, ChainHinge, tol) for tol in TOLS]
    hinge = hinges[-1][1]
    rows.append(
        [
            "Fenchel, max-margin, until proved",
            *(f"{seconds:.1f}" for seconds, _ in hinges),
            f"{hinge.certificate.primal:.5f}",
            f"{100 * task.f1(hinge.model.weights):.2f}",
        ]
    )
    return rows


def _medians(curves: list[list[tuple[float, float]]], best: float) -> list[str]:
    found = []
    for tol in TOLS:
        times = [first_below(curve, (1.0 + tol) * best) for curve in curves]
        found.append("–" if "–" in times else f"{np.median([float(one) for one in times]):.1f}")
    return found


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=None, help="of each file; all without it")
    parser.add_argument("--C", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=200, help="of CRFsuite")
    parser.add_argument("--once", action="store_true", help="one solve of each risk and one run of CRFsuite")
    parser.add_argument("--only", choices=("crf", "max-margin"), help="this risk alone, with --once")
    parser.add_argument("--cap", type=float, default=None, help="of each solve with --once, seconds of the clock")
    parser.add_argument("--solver", default="auto", help="of the CRF")
    options = parser.parse_args()
    task = Chunking(*conll2000(options.sentences), options.C, options.solver)
    if options.once:
        rows = [] if options.only == "max-margin" else crf_once(task, options.iterations, options.cap)
        rows += [] if options.only == "crf" else max_margin_once(task, options.cap)
    else:
        rows = measured(task, options.rounds, options.iterations)
    tokens, features = task.train.X.shape
    print(f"{len(task.train.lengths)} sentences, {tokens} tokens, {features} features, {len(task.classes)} labels\n")
    columns = ["s to 1e-2", "s to 1e-3", *(["s to 1e-4"] if options.once else [])]
    print(markdown_table(["method", *columns, "objective", "phrase F1, %"], rows))


if __name__ == "__main__":
    main()
