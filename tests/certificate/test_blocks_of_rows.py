"""Certificates that read the rows in blocks find what they find in one block."""

import numpy as np
import pytest

from fenchel import Problem, certify, solve
from fenchel.certificate import optimum, rounding
from fenchel.certificate.predictions import certified_predictions
from fenchel.risks import MeanRisk


@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_small_blocks_change_nothing(loss, monkeypatch):
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(60, 4)), rng.normal(size=(25, 4))
    problem = Problem(X, MeanRisk(loss, np.where(X[:, 0] > 0, 1.0, -1.0)), 0.02, intercept=True)
    solution = solve(problem, tol=1e-6)

    def found():
        intervals = certified_predictions(problem, solution.model, solution.witness, T)
        certificate = certify(problem, solution.model, solution.witness)
        return np.concatenate([intervals.lower, intervals.upper, [certificate.primal_error, certificate.dual_error]])

    whole = found()
    monkeypatch.setattr(optimum, "_BLOCK_ENTRIES", 28)
    monkeypatch.setattr(rounding, "MANY_SCORES", 7)
    np.testing.assert_allclose(found(), whole, rtol=1e-9)
