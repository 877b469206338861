"""The augmented Lagrangian of Zhang (2002) for a free intercept: its steps by hand, and its optimum."""

import numpy as np
import pytest

from agreement import conic_answer
from catalog import Case
from fenchel import FenchelError, Problem, solve
from fenchel.regularizers import (
    L1,
    L2,
    REGULARIZERS,
    ElasticNet,
    Entropy,
    QNorm,
    QuadraticForm,
    UnnormalizedEntropy,
)
from fenchel.solvers import AugmentedLagrangian, DualCoordinate, Hint
from fenchel.solvers.dual_coordinate.loop import CENTRE

ALGORITHMS = [AugmentedLagrangian(), AugmentedLagrangian(eta=1.0, mu=4.0), AugmentedLagrangian(exactly=True, mu=4.0)]
every_algorithm = pytest.mark.parametrize("solver", ALGORITHMS, ids=["3", "3-fast", "2"])


@every_algorithm
@pytest.mark.parametrize("case", [Case(loss, intercept=True) for loss in ("hinge", "squared")], ids=str)
def test_it_comes_to_the_conic_optimum(case, solver):
    solution = solve(case.problem(), solver, tol=1e-6, max_iter=20000)
    assert solution.solver == "augmented_lagrangian"
    assert solution.converged, str(solution)
    assert solution.certificate.primal == pytest.approx(conic_answer(case)[2], rel=2e-6)
    assert abs(solution.witness.theta.sum()) <= 1e-15


def _with(regularizer):
    """The hinge with a free intercept and this regularizer, which is made for the number of features."""
    plain = Case("hinge", intercept=True).problem()
    return Problem(plain.design, plain.risk, plain.lam, regularizer(plain.design.shape[1]), True)


#: every regularizer that has a loop of dual_coordinate, by the number of features
TAKEN = {
    "entropy": lambda d: Entropy(3.0, balanced=True),
    "unnormalized_entropy": lambda d: UnnormalizedEntropy(0.5, balanced=True),
    "q_norm": lambda d: QNorm(1.5),
    "elastic_net": lambda d: ElasticNet(0.3),
    "l2": lambda d: L2(),
    "diagonal form": lambda d: QuadraticForm(np.linspace(0.5, 2.0, d)),
    "dense form": lambda d: QuadraticForm(np.eye(d) + 0.3),
}


def test_the_list_has_every_registered_regularizer_of_dual_coordinate():
    assert set(REGULARIZERS) - set(TAKEN) == {"l1"}
    problem = _with(lambda d: L1())
    for solver in (DualCoordinate(), AugmentedLagrangian()):
        assert "does not support the regularizer 'l1'" in solver.supports(problem)


@every_algorithm
@pytest.mark.parametrize("name", TAKEN)
def test_it_takes_every_regularizer_of_dual_coordinate(name, solver, rarely_compiled):
    problem = _with(TAKEN[name])
    assert problem.regularizer.name == name or name.endswith("form")
    one, other = (solve(problem, each, tol=1e-6, max_iter=20000) for each in (solver, "dual_coordinate"))
    assert one.converged, str(one)
    assert one.certificate.primal == pytest.approx(other.certificate.primal, rel=2e-6)


def test_algorithm_3_is_eqs_30_and_31():
    case, mu, eta = Case("hinge", intercept=True), 0.7, 0.2
    problem, solver = case.problem(), AugmentedLagrangian(mu=mu, eta=eta, shrinking=False)
    state = solver.start(problem, None)
    s, (X, y, _) = state.outputs[0].intercept[CENTRE], case.data()
    n, lam, v, alpha = len(y), case.lam, np.zeros(X.shape[1]), np.zeros(len(y))
    for _ in range(3):
        solver.step(state, Hint(None, 0.0, lambda: False))
        for i in state.outputs[0].active_set.order:
            c1 = X[i] @ X[i] / (lam * n)
            slope = X[i] @ v + s + alpha.sum() / mu - y[i]
            new = y[i] * max(min(alpha[i] * y[i] - slope / (c1 + 1 / mu) * y[i], 1.0), 0.0)
            v, alpha[i] = v + (new - alpha[i]) * X[i] / (lam * n), new
        s += eta / mu * alpha.sum()
        np.testing.assert_allclose(solver.propose(state)[1].theta, alpha / n, rtol=1e-9, atol=1e-15)
        assert state.outputs[0].intercept[CENTRE] == pytest.approx(s, rel=1e-9)


def test_what_it_can_not_take_is_said():
    assert "free intercept" in AugmentedLagrangian().supports(Case("hinge").problem())
    for options in ({"mu": 0.0}, {"eta": -1.0}, {"mu": True}):
        with pytest.raises(FenchelError):
            AugmentedLagrangian(**options)
