"""Rigorous certificates: P <= upper and lower <= D in exact arithmetic, narrower than ordinary ones."""

import itertools
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from exact_cases import REGULARIZERS, SCALES, STORAGES, exact_dual, exact_primal, pairs_of, random_case
from exact_losses import DIGITS, EVERY_LOSS, NAMED, digits
from fenchel import LinearClassifier, Model, Problem, Witness, certify, solve
from fenchel.certificate import Certificate, judge
from fenchel.certificate.rigorous import rigorous_certificate
from fenchel.certificate.rigorous_equalities import point_on_equalities
from fenchel.designs import Design
from fenchel.errors import FenchelError
from fenchel.estimators.regularization import with_exact_lam
from fenchel.kernels import GramDesign, GramNorm
from fenchel.numerics.balls import as_ball
from fenchel.regularizers import L1, L2, FreeDirections, QuadraticForm
from fenchel.risks import MeanRisk

#: small problems, for which compiling would take longer than running
pytestmark = pytest.mark.usefixtures("plain_loops")

#: four rows far from the origin: rounding of the scores exceeds the objective
FAR_ROWS = np.array(
    [
        [99999.3, 99999.8, 100001.7],
        [100000.7, 99998.4, 100000.0],
        [99999.4, 100000.1, 99998.4],
        [100000.2, 100000.2, 100001.6],
    ]
)
FAR_LABELS = np.array([1.0, 1.0, -1.0, -1.0])


def exact_point(case, theta):
    """The dual point that a rigorous certificate is for, in Decimals: exact products, and one balancing entry."""
    problem = case.problem
    point = problem.risk.enclosure().dual_point(theta, balanced=problem.intercept)
    with digits(DIGITS):
        total = sum((Decimal(float(w)) for w in problem.risk.enclosure().weights), Decimal(0))
        parts = zip(point.theta.high.tolist(), point.theta.low.tolist(), strict=True)
        found = [(Decimal(high) + Decimal(low)) / total for high, low in parts]
        if problem.intercept and np.any(point.theta.radius > 0.0):
            (moved,) = np.flatnonzero(point.theta.radius == point.theta.radius.max())
            exact = found[moved] - sum(found)
            assert abs(exact - found[moved]) * total <= Decimal(float(point.theta.radius[moved]))
            found[moved] = exact
        return found


def check(case, model, theta):
    """Assert both bounds of one pair; the certificate."""
    verdict = judge(case.problem, model, Witness(theta))
    certificate = rigorous_certificate(case.problem, verdict)
    assert certificate.rigorous
    (_, lam), (c, _) = case.readings
    with digits(DIGITS):
        primal = exact_primal(case, verdict.model, c, lam)
        assert np.isinf(certificate.upper) or primal <= Decimal(certificate.upper)
        if np.isfinite(certificate.lower) and case.problem.regularizer.name != "l1":
            dual = exact_dual(case, exact_point(case, verdict.witness.theta), c, lam)
            assert Decimal(certificate.lower) <= dual
        # weak duality
        assert Decimal(certificate.lower) <= primal
    return verdict.certificate, certificate


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=repr)
@pytest.mark.meetings(1)
def test_random_models_and_witnesses(loss, portion):
    """Regularizers, storages, scales, intercepts and weights in a random order of their own for each loss."""
    rng = np.random.default_rng([11, EVERY_LOSS.index(loss)])
    ways = list(itertools.product(REGULARIZERS, STORAGES, SCALES, [False, True], [False, True]))
    for way in rng.permutation(len(ways))[: portion(15, 15)]:
        name, *rest = ways[way]
        try:
            case = random_case(rng, loss, REGULARIZERS[name], *rest)
        except FenchelError:
            # X of float32 overflows, or the loss has no intercept
            continue
        for model, theta in itertools.islice(pairs_of(case, rng), 2):
            try:
                check(case, model, theta)
            except FenchelError as error:
                assert "overflow" in str(error) or "infinite at these weights" in str(error)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("name", ["hinge", "logistic", "squared", "poisson"])
