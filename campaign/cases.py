"""Random problems, each determined by (seed, index), with the exact numbers that they stand for."""

import dataclasses
import tempfile
from decimal import Decimal
from functools import cache, lru_cache, partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp

from campaign import structured
from exact_losses import DIGITS, EVERY_LOSS, digits
from fenchel import Problem
from fenchel.designs import as_design
from fenchel.io import StoreWriter, open_store
from fenchel.regularizers import L1, L2, ElasticNet, Entropy, FreeDirections, QNorm, QuadraticForm, UnnormalizedEntropy
from fenchel.risks import (
    MEASURES,
    CrammerSinger,
    CustomMeasure,
    MeanRisk,
    MultilabelHinge,
    Multinomial,
    OrdinalHinge,
    WestonWatkins,
)
from fenchel.risks.measures import custom
from fenchel.risks.measures.blocks import Blocks

#: measures of the prevalence
QUANTIFICATION = ("ae", "rae", "kld", "nkld", "q")
#: measures by a table of any numbers, and by a function of which no table is kept
CUSTOM = ("custom", "custom_blocks")
#: kinds of risks with their shares of the cases, in percent
RISKS = {
    "mean": 73.4,
    "outputs": 3,
    "weston_watkins": 2,
    "costs": 2,
    "crammer_singer": 2,
    "multinomial": 3,
    **dict.fromkeys(("accuracy", "roc_auc", "prbep", "f1", "precision_at_k", "recall_at_k"), 0.8),
    **dict.fromkeys(QUANTIFICATION, 0.2),
    **dict.fromkeys(CUSTOM, 0.8),
    "ordinal": 0.6,
    "multilabel": 1.2,
    **dict.fromkeys(structured.KINDS, 0.9),
}
#: regularizers with their shares of the cases; the balanced entropies take ten times as long to evaluate
REGULARIZERS = {
    "l2": 24,
    "elastic_net": 16,
    "l1": 16,
    "q_norm": 10,
    "quadratic_form": 10,
    "entropy": 9,
    "unnormalized_entropy": 9,
    "balanced_entropy": 1,
    "balanced_unnormalized_entropy": 5,
}
#: regularizers of which some cases have free features, and the share of these
FREE_BASES = ("l2", "elastic_net", "q_norm", "quadratic_form", "unnormalized_entropy", "balanced_unnormalized_entropy")
FREE_SHARE = 0.1
STORAGES = ("dense", "fortran", "csr", "float32", "csr_float32", "duplicates", "integers", "store", "store_csr")
#: bytes that a copy of a store may take: any, or so few that rows are read one or two at a time
MEMORY_LIMITS = (None, 512)
#: the scale of X, and an offset of its columns in units of the scale
SCALES = (
    *((1.0, 0.0), (1.0, 0.0), (1e-150, 0.0), (1e150, 0.0), (1.0, 1e3), (1.0, 1e8), (1e-3, 0.0), (1e5, 1.0)),
    (1e-310, 0.0),
)
WEIGHTS = ("none", "none", "ones", "zeros", "wide")
EXPONENTS_OF_C = (-6, -2, 0, 0, 3, 12)
CLASSES = 3
#: problems with the same X and labels, and other regularizers, C and intercepts
VARIANTS = 4
#: risks that do not depend on an intercept, or have none
NO_INTERCEPT = ("ordinal", "roc_auc", "prbep", *structured.KINDS)


@dataclasses.dataclass
class Case:
    """A problem with the numbers that it stands for."""

    problem: Problem
    kind: str
    #: the exact entries of X, the labels of the risk, c and lam
    rows: list
    labels: list
    shares: list
    lam: Decimal
    #: dimension -> value, for the counts
    strata: dict
    rng: np.random.Generator
    C: float = 1.0
    given: np.ndarray | None = None
    costs: list | None = None
    parameter: int | None = None
    #: a solver that finds the model and the witness, whatever else is drawn
    solver: str | None = None


