"""Pairs with rows on demand, kept in float32: the optimum of the matrix in memory, to any tolerance."""

from __future__ import annotations

import numpy as np
import pytest

from fenchel import Problem, solve
from fenchel.kernels import GramDesign, GramNorm, KernelDesign, lazy_gram
from fenchel.kernels.cached_gram import cached_gram
from fenchel.kernels.kernel_rows import KernelRows
from fenchel.kernels.lazy_gram import LazyGram, gram_of
from fenchel.risks import MeanRisk

N = 300


def _rows(seed: int = 0) -> KernelRows:
    X = np.random.default_rng(seed).standard_normal((N, 4))
    return KernelRows(lambda A, B: None, X, 0.3)


def _problem(gram: KernelDesign, rows: KernelRows, loss: str, C: float = 10.0) -> Problem:
    noise = np.random.default_rng(1).standard_normal(N)
    y = rows.X[:, 0] + 0.5 * noise
    labels = y if loss == "epsilon_insensitive" else np.where(y > 0.0, 1.0, -1.0)
    return Problem(gram, MeanRisk(loss, labels), 1.0 / (C * N), GramNorm(gram), True)


@pytest.mark.parametrize("megabytes", [0.05, 0.3])
@pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive"])
def test_rounded_rows_reach_the_optimum_of_the_exact_matrix(loss: str, megabytes: float) -> None:
    """Rows of float32 move the scores; those of certificates, which replace them, are exact."""
    rows = _rows()
    exact = solve(_problem(GramDesign(rows.whole()), rows, loss), tol=1e-9, max_iter=20000).certificate
    gram = cached_gram(rows, megabytes, named=True)
    found = solve(_problem(gram, rows, loss), "dual_coordinate", tol=1e-8, max_iter=20000)
    assert gram.rounded and gram.capacity < N
    assert found.converged
    assert found.certificate.lower <= exact.upper and exact.lower <= found.certificate.upper


def test_rows_that_no_step_needs_are_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy_gram, "_FEWEST", 1)
    rows = _rows()
    gram = gram_of(rows, 100.0, named=True)
    assert isinstance(gram, LazyGram)
    problem = _problem(gram, rows, "hinge", 0.1)
    found = solve(problem, "dual_coordinate", tol=1e-3)
    assert found.converged
    assert "_values" not in vars(gram)
    whole = solve(_problem(GramDesign(rows.whole()), rows, "hinge", 0.1), tol=1e-6).certificate
    assert found.certificate.lower <= whole.upper and whole.lower <= found.certificate.upper


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_a_lazy_matrix_proves_what_the_whole_one_proves(monkeypatch: pytest.MonkeyPatch, loss: str) -> None:
    """Down to targets that need the rounding errors of the whole matrix, and for solvers that use all of it."""
    monkeypatch.setattr(lazy_gram, "_FEWEST", 1)
    rows = _rows(2)
    lazy, whole = gram_of(rows, 100.0, named=True), GramDesign(rows.whole(), entry_error=rows.entry_error)
    found, expected = (solve(_problem(gram, rows, loss), tol=5e-11, max_iter=20000) for gram in (lazy, whole))
    assert found.converged and expected.converged
    assert found.certificate.lower <= expected.certificate.upper
    assert expected.certificate.lower <= found.certificate.upper
    np.testing.assert_array_equal(lazy.in_memory().descending().values, whole.descending().values)
