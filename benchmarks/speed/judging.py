"""The judge of everyone's weights: plain NumPy, and a reference optimum that is certified once and kept.

The relative suboptimality of weights w is (P(w) - D) / D with P(w) = lam/2 |w|² + mean hinge, lam = 1/(C n), and D
the dual value of a certificate, a proved lower bound on the optimum.  So it is never less than the true one, and more
by the reference's own relative gap at most, which is kept with it (1e-9 where time allowed).
"""

from __future__ import annotations

import json
import time
import zlib
from dataclasses import asdict, dataclass
from importlib.util import find_spec

import numpy as np
import scipy.sparse as sp

from benchmarks.data import OUT
from benchmarks.speed.contenders import Task

#: the relative gap that the reference is to have
REFERENCE_GAP = 1e-9
#: seconds that Fenchel may spend on it before an interior point method is asked
REFERENCE_SECONDS = 120.0
#: what the interior point method is allowed, and for how many columns it is asked at all
_INTERIOR_POINT_SECONDS = 600.0
_INTERIOR_POINT_COLUMNS = 1000


@dataclass(frozen=True)
class Reference:
    """A certified optimum: ``dual`` is a lower bound, ``primal`` is attained."""

    primal: float
    dual: float
    method: str
    seconds: float

    @property
    def relative_gap(self) -> float:
        return (self.primal - self.dual) / abs(self.primal)


class Judge:
    """Objective and relative suboptimality of anyone's weights on one task."""

    def __init__(self, task: Task, reference: Reference) -> None:
        self.task, self.reference = task, reference
        self.lam = 1.0 / (task.C * len(task.labels))

    def objective(self, weights: np.ndarray, intercept: float = 0.0) -> float:
        """P(w, b)."""
        scores = self.task.matrix @ weights + intercept
        losses = np.maximum(0.0, 1.0 - self.task.labels * scores)
        return 0.5 * self.lam * float(weights @ weights) + float(np.mean(losses))

    def suboptimality(self, weights: np.ndarray, intercept: float = 0.0) -> float:
        """How far above the proved lower bound, relative to it."""
        return (self.objective(weights, intercept) - self.reference.dual) / abs(self.reference.dual)


def reference(name: str, task: Task, seconds: float = REFERENCE_SECONDS) -> Reference:
    """The reference optimum of a task, from the cache if it was certified before with as much time."""
    label = f"{name.removesuffix('-dense')}-{_fingerprint(task):08x}-C{task.C:g}{'-intercept' * task.intercept}"
    file = OUT / "benchmark-references" / f"{label}.json"
    if file.exists():
        kept = Reference(**json.loads(file.read_text(encoding="utf-8")))
        if kept.relative_gap <= REFERENCE_GAP or kept.seconds >= seconds:
            return kept
    found = certified(task, seconds)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(asdict(found), indent=1) + "\n", encoding="utf-8")
    return found


def certified(task: Task, seconds: float) -> Reference:
    """Fenchel for so many seconds; then, if that was not enough and there are few columns, Clarabel.

    The interior point method's dual point is certified by Fenchel too: nothing is taken on trust.
    """
    from fenchel import MeanRisk, Problem, certify, solve

    begin = time.perf_counter()
    lam = 1.0 / (task.C * len(task.labels))
    problem = Problem(task.matrix, MeanRisk("hinge", task.labels), lam, intercept=task.intercept)
    solution = solve(problem, tol=REFERENCE_GAP, max_iter=1e9, time_limit=seconds)
    certificate = solution.certificate
    primal, dual, method = certificate.primal, certificate.dual, "dual_coordinate"
    affordable = task.matrix.shape[1] <= _INTERIOR_POINT_COLUMNS and find_spec("clarabel") is not None
    if certificate.relative_gap > REFERENCE_GAP and affordable:
        theta, weights = _interior_point(task, lam)
        other = certify(problem, weights, theta)
        if other.dual > dual or other.primal < primal:
            primal, dual, method = min(primal, other.primal), max(dual, other.dual), "dual_coordinate and Clarabel"
    return Reference(primal, dual, method, max(seconds, time.perf_counter() - begin))


def _interior_point(task: Task, lam: float) -> tuple[np.ndarray, np.ndarray]:
    """Dual point and weights from Clarabel, for lam/2 |w|² + mean of slacks, slack >= 0, slack >= 1 - y (x w + b)."""
    import clarabel

    rows, columns = task.matrix.shape
    signed = sp.diags(task.labels) @ sp.csr_matrix(task.matrix)
    bias = sp.csr_matrix(task.labels[:, None] if task.intercept else np.zeros((rows, 0)))
    free = bias.shape[1]
    square = sp.diags(np.concatenate([np.full(columns, lam), np.zeros(free + rows)])).tocsc()
    linear = np.concatenate([np.zeros(columns + free), np.full(rows, 1.0 / rows)])
    slack = sp.identity(rows, format="csr")
    nothing = sp.csr_matrix((rows, columns + free))
    constraints = sp.vstack([sp.hstack([-signed, -bias, -slack]), sp.hstack([nothing, -slack])]).tocsc()
    bounds = np.concatenate([-np.ones(rows), np.zeros(rows)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.time_limit = _INTERIOR_POINT_SECONDS
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    cones = [clarabel.NonnegativeConeT(2 * rows)]
    solution = clarabel.DefaultSolver(square, linear, constraints, bounds, cones, settings).solve()
    return task.labels * np.array(solution.z)[:rows], np.array(solution.x)[:columns]


def _fingerprint(task: Task) -> int:
    """Tells data sets of one name apart, so that a changed preparation is not judged by an old reference.

    It reads the non-zeros row by row, so that a dense set shares the reference of its sparse twin.
    """
    values = task.matrix.data if sp.issparse(task.matrix) else task.matrix[task.matrix != 0.0]
    return zlib.crc32(task.labels.tobytes(), zlib.crc32(np.asarray(values).tobytes()))
