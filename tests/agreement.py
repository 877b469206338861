"""What it means that two answers to one problem agree, and the conic solver's answer to compare with."""

import functools
import math

import numpy as np
import pytest

import slow_reference as slow
from fenchel.certificate import judge
from slow_conic import conic_optimum


@functools.cache
def conic_answer(case):
    """(w, b, objective) of a case from the conic solver."""
    X, y, weights = case.data()
    c = slow.shares(len(y), weights)
    return conic_optimum(case.loss, X, y, c, case.lam, case.intercept, case.l1_ratio)


def assert_certified(problem, solution):
    """The certificate is that of the returned model and witness."""
    again = judge(problem, solution.model, solution.witness).certificate
    assert solution.certificate.primal == pytest.approx(again.primal, rel=1e-14)
    assert solution.certificate.dual == pytest.approx(again.dual, rel=1e-12, abs=again.rounding_floor)
    assert solution.model.intercept is not None


def distance_bound(problem, gap):
    """How far weights can be from the optimal ones: lam sigma/2 |w - w*|^2 <= P(w) - P* <= gap."""
    return math.sqrt(2 * max(gap, 0.0) / (problem.lam * problem.regularizer.strong_convexity))


def assert_same_optimum(problem, one, other, tol=1e-8):
    """Two solutions of the same problem (or of equivalent ones): objectives, bounds and weights agree."""
    first, second = one.certificate, other.certificate
    assert first.primal == pytest.approx(second.primal, rel=tol)
    floor = first.rounding_floor + second.rounding_floor
    assert first.dual <= second.primal + floor
    assert second.dual <= first.primal + floor
    apart = distance_bound(problem, first.gap + floor) + distance_bound(problem, second.gap + floor)
    assert np.linalg.norm(one.model.weights - other.model.weights) <= apart


def assert_sound(solution, data, loss_name, lam, l1_ratio, upper):
    """The certificate tells no more than its model and witness do, and no bound is above ``upper`` >= P*."""
    X, y, weights = data
    c, certificate, model = slow.shares(len(y), weights), solution.certificate, solution.model
    floor = certificate.rounding_floor
    primal = slow.primal(loss_name, X, y, c, lam, model.weights, model.intercept, l1_ratio)
    dual = slow.dual(loss_name, X, y, c, lam, solution.witness.theta, l1_ratio)
    assert abs(certificate.primal - primal) <= floor
    # the certificate may add a charge for a nonzero sum of theta
    assert certificate.dual <= dual + floor
    assert certificate.dual <= min(upper, primal) + floor
