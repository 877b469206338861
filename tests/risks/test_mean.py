"""Bounds and smoothing of a mean of losses, against their definitions."""

import math

import numpy as np
import pytest

import exact_losses as exact
from fenchel.losses import LOSSES, Absolute, Hinge, Quantile
from fenchel.risks import MeanRisk, MultilabelHinge


@pytest.mark.parametrize("outputs", [None, 3])
@pytest.mark.parametrize("loss", [Hinge(), Quantile(0.1), Quantile(0.9)], ids=repr)
def test_the_norm_of_a_subgradient_is_at_most_its_bound_which_is_attained(loss, outputs):
    shape = (6,) if outputs is None else (6, outputs)
    labels = np.where(np.random.default_rng(0).random(shape) < 0.5, 1.0, -1.0)
    risk = MeanRisk(loss, labels)
    norms = [
        np.sum(np.abs(risk.subgradient(scores))) for scores in (-9.0 * labels, np.full(shape, 9.0), -9.0 + 0 * labels)
    ]
    assert max(norms) == pytest.approx(risk.subgradient_norm_bound())


def random_risk(loss, rng, outputs=None):
    shape = (7,) if outputs is None else (7, outputs)
    labels = np.where(rng.random(shape) < 0.5, 1.0, -1.0)
    if loss.task == "regression":
        labels = np.abs(labels * rng.normal(size=shape)) * 10.0 ** rng.uniform(-2, 2)
    return MeanRisk(loss, labels, rng.integers(0, 3, 7) + (np.arange(7) == 0))


@pytest.mark.meetings(1)
@pytest.mark.parametrize("outputs", [None, 3])
@pytest.mark.parametrize("loss", exact.EVERY_LOSS, ids=repr)
def test_slopes_near_scores_of_a_known_risk_are_within_their_bound(loss, outputs):
    rng = np.random.default_rng(3)
    for _ in range(30):
        risk = random_risk(loss, rng, outputs)
        radius, size = 10.0 ** rng.uniform(-12, 1), 10.0 ** rng.uniform(-9, 1)
        # a perfect fit is the hardest case: the risk is of the second order
        scores = risk.labels * (1.0 + size * rng.normal(size=risk.labels.shape))
        moves = rng.uniform(-1.0, 1.0, (2, *scores.shape))
        moves = np.sign(moves) if rng.random() < 0.5 else moves
        with np.errstate(all="ignore"):
            value, slopes = risk.value(scores + radius * moves[0]), risk.subgradient(scores + radius * moves[1])
            bound = risk.subgradient_norm_bound_near(value, radius)
        assert np.sum(np.abs(slopes)) <= bound * (1.0 + 1e-12)
        if loss.bounded_below and math.isfinite(loss.largest_curvature):
            assert math.isfinite(bound)


@pytest.mark.parametrize("loss", exact.EVERY_LOSS, ids=repr)
def test_rough_errors_of_conjugates_are_not_below_the_finer_ones(loss):
    rng = np.random.default_rng(4)
    for _ in range(30):
        risk = random_risk(loss, rng)
        theta = risk.project(risk.shares * rng.normal(size=7) * 10.0 ** rng.uniform(-3, 3))
        with np.errstate(all="ignore"):
            conjugate = risk.conjugate(theta, feasible=True)
            rough, fine = (risk.conjugate_error(theta, conjugate, fine=fine) for fine in (False, True))
        assert not fine > rough * (1.0 + 1e-12)


@pytest.mark.parametrize("loss", ["absolute", "huber", "logistic", "squared", "squared_hinge"])
@pytest.mark.parametrize("n", [1, 4])
def test_an_intercept_of_a_sublevel_set_is_within_its_bound(loss, n):
    rng = np.random.default_rng([5, n])
    for _ in range(50):
        labels = np.where(rng.random(n) < 0.5, 1.0, -1.0)
        labels = labels if LOSSES[loss].task == "classification" else 3.0 * rng.normal(size=n)
        scores, b = rng.normal(size=n), 5.0 * rng.normal()
        risk = MeanRisk(loss, labels)
        bound = risk.intercept_bound(risk.value(scores + b), np.abs(scores))
        # a margin loss with labels of one sign bounds the intercept on one side only
        assert np.all(np.isinf(bound) | (abs(b) <= bound * (1.0 + 1e-9)))


@pytest.mark.parametrize("loss", [Hinge(), Absolute(), Quantile(0.3)], ids=repr)
def test_smoothing_is_the_infimal_convolution_with_a_square(loss):
    rng = np.random.default_rng(1)
    labels, scores, mu = np.where(rng.random(20) < 0.5, 1.0, -1.0), 2.0 * rng.normal(size=20), 0.4
    risk, points = MeanRisk(loss, labels), np.linspace(-12.0, 12.0, 240_001)
    envelope = [
        np.min(loss.value(points, np.full_like(points, y)) + (points - s) ** 2 / (2 * mu))
        for s, y in zip(scores, labels, strict=True)
    ]
    smoothed = risk.smoothed(scores, mu)
    assert smoothed.value == pytest.approx(np.mean(envelope), abs=1e-7)
    step = 1e-6
    for i in range(20):
        moved = scores + step * (np.arange(20) == i)
        assert -smoothed.theta[i] == pytest.approx((risk.smoothed(moved, mu).value - smoothed.value) / step, abs=1e-5)
    assert risk.smoothed(scores, 0.0).value == risk.value(scores)


def test_subgradients_of_the_multilabel_hinge_are_within_their_bounds():
    rng = np.random.default_rng(2)
    present = rng.random((30, 5)) < 0.4
    present[:, 0], present[:, 1] = True, False
    risk, scores = MultilabelHinge(present), rng.normal(size=(30, 5))
    np.testing.assert_array_equal(risk.subgradient_bounds(scores, np.zeros(1)), np.abs(risk.subgradient(scores)))
    radius = 0.5 * rng.random((30, 5))
    bounds = risk.subgradient_bounds(scores, radius)
    for _ in range(50):
        moved = scores + radius * rng.uniform(-1.0, 1.0, scores.shape)
        assert np.all(np.abs(risk.subgradient(moved)) <= bounds)


@pytest.mark.parametrize("loss", exact.EVERY_LOSS, ids=repr)
def test_what_is_known_without_scores_is_what_scores_of_zero_give(loss):
    """The best constant model and R*(0), which take less than a general dual point or intercept."""
    rng = np.random.default_rng(5)
    for _ in range(5):
        risk = random_risk(loss, rng)
        zeros = np.zeros(7)
        assert risk.conjugate_at_zero == pytest.approx(risk.conjugate(zeros), rel=1e-14, abs=1e-300)
        best = risk.value(zeros + risk.best_intercept(zeros))
        assert risk.constant_value == pytest.approx(best, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("loss", exact.EVERY_LOSS, ids=repr)
def test_equal_weights_are_no_weights_for_a_projection(loss):
    rng = np.random.default_rng(6)
    labels = np.where(rng.random(7) < 0.5, 1.0, -1.0)
    labels = labels if loss.task == "classification" else np.abs(labels * rng.normal(size=7)) + 0.1
    theta = rng.standard_normal(7)
    weighted, plain = MeanRisk(loss, labels, np.full(7, 2.0)), MeanRisk(loss, labels)
    np.testing.assert_allclose(weighted.project(theta), plain.project(theta), rtol=1e-14)
