"""The dual side of measures: conjugates, projections, and certificates that are never below the truth."""

import numpy as np
import pytest
from scipy.optimize import nnls

import slow_measures as slow
from fenchel import Model, Problem, Witness, certify, solve
from fenchel.certificate import judge
from fenchel.numerics.limits import EPS
from fenchel.regularizers import ElasticNet
from fenchel.risks import F1, BreakEven, RecallAtK, RocAUC
from measure_cases import every_risk, labels_of, numbers_for, risk_of

CLOSED = ("prbep", "roc_auc", "recall_at_k")
OPEN = (("f1", None), ("fbeta", 2.0), ("precision_at_k", 2))


def random_labels(rng, n):
    y = np.where(rng.random(n) < rng.uniform(0.2, 0.8), 1.0, -1.0)
    y[0], y[-1] = 1.0, -1.0
    return y


def random_weights(rng, n):
    weights = rng.integers(0, 3, n).astype(float)
    weights[0], weights[-1] = 1.0, 2.0
    return weights


def mixture(risk, rng, n, count=4):
    """A mixture of planes: a point of the domain of the conjugate, and a bound on the conjugate there."""
    shares = rng.dirichlet(np.ones(count))
    planes = [risk.cutting_plane(scores) for scores in rng.normal(size=(count, n)) * 2]
    return (
        -sum(share * plane[0] for share, plane in zip(shares, planes, strict=True)),
        -sum(share * plane[1] for share, plane in zip(shares, planes, strict=True)),
    )


def cases(rng, rounds=40, n=7):
    for round in range(rounds):
        y = random_labels(rng, n)
        yield "prbep", None, y, None, BreakEven(y)
        yield "roc_auc", None, y, None, RocAUC(y)
        k = int(rng.choice(numbers_for("recall_at_k", y)))
        yield "recall_at_k", k, y, None, RecallAtK(y, k)
        if round % 2:
            weights = random_weights(rng, n)
            yield "roc_auc", None, y, weights, RocAUC(y, weights)


def test_the_conjugate_is_the_linear_program():
    rng = np.random.default_rng(0)
    for name, parameter, y, weights, risk in cases(rng):
        theta, bound = mixture(risk, rng, len(y))
        expected = slow.conjugate(name, theta, y, parameter, weights)
        assert risk.conjugate(theta) == pytest.approx(expected, abs=1e-9)
        assert risk.conjugate(theta) <= bound + 1e-14
        assert risk.conjugate(theta, feasible=True) == risk.conjugate(theta)
        assert risk.conjugate(np.zeros(len(y))) == 0.0


def test_the_domain_is_that_of_the_linear_program():
    rng = np.random.default_rng(1)
    sides: dict[str, list[bool]] = {}
    for name, parameter, y, weights, risk in cases(rng, rounds=80):
        # of the right signs, on both sides of the border; balanced, unless that is not asked for
        sizes = rng.random(len(y)) ** 2 * (y * y if name == "prbep" else 1.0)
        sizes *= 1.3 * (1 / len(y) if name == "prbep" else 1 / np.where(y > 0, np.sum(y > 0), np.sum(y < 0)))
        for sign in (1.0, -1.0):
            sizes[y == sign] *= 1 / np.sum(sizes[y == sign])
        theta = y * sizes * rng.uniform(0.1, 0.9)
        if name == "recall_at_k":
            theta = y * rng.random(len(y)) ** 0.3 * np.where(y > 0, rng.uniform(0.0, 1.1), 1.05) / len(y)
        expected = slow.conjugate(name, theta, y, parameter, weights)
        assert np.isfinite(risk.conjugate(theta)) == np.isfinite(expected), (name, y, weights, theta)
        sides.setdefault(name, []).append(bool(np.isfinite(expected)))
        assert risk.conjugate(-theta) == np.inf
        assert name == "recall_at_k" or risk.conjugate(theta + 0.01) == np.inf
    assert all(min(sum(found), len(found) - sum(found)) > 5 for found in sides.values()), sides


