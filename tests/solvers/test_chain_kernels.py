"""Kernels of tokens: eq. (32) by enumeration, max-margin by a conic solver, linear kernels, every form of K."""

import itertools
import pickle
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

import slow_chains as slow
from chain_cases import conic_optimum
from fenchel import FenchelError, Model, Problem, SequenceClassifier, Witness, certify, solve
from fenchel.designs import ChainDesign
from fenchel.kernels import CachedGram, ChainGram, GramDesign, GramNorm
from fenchel.risks import ChainHinge, ChainLogistic, RocAUC

every_counting = pytest.mark.parametrize("counting", ["tokens", "pairs"])


@pytest.fixture(scope="module")
def data():
    """Sequences whose labels depend on the neighbour, with one of a single token."""
    rng = np.random.default_rng(0)
    X = [rng.standard_normal((n, 3)) for n in [1, *rng.integers(1, 5, size=14)]]
    y = [np.where(x[:, 0] + np.r_[0.0, x[:-1, 1]] > 0, "a", np.where(x[:, 2] > 0, "b", "c")) for x in X]
    return X, y


def model(**options):
    return SequenceClassifier(**{"loss": "logistic", "tol": 1e-7, "kernel": "rbf", "gamma": 0.3, **options})


def counts_of(lengths):
    """The pairs of neighbours that each token belongs to."""
    return np.concatenate([[(t > 0) + (t < length - 1) for t in range(length)] for length in lengths]).astype(float)


def printed_objective(X, y, labels):
    """Eq. (32) with the stationary kernel of App. E.2, clique by clique, and all labellings of each sequence.

    Returns the objective as a function of alpha, and the number of entries of alpha.
    """
    cliques = [
        (q, t, s, r) for q, x in enumerate(X) for t in range(len(x) - 1) for s, r in itertools.product(labels, labels)
    ]
    K = np.zeros((len(cliques), len(cliques)))
    for (a, (q, t, *own)), (b, (p, u, *other)) in itertools.product(enumerate(cliques), enumerate(cliques)):
        K[a, b] = own == other
        for i, j in itertools.product((0, 1), (0, 1)):
            if own[i] == other[j]:
                K[a, b] += np.exp(-0.3 * np.sum((X[q][t + i] - X[p][u + j]) ** 2))
    place = {clique: k for k, clique in enumerate(cliques)}

    def indicators(q, labelling):
        """Lambda e_(q, y)."""
        found = np.zeros(len(cliques))
        for t, (s, r) in enumerate(itertools.pairwise(labelling)):
            found[place[q, t, s, r]] += 1.0
        return found

    every = [np.array([indicators(q, z) for z in itertools.product(labels, repeat=len(x))]) for q, x in enumerate(X)]
    own = sum(indicators(q, z) for q, z in enumerate(y))

    def objective(alpha):
        image = K @ alpha
        value, slope = alpha @ image - own @ image, 2.0 * image - K @ own
        for rows in every:
            scores = rows @ image
            top = scores.max()
            p = np.exp(scores - top)
            value += top + np.log(p.sum())
            slope += K @ (rows.T @ (p / p.sum()))
        return value, slope

    return objective, len(cliques)


def test_eq_32_is_c_one_half_with_tokens_counted_once_a_pair():
    rng = np.random.default_rng(1)
    X = [rng.standard_normal((n, 2)) for n in (3, 2, 1, 3)]
    y = [rng.integers(0, 2, size=len(x)).tolist() for x in X]
    objective, size = printed_objective(X, y, (0, 1))
    printed = minimize(objective, np.zeros(size), jac=True, method="L-BFGS-B", options={"gtol": 1e-10, "ftol": 0})
    fitted = model(C=0.5, counting="pairs", transitions="pairs", tol=1e-8).fit(X, y)
    assert fitted.certificate_.primal * len(X) == pytest.approx(printed.fun, rel=1e-6)
    assert fitted.certificate_.dual * len(X) <= printed.fun * (1 + 1e-9)


