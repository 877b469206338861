"""Kernels between rows of every kind of numbers: their Gram matrices are those of the same rows in float64."""

import numpy as np
import pytest
import scipy.sparse as sp

from fenchel import SequenceClassifier

KINDS = ("float32", "float16", "int8", "uint8", "int64", "bool")
KERNELS = {
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "gamma": 1e-4, "coef0": 1.0},
    "rbf": {"kernel": "rbf", "gamma": 1e-4},
    "function": {"kernel": lambda a, b: np.asarray(a) @ np.asarray(b).T},
}
LENGTHS = [3, 1, 4]


def tokens(kind):
    """Numbers whose squares no 8 bits hold, and signs of a boolean."""
    X = np.random.default_rng(2).integers(1, 120, size=(8, 3))
    return (X > 60 if kind == "bool" else X).astype(kind)


def fitted(X, **options):
    labels = np.arange(8) % 2
    return SequenceClassifier("logistic", **{"tol": 1e-6, **options}).fit(X, labels, lengths=LENGTHS)


def test_a_linear_kernel_of_float32_is_computed_in_float64():
    """Products rounded to float32 are not positive semi-definite to the accuracy that the certificate counts on."""
    X = (1e4 * np.random.default_rng(0).normal(size=(8, 1))).astype(np.float32)
    options = {"kernel": "linear", "C": 0.2, "tol": 1e-4}
    found, expected = fitted(X, **options), fitted(X.astype(np.float64), **options)
    assert not found.certificate_.contradictory
    assert found.certificate_.lower <= expected.certificate_.upper
    assert found.certificate_ == expected.certificate_


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", KINDS)
def test_fits_and_predictions_are_those_of_float64(kind, kernel, storage):
    if kind == "float16" and storage is sp.csr_array:
        pytest.skip("SciPy has no sparse arrays of float16")
    if kernel == "function" and storage is sp.csr_array:
        pytest.skip("the function is for arrays")
    X = storage(tokens(kind))
    found, expected = fitted(X, **KERNELS[kernel]), fitted(storage(tokens(kind).astype(np.float64)), **KERNELS[kernel])
    assert found.certificate_ == expected.certificate_
    np.testing.assert_array_equal(found.dual_coef_, expected.dual_coef_)
    marginals = found.predict_marginals(X, lengths=LENGTHS)
    np.testing.assert_array_equal(marginals, expected.predict_marginals(X.astype(np.float64), lengths=LENGTHS))
