"""Everything there is to test: losses, regularizers and solvers from the registries, and small problems for them.

The lists are read from the registries, so a new loss, regularizer or solver meets every law without a new line here.
"""

import itertools
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from fenchel import Problem
from fenchel.losses import LOSSES
from fenchel.regularizers import L1, L2, REGULARIZERS, ElasticNet
from fenchel.risks import CrammerSinger, MeanRisk, Multinomial, WestonWatkins
from fenchel.solvers import SOLVERS, BlockCoordinate
from slow_reference import MARGIN, RESIDUAL, SINGLE, slopes_of

LOSS_OBJECTS = [loss() for loss in LOSSES.values()]
#: of the elastic net: no absolute values at all, few, many, and hardly anything else
L1_RATIOS = (0.0, 0.1, 0.5, 0.99)
#: those that are zero at zero weights and act on each weight alone; the others, and the absolute values alone, have
#: laws of their own: tests/regularizers/test_transfers.py and tests/solvers/test_l1.py
REGULARIZER_OBJECTS = [regularizer() for regularizer in REGULARIZERS.values() if regularizer().compiled() is not None]
REGULARIZER_OBJECTS += [ElasticNet(ratio) for ratio in L1_RATIOS if ElasticNet(ratio) not in REGULARIZER_OBJECTS]
#: those that take losses of single scores, and those that take a joint risk of several classes
_ONE_SCORE = [
    Problem(np.eye(2), MeanRisk(loss, np.array([1.0, -1.0])), 1.0, regularizer, intercept=intercept)
    for loss, regularizer, intercept in (("hinge", L2(), False), ("squared", ElasticNet(), True))
]
_SEVERAL = [Problem(np.eye(2), WestonWatkins([0, 1]), 1.0, intercept=intercept) for intercept in (False, True)]
SOLVER_NAMES, JOINT_SOLVER_NAMES = (
    [name for name, solver in SOLVERS.items() if all(solver().supports(problem) is None for problem in problems)]
    for problems in (_ONE_SCORE, _SEVERAL)
)
STORAGES = ("dense", "sparse")


def loss_id(loss):
    return loss.name


def example_labels(loss):
    return np.array([-1.0, 1.0]) if loss.task == "classification" else np.array([-1.5, 0.0, 2.0])


def regularizer_id(regularizer):
    return "-".join([regularizer.name, *(str(value) for value in vars(regularizer).values())])


def regularizer_of(l1_ratio):
    """Zero is the square regularizer, one the absolute values alone."""
    return L1() if l1_ratio == 1.0 else ElasticNet(l1_ratio) if l1_ratio else L2()


def labels_from(task, signal, rng):
    """Labels with some relation to a signal: signs with flips for classification, noisy values for regression."""
    if task == "classification":
        labels = np.where(signal + 0.5 * rng.standard_normal(signal.shape) > 0, 1.0, -1.0)
        labels[0], labels[-1] = 1.0, -1.0
        return labels
    return signal + 0.3 * rng.standard_normal(signal.shape) + 1.5


@dataclass(frozen=True)
class Case:
    """One kind of problem; ``data()`` gives the arrays, ``problem()`` the problem."""

    loss: str
    storage: str = "dense"
    intercept: bool = False
    weighted: bool = False
    outputs: int | None = None
    lam: float = 0.1
    n: int = 40
    d: int = 6
    seed: int = 0
    l1_ratio: float = 0.0

    def __str__(self):
        parts = [self.loss, self.storage]
        parts += [f"l1_{self.l1_ratio}"] if self.l1_ratio else []
        parts += ["intercept"] * self.intercept + ["weighted"] * self.weighted
        parts += [f"{self.outputs}-outputs"] if self.outputs else []
        return "-".join(parts)

    def data(self):
        """X (dense), labels, weights or None."""
        rng = np.random.default_rng([self.seed, self.n, self.d])
        X = rng.standard_normal((self.n, self.d))
        if self.storage == "sparse":
            X[rng.random(X.shape) < 0.5] = 0.0
        truth = rng.standard_normal((self.d,) if self.outputs is None else (self.d, self.outputs))
        labels = labels_from(LOSSES[self.loss].task, X @ truth + 0.4, rng)
        weights = rng.integers(0, 4, self.n).astype(float) if self.weighted else None
        return X, labels, weights

    def problem(self):
        X, labels, weights = self.data()
        design = sp.csr_array(X) if self.storage == "sparse" else X
        risk, regularizer = MeanRisk(self.loss, labels, weights), regularizer_of(self.l1_ratio)
        return Problem(design, risk, self.lam, regularizer, intercept=self.intercept)


