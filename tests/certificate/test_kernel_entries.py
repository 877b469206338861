"""Certificates of kernels whose Gram matrix is rounded: they hold for the exact kernel, which is semi-definite."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from fenchel import KernelClassifier, Model, Problem, Witness
from fenchel.certificate import judge, rigorous_certificate
from fenchel.kernels import ChainGram, GramDesign, GramNorm
from fenchel.kernels.kernel_rows import KernelRows
from fenchel.kernels.rbf import most_terms
from fenchel.risks import MeanRisk

LAM = 0.01


@pytest.mark.filterwarnings("ignore::fenchel.errors.GapWarning")
@pytest.mark.parametrize("C", [1e4, 1e7, 1e10, 1e13])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_near_repetitions_far_from_the_origin(storage, C):
    """Distances cancel, and K has eigenvalues of -1e-13 that are no rounding of its products."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        base = rng.normal(size=30)
        rows = 30.0 * base / np.linalg.norm(base) + 1e-8 * rng.normal(size=(12, 30))
        model = KernelClassifier("squared_hinge", kernel="rbf", gamma=1.0, C=C, max_iter=200)
        found = model.fit(storage(rows), np.arange(12) % 2).certificate_
        assert not found.contradictory
        # the objective of no weights
        assert found.lower <= 1.0


@pytest.mark.parametrize("n", [12, 160])
@pytest.mark.parametrize("error", [0.0, 1e-9])
def test_the_bounds_hold_for_every_matrix_within_the_errors_of_the_entries(n, error):
    """The worst of these matrices, in fractions; 160 scores are more than the finer bounds are always computed for."""
    rng = np.random.default_rng(n)
    X, signs = rng.normal(size=(n, 3)), np.where(rng.random(n) < 0.5, 1.0, -1.0)
    K = np.tril(X @ X.T)
    K += np.tril(K, -1).T
    gram, coefficients, theta = GramDesign(K, entry_error=error), signs * rng.random(n), -signs * rng.random(n) / n
    y = -50.0 * signs
    problem = Problem(gram, MeanRisk("absolute", y), LAM, GramNorm(gram))
    verdict = judge(problem, Model(coefficients, 0.0), Witness(theta))
    lengths = np.sqrt(np.diagonal(K)) * signs
    worst = [
        [Fraction(k) + Fraction(0.999999 * error) * Fraction(e) for k, e in zip(row, more, strict=True)]
        for row, more in zip(K.tolist(), np.multiply.outer(lengths, lengths).tolist(), strict=True)
    ]
    a, t, labels = ([Fraction(c) for c in each.tolist()] for each in (coefficients, verdict.witness.theta, y))
    scores, images = ([sum(k * c for k, c in zip(row, by, strict=True)) for row in worst] for by in (a, t))
    lam = Fraction(LAM)
    primal = lam / 2 * sum(c * s for c, s in zip(a, scores, strict=True))
    primal += sum(abs(s - own) for s, own in zip(scores, labels, strict=True)) / n
    dual = sum(c * own for c, own in zip(t, labels, strict=True))
    dual -= sum(c * image for c, image in zip(t, images, strict=True)) / (2 * lam)
    certificate = verdict.certificate
    for one in (certificate, rigorous_certificate(problem, verdict)):
        assert Fraction(one.lower) <= dual
        assert primal <= Fraction(one.upper)
    # rounding alone explains neither
    if error:
        assert primal > Fraction(certificate.primal) + Fraction(1e-3 * error)
        assert dual < Fraction(certificate.dual) - Fraction(1e-3 * error)
    assert certificate.primal_error <= 1e-10 + 100.0 * n * error


def test_errors_of_entries_are_those_of_the_terms_of_a_row():
    rows = sp.csr_array(np.eye(9)[[0, 1, 2]])
    assert most_terms(rows) == 2
    assert most_terms(rows.toarray()) == 9
    assert most_terms(sp.csr_array((3, 9))) == 0
    found = KernelRows(lambda a, b: (a @ b.T).toarray(), rows)
    assert 0.0 < found.entry_error < KernelRows(lambda a, b: a @ b.T, rows.toarray()).entry_error < 1e-13
    gram = GramDesign(found.whole(), entry_error=found.entry_error)
    assert ChainGram(gram, 2).entry_error == gram.entry_error
    assert math.isfinite(gram.most_score_roundings)
    assert GramDesign(np.zeros((2, 2)), entry_error=1e-9).most_score_roundings == 3.0