@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
@pytest.mark.parametrize("regularizer", ["l2", "l1", "elastic_net", "quadratic_form"])
def test_solved_problems_are_narrower(name, intercept, regularizer):
    """In ordinary cases a rigorous certificate is within the ordinary one, and rounding is one part in 10^15."""
    rng = np.random.default_rng(4)
    loss = NAMED[name]()
    case = random_case(rng, loss, REGULARIZERS[regularizer], "dense", (1.0, 0.0), intercept, True)
    solution = solve(case.problem, tol=1e-6, max_iter=100)
    ordinary, found = check(case, solution.model, solution.witness.theta)
    size = max(1e-6, found.scale)
    assert found.rounding_floor <= 1e-15 * size
    assert found.upper <= ordinary.upper + 1e-15 * size
    assert found.lower >= ordinary.lower - 1e-15 * size
    assert not found.contradictory


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e8])
def test_rows_far_from_the_origin(offset):
    """The floor of the ordinary certificate grows with the offset, that of a rigorous one does not."""
    rng = np.random.default_rng(6)
    case = random_case(rng, NAMED["hinge"](), L2(), "dense", (1.0, offset), True, False)
    solution = solve(case.problem, tol=1e-9, max_iter=50)
    _, found = check(case, solution.model, solution.witness.theta)
    assert found.rounding_floor <= 1e-15 * max(found.scale, 1e-3)


@pytest.mark.filterwarnings("ignore::fenchel.errors.GapWarning")
def test_a_rigorous_certificate_resolves_what_rounding_hides():
    fitted = LinearClassifier("hinge", C=1e12).fit(FAR_ROWS, FAR_LABELS)
    assert fitted.certificate_.at_floor
    problem = Problem(FAR_ROWS, MeanRisk("hinge", FAR_LABELS), 1.0 / (1e12 * 4.0), intercept=True)
    model = Model(fitted.coef_[0], float(fitted.intercept_[0]))
    found = certify(problem, model, fitted.theta_, rigorous=True)
    with digits(DIGITS):
        w, b = [Decimal(x) for x in model.weights.tolist()], Decimal(model.intercept)
        rows = zip(FAR_ROWS.tolist(), FAR_LABELS.tolist(), strict=True)
        margins = [Decimal(y) * (sum(Decimal(x) * v for x, v in zip(row, w, strict=True)) + b) for row, y in rows]
        risk = sum(max(1 - margin, Decimal(0)) for margin in margins) / 4
        primal = Decimal(problem.lam) * sum(v * v for v in w) / 2 + risk
        assert primal <= Decimal(found.upper) <= primal * (1 + Decimal(10) ** -14)
    assert not found.at_floor
    assert found.rounding_floor <= 1e-15 * found.primal
    assert 0.0 < found.lower < found.upper


def test_several_outputs():
    rng = np.random.default_rng(2)
    X, Y = rng.normal(size=(12, 3)), rng.normal(size=(12, 2))
    problem = Problem(sp.csr_array(X), MeanRisk("huber", Y, rng.random(12)), 0.1, intercept=True)
    solution = solve(problem, tol=1e-8)
    found = certify(problem, solution, rigorous=True)
    columns = []
    for k in range(2):
        single = Problem(X, MeanRisk("huber", Y[:, k], problem.risk._weights), 0.1, intercept=True)
        model = Model(solution.model.weights[k], float(solution.model.intercept[k]))
        columns.append(certify(single, model, solution.witness.theta[:, k], rigorous=True))
    total = columns[0] + columns[1]
    assert total.rigorous
    assert abs(total.primal - found.primal) <= 1e-15
    assert abs(total.dual - found.dual) <= 1e-14
    assert found.meets(1e-7)


@pytest.mark.parametrize("intercept", [False, True])
def test_kernels(intercept):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(15, 2))
    gram = GramDesign(np.exp(-0.5 * np.sum((X[:, None] - X[None]) ** 2, axis=2)))
    y = np.sign(X[:, 0])
    problem = Problem(gram, MeanRisk("logistic", y), 0.01, GramNorm(gram), intercept=intercept)
    solution = solve(problem, tol=1e-9)
    found = certify(problem, solution, rigorous=True)
    assert found.meets(1e-8)
    assert found.upper <= solution.certificate.upper + 1e-15
    assert found.lower >= solution.certificate.lower - 1e-14