CASES = [
    Case(loss, storage, intercept, weighted)
    for loss, storage, intercept, weighted in itertools.product(LOSSES, STORAGES, (False, True), (False, True))
] + [
    Case(loss, storage, intercept, outputs=3, weighted=True)
    for loss, storage, intercept in itertools.product(LOSSES, STORAGES, (False, True))
]

#: every loss x intercept once, on dense data
PLAIN_CASES = [Case(loss, intercept=intercept) for loss, intercept in itertools.product(LOSSES, (False, True))]

#: the same with the elastic net
SPARSE_CASES, PLAIN_SPARSE_CASES = ([replace(case, l1_ratio=0.5) for case in cases] for cases in (CASES, PLAIN_CASES))


@dataclass(frozen=True)
class JointCase:
    """One kind of problem with a joint risk of several classes; ``risk`` "costs" is Weston-Watkins with costs."""

    risk: str
    inner: str = "root"
    storage: str = "dense"
    intercept: bool = False
    weighted: bool = False
    k: int = 4
    lam: float = 0.05
    n: int = 40
    d: int = 5
    seed: int = 0

    def __str__(self):
        parts = [self.risk, self.inner, self.storage] + ["intercept"] * self.intercept + ["weighted"] * self.weighted
        return "-".join(parts)

    def data(self):
        """X (dense), classes, weights or None, costs or None."""
        rng = np.random.default_rng([self.seed, self.n, self.d, self.k])
        X = rng.standard_normal((self.n, self.d))
        if self.storage == "sparse":
            X[rng.random(X.shape) < 0.5] = 0.0
        truth = rng.standard_normal((self.d, self.k))
        y = np.argmax(X @ truth + 0.7 * rng.standard_normal((self.n, self.k)) + 0.3 * np.arange(self.k), axis=1)
        y[: self.k] = np.arange(self.k)
        weights = rng.integers(0, 4, self.n).astype(float) if self.weighted else None
        if self.weighted:
            weights[: self.k] += 1.0
        costs = rng.uniform(0.2, 3.0, (self.k, self.k)) if self.risk == "costs" else None
        return X, y, weights, costs

    def problem(self, **changes):
        X, y, weights, costs = self.data()
        design = sp.csr_array(X) if self.storage == "sparse" else X
        settings = {"lam": self.lam, "intercept": self.intercept, **changes}
        return Problem(design, joint_risk(self.risk, y, self.k, weights, costs), **settings)

    def solver(self, **options):
        return BlockCoordinate(inner=self.inner, **options)


def joint_risk(name, y, k, weights=None, costs=None):
    if name == "crammer_singer":
        return CrammerSinger(y, k, weights)
    if name == "multinomial":
        return Multinomial(y, k, weights)
    return WestonWatkins(y, k, weights, costs)


JOINT_RISKS = ("weston_watkins", "crammer_singer", "costs")
JOINT_CASES = [
    JointCase(risk, "root", storage, intercept, weighted)
    for risk, storage, intercept, weighted in itertools.product(JOINT_RISKS, STORAGES, (False, True), (False, True))
] + [
    JointCase("weston_watkins", inner, storage, intercept, weighted)
    for inner, storage, intercept, weighted in itertools.product(
        ("walrus", "greedy"), STORAGES, (False, True), (False, True)
    )
]
#: every risk x intercept once, on dense data
PLAIN_JOINT_CASES = [JointCase(risk, intercept=intercept) for risk in JOINT_RISKS for intercept in (False, True)]