@every_counting
def test_the_optimum_is_that_of_another_lbfgs_in_the_feature_space(data, counting):
    X, y = data[0][:6], data[1][:6]
    lengths, flat = [len(x) for x in X], np.concatenate(X)
    classes, codes = np.unique(np.concatenate(y), return_inverse=True)
    m, n = len(classes), len(flat)
    values, vectors = np.linalg.eigh(rbf_kernel(flat, gamma=0.3))
    features = vectors * np.sqrt(np.maximum(values, 0.0))
    if counting == "pairs":
        features *= counts_of(lengths)[:, None]
    own = (codes, lengths, m)
    gold = slow.mean_features(lambda q, z: 1.0 * (list(z) == labels_of(codes, lengths)[q]), *own)

    def objective(w):
        W, tail = w[: n * m].reshape(n, m), w[n * m :]
        scores = np.concatenate([(features @ W).ravel(), tail])
        p = slow.gibbs(scores, *own)
        slope = slow.mean_features(lambda q, z: p[q][z], *own) - gold
        back = np.concatenate([(features.T @ slope[: n * m].reshape(n, m)).ravel(), slope[n * m :]])
        return 0.5 * w @ w + 0.7 * np.sum(slow.losses("logistic", scores, *own)), w + 0.7 * back

    start = np.zeros(n * m + m * m + 2 * m)
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options={"gtol": 1e-9, "ftol": 0})
    fitted = model(C=0.7, counting=counting).fit(X, y)
    assert fitted.certificate_.primal * 0.7 * len(X) == pytest.approx(found.fun, rel=1e-6)
    np.testing.assert_allclose(fitted.transitions_.ravel(), found.x[n * m : n * m + m * m], atol=1e-3)


def labels_of(codes, lengths):
    return [labels for _, labels in slow.sequences_of(codes.tolist(), lengths)]


