"""What the tests of Newton's method share."""

from dataclasses import dataclass, field

import numpy as np
import pytest

import fenchel.solvers.newton.direction as direction_module
from catalog import LOSS_OBJECTS, PLAIN_CASES, PLAIN_SPARSE_CASES, loss_id
from fenchel.solvers import Newton

EPS = np.finfo(float).eps
both_plain_cases = pytest.mark.parametrize("case", [*PLAIN_CASES, *PLAIN_SPARSE_CASES], ids=str)
every_loss = pytest.mark.parametrize("loss", LOSS_OBJECTS, ids=loss_id)
intercepts = pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])


both_storages = pytest.mark.parametrize("storage", ["dense", "sparse"])


def smoothed_value(loss, labels, centre, scores, mu):
    """max over a of -f*(-a) - a s - mu/2 (a - centre)^2, and its maximizer, by the vectorized functions."""
    a = loss.dual_step(labels, centre, scores, np.full_like(scores, mu))
    return -loss.conjugate(-a, labels) - a * scores - 0.5 * mu * (a - centre) ** 2, a


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


WAYS = ("exact", "subsample", "many")


def choose_way(way, monkeypatch, residual=1e-13):
    """Make ``Quadratic`` solve in one of its three ways, to the end if it is iterative."""
    monkeypatch.setattr(direction_module, "_CG_TOLERANCE", residual)
    if way == "subsample":
        for name, value in (("_SHORT_ROW", 0), ("_FEW_FEATURES", 0)):
            monkeypatch.setattr(direction_module, name, value)
        monkeypatch.setattr(direction_module, "FEWEST_ROWS_PER_UNKNOWN", 1)
        monkeypatch.setattr(direction_module, "_MOST_ROWS_PER_UNKNOWN", 1)
    if way == "many":
        monkeypatch.setattr(direction_module, "MOST_FEATURES", 0)


@dataclass(frozen=True)
class Interrupting(Newton):
    """Ctrl-C arrives in the m-th step."""

    after: int = 0
    steps: list = field(default_factory=list)

    def step(self, state, hint):
        self.steps.append(1)
        if len(self.steps) > self.after:
            raise KeyboardInterrupt
        return super().step(state, hint)
