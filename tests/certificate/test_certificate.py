"""A certificate never promises too much: gap >= objective - optimum, whatever model and witness it is given."""

import math
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import slow_reference as slow
from catalog import CASES, L1_RATIOS, PLAIN_CASES, PLAIN_SPARSE_CASES, SPARSE_CASES, Case, known_problem, regularizer_of
from fenchel import Certificate, FenchelError, Model, Problem, Witness, solve
from fenchel.certificate import best_of, judge, judge_all
from fenchel.certificate.dual import lower_bound
from fenchel.kernels import GramDesign, GramNorm
from fenchel.losses import LOSSES
from fenchel.risks import MeanRisk, Risk
from fenchel.solvers import DualCoordinate
from fenchel.solving.solution import Status
from strategies import problem_data, seeds

every_case = pytest.mark.parametrize("case", [*CASES, *SPARSE_CASES], ids=str)
plain_cases = pytest.mark.parametrize("case", [*PLAIN_CASES, *PLAIN_SPARSE_CASES], ids=str)


def assert_feasible(problem, theta):
    """Inside the domain up to one rounding, and balanced up to rounding if the intercept is free."""
    shares = np.reshape(problem.risk.shares, (-1, *(1,) * (theta.ndim - 1)))
    low, high = problem.risk.loss.domain(problem.risk.labels)
    slack = 4e-16 * shares
    assert np.all(-theta >= shares * low - slack) if np.all(np.isfinite(low)) else np.all(np.isfinite(theta))
    assert np.all(-theta <= shares * high + slack) if np.all(np.isfinite(high)) else True
    assert np.all(theta[problem.risk.shares == 0] == 0)
    if problem.intercept:
        assert np.all(np.abs(theta.sum(axis=0)) <= 1e-15 * (np.abs(theta).sum(axis=0) + 1e-300))


def random_pair(problem, rng, size=1.0):
    """A model and a witness that have nothing to do with the problem but the shape."""
    intercept = problem.no_intercept()
    if problem.intercept:
        intercept = rng.normal(size=np.shape(intercept)) if rng.random() < 0.5 else None
    theta = rng.normal(size=problem.theta_shape) * size
    return Model(rng.normal(size=problem.weights_shape), intercept), Witness(theta)


@pytest.mark.meetings(1)
@every_case
def test_many_verdicts_are_those_of_one_at_a_time(case):
    problem, rng = case.problem(), np.random.default_rng(11)
    problems = [replace(problem, lam=lam) for lam in (1.0, 0.1, 0.1, 3e-3)]
    pairs = [random_pair(problem, rng, size) for size in (0.01, 1e-3, 10.0)] + [random_pair(problem, rng)]
    unusable = [*pairs[:3], (pairs[3][0], Witness(np.full(problem.theta_shape, np.nan)))]
    for chosen in (pairs, pairs[:1], unusable):
        some = problems[: len(chosen)]
        verdicts = judge_all(some, *zip(*chosen, strict=True))
        for own, pair, (found, model, witness, known) in zip(some, chosen, verdicts, strict=True):
            alone = judge(own, *pair)
            assert abs(found.primal - alone.certificate.primal) <= found.primal_error
            assert found.dual == pytest.approx(alone.certificate.dual, rel=1e-12, abs=2 * found.dual_error)
            assert found.rounding_floor == pytest.approx(alone.certificate.rounding_floor, rel=1e-6)
            assert known.problem is own
            assert known.at(own.lam).primal == pytest.approx(found.primal, rel=1e-12)
            np.testing.assert_allclose(witness.theta, alone.witness.theta, rtol=1e-12, atol=1e-15)
            np.testing.assert_allclose(model.intercept, alone.model.intercept, rtol=1e-9, atol=1e-12)


@pytest.mark.meetings(1)
@every_case
def test_without_witnesses_the_dual_points_are_those_of_the_models(case):
    problem, rng = case.problem(), np.random.default_rng(12)
    problems = [replace(problem, lam=lam) for lam in (1.0, 0.01)]
    models = [random_pair(problem, rng)[0] for _ in problems]
    for own, model, found in zip(problems, models, judge_all(problems, models), strict=True):
        scores = problem.design.scores(model.weights)
        intercept = problem.best_intercept(scores) if model.intercept is None else model.intercept
        alone = judge(own, model, Witness(-problem.risk.subgradient(scores + intercept)))
        assert found.certificate.dual == pytest.approx(alone.certificate.dual, rel=1e-9, abs=1e-12)
        np.testing.assert_allclose(found.witness.theta, alone.witness.theta, rtol=1e-9, atol=1e-12)