def test_the_linear_kernel_is_the_linear_model(data):
    X, y = data
    linear, kernel = model(kernel=None).fit(X, y), model(kernel="linear").fit(X, y)
    assert kernel.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=1e-9)
    np.testing.assert_allclose(kernel.dual_coef_ @ kernel.support_vectors_, linear.coef_, atol=1e-6)
    np.testing.assert_allclose(kernel.transitions_, linear.transitions_, atol=1e-6)
    for one, other in zip(kernel.predict_marginals(X), linear.predict_marginals(X), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    assert kernel.score(X, y) == linear.score(X, y)


@every_counting
def test_every_form_of_the_kernel_is_the_same_model(data, counting):
    X, y = data
    flat, lengths = np.concatenate(X), [len(x) for x in X]
    K = rbf_kernel(flat, gamma=0.3)
    rows = np.split(K, np.cumsum(lengths)[:-1])
    expected = model(counting=counting).fit(X, y)
    assert expected.converged_
    assert expected.solver_ == "smoothing"
    fits = [
        (model(kernel="precomputed", counting=counting).fit(rows, y), rows),
        (model(kernel=lambda a, b: rbf_kernel(a, b, gamma=0.3), counting=counting).fit(X, y), X),
        # rows of the Gram matrix that are computed again and again
        (model(counting=counting, memory_limit=0.01).fit(X, y), X),
    ]
    for found, form in fits:
        np.testing.assert_allclose(found.dual_coef_, expected.dual_coef_, atol=1e-6)
        for one, other in zip(found.predict_marginals(form), expected.predict_marginals(X), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)
    together = model(counting=counting).fit(flat, np.concatenate(y), lengths=lengths)
    np.testing.assert_allclose(together.dual_coef_, expected.dual_coef_, atol=1e-9)


@every_counting
def test_predictions_are_the_best_labellings(data, counting):
    X, y = data
    fitted = model(counting=counting).fit(X, y)
    K = rbf_kernel(np.concatenate(X), fitted.support_vectors_, gamma=0.3)
    nodes = np.split(K @ fitted.dual_coef_.T, np.cumsum([len(x) for x in X])[:-1])
    tail = np.concatenate([fitted.transitions_.ravel(), fitted.start_, fitted.end_])
    for own, found in zip(nodes, fitted.predict(X), strict=True):
        local = own * (counts_of([len(own)])[:, None] if counting == "pairs" else 1.0)
        best = max(slow.labellings(len(own), 3), key=lambda labels, u=local: slow.score(labels, u, tail, 3))
        assert found.tolist() == fitted.classes_[list(best)].tolist()


@every_counting
def test_the_certificate_is_that_of_the_stated_problem(data, counting):
    X, y = data
    fitted = model(C=0.4, counting=counting, tol=1e-4).fit(X, y)
    lengths = [len(x) for x in X]
    codes = np.searchsorted(fitted.classes_, np.concatenate(y))
    counts = counts_of(lengths) if counting == "pairs" else None
    gram = ChainGram(GramDesign(rbf_kernel(np.concatenate(X), gamma=0.3)), 3, counts=counts)
    problem = Problem(gram, ChainLogistic(codes, lengths, 3), 1.0 / (0.4 * len(X)), GramNorm(gram))
    witness = Witness(fitted.theta_, None, fitted.decompositions_[0])
    found = certify(problem, Model(fitted.theta_ / problem.lam), witness)
    assert found.recomputed
    assert found.dual == pytest.approx(fitted.certificate_.dual, rel=1e-9)
    assert found.primal >= fitted.certificate_.dual


def test_the_design_is_its_definition():
    rng, m, n = np.random.default_rng(2), 2, 4
    root = rng.standard_normal((n, 3))
    for counts, transitions, ends in itertools.product((None, np.array([1, 2, 1, 0])), (True, False), (True, False)):
        N = np.diag(np.ones(n) if counts is None else counts)
        gram = ChainGram(GramDesign(root @ root.T), m, transitions=transitions, ends=ends, counts=counts)
        tail = np.repeat([float(transitions), float(ends)], [m * m, 2 * m])
        whole = np.zeros(gram.shape)
        whole[: n * m, : n * m] = np.kron(N @ root @ root.T @ N, np.eye(m))
        whole[n * m :, n * m :] = np.diag(tail)
        w = rng.standard_normal(len(whole))
        np.testing.assert_allclose(gram.scores(w), whole @ w, atol=1e-13)
        np.testing.assert_array_equal(gram.scores(np.stack([w, 2 * w])), np.stack([gram.scores(w)] * 2, 1) * [1, 2])
        np.testing.assert_allclose(gram.adjoint(w), w)
        np.testing.assert_allclose(gram.diagonal, np.diag(whole), atol=1e-14)
        assert np.all(gram.row_magnitudes >= np.linalg.norm(whole, axis=1) * (1 - 1e-12))
        assert gram.largest_row_norm >= np.max(np.linalg.norm(whole, axis=1)) * (1 - 1e-12)
        alpha, T, a, z = gram.split(w)
        np.testing.assert_allclose(alpha, N @ w[: n * m].reshape(n, m))
        np.testing.assert_allclose(np.concatenate([T.ravel(), a, z]), tail * w[n * m :])
        # half the squared norm in fractions is within the bound on its error
        norm = GramNorm(gram)
        K = [[Fraction(x) for x in row] for row in (root @ root.T).tolist()]
        coefficients = [[Fraction(x) for x in row] for row in alpha.tolist()]
        exact = sum(
            coefficients[i][k] * K[max(i, j)][min(i, j)] * coefficients[j][k]
            for i, j, k in itertools.product(range(n), range(n), range(m))
        )
        exact += sum(Fraction(t) * Fraction(x) ** 2 for t, x in zip(tail.tolist(), w[n * m :].tolist(), strict=True))
        value = norm.value(w)
        assert abs(exact / 2 - Fraction(value)) <= norm.value_error(w, value) <= 1e-12


def test_weights_of_sequences_warm_starts_and_copies(data):
    X, y = data
    weights = np.arange(len(X)) % 3
    weighted = model().fit(X, y, sample_weight=weights)
    again = [q for q, w in enumerate(weights) for _ in range(w)]
    repeated = model().fit([X[q] for q in again], [y[q] for q in again])
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-6)
    first = clone(model(warm_start=True, tol=1e-4)).fit(X, y)
    before = first.n_iter_
    assert first.fit(X, y).n_iter_ <= before
    assert first.set_params(C=1.1).fit(X, y).converged_
    assert pickle.loads(pickle.dumps(first)).score(X, y) == first.score(X, y)
    # from a linear fit there is nothing to start from, and the other way round
    assert first.set_params(kernel=None).fit(X, y).converged_
    assert first.set_params(kernel="rbf").fit(X, y).converged_


