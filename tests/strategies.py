"""Hypothesis generators for what users hand in: ties, extremes, zero weights, empty and constant rows and columns."""

import numpy as np
from hypothesis import strategies as st

from fenchel.losses import LOSSES

#: scores where something happens: kinks, ties, saturation, overflow of exp and of squares
SPECIAL_SCORES = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, 1e-12, 30.0, -30.0, 1e3, -1e3, 1e8, -1e8)
EXTREME_SCORES = (1e3, -1e3, 1e300, -1e300)

finite = st.floats(-50, 50, allow_nan=False, allow_subnormal=False)
scores = st.one_of(finite, st.sampled_from(SPECIAL_SCORES))
curvatures = st.one_of(
    st.floats(1e-6, 1e6, allow_nan=False), st.sampled_from((0.0, 1e-12, 1.0, 1e3, 1e12)), st.floats(0.0, 4.0)
)
fractions = st.one_of(st.floats(0, 1), st.sampled_from((0.0, 1.0, 0.5, 1e-16, 1 - 1e-16)))
losses = st.sampled_from([loss() for loss in LOSSES.values()])
seeds = st.integers(0, 2**32 - 1)


def labels(loss):
    return st.sampled_from((-1.0, 1.0)) if loss.task == "classification" else scores


def slope_at(loss, label, fraction):
    """The slope at this fraction of the domain of the conjugate; unbounded domains are cut at 20."""
    low, high = (float(end) for end in loss.domain(np.float64(label)))
    low, high = max(low, -20.0), min(high, 20.0)
    return low + fraction * (high - low)


@st.composite
def loss_points(draw):
    """(loss, label, score, slope in the domain)."""
    loss = draw(losses)
    label = draw(labels(loss))
    return loss, label, draw(scores), slope_at(loss, label, draw(fractions))


@st.composite
def weights(draw, n):
    """Non-negative weights with zeros, not all zero."""
    values = draw(st.lists(st.sampled_from((0.0, 0.0, 1.0, 2.0, 0.25, 1e-3)), min_size=n, max_size=n))
    if not any(values):
        values[draw(st.integers(0, n - 1))] = 1.0
    return np.array(values)


@st.composite
def matrices(draw, max_rows=8, max_columns=5):
    """Small matrices with empty rows and columns, constant columns and duplicate rows; n = 1 and 2 among them."""
    n = draw(st.one_of(st.sampled_from((1, 2)), st.integers(1, max_rows)))
    d = draw(st.integers(1, max_columns))
    rng = np.random.default_rng(draw(seeds))
    X = rng.integers(-3, 4, (n, d)) / draw(st.sampled_from((1.0, 2.0, 7.0)))
    X[:, rng.random(d) < 0.15] = 0.0
    X[rng.random(n) < 0.15] = 0.0
    X[:, rng.random(d) < 0.15] = 1.0
    repeated = rng.random(n) < 0.2
    X[repeated] = X[0]
    return X


@st.composite
def problem_data(draw):
    """(X, labels, weights or None, loss, lam, intercept, l1_ratio)."""
    X = draw(matrices())
    loss = draw(losses)
    rng = np.random.default_rng(draw(seeds))
    if loss.task == "classification":
        y = rng.choice([-1.0, 1.0], X.shape[0])
    else:
        y = rng.normal(size=X.shape[0]) * draw(st.sampled_from((1.0, 1e-3, 1e3)))
    sample_weights = draw(st.one_of(st.none(), weights(X.shape[0])))
    lam = draw(st.sampled_from((1e-3, 1e-2, 0.1, 1.0, 1e3)))
    l1_ratio = draw(st.sampled_from((0.0, 0.0, 0.1, 0.5, 0.99)))
    return X, y, sample_weights, loss, lam, draw(st.booleans()), l1_ratio
