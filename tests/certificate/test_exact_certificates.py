"""The bounds of a certificate hold for the exact objective of the stored numbers: P <= upper and lower <= D.

P and D are evaluated with eighty digits, for every loss and regularizer, with c and lam as stored and as the exact
quotients that they stand for.  A loss that is a constraint is a question of feasibility: only its D is compared.
"""

import itertools
import statistics
from decimal import Decimal

import numpy as np
import pytest

import exact_losses
from exact_cases import REGULARIZERS, SCALES, STORAGES, exact_dual, exact_primal, pairs_of, random_case
from exact_losses import DIGITS, EVERY_LOSS, digits
from fenchel import Model, Witness, solve
from fenchel.certificate import judge
from fenchel.errors import FenchelError
from fenchel.regularizers import L2


def check(case, verdict, ratios):
    """Assert both bounds; collect how much larger the bounds are than the errors."""
    certificate, model, witness, _ = verdict
    primal, dual = Decimal(certificate.primal), Decimal(certificate.dual)
    with digits(DIGITS):
        upper = primal + Decimal(certificate.primal_error)
        lower = dual - Decimal(certificate.dual_error)
        true = Decimal(0)
        for place, (c, lam) in enumerate(case.readings):
            if case.problem.risk.loss.constraint is None and np.isfinite(certificate.primal):
                exact = exact_primal(case, model, c, lam)
                assert exact <= upper, f"P {exact:.20} > {upper:.20}"
                if place == 0:
                    true += abs(exact - primal)
            if np.isfinite(certificate.dual) and np.isfinite(certificate.dual_error):
                exact = exact_dual(case, witness.theta.tolist(), c, lam)
                assert lower <= exact, f"D {exact:.20} < {lower:.20}"
                if place == 0:
                    true += abs(exact - dual)
        # where everything is an underflow the ratio says nothing
        finite = all(
            np.isfinite([certificate.primal, certificate.dual, certificate.primal_error, certificate.dual_error])
        )
        # with an intercept D has a charge that is no rounding error
        if finite and true > Decimal(2.0**-1000) and not case.problem.intercept:
            ratios.append(float((upper - primal + dual - lower) / true))


@pytest.fixture(scope="module")
def ratios():
    """Bounds over true errors of all cases, checked when they have run."""
    found = []
    yield found
    if len(found) > 50:
        print(f"\nmedian of the bounds over the true errors: {statistics.median(found):.1f} in {len(found)} cases")
        # a worker of a parallel run sees a part of the cases
        assert statistics.median(found) <= (120.0 if len(found) > 400 else 200.0)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("loss", EVERY_LOSS, ids=repr)
@pytest.mark.parametrize("name", REGULARIZERS)
def test_random_models_and_witnesses(loss, name, ratios, portion):
    """Storages, scales, intercepts and weights in a random order of their own for each pair."""
    rng = np.random.default_rng([EVERY_LOSS.index(loss), list(REGULARIZERS).index(name)])
    ways = list(itertools.product(STORAGES, SCALES, [False, True], [False, True]))
    for way in rng.permutation(len(ways))[: portion(5)]:
        try:
            case = random_case(rng, loss, REGULARIZERS[name], *ways[way])
        except FenchelError:
            # X of float32 overflows, or the loss has no intercept
            continue
        for model, theta in pairs_of(case, rng):
            try:
                verdict = judge(case.problem, model, Witness(theta))
            except FenchelError as error:
                assert "overflow" in str(error) or "infinite at these weights" in str(error)
                continue
            check(case, verdict, ratios)


#: factors of weights and of dual points whose products, squares or quotients underflow
UNDERFLOWING = [1.0, 1e-100, 1e-160, 1e-300, 1e-308, 1e-315, 1e-320, 0.0]


@pytest.mark.parametrize("name", REGULARIZERS)
def test_numbers_that_underflow(name, portion, full_products):
    """Underflow adds 2^-1074 to a product of any size, and the bounds have it."""
    rng = np.random.default_rng([41, list(REGULARIZERS).index(name)])
    ways = list(itertools.product(STORAGES, [(1.0, 0.0), (1e-150, 0.0), (1e-310, 0.0)], [False, True], [False, True]))
    # the balanced entropy takes ten times as long to evaluate
    for loss in EVERY_LOSS[:: 6 if name == "balanced_entropy" else 1 if full_products else 2]:
        for way in rng.permutation(len(ways))[: portion(1)]:
            try:
                case = random_case(rng, loss, REGULARIZERS[name], *ways[way])
            except FenchelError:
                continue
            for model, theta in pairs_of(case, rng):
                shrunk, smaller = rng.choice(UNDERFLOWING, size=2)
                if case.problem.regularizer.finite:
                    model = Model(shrunk * model.weights, shrunk * model.intercept)
                try:
                    verdict = judge(case.problem, model, Witness(smaller * theta))
                except FenchelError as error:
                    assert "overflow" in str(error) or "infinite at these weights" in str(error)
                    continue
                check(case, verdict, [])


@pytest.mark.meetings(1)
@pytest.mark.parametrize("name", ["hinge", "logistic", "squared", "huber"])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e8])
@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
def test_solved_problems(name, offset, intercept, ratios):
    for seed in range(4):
        rng = np.random.default_rng([7, seed])
        loss = exact_losses.NAMED[name]()
        case = random_case(rng, loss, L2(), "dense", (1.0, offset), intercept, seed % 2 == 1)
        solution = solve(case.problem, tol=1e-12, max_iter=100)
        check(case, judge(case.problem, solution.model, solution.witness), ratios)