@pytest.mark.meetings(1)
@every_case
def test_gap_against_a_slow_computation(case):
    problem, (X, y, weights) = case.problem(), case.data()
    c, rng = slow.shares(len(y), weights), np.random.default_rng(7)
    for size in (1e-3, 0.1, 10.0):
        certificate, model, witness, _ = judge(problem, *random_pair(problem, rng, size))
        assert_feasible(problem, witness.theta)
        assert model.intercept is not None
        primal = slow.primal(case.loss, X, y, c, case.lam, model.weights, model.intercept, case.l1_ratio)
        dual = slow.dual(case.loss, X, y, c, case.lam, witness.theta, case.l1_ratio)
        assert abs(certificate.primal - primal) <= certificate.rounding_floor
        assert abs(certificate.dual - dual) <= certificate.rounding_floor
        assert certificate.gap == certificate.primal - certificate.dual
        assert certificate.recomputed


def attack(rng, problem, theta):
    """Witnesses that a faulty solver could hand in."""
    n = theta.shape[0]
    yield "NaN", np.where(np.arange(n).reshape(-1, *(1,) * (theta.ndim - 1)) == n // 2, np.nan, theta)
    yield "inf", np.where(np.arange(n).reshape(-1, *(1,) * (theta.ndim - 1)) == 0, np.inf, theta)
    yield "zero", np.zeros_like(theta)
    yield "permuted", rng.permutation(theta)
    yield "sign-flipped", -theta
    yield "noisy", theta + 1e-6 * rng.normal(size=theta.shape) / n
    yield "unrelated", rng.normal(size=theta.shape)
    for factor in (0.0, 1e-300, 0.5, 1 + 1e-12, 1 + 1e-6, 1.1, 2.0, 1e6, 1e150, 1e300):
        yield f"scaled by {factor}", factor * theta
    yield "huge", np.full_like(theta, 1e300) * rng.choice([-1.0, 1.0], theta.shape)
    yield "largest", np.full_like(theta, np.finfo(float).max) * rng.choice([-1.0, 1.0], theta.shape)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@every_case
@pytest.mark.meetings(1)
def test_a_corrupted_witness_proves_no_more_than_weak_duality_allows(case):
    problem, rng = case.problem(), np.random.default_rng(8)
    solution = solve(problem, tol=0.0, max_iter=5000)
    assert solution.certificate.at_floor or solution.certificate.relative_gap <= 1e-12
    at_zero = judge(problem, solution.model, Witness(np.zeros(problem.theta_shape))).certificate
    for name, theta in attack(rng, problem, solution.witness.theta):
        certificate, _, witness, _ = judge(problem, solution.model, Witness(theta))
        # weak duality: within its rounding, no witness proves more than the objective of this model
        assert certificate.gap >= -certificate.rounding_floor, name
        assert certificate.gap <= at_zero.gap, name
        assert np.isfinite(certificate.gap), name
        assert_feasible(problem, witness.theta)


@pytest.mark.filterwarnings("error")
@plain_cases
@pytest.mark.parametrize("size", [1e100, 1e300, np.finfo(float).max])
def test_a_huge_witness_gives_no_warning(case, size):
    problem = case.problem()
    signs = np.random.default_rng(8).choice([-1.0, 1.0], problem.theta_shape)
    certificate = judge(problem, problem.zero_model(), Witness(size * signs)).certificate
    assert 0 <= certificate.gap <= certificate.primal + certificate.rounding_floor


@given(problem_data(), seeds)
def test_weak_duality_between_strangers(data, seed):
    """The dual value of any witness is below the primal value of any model."""
    X, y, weights, loss, lam, intercept, l1_ratio = data
    problem = Problem(X, MeanRisk(loss, y, weights), lam, regularizer_of(l1_ratio), intercept=intercept)
    rng = np.random.default_rng(seed)
    c = slow.shares(len(y), weights)
    verdicts = [judge(problem, *random_pair(problem, rng, 10.0 ** rng.uniform(-6, 2))) for _ in range(6)]
    for one in verdicts:
        assert_feasible(problem, one.witness.theta)
        for other in verdicts:
            primal = slow.primal(loss.name, X, y, c, lam, other.model.weights, other.model.intercept, l1_ratio)
            assert one.certificate.dual <= primal + one.certificate.rounding_floor


@given(problem_data(), st.sampled_from([1e4, 1e8, 1e12]))
def test_floor_covers_large_offsets(data, offset):
    """Labels (or scores) far from zero cancel in the sums behind P and D; the floor must say so."""
    X, y, weights, loss, lam, intercept, l1_ratio = data
    y = y + offset if loss.task == "regression" else y
    problem = Problem(X, MeanRisk(loss, y, weights), lam, regularizer_of(l1_ratio), intercept=intercept)
    c = slow.shares(len(y), weights)
    w = np.full(X.shape[1], offset) if loss.task == "classification" else np.zeros(X.shape[1])
    model = Model(w, None if intercept else 0.0)
    scores = X @ w + (problem.risk.best_intercept(X @ w) if intercept else 0.0)
    certificate, model, witness, _ = judge(problem, model, Witness(-problem.risk.subgradient(scores)))
    primal = slow.primal(loss.name, X, y, c, lam, model.weights, model.intercept, l1_ratio)
    dual = slow.dual(loss.name, X, y, c, lam, witness.theta, l1_ratio)
    assert abs(certificate.primal - primal) <= certificate.rounding_floor
    assert certificate.dual <= dual + certificate.rounding_floor


@pytest.mark.meetings(1)
@pytest.mark.parametrize("chunk", range(10))
@pytest.mark.parametrize("regularizer", ["l2", "elastic_net"])
def test_no_certificate_below_the_true_gap_on_ten_thousand_problems(regularizer, chunk, portion):
    """1,000 problems with a known optimum in each chunk; the optimum is built in, no solver is asked."""
    rng = np.random.default_rng([2024, chunk])
    for _ in range(portion(1000, 20)):
        l1_ratio = 0.0 if regularizer == "l2" else rng.choice(L1_RATIOS[1:])
        loss, intercept, weighted = rng.choice(list(LOSSES)), bool(rng.integers(2)), bool(rng.integers(2))
        known = known_problem(rng, loss, intercept, weighted, 10.0 ** rng.uniform(-3, 3), l1_ratio)
        X, y, weights, lam, best_w, best_b, best_theta = known
        problem = Problem(X, MeanRisk(loss, y, weights), lam, regularizer_of(l1_ratio), intercept=intercept)
        c = slow.shares(len(y), weights)
        optimum = slow.primal(loss, X, y, c, lam, best_w, best_b, l1_ratio)
        # the construction is right: primal and dual meet
        assert abs(optimum - slow.dual(loss, X, y, c, lam, best_theta, l1_ratio)) <= 1e-12 * (1 + abs(optimum))
        size = 10.0 ** rng.uniform(-17, 1)
        w = best_w + size * np.linalg.norm(best_w) * rng.normal(size=best_w.shape)
        b = None if intercept and rng.random() < 0.3 else (best_b + size * rng.normal() if intercept else 0.0)
        theta = best_theta + 10.0 ** rng.uniform(-17, 1) * rng.normal(size=len(y)) * c
        certificate, model, witness, _ = judge(problem, Model(w, b), Witness(theta))
        true_gap = slow.primal(loss, X, y, c, lam, w, model.intercept, l1_ratio) - optimum
        assert certificate.gap + certificate.rounding_floor >= true_gap
        assert_feasible(problem, witness.theta)
        # and it is worth something: at the optimum it proves the optimum
        proof = judge(problem, Model(best_w, best_b), Witness(best_theta)).certificate
        assert abs(proof.gap) <= 1e-10 * (1 + abs(optimum))


@plain_cases
def test_zero_is_always_a_candidate(case):
    problem = case.problem()
    model = problem.zero_model()
    hopeless = Witness(np.full(problem.theta_shape, np.nan))
    verdict = judge(problem, model, hopeless)
    np.testing.assert_array_equal(verdict.witness.theta, 0)
    assert verdict.certificate.dual == 0.0
    assert verdict.certificate.recomputed


def test_the_zero_model_has_a_certificate_without_a_product(monkeypatch):
    """It follows the last certificate of a solve that a limit ended early."""
    problem = Problem(sp.csr_array(np.eye(3)), MeanRisk("hinge", [1.0, -1.0, 1.0]), 0.1)
    for name in ("scores", "adjoint"):
        monkeypatch.setattr(type(problem.design), name, lambda *given: pytest.fail("a product with X"))
    certificate = judge(problem, problem.zero_model(), Witness(np.zeros(3))).certificate
    assert (certificate.primal, certificate.dual) == (1.0, 0.0)


@pytest.mark.parametrize("label", [1.0, -1.0])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_one_class_with_a_free_intercept_has_optimum_zero(loss, label):
    rng = np.random.default_rng(9)
    problem = Problem(rng.normal(size=(5, 2)), MeanRisk(loss, np.full(5, label)), 0.1, intercept=True)
    certificate = judge(problem, problem.zero_model(), Witness(rng.normal(size=5))).certificate
    assert 0 <= certificate.gap <= certificate.primal
    assert certificate.dual <= 0.0


class OpaqueRisk(Risk):
    """A risk with values and subgradients but no conjugate, as a bundle method would have."""

    name = "opaque"

    def __init__(self, risk):
        self._risk, self.examples, self.outputs = risk, risk.examples, risk.outputs
        self.subgradient_norm_bound, self.label_sizes, self.largest_label = (
            risk.subgradient_norm_bound,
            risk.label_sizes,
            risk.largest_label,
        )

    def value(self, scores):
        return self._risk.value(scores)

    def subgradient(self, scores):
        return self._risk.subgradient(scores)

    def intercepts(self):
        return self._risk.intercepts()


@pytest.mark.parametrize("intercept", [False, True])
def test_a_bound_taken_on_trust_is_named_as_such(intercept):
    case = Case("hinge", intercept=intercept)
    problem = case.problem()
    solution = solve(problem, tol=1e-8)
    opaque = Problem(problem.design, OpaqueRisk(problem.risk), problem.lam, intercept=intercept)
    bound = problem.risk.conjugate(solution.witness.theta)
    certificate, _, witness, _ = judge(opaque, solution.model, Witness(solution.witness.theta, bound))
    assert not certificate.recomputed
    assert "taken on trust" in str(certificate)
    assert certificate.gap == pytest.approx(solution.certificate.gap, abs=1e-12)
    assert witness.conjugate_bound == bound
    without = judge(opaque, solution.model, Witness(solution.witness.theta)).certificate
    assert without.dual == -np.inf
    assert without.gap == np.inf


def test_a_witness_on_trust_that_is_scaled_down_is_charged_for_its_scaled_sum():
    """The lasso takes half of theta; a witness that is half of it to begin with proves the same."""
    problem = Case("hinge", intercept=True, lam=0.05, l1_ratio=1.0).problem()
    theta = solve(problem, tol=1e-8).witness.theta.copy()
    theta[np.argmax(np.abs(theta))] *= 0.999
    risk = OpaqueRisk(problem.risk)
    risk.conjugate_at_zero = problem.risk.conjugate_at_zero
    opaque = Problem(problem.design, risk, 0.5 * problem.lam, problem.regularizer, intercept=True)
    bound = problem.risk.conjugate(theta)
    whole, half = (lower_bound(opaque, Witness(part * theta, part * bound), 1.0) for part in (1.0, 0.5))
    assert 0.4 < np.max(np.abs(whole.theta)) / np.max(np.abs(theta)) < 0.6
    assert whole.unbalanced == pytest.approx(np.abs(np.sum(whole.theta)), rel=1e-6)
    assert whole.value == pytest.approx(half.value, rel=1e-6)
    # the charge lowers the bound
    penalty = opaque.lam * opaque.regularizer.conjugate(half.v)
    assert half.charge > 0.0
    assert half.value == pytest.approx(-penalty - half.conjugate - half.charge, rel=1e-12)


@pytest.mark.parametrize(
    ("weights", "theta"), [((5,), (40,)), ((6,), (39,)), ((1, 6), (40,)), ((6,), (40, 1)), ((), (40,)), ((6,), ())]
)
def test_wrong_shapes_are_refused(weights, theta):
    problem = Case("hinge").problem()
    with pytest.raises(FenchelError, match="shape"):
        judge(problem, Model(np.zeros(weights)), Witness(np.zeros(theta)))


@pytest.mark.parametrize("noisy", ["error", "ignore"])
@pytest.mark.parametrize("loss", list(LOSSES))
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200, 1e308])
def test_models_without_a_finite_objective_are_refused(loss, value, noisy):
    problem = Case(loss, intercept=True).problem()
    for model in (Model(np.full(6, value), 0.0), Model(np.full(6, value), None), Model(np.zeros(6), value)):
        witness = Witness(np.zeros(problem.theta_shape))
        with warnings.catch_warnings():
            warnings.simplefilter(noisy)
            try:
                certificate = judge(problem, model, witness).certificate
            except FenchelError:
                continue
        assert np.isfinite(certificate.gap)