@cache
def _cumulated(shares):
    total = np.cumsum([share for _, share in shares])
    return total / total[-1]


def drawn(rng, shares):
    """A key of a dictionary of shares."""
    place = int(np.searchsorted(_cumulated(tuple(shares.items())), rng.random(), side="right"))
    return list(shares)[min(place, len(shares) - 1)]


def one_of(rng, values):
    """One of the values."""
    return values[int(rng.integers(len(values)))]


@lru_cache(maxsize=4)
def _data(seed, number):
    """Design, risk and their exact numbers, for ``VARIANTS`` problems."""
    rng = np.random.default_rng([seed, number])
    kind, storage = drawn(rng, RISKS), one_of(rng, STORAGES)
    (scale, offset), weighting = one_of(rng, SCALES), one_of(rng, WEIGHTS)
    n, d = int(rng.integers(1, 9)), int(rng.integers(1, 5))
    if kind not in ("mean", "outputs"):
        n = max(n, 4)
    if kind in ("prbep", "f1", "precision_at_k", "recall_at_k", *QUANTIFICATION, *CUSTOM):
        weighting = "none"
    X, rows = stored(scale * (rng.normal(size=(n, d)) + offset), storage)
    given = weights_of(rng, weighting, n)
    # losses take turns, so that each has its share of the cases
    loss = EVERY_LOSS[number % len(EVERY_LOSS)]
    if kind in structured.KINDS:
        X, risk, rows, labels, more = structured.structured_data(rng, kind, X, rows, weighting)
    else:
        risk, labels, more = risk_of(rng, kind, loss, n, given)
    strata = {
        "risk": kind,
        "loss": repr(loss) if kind in ("mean", "outputs") else "none",
        "storage": storage,
        "scale": f"{scale:g}",
        "offset": f"{offset:g}",
        "weights": weighting,
    }
    return as_design(X), risk, rows, labels, given, more, strata


def clear_data():
    """Forget the data of the last cases, with what the library has cached in their objects."""
    _data.cache_clear()


def random_case(seed, index):
    """The case of this seed and number; raises FenchelError where the library refuses the problem."""
    number, variant = divmod(index, VARIANTS)
    design, risk, rows, labels, given, more, strata = _data(seed, number)
    rng = np.random.default_rng([seed, number, variant + 1])
    name, kind, (n, d) = drawn(rng, REGULARIZERS), strata["risk"], design.shape
    exponent = one_of(rng, EXPONENTS_OF_C)
    C = 10.0**exponent * (1.0 + rng.random())
    intercept = bool(rng.random() < 0.4) and kind not in NO_INTERCEPT
    total = float(n if given is None else np.sum(given))
    if kind in structured.KINDS:
        total = float(labels.total())
    regularizer = regularizer_of(name, d, rng)
    if kind == "mean" and name in FREE_BASES:
        # numbers of their own, so that all other cases are as they were
        name, regularizer = with_free_features(name, regularizer, d, np.random.default_rng([seed, number, variant, 1]))
    problem = Problem(design, risk, 1.0 / (C * total), regularizer, intercept=intercept)
    exact = kind not in ("mean", "outputs", "accuracy") or bool(rng.random() < 0.5)
    if kind in structured.KINDS:
        shares, lam = [], exact_lam(labels, C)
    else:
        shares, lam = exact_numbers(given, n, C) if exact else _stored_numbers(problem)
    strata = {
        **strata,
        "regularizer": name,
        "C": f"1e{exponent}",
        "intercept": str(intercept),
        "c and lam": "exact quotients" if exact else "stored floats",
    }
    return Case(problem, kind, rows, labels, shares, lam, strata, rng, C, given, **more)


