"""Made-up data, the same in every process: small sets for smoke tests, and two recipes that can be as large as asked.

gaussian@n   n rows of 30 standard normal features as a dense array; scores of a planted model of unit length plus
             normal noise of standard deviation 0.5; the class is the sign.  About 15 % of the classes are noise.
even@n       n rows of 300 standard normal features; scores of a planted normal model, of variance 4, plus
             logistic noise; the class is the sign.
uneven@n     the same with features whose standard deviations fall geometrically from 1 to 1/300, turned by a random
             orthogonal matrix; the planted model is the same on the features of unit deviation.
connections@n
             n network connections of 30 kinds, which are frequent as 1/rank^1.5: three names, each that of the kind
             in nine of ten rows, and 35 sizes, log-normal where the kind has one, in 7 of 10 rows its median; columns
             of sizes are divided by their maxima; the class is that of the kind, and 0.3 % are turned round.
text@N       texts of 100 words each, drawn from a vocabulary of 100,000 words whose frequency falls as 1/rank; a
             row holds log(vocabulary rank + 1)-weighted counts scaled to unit length (rare words count more, as in
             tf-idf); about 80 distinct words a row, and N/80 rows; the class is the side of the median on which the
             score of a planted normal model lies, and 5 % of the classes are turned round.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import norm

GAUSSIAN_COLUMNS = 30
#: features of ``even`` and ``uneven``, and the least standard deviation of the second
LONG_ROW, _LEAST_DEVIATION = 300, 1.0 / 300.0
_NOISE = 0.5
VOCABULARY = 100_000
WORDS_PER_TEXT = 100
#: distinct words of a text
DISTINCT_PER_TEXT = 80
_TURNED_ROUND = 0.05
#: kinds of connections, their names and sizes, and the share of a maximum below which a size is zero
_KINDS, _NAMES, _SIZES, _SMALLEST_SIZE = 30, (3, 30, 10), 35, 1e-4


def gaussian(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """The recipe gaussian@rows."""
    random = np.random.default_rng(0)
    planted = random.standard_normal(GAUSSIAN_COLUMNS)
    planted /= np.linalg.norm(planted)
    matrix = random.standard_normal((rows, GAUSSIAN_COLUMNS))
    return matrix, np.where(matrix @ planted + _NOISE * random.standard_normal(rows) > 0.0, 1.0, -1.0)


def even(rows: int, least: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """The recipe even@rows; with the least standard deviation of a feature."""
    random = np.random.default_rng(0)
    planted = 2.0 / np.sqrt(LONG_ROW) * random.standard_normal(LONG_ROW)
    matrix = random.standard_normal((rows, LONG_ROW))
    labels = np.where(matrix @ planted + random.logistic(size=rows) > 0.0, 1.0, -1.0)
    if least < 1.0:
        turn = np.linalg.qr(random.standard_normal((LONG_ROW, LONG_ROW)))[0]
        matrix = matrix @ (np.geomspace(1.0, least, LONG_ROW)[:, None] * turn)
    return matrix, labels


def connections(rows: int) -> tuple[sp.csr_matrix, np.ndarray]:
    """The recipe connections@rows."""
    random = np.random.default_rng(11)
    classes = np.where(random.random(_KINDS) < 0.8, -1.0, 1.0)
    frequency = 1.0 / np.arange(1, _KINDS + 1) ** 1.5
    random.shuffle(classes)
    kinds = random.choice(_KINDS, rows, p=frequency / frequency.sum())
    own = np.stack([random.integers(0, count, _KINDS) for count in _NAMES], axis=1)
    usual = random.random((rows, len(_NAMES))) < 0.9
    names = np.where(usual, own[kinds], np.stack([random.integers(0, count, rows) for count in _NAMES], axis=1))
    medians = 1.5 * random.standard_normal((_KINDS, _SIZES))
    present = random.random((_KINDS, _SIZES)) < 0.4
    spread = random.standard_normal((rows, _SIZES)) * (random.random((rows, 1)) > 0.7)
    sizes = np.where(present[kinds], np.exp(medians[kinds] + spread), 0.0)
    sizes /= sizes.max(axis=0)
    sizes[sizes < _SMALLEST_SIZE] = 0.0
    columns = [np.eye(count)[names[:, k]] for k, count in enumerate(_NAMES)]
    labels = np.where(random.random(rows) < 0.003, -classes[kinds], classes[kinds])
    return tidy(sp.csr_matrix(np.hstack([*columns, sizes]))), labels


def text(nonzeros: int) -> tuple[sp.csr_matrix, np.ndarray]:
    """The recipe text@nonzeros."""
    random = np.random.default_rng(0)
    rows = max(10, round(nonzeros / DISTINCT_PER_TEXT))
    planted = random.standard_normal(VOCABULARY)
    rank = np.arange(1, VOCABULARY + 1)
    cumulative = np.cumsum(1.0 / rank)
    words = np.searchsorted(cumulative, random.uniform(0.0, cumulative[-1], rows * WORDS_PER_TEXT)).astype(np.int32)
    ends = np.arange(rows + 1, dtype=np.int32) * WORDS_PER_TEXT
    matrix = sp.csr_matrix((np.log1p(rank)[words], words, ends), shape=(rows, VOCABULARY))
    matrix.sum_duplicates()
    lengths = norm(matrix, axis=1)
    matrix.data /= np.repeat(lengths, np.diff(matrix.indptr))
    scores = matrix @ planted
    labels = np.where(scores > np.median(scores), 1.0, -1.0)
    labels[random.uniform(size=rows) < _TURNED_ROUND] *= -1.0
    return matrix, labels


def _simulated(regression: bool, rows: int = 400, columns: int = 60) -> tuple[sp.csr_matrix, np.ndarray]:
    random = np.random.default_rng(0)
    matrix = tidy(sp.random(rows, columns, density=0.2, random_state=random, data_rvs=random.standard_normal))
    scores = matrix @ random.standard_normal(columns) + 0.5 * random.standard_normal(rows)
    return matrix, scores / np.std(scores) if regression else np.where(scores > 0, 1.0, -1.0)


def tidy(matrix: Any) -> sp.csr_matrix:
    """CSR with sorted int32 indices."""
    matrix = sp.csr_matrix(matrix)
    matrix.sort_indices()
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return matrix


#: made for a size
RECIPES: dict[str, Callable[[int], tuple[Any, np.ndarray]]] = {
    "gaussian": gaussian,
    "even": even,
    "uneven": lambda rows: even(rows, _LEAST_DEVIATION),
    "connections": connections,
    "text": text,
}
#: small, of one size
SIMULATED: dict[str, Callable[[], tuple[sp.csr_matrix, np.ndarray]]] = {
    "simulated": lambda: _simulated(regression=False),
    "simulated-regression": lambda: _simulated(regression=True),
}