def test_an_intercept_is_refused_where_the_problem_has_none():
    with pytest.raises(FenchelError, match="intercept"):
        judge(Case("hinge").problem(), Model(np.zeros(6), 1.0), Witness(np.zeros(40)))


def test_relative_gap_never_clamped_and_zero_over_zero():
    assert Certificate(0.0, 0.0, 0.0).relative_gap == 0.0
    assert Certificate(0.0, 0.0, 0.0).meets(0.0)
    assert Certificate(1.0, 1.5, 1e-15).gap == -0.5
    assert Certificate(2.0, 1.0, 0.0).relative_gap == 0.5
    assert Certificate(1.0, -4.0, 0.0).relative_gap == 1.25
    assert not Certificate(2.0, 1.0, 0.0).meets(0.4)
    assert Certificate(2.0, 2.0 - 1e-15, 1e-14).at_floor


def test_a_gap_of_four_rounding_floors_counts_as_rounding_and_no_larger_one():
    floor = 2.0**-40
    assert Certificate(2.0, 2.0 - 4.0 * floor, floor).at_floor
    assert not Certificate(2.0, 2.0 - 4.125 * floor, floor).at_floor
    # the other way round one floor is all that errors explain
    assert Certificate(2.0, 2.0 + floor, floor).at_floor
    assert Certificate(2.0, 2.0 + 1.125 * floor, floor).contradictory


