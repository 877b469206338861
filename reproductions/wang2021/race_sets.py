"""The sets of Figures 1 and 2, with what was run of each, and a made-up one of 1,000 classes in place of ALOI.

The made-up set has ALOI's number of classes and features, a quarter of its entries, as ALOI, and a tenth of its rows:
the rows of a class are noisy, sparse copies of its centre.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from benchmarks.classes import Split, load_split
from benchmarks.synthetic import tidy


class Plan(NamedTuple):
    """What is run of a set."""

    exponents: tuple[int, ...]
    #: from 0 on; none: it is run with --seeds alone
    seeds: int
    #: how many of the three decays
    decays: int


PLANS = {
    "dna": Plan((-6, -3, 0, 3), 5, 3),
    "satimage": Plan((-6, -3, 0, 3), 5, 3),
    "letter": Plan((-6, -3, 0), 5, 3),
    "news20": Plan((-6, -3, 0, 3), 5, 3),
    "sector": Plan((-6, -3, 0), 5, 2),
    "thousand": Plan((-3, 0), 5, 2),
    "mnist": Plan((-6,), 5, 2),
    "clouds": Plan((-3, 0), 2, 3),
}
CLASSES = {"dna": 3, "clouds": 4, "satimage": 6, "mnist": 10, "news20": 20, "letter": 26, "sector": 105}
CLASSES |= {"thousand": 1000}
#: of the made-up set: training and test rows of a class, features, share of entries, noise beside the centres
_ROWS, _TEST_ROWS, _FEATURES, _DENSITY, _NOISE = 8, 2, 128, 0.25, 0.5


def thousand() -> Split:
    """The made-up set."""
    random = np.random.default_rng(1000)
    centres = np.abs(random.standard_normal((1000, _FEATURES))) * (random.random((1000, _FEATURES)) < _DENSITY)
    parts = []
    for rows in (_ROWS, _TEST_ROWS):
        classes = np.repeat(np.arange(1000), rows)
        noise = 1.0 + _NOISE * random.standard_normal((len(classes), _FEATURES))
        points = centres[classes] * noise
        points /= np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-12)
        parts.append((tidy(sp.csr_matrix(points)), classes))
    (matrix, classes), (test_matrix, test_classes) = parts
    return Split("thousand", matrix, classes, test_matrix, test_classes, 1000)


@lru_cache(maxsize=1)
def load(data: str) -> Split:
    """The set of that name; news20 has the test part of seed 0."""
    return thousand() if data == "thousand" else load_split(data)
