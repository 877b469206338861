"""A list of adjacent parts of one array is that array; any other list is copied, with the same rows."""

import numpy as np
import pytest
import scipy.sparse as sp

from fenchel import SequenceClassifier
from fenchel.estimators.adjacent import joined_rows

LENGTHS = [3, 1, 4, 2]
CUTS = np.cumsum(LENGTHS)


def matrix(seed=0, density=0.6):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((sum(LENGTHS), 5)) * (rng.random((sum(LENGTHS), 5)) < density)
    # a row and a sequence without entries
    X[0], X[3] = 0.0, 0.0
    return X


@pytest.mark.parametrize(
    "X",
    [matrix(), np.asfortranarray(matrix()), np.hstack([matrix(), matrix(1)])[:, 1:6], matrix()[::-1]],
    ids=["C", "Fortran", "columns", "reversed"],
)
def test_parts_of_an_array_are_that_array(X):
    parts = np.split(X, CUTS[:-1])
    found = joined_rows(parts)
    assert np.shares_memory(found, X)
    assert not found.flags.writeable
    np.testing.assert_array_equal(found, X)


def test_slices_of_a_sparse_matrix_are_that_matrix():
    X = sp.csr_array(matrix())
    parts = [X[end - size : end] for size, end in zip(LENGTHS, CUTS, strict=True)]
    found = joined_rows(parts)
    np.testing.assert_array_equal(found.toarray(), X.toarray())
    shared = all(np.shares_memory(part.data, X.data) for part in parts if part.nnz)
    assert np.shares_memory(found.data, X.data) == shared
    # views of its arrays, whatever SciPy's slices are
    views = []
    for size, end in zip(LENGTHS, CUTS, strict=True):
        low, high = X.indptr[end - size], X.indptr[end]
        one = sp.csr_array((size, 5))
        one.data, one.indices = X.data[low:high], X.indices[low:high]
        one.indptr = X.indptr[end - size : end + 1] - low
        views.append(one)
    found = joined_rows(views)
    assert np.shares_memory(found.data, X.data)
    assert np.shares_memory(found.indices, X.indices)
    np.testing.assert_array_equal(found.toarray(), X.toarray())


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("order", [[1, 0, 2, 3], [0, 2, 3], [0, 1, 1, 2]], ids=["swapped", "gap", "twice"])
def test_other_parts_are_copied(sparse, order):
    X = matrix()
    chosen = [np.split(X, CUTS[:-1])[k] for k in order]
    parts = [sp.csr_array(part) for part in chosen] if sparse else chosen
    found = joined_rows(parts)
    assert not np.shares_memory(found.data if sparse else found, X)
    np.testing.assert_array_equal(found.toarray() if sparse else found, np.concatenate(chosen))


def test_parts_of_two_arrays_are_copied():
    one, other = matrix(), matrix(1)
    found = joined_rows([one[:3], other[3:]])
    np.testing.assert_array_equal(found, np.concatenate([one[:3], other[3:]]))


def test_a_fit_to_parts_is_that_to_the_matrix_and_does_not_copy_it():
    X, y = matrix(), np.tile([0, 1], sum(LENGTHS))[: sum(LENGTHS)]
    model = SequenceClassifier("logistic", random_state=0)
    parts, labels = np.split(X, CUTS[:-1]), np.split(y, CUTS[:-1])
    assert np.shares_memory(model.encode(parts, labels).X.X, X)
    one = model.fit(parts, labels).coef_.copy()
    np.testing.assert_array_equal(one, model.fit(X, y, lengths=LENGTHS).coef_)