def known_problem(rng, loss_name, intercept, weighted, lam, l1_ratio=0.0):
    """A tiny problem built backwards from its optimum: (X, y, weights or None, lam, w*, b*, theta*).

    Scores s, labels and shares are drawn such that theta = -c f'(s) satisfies the conditions on its own (sum zero for
    a free intercept).  Let g be a subgradient of the regularizer at w: (1 - rho) w_j + rho sign(w_j), or anything
    between -rho and rho where w_j = 0.  X is the random matrix nearest to X0 with X w = s - b and X^T theta = lam g,
    which has a solution when theta . (s - b) = lam w . g, so w is scaled to make it so.  By the KKT conditions (w, b)
    is optimal.
    """
    n, d = int(rng.integers(2, 7)), int(rng.integers(1, 4))
    while True:
        s, y, c, theta = _optimal_scores(rng, loss_name, n, intercept, weighted)
        b = float(rng.normal()) if intercept else 0.0
        if theta @ (s - b) > 1e-3 and theta @ theta > 1e-6:
            break
    r, w = s - b, rng.standard_normal(d)
    if l1_ratio:
        w[1:][rng.random(d - 1) < 0.4] = 0.0
    # (1 - rho)|w|^2 t^2 + rho |w|_1 t = theta . r / lam
    square, linear, target = (1 - l1_ratio) * (w @ w), l1_ratio * np.abs(w).sum(), theta @ r / lam
    w *= 2 * target / (linear + np.sqrt(linear**2 + 4 * square * target))
    g = (1 - l1_ratio) * w + l1_ratio * np.where(w == 0, rng.uniform(-1, 1, d), np.sign(w))
    X = rng.standard_normal((n, d)) * np.linalg.norm(r) / np.linalg.norm(w)
    X -= np.outer(theta, theta @ X) / (theta @ theta)
    X -= np.outer(X @ w, w) / (w @ w)
    X += np.outer(r, w) / (w @ w) + lam * np.outer(theta, g) / (theta @ theta)
    X -= (theta @ r) * np.outer(theta, w) / ((theta @ theta) * (w @ w))
    return X, y, c * n if weighted else None, lam, w, b, theta


def _optimal_scores(rng, loss_name, n, intercept, weighted):
    """Scores, labels, shares and theta with -theta_i / c_i in the subdifferential (and sum theta = 0 if asked)."""
    c = rng.random(n) + 0.1 if weighted else np.ones(n)
    c /= c.sum()
    if loss_name in RESIDUAL:
        tube, bend, low, high = RESIDUAL[loss_name]
        limits = [min(low, 3.0), min(high, 3.0)]
        slope = rng.choice([-1.0, 1.0], n) * np.choose(rng.integers(0, 3, n), [np.zeros(n), np.ones(n), rng.random(n)])
        slope = np.where(slope < 0, slope * limits[0], slope * limits[1])
        if intercept:
            slope = _shrunk(c, slope)
        inside = rng.uniform(-1, 1, n) * tube
        residual = np.where(slope == 0, inside, np.sign(slope) * (tube + bend * np.abs(slope)))
        residual = np.where(slope == high, residual + rng.exponential(size=n), residual)
        residual = np.where(slope == -low, residual - rng.exponential(size=n), residual)
        s = rng.normal(size=n) * 3
        s *= np.sign(-(c * slope) @ s) or 1.0
        return s, s - residual, c, -c * slope
    y = rng.permutation(np.where(np.arange(n) < 1 + rng.integers(0, n - 1), 1.0, -1.0))
    if loss_name in SINGLE:
        if LOSSES[loss_name].task == "regression":
            y = 3 * rng.normal(size=n)
        low, high = (np.clip(end, -3, 3) for end in slopes_of(loss_name, y))
        slope = low + (high - low) * rng.random(n)
        slope = _shrunk(c, slope) if intercept else slope
        return SINGLE[loss_name].score_at(slope, y), y, c, -c * slope
    # beta is the dual variable in [0, high]
    beta = np.choose(rng.integers(0, 3, n), [np.zeros(n), np.ones(n), rng.random(n)])
    if intercept and weighted and min((c * beta)[y > 0].sum(), (c * beta)[y < 0].sum()) > 0:
        c = np.where(y > 0, c / (c * beta)[y > 0].sum(), c / (c * beta)[y < 0].sum())
        c /= c.sum()
    elif intercept:
        beta = y * _shrunk(c, y * beta)
    bend, high = MARGIN[loss_name]
    margin = np.where(beta == 0, 1 + rng.exponential(size=n), 1 - bend * beta)
    margin = np.where(beta == high, margin - rng.exponential(size=n), margin)
    return y * margin, y, c, c * y * beta


def _shrunk(c, slope):
    """Shrink the heavier sign until sum c slope is zero."""
    positive, negative = (c * slope)[slope > 0].sum(), -(c * slope)[slope < 0].sum()
    heavier = slope > 0 if positive > negative else slope < 0
    largest = max(positive, negative)
    return np.where(heavier, slope * (min(positive, negative) / largest if largest else 0.0), slope)