def stored(X, storage):
    """X as it is given to a problem, and its exact entries."""
    if "float32" in storage:
        with np.errstate(over="ignore", under="ignore"):
            X = X.astype(np.float32)
    elif storage == "integers":
        X = np.clip(np.rint(3.0 * X), -1e9, 1e9).astype(np.int64)
    if storage == "duplicates":
        return _repeated_columns(X)
    rows = [[Decimal(entry) for entry in row] for row in X.tolist()]
    if storage.startswith("store"):
        return _in_a_store(sp.csr_array(X) if storage == "store_csr" else X), rows
    if storage.startswith("csr"):
        return sp.csr_array(X), rows
    return np.asfortranarray(X) if storage == "fortran" else X, rows


def _in_a_store(X):
    """The same rows in mapped files, which are removed before they are read."""
    # a folder in memory, for speed alone
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        with StoreWriter(Path(folder) / "X.store") as writer:
            for begin in range(0, X.shape[0], 3):
                writer.append(X[begin : begin + 3], np.zeros(len(range(X.shape[0])[begin : begin + 3])))
        limit = MEMORY_LIMITS[X.shape[0] % len(MEMORY_LIMITS)]
        return open_store(Path(folder) / "X.store", memory_limit=limit).X


def _repeated_columns(X):
    """A sparse matrix in which every entry is the sum of two."""
    n, d = X.shape
    first = 0.7 * X
    second = X - first
    with digits(DIGITS):
        rows = [
            [Decimal(a) + Decimal(b) for a, b in zip(*pair, strict=True)]
            for pair in zip(first.tolist(), second.tolist(), strict=True)
        ]
    columns = np.tile(np.concatenate([np.arange(d), np.arange(d)]), n)
    data = np.concatenate([first, second], axis=1).ravel()
    return sp.csr_array((data, columns, np.arange(0, 2 * d * n + 1, 2 * d)), shape=(n, d)), rows


def weights_of(rng, weighting, n, kept=4):
    """Weights of n examples, of which the first ones are not zero."""
    if weighting == "none":
        return None
    choice = {"ones": [1.0], "zeros": [0.0, 1e-3, 0.3, 1.0, 2.0], "wide": [1e-9, 0.1, 1.0, 7.0, 1e6]}[weighting]
    given = rng.choice(choice, size=n)
    # joint risks and measures need two classes with weight
    given[:kept] = np.maximum(given[:kept], 0.1)
    return given


def regularizer_of(name, d, rng):
    """A regularizer of this name, with random parameters where they are numbers."""
    if name == "quadratic_form":
        A = rng.normal(size=(d, d))
        return QuadraticForm(A @ A.T + 0.1 * np.eye(d)) if rng.random() < 0.5 else QuadraticForm(rng.random(d) + 0.1)
    return {
        "l2": L2,
        "l1": L1,
        "elastic_net": lambda: ElasticNet(one_of(rng, (0.05, 0.3, 0.9))),
        "q_norm": lambda: QNorm(one_of(rng, (1.2, 1.5, 1.9))),
        "entropy": lambda: Entropy(mass=2.0),
        "balanced_entropy": lambda: Entropy(mass=2.0, balanced=True),
        "unnormalized_entropy": lambda: UnnormalizedEntropy(0.1),
        "balanced_unnormalized_entropy": lambda: UnnormalizedEntropy(0.1, balanced=True),
    }[name]()


def with_free_features(name, base, d, rng):
    """The base with one or two free features, of some of the cases."""
    if not rng.random() < FREE_SHARE or (name == "quadratic_form" and not base.diagonal):
        return name, base
    free = rng.choice(d, size=min(d, int(rng.integers(1, 3))), replace=False)
    return f"free_{name}", FreeDirections.of_features(free.tolist(), d, base)


