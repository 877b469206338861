"""Random problems with a Gram matrix for design, judged in exact arithmetic on the stored matrix.

A matrix of products is exact, so it is positive semi-definite and often singular; those of "rbf" and "float32" are
rounded, which ``GramDesign.definite`` checks.  Some are those of tokens of labelled sequences.
"""

from decimal import Decimal
from functools import partial

import numpy as np

from campaign import structured
from campaign.cases import (
    EXPONENTS_OF_C,
    WEIGHTS,
    Case,
    drawn,
    exact_lam,
    exact_numbers,
    one_of,
    risk_of,
    weights_of,
)
from campaign.judging import run_case
from exact_losses import EVERY_LOSS
from fenchel import Problem
from fenchel.kernels import CachedGram, GramDesign, GramNorm
from fenchel.kernels.rbf import Radial

#: kinds of risks with their shares of the cases, in percent
RISKS = {
    "mean": 80,
    "outputs": 6,
    "weston_watkins": 4,
    "crammer_singer": 4,
    "multinomial": 3,
    **dict.fromkeys(("accuracy", "roc_auc", "f1"), 1),
}
GRAMS = ("products", "products", "rbf", "float32", "cached")
#: share of the cases that are labelled sequences, drawn with numbers of their own
CHAINS = 0.06
#: share of the cases of a piecewise quadratic loss that steps on pairs of dual variables solve
PAIRS = 0.1
#: factors of a matrix of products, powers of two
SCALES = (1.0, 1.0, 2.0**-300, 2.0**300, 2.0**20)
NO_INTERCEPT = ("roc_auc",)


def gram_of(rng, name, n, scale):
    """A Gram matrix of n examples."""
    # eighths, whose products and sums are exact
    features = np.rint(8.0 * rng.normal(size=(n, int(rng.integers(1, 5))))) / 8.0
    if name == "rbf":
        return GramDesign(Radial(features, one_of(rng, (1e-3, 0.5, 20.0))).gram()).definite()
    if name == "float32":
        K = (np.exp(features) @ np.exp(features).T).astype(np.float32)
        return GramDesign(K).definite()
    K = scale * (features @ features.T)
    if name == "cached":
        # room for some of the rows
        return CachedGram(lambda rows: K[rows], np.diagonal(K), 8.0 * n * int(rng.integers(2, n + 3)) / 2**20)
    return GramDesign(K)


def gram_rows(gram):
    """The exact entries of a stored Gram matrix."""
    return [[Decimal(entry) for entry in row] for row in gram.scores(np.eye(gram.shape[0])).T.tolist()]


def random_kernel_case(seed, index):
    """The case of this seed and number."""
    if np.random.default_rng([seed, index, 8]).random() < CHAINS:
        return _chain_case(np.random.default_rng([seed, index, 9]))
    rng = np.random.default_rng([seed, index, 7])
    kind, name, weighting = drawn(rng, RISKS), one_of(rng, GRAMS), one_of(rng, WEIGHTS)
    n, scale = int(rng.integers(1 if kind in ("mean", "outputs") else 4, 9)), one_of(rng, SCALES)
    loss = EVERY_LOSS[index % len(EVERY_LOSS)]
    paired = kind == "mean" and loss.piecewise_quadratic() is not None and bool(rng.random() < PAIRS)
    if paired:
        n = int(rng.integers(2, 17))
    given = weights_of(rng, "none" if kind == "f1" else weighting, n)
    risk, labels, more = risk_of(rng, kind, loss, n, given)
    exponent = one_of(rng, EXPONENTS_OF_C)
    C = 10.0**exponent * (1.0 + rng.random())
    intercept = bool(rng.random() < 0.4) and kind not in NO_INTERCEPT
    gram = gram_of(rng, name, n, scale)
    total = float(n if given is None else np.sum(given))
    problem = Problem(gram, risk, 1.0 / (C * total), GramNorm(gram), intercept=intercept)
    strata = {
        "risk": kind,
        "loss": repr(loss) if kind in ("mean", "outputs") else "none",
        "gram": name,
        "scale": f"{scale:.3g}" if name in ("products", "cached") else "1",
        "weights": "none" if given is None else weighting,
        "regularizer": "gram_norm",
        "C": f"1e{exponent}",
        "intercept": str(intercept),
    }
    numbers = exact_numbers(given, n, C)
    solver = "dual_coordinate" if paired else None
    return Case(problem, kind, gram_rows(gram), labels, *numbers, strata, rng, C, given, **more, solver=solver)


def _chain_case(rng):
    """Labelled sequences with a kernel of tokens."""
    kind, name, weighting = one_of(rng, list(structured.CHAINS)), one_of(rng, GRAMS), one_of(rng, WEIGHTS)
    scale, exponent = one_of(rng, SCALES), one_of(rng, EXPONENTS_OF_C)
    C = 10.0**exponent * (1.0 + rng.random())
    gram = gram_of(rng, name, int(rng.integers(4, 9)), scale)
    design, risk, rows, labels, count = structured.chain_kernel(rng, gram, gram_rows(gram), kind, weighting)
    problem = Problem(design, risk, 1.0 / (C * float(labels.total())), GramNorm(design))
    strata = {
        "risk": kind,
        "loss": "none",
        "gram": name,
        "scale": f"{scale:.3g}" if name in ("products", "cached") else "1",
        "weights": weighting,
        "regularizer": "gram_norm",
        "C": f"1e{exponent}",
        "intercept": "False",
    }
    return Case(problem, kind, rows, labels, [], exact_lam(labels, C), strata, rng, C, parameter=count)


run_kernel_case = partial(run_case, make=random_kernel_case)