def test_the_lasso_is_scaled_into_its_ball():
    """A dual point outside the unit ball by more than rounding still proves a bound."""
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(20, 4)), rng.normal(size=20)
    problem = Problem(X, MeanRisk("squared", y), 0.05, L1())
    solution = solve(problem, tol=1e-10)
    verdict = judge(problem, solution.model, solution.witness)
    outside = verdict._replace(witness=Witness(1.001 * verdict.witness.theta))
    found = rigorous_certificate(problem, outside)
    assert np.isfinite(found.lower)
    assert found.meets(1e-2)


def test_a_violated_constraint_has_an_infinite_objective():
    X, y = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    problem = Problem(X, MeanRisk("hard_margin", y), 0.5)
    met, missed = (certify(problem, np.array([w]), np.array([0.25, -0.25]), rigorous=True) for w in (1.0, 0.9999))
    assert (met.upper, met.lower) == (pytest.approx(0.25), pytest.approx(0.25))
    assert missed.primal == np.inf
    assert missed.lower == pytest.approx(0.25)


def test_overflow_is_infinite():
    problem = Problem(np.array([[1.0], [-1.0]]), MeanRisk("exponential", [1, -1]), 0.5)
    found = certify(problem, np.array([-800.0]), np.array([0.1, -0.1]), rigorous=True)
    assert found.primal == np.inf
    assert np.isfinite(found.lower)


def free_directions():
    """Free features, and directions with and without prices, dense and sparse."""
    rng = np.random.default_rng(12)
    C = rng.normal(size=(2, 4))
    return {
        "features": FreeDirections.of_features([0, 2], 4),
        "directions": FreeDirections(C),
        "prices": FreeDirections(C[:1], 0.01),
    }


@pytest.mark.meetings(1)
@pytest.mark.parametrize("name", free_directions())
@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
def test_free_directions(name, loss, intercept):
    """The dual point meets the equalities exactly: nothing is charged for their residuals."""
    rng = np.random.default_rng(13)
    X = rng.normal(size=(25, 4))
    noise = rng.normal(size=25)
    y = X @ [1.0, -1.0, 0.5, 0.0] + noise if loss == "squared" else np.where(X[:, 1] + 2.0 * noise > 0.0, 1.0, -1.0)
    problem = Problem(X, MeanRisk(loss, y), 0.1, free_directions()[name], intercept=intercept)
    solution = solve(problem, tol=1e-6, max_iter=500)
    found, ordinary = certify(problem, solution, rigorous=True), solution.certificate
    assert found.upper <= ordinary.upper + 1e-14
    assert ordinary.lower - 1e-12 <= found.lower <= found.upper
    assert found.rounding_floor <= 1e-15
    point = point_on_equalities(problem, problem.design.enclosure(), solution.witness.theta)
    theta = point.theta * point.factor
    C = problem.regularizer.directions
    C = C.toarray() if sp.issparse(C) else C
    # within their radii the residuals are zero
    residual = (theta[:, None] * problem.design.enclosure().scores(as_ball(C))).sum(axis=0)
    residual = residual - as_ball(problem.lam) * problem.regularizer.prices
    assert np.all(np.abs(residual.high) <= residual.radius)
    assert np.all(residual.radius <= 1e-25)
    if intercept:
        assert abs(theta.sum().high) <= theta.sum().radius <= 1e-25


def test_equalities_that_no_dual_point_meets_prove_nothing():
    """A free feature of a separating direction: the dual has no point with room, and the bound is that of zero."""
    X, y = np.array([[1.0, 1.0], [-1.0, 1.0]]), np.array([1.0, -1.0])
    problem = Problem(X, MeanRisk("hinge", y), 0.1, FreeDirections.of_features([0], 2))
    found = certify(problem, np.array([0.5, 0.0]), np.array([0.5, -0.5]), rigorous=True)
    assert found.lower <= 0.0
    assert found.upper == pytest.approx(0.5)


def test_what_has_no_enclosures_is_refused_before_the_work():
    X, y = np.eye(3), [1.0, -1.0, 1.0]

    class Unknown(Design):
        def __init__(self):
            self.shape = (3, 3)

        def scores(self, weights):
            raise AssertionError

        adjoint = part = rows = scores
        squared_row_norms, largest_row_norm, mean_square, stored_entries = np.ones(3), 1.0, 1.0, 9

    class Inverse:
        def solve(self, v):
            return v

    form = Problem(X, MeanRisk("hinge", y), 0.1, QuadraticForm(Inverse()))
    for problem, name in ((form, "quadratic_form"), (Problem(Unknown(), MeanRisk("hinge", y), 0.1), "Unknown")):
        with pytest.raises(FenchelError, match=f"rigorous=True has no enclosures of .*{name}"):
            certify(problem, np.zeros(3), rigorous=True)
    with pytest.raises(FenchelError, match="rigorous"):
        certify(form, np.zeros(3), rigorous="yes")


