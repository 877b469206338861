"""Rows and labels that the tests of the front ends share."""

import numpy as np


def lines_of(X, y):
    """Lines of a svmlight file; some entries are zero and left out."""
    return "".join(
        " ".join([f"{label:.17g}", *(f"{j}:{value:.17g}" for j, value in enumerate(row, start=1) if value)]) + "\n"
        for row, label in zip(X.tolist(), np.asarray(y).tolist(), strict=True)
    )


def examples(rows=60, features=5, seed=0):
    """Rows with zeros, and a number for each that depends on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features)) * (rng.random((rows, features)) < 0.8)
    return X, X @ np.linspace(1.0, -1.0, features) + 0.3 + 0.5 * rng.normal(size=rows)


def two_labels(target):
    return np.where(target > 0, 1, -1)


def three_labels(target):
    """Numbered so that neither their order nor that of their first rows is ascending."""
    return np.array([7, -3, 2])[np.digitize(target, [-0.5, 0.7])]
