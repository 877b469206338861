"""Products of a design with balls contain the exact products, in every storage and any number of blocks."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from fenchel.designs import as_design, csr, enclosures
from fenchel.numerics.balls import as_ball

ROWS, COLUMNS = 23, 5


def matrices():
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(ROWS, COLUMNS)) * 10.0 ** rng.integers(-8, 9, (ROWS, COLUMNS))
    dense[rng.random(dense.shape) < 0.4] = 0.0
    dense[3], dense[:, 2] = 0.0, 0.0
    whole = sp.csr_array(dense)
    # every entry in two parts, unsorted
    parts = [(0.7 * row.data, row.data - 0.7 * row.data, row.indices) for row in (whole[[i]] for i in range(ROWS))]
    indices = np.concatenate([np.concatenate([j, j[::-1]]) for _, _, j in parts])
    data = np.concatenate([np.concatenate([a, b[::-1]]) for a, b, _ in parts])
    repeated = sp.csr_array((data, indices, 2 * whole.indptr), shape=dense.shape)
    return {
        "dense": dense,
        "fortran": np.asfortranarray(dense),
        "float32": dense.astype(np.float32),
        "integers": np.rint(dense).astype(np.int64),
        "csr": whole,
        "csr_float32": whole.astype(np.float32),
        "csc": whole.tocsc(),
        "repeated": repeated,
    }


def exact_entries(matrix):
    """The entries as fractions; those that are stored twice add up."""
    if not sp.issparse(matrix):
        return [[Fraction(entry.item()) for entry in row] for row in matrix]
    found = [[Fraction(0)] * COLUMNS for _ in range(ROWS)]
    stored = matrix.tocoo()
    for i, j, entry in zip(*stored.coords, stored.data, strict=True):
        found[i][j] += Fraction(entry.item())
    return found


def check(ball, true):
    error = abs(Fraction(float(ball.high)) + Fraction(float(ball.low)) - true)
    assert error <= Fraction(float(ball.radius))


@pytest.mark.meetings(1)
@pytest.mark.parametrize("name", matrices())
@pytest.mark.parametrize("block", [1, 7, 1 << 20])
def test_products_contain_the_exact_ones(name, block, monkeypatch):
    monkeypatch.setattr(csr, "BLOCK", block)
    monkeypatch.setattr(enclosures, "_BLOCK", block)
    matrix, rng = matrices()[name], np.random.default_rng(1)
    entries, design = exact_entries(matrix), as_design(matrix).enclosure()
    weights, theta = rng.normal(size=(2, COLUMNS)), rng.normal(size=(ROWS, 2))
    scores, adjoint = design.scores(as_ball(weights)), design.adjoint(as_ball(theta))
    assert scores.shape == (ROWS, 2)
    assert adjoint.shape == (2, COLUMNS)
    for k in range(2):
        w, t = [Fraction(x) for x in weights[k].tolist()], [Fraction(x) for x in theta[:, k].tolist()]
        for i in range(ROWS):
            check(scores[i, k], sum(x * y for x, y in zip(entries[i], w, strict=True)))
        for j in range(COLUMNS):
            check(adjoint[k, j], sum(row[j] * y for row, y in zip(entries, t, strict=True)))
    single = design.scores(as_ball(weights[0]))
    assert np.array_equal(single.high, scores.high[:, 0])
    assert np.array_equal(design.adjoint(as_ball(theta[:, 1])).high, adjoint.high[1])
    assert np.max(scores.radius / (np.abs(as_design(matrix).scores(np.abs(weights))) + 1e8)) <= 1e-25


def test_the_radius_of_a_vector_counts():
    matrix = np.array([[2.0, -3.0]])
    found = as_design(matrix).enclosure().scores(as_ball(np.ones(2)).widened(np.array([0.1, 0.01])))
    assert 0.23 <= found.radius[0] <= 0.23 * (1.0 + 1e-9)


def test_sums_of_segments_contain_the_exact_ones():
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 9, 40)
    values = rng.normal(size=int(counts.sum()))
    found = enclosures.segment_sums(as_ball(values), counts)
    for place, part in enumerate(np.split(values, np.cumsum(counts)[:-1])):
        check(found[place], sum(map(Fraction, part.tolist()), Fraction(0)))