def risk_of(rng, kind, loss, n, given):
    """A risk, its labels as exact numbers, and further numbers of a case."""
    signs = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    if kind in ("mean", "outputs"):
        shape = (n,) if kind == "mean" else (n, 2)
        y = np.where(rng.random(shape) < 0.5, 1.0, -1.0)
        if loss.task == "regression":
            y = rng.normal(size=shape)
            y = np.abs(y) * (rng.random(shape) < 0.8) if loss.name == "poisson" else y
        exact = [[Decimal(entry) for entry in row] for row in y.reshape(n, -1).tolist()]
        return MeanRisk(loss, y, given), exact, {}
    signs[:2] = 1.0, -1.0
    if kind == "ordinal":
        grades = rng.integers(0, 4, size=n)
        grades[:2] = 0, 1
        return OrdinalHinge(grades, given), grades.tolist(), {}
    if kind == "multilabel":
        table = rng.integers(0, 2, size=(n, CLASSES))
        return MultilabelHinge(table, given), table.tolist(), {}
    if kind in CUSTOM:
        return _custom_measure(rng, kind, signs)
    if kind in MEASURES:
        parameter = None
        if kind.endswith("_at_k"):
            positives = int(np.sum(signs > 0))
            low, high = (1, positives) if kind == "precision_at_k" else (positives, n)
            parameter = int(rng.integers(low, high + 1))
        if kind in ("accuracy", "roc_auc"):
            risk = MEASURES[kind](signs, given)
        else:
            risk = MEASURES[kind](signs) if parameter is None else MEASURES[kind](signs, parameter)
        return risk, [[Decimal(int(sign))] for sign in signs], {"parameter": parameter}
    return _joint_risk(rng, kind, n, given)


def _custom_measure(rng, kind, signs):
    """A measure by a random table, with ties and forbidden cells, or by a function that is searched in blocks."""
    table = rng.choice([1.0, 1e-3, 30.0]) * rng.normal(size=(np.sum(signs > 0) + 1, np.sum(signs < 0) + 1))
    if rng.random() < 0.5:
        table = np.rint(4.0 * table) / 4.0
    table[rng.random(table.shape) < rng.choice([0.0, 0.2, 0.7])] = -np.inf
    table[0, 0] = 0.0
    exact = [[None if np.isinf(entry) else Decimal(entry) for entry in row] for row in table.tolist()]
    labels = [[Decimal(int(sign))] for sign in signs]
    if kind == "custom":
        return CustomMeasure(signs, table, linear=False), labels, {"parameter": exact}
    with (
        patch.object(custom, "LARGEST_TABLE", 0),
        patch.object(custom, "Blocks", partial(Blocks, side=int(rng.integers(1, 4)))),
    ):
        return CustomMeasure(signs, lambda fn, fp: table[fn, fp]), labels, {"parameter": exact}


def _joint_risk(rng, kind, n, given):
    classes = rng.integers(0, CLASSES, size=n)
    classes[:CLASSES] = np.arange(CLASSES)
    labels = classes.tolist()
    if kind == "costs":
        costs = rng.uniform(0.1, 3.0, (CLASSES, CLASSES))
        np.fill_diagonal(costs, 0.0)
        exact = [[Decimal(entry) for entry in row] for row in costs.tolist()]
        return WestonWatkins(classes, CLASSES, given, costs), labels, {"costs": exact}
    made = {"weston_watkins": WestonWatkins, "crammer_singer": CrammerSinger, "multinomial": Multinomial}[kind]
    return made(classes, CLASSES, given), labels, {}


def exact_numbers(given, n, C):
    """C and lam as the exact quotients that they stand for."""
    with digits(DIGITS):
        weights = [Decimal(1)] * n if given is None else [Decimal(entry) for entry in given.tolist()]
        total = sum(weights)
        return [entry / total for entry in weights], 1 / (Decimal(C) * total)


def exact_lam(labels, C):
    """Lam of a ranking or of chains, whose weights are those of queries or of sequences."""
    with digits(DIGITS):
        return 1 / (Decimal(C) * labels.total())


def _stored_numbers(problem):
    return [Decimal(entry) for entry in problem.risk.shares.tolist()], Decimal(problem.lam)
