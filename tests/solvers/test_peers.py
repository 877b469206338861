"""Agreement with other libraries, where they have the problem: scikit-learn and LIBLINEAR."""

import numpy as np
import pytest
import scipy.sparse as sp

import slow_reference as slow
from catalog import CASES, SOLVER_NAMES, SPARSE_CASES, Case
from fenchel import solve
from fenchel.losses import LOSSES

every_solver = pytest.mark.parametrize("solver", SOLVER_NAMES)


def scikit_learn_peer(case, n):
    """The estimator with this loss and regularizer, or None where scikit-learn has none."""
    from sklearn.linear_model import ElasticNet, LogisticRegression, Ridge
    from sklearn.svm import LinearSVC, LinearSVR

    C, free = 1 / (case.lam * n), {"fit_intercept": case.intercept}
    if case.l1_ratio:
        mixed = {"l1_ratio": case.l1_ratio, **free}
        saga = {"solver": "saga", "tol": 1e-10, "max_iter": 10**5, "random_state": 0}
        return {
            "logistic": lambda: LogisticRegression(C=C, **saga, **mixed),
            "squared": lambda: ElasticNet(alpha=case.lam, tol=1e-12, max_iter=10**6, **mixed),
        }.get(case.loss, lambda: None)()
    # an intercept far less penalized than the weights is close to a free one
    liblinear = {"C": C, "tol": 1e-10, "max_iter": 10**6, "dual": True}
    liblinear |= {"intercept_scaling": 30.0} if case.intercept else {"fit_intercept": False}
    return {
        "hinge": lambda: LinearSVC(loss="hinge", **liblinear),
        "squared_hinge": lambda: LinearSVC(loss="squared_hinge", **liblinear),
        "logistic": lambda: LogisticRegression(C=C, tol=1e-10, max_iter=10**4, **free),
        "squared": lambda: Ridge(alpha=case.lam * n, tol=1e-12, **free),
        "absolute": lambda: LinearSVR(epsilon=0.0, loss="epsilon_insensitive", **liblinear),
        "epsilon_insensitive": lambda: LinearSVR(epsilon=0.1, loss="epsilon_insensitive", **liblinear),
        "squared_epsilon_insensitive": lambda: LinearSVR(
            epsilon=0.1, loss="squared_epsilon_insensitive", **(liblinear | {"dual": False})
        ),
    }.get(case.loss, lambda: None)()


SINGLE = [case for case in [*CASES, *SPARSE_CASES] if case.outputs is None and not case.weighted]
PEERED = [case for case in SINGLE if scikit_learn_peer(case, 1) is not None]


@pytest.mark.meetings(1)
@every_solver
@pytest.mark.parametrize("case", PEERED, ids=str)
def test_agreement_with_scikit_learn(case, solver):
    """Its other estimators have a free intercept as we do; those of LIBLINEAR penalize theirs a little."""
    X, y, _ = case.data()
    data, n = (sp.csr_array(X) if case.storage == "sparse" else X), len(y)
    peer = scikit_learn_peer(case, n)
    peer.fit(data, y)
    b = float(np.ravel(peer.intercept_)[0]) if case.intercept else 0.0
    theirs = slow.primal(case.loss, X, y, slow.shares(n), case.lam, np.ravel(peer.coef_), b, case.l1_ratio)
    certificate = solve(case.problem(), solver, tol=1e-10, max_iter=3000).certificate
    slack = 1e-3 if case.intercept and type(peer).__name__ in ("LinearSVC", "LinearSVR") else 1e-7
    assert certificate.primal == pytest.approx(float(theirs), rel=slack)
    assert certificate.dual <= theirs + certificate.rounding_floor


#: kind of solver, factor of C, options
LIBLINEAR = {
    "hinge": (3, 1.0, ""),
    "squared_hinge": (1, 1.0, ""),
    "logistic": (7, 1.0, ""),
    "squared": (12, 0.5, " -p 0"),
    "absolute": (13, 1.0, " -p 0"),
    "epsilon_insensitive": (13, 1.0, " -p 0.1"),
    "squared_epsilon_insensitive": (12, 1.0, " -p 0.1"),
}


@pytest.mark.meetings(1)
@every_solver
@pytest.mark.parametrize("loss", list(LIBLINEAR))
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_agreement_with_liblinear(loss, storage, solver):
    """LIBLINEAR has no free intercept, so none here."""
    from liblinear.liblinearutil import train

    case = Case(loss, storage)
    X, y, _ = case.data()
    n = len(y)
    # its dual solvers by number; 12 is sum r^2 with epsilon 0, so half of our C
    kind, C, options = LIBLINEAR[loss]
    options = f"-s {kind} -c {C / (case.lam * n)!r} -e 1e-10 -B -1 -q" + options
    model = train(y, sp.csr_matrix(X), options)
    w = np.array(model.w[: case.d]) * (1 if LOSSES[loss].task == "regression" else model.label[0])
    theirs = float(slow.primal(loss, X, y, slow.shares(n), case.lam, w))
    certificate = solve(case.problem(), solver, tol=1e-10, max_iter=3000).certificate
    assert certificate.primal == pytest.approx(theirs, rel=1e-7)
    assert certificate.dual <= theirs + certificate.rounding_floor