def test_a_tolerance_is_met_by_the_gap_and_rounding_together():
    resolved = Certificate(2.0, 2.0 - 1e-12, 1e-9, 1e-9)
    assert resolved.upper >= 2.0 + 1e-9 and resolved.lower <= 2.0 - 1e-12 - 1e-9
    assert resolved.meets(1.1e-9) and not resolved.meets(0.9e-9)
    # tol = 0 asks for the floor, which must be a small share of the objective
    assert resolved.meets(0.0)
    assert not Certificate(2.0, 1.0, 1.5).meets(0.0)
    assert not Certificate(2.0, 1.0, 0.5, 0.5).meets(0.7)
    assert Certificate(2.0, 1.0, 0.5, 0.5).meets(0.81)
    # where the zero model is as good, nothing more can be asked
    assert Certificate(1e-20, -1e-18, 1e-17, trivial=True).meets(1e-3)
    assert not Certificate(1e-20, -1e-18, 1e-17).meets(1e-3)
    assert not Certificate(np.inf, 1.0).meets(1.0)


def test_percentages_are_of_the_proved_optimum():
    assert "(19%)" in str(Certificate(1.19, 1.0))
    assert "at most 483 times the optimum" in str(Certificate(4.83, 0.01))
    assert "%" not in str(Certificate(1.0, 0.0)) + str(Certificate(1.0, -2.0))
    assert "within 3 of the optimum" in str(Certificate(1.0, -2.0))


