"""Storage that scikit-learn would convert before anybody looked at it: broken sparse matrices, and masks."""

import numpy as np
import pytest
import scipy.sparse as sp

from fenchel import (
    FenchelError,
    KernelClassifier,
    KernelRegressor,
    LinearClassifier,
    LinearClassifierCV,
    LinearRegressor,
    LogisticRegression,
    MeasureClassifier,
    OnlineClassifier,
    OrdinalClassifier,
)

ESTIMATORS = [
    LinearClassifier(),
    LinearRegressor(),
    LinearClassifierCV(cv=2),
    LogisticRegression(),
    MeasureClassifier("f1"),
    OrdinalClassifier(),
    KernelClassifier(),
    KernelRegressor(),
    OnlineClassifier(),
]
X, Y = np.random.default_rng(0).normal(size=(10, 2)), np.array([0, 1] * 5)


def broken_matrices():
    """One of each format; SciPy's conversions read or write foreign memory."""
    coo = sp.coo_matrix(X)
    coo.row[0] = 10**6
    yield coo
    columns = sp.coo_array(X)
    columns.coords[1][3] = -(10**6)
    yield columns
    csr = sp.csr_array(X)
    csr.indices[2] = 10**6
    yield csr
    csc = sp.csc_array(X)
    csc.indptr[1] = 10**6
    yield csc
    bsr = sp.bsr_array(X, blocksize=(2, 2))
    bsr.indices[0] = 10**6
    yield bsr
    lil = sp.lil_array(X)
    lil.rows[0][0] = 10**6
    yield lil


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_broken_matrices_and_masks_are_refused(estimator):
    fitted = estimator.fit(X, Y)
    for matrix in broken_matrices():
        with pytest.raises(FenchelError, match="broken sparse matrix"):
            estimator.fit(matrix, Y)
        with pytest.raises(FenchelError, match="broken sparse matrix"):
            fitted.predict(matrix)
    masked = np.ma.masked_greater(X, 0.5)
    with pytest.raises(FenchelError, match="X is a masked array"):
        estimator.fit(masked, Y)
    with pytest.raises(FenchelError, match="X is a masked array"):
        fitted.predict(masked)
    with pytest.raises(FenchelError, match="y is a masked array"):
        estimator.fit(X, np.ma.array(Y, mask=Y == 1))


def test_a_mask_without_masked_entries_is_an_array():
    found = LinearClassifier(random_state=0).fit(np.ma.array(X), np.ma.array(Y))
    np.testing.assert_array_equal(found.coef_, LinearClassifier(random_state=0).fit(X, Y).coef_)