def test_projections_are_feasible_and_keep_what_is(portion):
    rng = np.random.default_rng(2)
    for name, parameter, y, weights, risk in cases(rng, rounds=portion(60)):
        for theta in (rng.normal(size=len(y)), y * rng.random(len(y)) / 3, -y, np.full(len(y), 1e100), y * 5.0):
            found = risk.project(theta)
            conjugate = risk.conjugate(found)
            assert np.isfinite(conjugate), (name, theta)
            assert slow.conjugate(name, found, y, parameter, weights) == pytest.approx(conjugate, abs=1e-9)
            np.testing.assert_allclose(risk.project(found), found, rtol=0, atol=1e-16)
        theta, _ = mixture(risk, rng, len(y))
        kept = risk.project(theta)
        np.testing.assert_allclose(kept, theta, rtol=0, atol=1e-15)
        # an entry at its bound may have been rounded beyond it; of the others one takes the rest of the sum
        bound = (
            1 / len(y)
            if name != "roc_auc"
            else risk.shares / np.where(y > 0, *(risk.shares @ (y == c) for c in (1, -1)))
        )
        moved = np.abs(kept - theta)[np.abs(theta) < bound]
        # or all of them are rounded to multiples of the last digit of the largest, and one takes what that leaves
        rounded = np.sum(moved > EPS * np.max(np.abs(theta))) <= 1
        assert rounded or np.count_nonzero(moved) <= 2


def test_fenchel_and_young():
    rng = np.random.default_rng(3)
    for name, _, y, _, risk in cases(rng):
        theta, _ = mixture(risk, rng, len(y))
        scores = np.round(rng.normal(size=len(y)) * 2)
        assert risk.value(scores) + risk.conjugate(theta) >= -theta @ scores - 1e-14
        slope, offset, value = risk.cutting_plane(scores)
        assert risk.conjugate(-slope) == pytest.approx(-offset, abs=1e-14), name
        assert value + risk.conjugate(-slope) == pytest.approx(slope @ scores, abs=1e-14)


def test_an_integer_weight_repeats_a_row_and_class_weights_cancel():
    rng = np.random.default_rng(4)
    for _ in range(20):
        y = random_labels(rng, 9)
        weights = random_weights(rng, 9).astype(int)
        scores = np.round(rng.normal(size=9) * 2)
        repeated = RocAUC(np.repeat(y, weights)).value(np.repeat(scores, weights))
        assert RocAUC(y, weights).value(scores) == pytest.approx(repeated, rel=1e-13)
        assert RocAUC(y, weights).value(scores) == pytest.approx(slow.value("roc_auc", scores, y, None, weights))
        by_class = RocAUC(y, np.where(y > 0, 5.0, 0.3)).value(scores)
        assert by_class == pytest.approx(RocAUC(y).value(scores), rel=1e-13)


def test_slopes_nearby_are_bounded():
    rng = np.random.default_rng(5)
    y = random_labels(rng, 8)
    for name, parameter, risk in every_risk(y):
        if not hasattr(risk, "slopes_near"):
            continue
        for _ in range(20):
            scores, near = np.round(rng.normal(size=8)), rng.random(8)
            bound = risk.subgradient_bounds(scores, near)
            for _ in range(10):
                slope = np.abs(risk.subgradient(scores + rng.uniform(-1, 1, 8) * near))
                assert np.all(slope <= bound + 1e-16), (name, parameter)
                assert np.sum(slope) <= risk.subgradient_norm_bound() + 1e-15


@pytest.mark.parametrize("name", CLOSED)
def test_certificates_with_a_closed_form_never_claim_too_much(name):
    rng = np.random.default_rng(6)
    for round in range(15):
        y = random_labels(rng, 7)
        X = np.round(rng.normal(size=(7, 3)) * 2) / 2
        lam = float(rng.choice([0.01, 0.1, 1.0]))
        weights = random_weights(rng, 7) if name == "roc_auc" and round % 2 else None
        k = int(rng.integers(np.sum(y > 0), 8)) if name == "recall_at_k" else None
        risk = RocAUC(y, weights) if name == "roc_auc" else risk_of(name, y, k)
        problem = Problem(X, risk, lam)
        w, _, best = slow.optimum(name, X, y, lam, False, k, weights)
        for theta in (mixture(risk, rng, 7)[0], rng.normal(size=7), y / 7, np.zeros(7), np.full(7, np.nan)):
            for model in (w, rng.normal(size=3)):
                verdict = judge(problem, Model(model), Witness(theta))
                certificate = verdict.certificate
                truth = certificate.primal - best
                assert certificate.recomputed
                assert 0.0 <= certificate.dual <= best + 1e-8
                assert certificate.gap >= truth - 1e-8
                moved = verdict.path_certificate.at(2 * lam)
                assert moved.dual <= slow.optimum(name, X, y, 2 * lam, False, k, weights)[2] + 1e-8
                assert moved.recomputed