def test_an_objective_below_its_bound_proves_nothing():
    wrong, right = Certificate(1.0, 1.5, 1e-15), Certificate(2.0, 1.0, 0.0)
    # a sum with another's gap would hide it
    for certificate in (wrong, wrong + right, right + wrong):
        assert certificate.contradictory
        assert not certificate.at_floor and not certificate.optimal and not certificate.meets(1.0)
        assert "inconsistent" in str(certificate)
        assert str(certificate)[:-1].count(". ") == 0
    assert not Certificate(1.0, 1.0 + 1e-15, 1e-14).contradictory
    assert Certificate(1.0, 1.0 + 1e-15, 1e-14).meets(0.0)


def test_a_solve_that_contradicts_itself_ends():
    """The matrix of an RBF kernel by products of rows so far from the origin that it has negative eigenvalues."""
    X = np.random.default_rng(0).standard_normal((40, 2)) + 3e7
    squares = np.sum(X**2, axis=1)
    gram = GramDesign(np.exp(np.minimum(2.0 * (X @ X.T) - squares - squares[:, None], 0.0)))
    assert np.linalg.eigvalsh(gram.scores(np.eye(40)))[0] < -0.1
    labels = np.where((X[:, 0] > 3e7) == (X[:, 1] > 3e7), 1.0, -1.0)
    problem = Problem(gram, MeanRisk("hinge", labels), 1.0 / 4000.0, GramNorm(gram))
    for settings in ({"tol": 1e-9, "certify_every": 3.0}, {"tol": 0.0, "decay": 0.5}):
        solution = solve(problem, DualCoordinate(rule="exact"), max_iter=200, **settings)
        assert solution.certificate.contradictory
        assert not solution.converged
        assert solution.status is Status.UNRESOLVED
        assert solution.passes < 200


