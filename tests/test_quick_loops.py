"""Small dense data as sparse rows, as a plain run calls its loops: the same matrix, and nothing else is touched."""

import numpy as np
import pytest

from fenchel.designs.rows import CSRRows, DenseRows, dense_rows
from quick_loops import FEW_ENTRIES, sparse_rows


def test_every_row_is_the_same():
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(5, 3)), rng.normal(size=3)
    X[1], X[2, 0] = 0.0, 0.0
    dense = dense_rows(X)
    sparse = sparse_rows(dense)
    assert isinstance(sparse, CSRRows)
    assert not any(array.flags.writeable for array in sparse)
    for i in range(5):
        assert sparse.row_dot(i, w) == pytest.approx(dense.row_dot(i, w), rel=1e-15)
        assert sparse.row_square(i) == pytest.approx(dense.row_square(i), rel=1e-15)
        moved = [w.copy(), w.copy()]
        for rows, weights in zip((sparse, dense), moved, strict=True):
            rows.row_add(i, 0.3, weights)
        np.testing.assert_allclose(*moved, rtol=1e-15)


@pytest.mark.parametrize(
    "values",
    [np.ones((2, 3), np.float32), np.ones((2, 3), order="F"), np.ones((FEW_ENTRIES, 2))],
    ids=["float32", "F", "large"],
)
def test_other_data_stay(values):
    rows = DenseRows(values)
    assert sparse_rows(rows) is rows
    assert sparse_rows(values) is values