def test_a_search_for_a_witness_ends_with_a_rigorous_certificate():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(30, 3))
    problem = Problem(X, MeanRisk("logistic", np.sign(X[:, 0])), 0.1, intercept=True)
    found = certify(problem, solve(problem, tol=1e-9).model, rigorous=True)
    assert found.rigorous
    assert found.meets(1e-6)


def test_the_field_rigorous():
    assert not Certificate(1.0, 0.5).rigorous
    assert not (Certificate(1.0, 0.5, rigorous=True) + Certificate(1.0, 0.5)).rigorous


def test_lam_may_be_a_fraction():
    """A third is no float: the bounds are those of the third."""
    X, y = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    problem = Problem(X, MeanRisk("squared", y), Fraction(1, 3))
    assert problem.lam == 1.0 / 3.0
    found = certify(problem, np.array([0.75]), np.array([0.125, -0.125]), rigorous=True)
    # lam/2 w^2 + (1 - w)^2/2 is least at w = 3/4
    assert Fraction(found.lower) <= Fraction(1, 8) <= Fraction(found.upper)
    assert found.rounding_floor <= 1e-30
    rounded = certify(Problem(X, MeanRisk("squared", y), 1.0 / 3.0), np.array([0.75]), rigorous=True)
    assert rounded.primal_error > 1e-18


def test_the_problem_of_an_estimator_has_its_exact_lam():
    weights = np.array([0.1, 0.2, 0.7])
    problem = Problem(np.eye(3), MeanRisk("hinge", [1, -1, 1], weights), 1.0 / (3.0 * float(weights.sum())))
    exact = with_exact_lam(problem, 3.0)
    assert exact.exact_lam == 1 / (3 * sum(map(Fraction, weights.tolist())))
    assert with_exact_lam(problem, 5.0) is problem


def test_a_sum_of_certificates_counts_its_roundings():
    """One-vs-rest certificates are added: their bounds hold for the exact sum of the objectives."""
    labels = [1.0, *[2.0**-53] * 10]
    found = [
        certify(
            Problem(np.array([[1.0]]), MeanRisk("absolute", [y]), 1.0),
            Model(np.array([0.0]), 0.0),
            np.zeros(1),
            rigorous=True,
        )
        for y in labels
    ]
    total = sum(found[1:], start=found[0])
    assert total.rigorous
    assert Fraction(total.upper) >= sum(map(Fraction, labels))
    assert Fraction(total.lower) <= sum(Fraction(each.dual) for each in found)


def test_a_free_column_that_rounds_to_zero_is_an_equality():
    """Repeated entries 2^60, 1 and -2^60 are a column of ones, which floats add up to zeros."""
    slopes, columns, data = [1.0, -1.0, 2.0, -2.0], [0, 0, 0, 1], []
    for slope in slopes:
        data += [2.0**60, 1.0, -(2.0**60), slope]
    X = sp.csr_array((np.array(data), np.array(4 * columns), np.arange(0, 17, 4)), shape=(4, 2))
    y = np.array([3.0, 3.0, 3.5, 2.5])
    problem = Problem(X, MeanRisk("squared", y), 100.0, FreeDirections(np.array([[1.0, 0.0]])))
    found = [
        certify(problem, Model(np.array([intercept, 0.0]), 0.0), y / 4.0, rigorous=True) for intercept in (0.0, 3.0)
    ]
    assert max(each.lower for each in found) <= min(each.upper for each in found)


def test_a_price_that_underflows_is_no_zero():
    """The objective falls without end along the free direction."""
    X = np.array([[0.0, 1.0], [0.0, -1.0], [0.0, 2.0]])
    regularizer = FreeDirections(np.array([[1.0, 0.0]]), prices=np.array([1e-160]))
    problem = Problem(X, MeanRisk("squared", X[:, 1]), 1e-170, regularizer)
    found = certify(problem, Model(np.array([-1e165, 1.0]), 0.0), np.zeros(3), rigorous=True)
    assert found.lower == -np.inf