def test_sum_and_sentence_and_pickle():
    a, b = Certificate(2.0, 1.0, 1e-16), Certificate(3.0, 2.5, 1e-15, recomputed=False)
    # an error is rounded upwards
    error = math.nextafter(1e-16 + 1e-15, math.inf)
    assert a + b == Certificate(5.0, 3.5, error, recomputed=False)
    assert (a + b).rounding_floor == error
    for certificate in (a, b, Certificate(1.0, 1.0, 1e-15)):
        sentence = str(certificate)
        assert sentence.endswith(".")
        assert "\n" not in sentence
        assert sentence[:-1].count(". ") == 0
        assert pickle.loads(pickle.dumps(certificate)) == certificate
    assert "at most 2 times the optimum" in str(a)
    assert "(20%)" in str(b)
    assert "below 0." in str(Certificate(1.0, -0.0, 0.0))
    assert "optimal to the accuracy" in str(Certificate(1.0, 1.0, 1e-15))


def test_best_of_takes_each_half_from_the_better():
    problem, rng = Case("hinge", intercept=True).problem(), np.random.default_rng(10)
    verdicts = [judge(problem, *random_pair(problem, rng, 0.02)) for _ in range(5)]
    best = None
    for verdict in verdicts:
        best = best_of(best, verdict)
    assert best.certificate.primal == min(verdict.certificate.primal for verdict in verdicts)
    assert best.certificate.dual == max(verdict.certificate.dual for verdict in verdicts)
    again = judge(problem, best.model, best.witness).certificate
    assert again.primal == best.certificate.primal
    assert again.dual == pytest.approx(best.certificate.dual, abs=best.certificate.rounding_floor)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_nothing_is_multiplied_by_zero(storage, monkeypatch):
    """A limit leaves many problems at the zero model and theta = 0, whose certificates need no product with X."""
    X = np.random.default_rng(0).normal(size=(12, 3))
    problem = Problem(storage(X), MeanRisk("logistic", np.sign(X[:, 0])), 0.1, intercept=True)
    kept = judge(problem, problem.zero_model(), Witness(np.zeros(12)))
    assert kept.certificate.primal >= kept.certificate.dual == 0.0

    def refused(self, array):
        raise AssertionError

    monkeypatch.setattr(type(problem.design), "scores", refused)
    monkeypatch.setattr(type(problem.design), "adjoint", refused)
    model = Model(np.zeros(3), kept.model.intercept)
    assert judge(problem, model, Witness(np.zeros(12))).certificate == kept.certificate