@pytest.mark.meetings(1)
@pytest.mark.parametrize(("name", "parameter"), OPEN)
@pytest.mark.parametrize("intercept", [False, True])
def test_certificates_of_mixtures_never_claim_too_much(name, parameter, intercept):
    rng = np.random.default_rng(8)
    for _ in range(6):
        y = rng.permutation(labels_of([1, 1, 1, 0, 0, 0]))
        X = np.round(rng.normal(size=(6, 2)) * 2) / 2
        risk = risk_of(name, y, parameter)
        problem = Problem(X, risk, 0.1, intercept=intercept)
        w, b, best = slow.optimum(name, X, y, 0.1, intercept, parameter)
        shares, planes = rng.dirichlet(np.ones(4)), [(s, risk.subgradient(s)) for s in 2 * rng.normal(size=(4, 6))]
        theta = -sum(share * slope for share, (_, slope) in zip(shares, planes, strict=True))
        rows = risk.mixed(shares, [risk.decompose(*plane) for plane in planes])
        for model in (Model(w, None if intercept else 0.0), Model(w + 1.0, b)):
            certificate = judge(problem, model, Witness(theta, decomposition=rows)).certificate
            assert certificate.primal >= best - 1e-9
            assert certificate.dual <= best + 1e-8
            assert certificate.gap >= certificate.primal - best - 1e-8
            assert certificate.recomputed
            # without its mixture theta proves less, unless nested labellings happen to be better
            alone = judge(problem, model, Witness(theta)).certificate
            assert alone.recomputed
            assert alone.dual <= best + 1e-8
            # the witness that a verdict returns proves the same again
            verdict = judge(problem, model, Witness(theta, decomposition=rows))
            again = judge(problem, verdict.model, verdict.witness).certificate
            assert (again.primal, again.recomputed) == (certificate.primal, True)
            # the weights of the mixture are normalized again
            assert again.dual == pytest.approx(certificate.dual, rel=1e-15)
            assert again.dual_error == pytest.approx(certificate.dual_error, rel=0.01)
            assert certify(problem, model, effort=0).dual <= best + 1e-8


def test_the_optimal_mixture_proves_the_optimum_of_f1():
    rng = np.random.default_rng(9)
    y, X = random_labels(rng, 7), rng.normal(size=(7, 2))
    slopes, offsets = slow.planes("f1", y)
    w, b, best = slow.optimum("f1", X, y, 0.2, True)
    # the planes that touch at the optimum, mixed so that X^T theta = lam w and sum theta = 0
    touching = slopes @ (X @ w + b) + offsets > best - 0.1 * w @ w - 1e-6
    G = slopes[touching]
    rows = np.vstack([1e3 * (G @ X).T, 1e3 * G.sum(axis=1), np.ones(len(G))])
    shares, rest = nnls(rows, np.concatenate([-1e3 * 0.2 * w, [0.0, 1.0]]))
    assert rest < 1e-3
    shares /= shares.sum()
    problem = Problem(X, F1(y), 0.2, intercept=True)
    counts = [np.count_nonzero(G[:, own], axis=1) for own in (y > 0, y < 0)]
    verdict = judge(problem, Model(w, None), Witness(-shares @ G, decomposition=np.column_stack([shares, *counts])))
    assert verdict.certificate.recomputed
    assert verdict.certificate.relative_gap < 1e-4
    assert verdict.certificate.dual <= best + 1e-9


def test_the_error_rate_is_solved_as_a_mean():
    rng = np.random.default_rng(10)
    y, X = random_labels(rng, 40), rng.normal(size=(40, 3))
    solution = solve(Problem(X, risk_of("accuracy", y, None), 0.1, ElasticNet(0.2), intercept=True), tol=1e-6)
    assert solution.converged
    assert solution.certificate.recomputed