@pytest.mark.parametrize("counting", ["tokens", pytest.param("pairs", marks=pytest.mark.thorough)])
def test_max_margin_optimum_is_that_of_a_conic_solver_in_the_feature_space(data, counting):
    X, y = data[0][:8], data[1][:8]
    lengths, flat = [len(x) for x in X], np.concatenate(X)
    classes, codes = np.unique(np.concatenate(y), return_inverse=True)
    values, vectors = np.linalg.eigh(rbf_kernel(flat, gamma=0.3))
    features = vectors * np.sqrt(np.maximum(values, 0.0))
    if counting == "pairs":
        features *= counts_of(lengths)[:, None]
    risk = ChainHinge(codes, lengths, len(classes))
    expected = conic_optimum(Problem(ChainDesign(features, len(classes)), risk, 1.0 / (0.7 * len(X))))
    fitted = model(loss="hinge", C=0.7, tol=1e-6, counting=counting, random_state=0).fit(X, y)
    assert fitted.converged_
    assert fitted.solver_ == "frank_wolfe"
    assert fitted.certificate_.recomputed
    assert fitted.certificate_.dual <= expected * (1 + 1e-7)
    assert fitted.certificate_.primal == pytest.approx(expected, rel=2e-6)
    assert fitted.certificate_.primal >= expected * (1 - 1e-7)
    # predictions maximize the scores of the stated model
    K = rbf_kernel(flat, fitted.support_vectors_, gamma=0.3)
    nodes = np.split(K @ fitted.dual_coef_.T, np.cumsum(lengths)[:-1])
    tail = np.concatenate([fitted.transitions_.ravel(), fitted.start_, fitted.end_])
    for own, found in zip(nodes, fitted.predict(X), strict=True):
        local = own * (counts_of([len(own)])[:, None] if counting == "pairs" else 1.0)
        best = max(slow.labellings(len(own), 3), key=lambda labels, u=local: slow.score(labels, u, tail, 3))
        assert found.tolist() == fitted.classes_[list(best)].tolist()
    # a second fit starts from the labellings of the first
    again = fitted.set_params(warm_start=True).fit(X, y)
    assert again.converged_
    assert again.n_iter_ <= 2


def test_gamma_scale_is_that_of_all_tokens(data):
    X, y = data
    fitted = model(gamma="scale", tol=1e-2).fit(X, y)
    assert fitted.gamma_ == pytest.approx(1.0 / (3 * np.concatenate(X).var()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "cubic"}, "kernel must be"),
        ({"counting": "edges"}, "counting"),
        ({"counting": "pairs", "kernel": None}, "requires a kernel"),
        ({"loss": "hinge", "memory_limit": 0.001}, "raise memory_limit"),
        ({"gamma": -1.0}, "gamma"),
        ({"solver": "bundle"}, "bundle"),
        ({"kernel": "precomputed"}, "square"),
    ],
)
def test_bad_parameters(data, options, message):
    X, y = data
    with pytest.raises(FenchelError, match=message):
        model().set_params(**options).fit(X, y)


def test_a_kernel_that_is_none_and_bad_designs(data):
    X, y = data
    with pytest.raises(FenchelError, match="positive semi-definite"):
        model(kernel=lambda a, b: -rbf_kernel(a, b)).fit(X, y)
    gram = GramDesign(np.eye(3))
    with pytest.raises(FenchelError, match="labels"):
        ChainGram(gram, 0)
    for counts in ([1.0, 2.0], [3.0, 1.0, 1.0]):
        with pytest.raises(FenchelError, match="counts"):
            ChainGram(gram, 2, counts=counts)
    chains = ChainGram(gram, 2)
    for call in (chains.rows, chains.descending, lambda: chains.part(0, 1)):
        with pytest.raises(FenchelError):
            call()
    cached = ChainGram(CachedGram(lambda examples: np.eye(3)[examples], np.ones(3), 1.0), 2)
    with pytest.raises(FenchelError, match="no solver"):
        solve(Problem(cached, ChainHinge([0, 1, 1], [3]), 0.1, GramNorm(cached)))


def test_smoothing_of_a_measure_in_a_feature_space_is_that_of_its_features():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((30, 4)), np.where(rng.random(30) < 0.4, 1.0, -1.0)
    gram = GramDesign(X @ X.T)
    one = solve(Problem(X, RocAUC(y), 0.1), "smoothing", tol=1e-5)
    other = solve(Problem(gram, RocAUC(y), 0.1, GramNorm(gram)), "smoothing", tol=1e-5)
    assert other.converged
    assert other.certificate.primal == pytest.approx(one.certificate.primal, rel=2e-5)
    np.testing.assert_allclose(X.T @ other.model.weights, one.model.weights, atol=1e-2)
