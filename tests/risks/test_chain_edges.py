"""Laws of chains with features of pairs of tokens: enumeration, fractions and 60 digits, and an independent optimum."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

import slow_chain_edges as slow
from fenchel import FenchelError, Model, Problem, Witness, certify, solve
from fenchel.certificate import judge
from fenchel.certificate.primal import evaluate
from fenchel.certificate.rounding import risk_error
from fenchel.designs import ChainDesign
from fenchel.numerics.balls import as_ball
from fenchel.risks import ChainHinge, ChainLogistic
from fenchel.risks.chains.oracles import marginals, relative_errors, viterbi

KINDS = {"hinge": ChainHinge, "logistic": ChainLogistic}
every_kind = pytest.mark.parametrize("kind", KINDS)
every_seed = pytest.mark.parametrize("seed", range(5))
#: 0 makes every labelling tie
every_scale = pytest.mark.parametrize("scale", [0.0, 1.0, 30.0, 300.0])


def case(seed, kind, *, weighted=True, edges=2):
    """A risk of four sequences, one of a single token, with features of pairs that are dense or sparse."""
    rng = np.random.default_rng(seed)
    count, lengths = int(rng.integers(2, 4)), [1, *rng.integers(1, 6, size=3).tolist()]
    labels = rng.integers(0, count, size=sum(lengths))
    x = rng.standard_normal((sum(lengths), edges)) * (rng.random((sum(lengths), edges)) < 0.7)
    weights = rng.random(4) * (rng.random(4) < 0.8) + np.eye(4)[0] if weighted and seed % 2 else None
    given = sp.csc_array(x) if seed % 2 else x
    risk = KINDS[kind](labels, lengths, count, weights, given)
    return risk, x, rng


def sequences_of(risk, x, number=float):
    return slow.every(risk.labels, risk.sequences.lengths, x, risk.sequences.labels, number)


@pytest.mark.meetings(1)
@every_kind
@every_scale
@every_seed
def test_value_and_subgradient_are_those_of_all_labellings(kind, scale, seed):
    risk, x, rng = case(seed, kind)
    every = sequences_of(risk, x)
    scores = scale * rng.standard_normal(risk.examples)
    value = risk.shares @ np.array(slow.losses(kind, scores, every))
    assert risk.value(scores) == pytest.approx(value, rel=1e-12, abs=1e-12)
    slope, offset, at = risk.cutting_plane(scores)
    assert at == risk.value(scores)
    assert slope @ scores + offset == pytest.approx(value, rel=1e-9, abs=1e-9)
    if kind == "logistic":
        expected = slow.theta(slow.gibbs(scores, every), every, risk.shares, risk.examples)
        np.testing.assert_allclose(-slope, expected, atol=1e-10)
    # below the risk everywhere
    other = rng.standard_normal(risk.examples)
    assert slope @ other + offset <= risk.value(other) + 1e-9


@pytest.mark.meetings(1)
@every_scale
@every_seed
def test_viterbi_and_marginals(scale, seed):
    risk, x, rng = case(seed, "hinge")
    every, sequences = sequences_of(risk, x), risk.sequences
    scores = scale * rng.standard_normal(risk.examples)
    found = viterbi(sequences, sequences.split(scores))
    begin = 0
    for (_, features), value, length in zip(every, found.values, sequences.lengths, strict=True):
        best = max(slow.score(one, scores) for one in features.values())
        own = tuple(found.labels[begin : begin + length].tolist())
        assert value == pytest.approx(best, rel=1e-12, abs=1e-12)
        assert slow.score(features[own], scores) == pytest.approx(best, rel=1e-12, abs=1e-12)
        begin += length
    parts = sequences.split(scores)
    got, p = marginals(sequences, parts, risk.shares), slow.gibbs(scores, every)
    mean = -slow.theta(p, [(own, {**f, own: f[own]}) for own, f in every], risk.shares, risk.examples)
    for share, (own, features) in zip(risk.shares, every, strict=True):
        for place, value in features[own].items():
            mean[place] += share * value
    expected = sequences.split(mean)
    np.testing.assert_allclose(got.transitions, expected.transitions, atol=1e-11)
    np.testing.assert_allclose(got.nodes * risk.token_shares[:, None], expected.nodes, atol=1e-11)
    assert np.all(relative_errors(sequences, parts) < 1e-9)


@pytest.mark.meetings(1)
@every_kind
@every_seed
def test_weak_duality_of_random_witnesses(kind, seed):
    risk, x, rng = case(seed, kind)
    every, m = sequences_of(risk, x), risk.sequences.labels
    X = rng.standard_normal((risk.sequences.tokens, 3))
    problem = Problem(ChainDesign(X, m, edge_features=2), risk, 10.0 ** rng.uniform(-3, 1))
    if kind == "logistic":
        given = np.concatenate([[1.0], 2.0 * rng.standard_normal(risk.examples)])[None]
        p = slow.gibbs(given[0, 1:], every)
        conjugate = risk.shares @ np.array([sum(w * math.log(w) for w in one.values() if w) for one in p])
    else:
        labels = rng.integers(0, m, size=(2, risk.sequences.tokens))
        given = np.concatenate([[8], [*range(4)] * 2, np.full(4, 0.3), np.full(4, 0.7), labels.ravel()])
        p, conjugate, begin = [], 0.0, 0
        for share, (own, _) in zip(risk.shares, every, strict=True):
            both = [tuple(row[begin : begin + len(own)].tolist()) for row in labels]
            mixture = {}
            for y, weight in zip(both, (0.3, 0.7), strict=True):
                mixture[y] = mixture.get(y, 0.0) + weight
                conjugate -= share * weight * slow.hamming(y, own)
            p.append(mixture)
            begin += len(own)
    theta = slow.theta(p, every, risk.shares, risk.examples)
    form = risk.decomposed_form(theta, given)
    np.testing.assert_allclose(form.project(theta), theta, atol=1e-12)
    assert form.conjugate(form.project(theta), feasible=True) == pytest.approx(conjugate, abs=1e-12)
    v = problem.design.adjoint(theta) / problem.lam
    dual = -problem.lam * 0.5 * float(v @ v) - conjugate
    certificate = judge(problem, Model(np.zeros(problem.weights_shape)), Witness(theta, None, given)).certificate
    assert certificate.dual == pytest.approx(max(dual, 0.0), rel=1e-9, abs=1e-12)
    for scale in (0.01, 0.1, 1.0):
        w = scale * rng.standard_normal(problem.weights_shape)
        # the definition of the problem, by enumeration
        primal = problem.lam / 2 * float(w @ w)
        primal += risk.shares @ np.array(slow.losses(kind, _scores(problem, X, w), every))
        assert evaluate(problem, Model(w)).value == pytest.approx(primal, rel=1e-12)
        assert primal >= dual - 1e-12


def _scores(problem, X, w):
    """X w by the parts of w."""
    nodes = X.shape[1] * problem.design.labels
    return np.concatenate([(X @ w[:nodes].reshape(X.shape[1], -1)).ravel(), w[nodes:]])


@pytest.fixture
def digits():
    with localcontext() as context:
        context.prec = 60
        context.Emax, context.Emin = 10**9, -(10**9)
        yield


@every_kind
@pytest.mark.parametrize("scale", [0.1, 3.0, 100.0])
@pytest.mark.parametrize("seed", range(2))
def test_rounding_is_within_its_bounds(kind, scale, seed, digits):
    """Of R, and of D at the point of the subgradient, against fractions and 60 digits."""
    risk, x, rng = case(2 * seed, kind, edges=3)
    # four sequences: c_q = 1/4 is exact
    number = Fraction if kind == "hinge" else Decimal
    m, every = risk.sequences.labels, sequences_of(risk, x, number)
    X = rng.standard_normal((risk.sequences.tokens, 3))
    problem = Problem(ChainDesign(X, m, edge_features=3), risk, 2.0**-6)
    w = scale * rng.standard_normal(problem.weights_shape)
    W = [[number(value) for value in row] for row in w[: 3 * m].reshape(3, m).tolist()]
    rows = [[number(value) for value in row] for row in X.tolist()]
    exact = [sum(x * W[f][j] for f, x in enumerate(row)) for row in rows for j in range(m)]
    exact += [number(value) for value in w[3 * m :].tolist()]
    primal = evaluate(problem, Model(w))
    risk_value = sum(_exact_losses(kind, exact, every)) / 4
    for fine in (False, True):
        bound = risk_error(problem, primal, fine=fine)
        assert abs(float(risk_value - number(primal.risk))) <= bound
        # a bound that is far too large would prove nothing
        assert bound <= 1e-9 * (1.0 + scale)
    scores = problem.design.scores(w)
    subgradient = risk.subgradient(scores)
    witness = Witness(-subgradient, None, risk.decompose(scores, subgradient))
    certificate = judge(problem, Model(np.zeros(problem.weights_shape)), witness).certificate
    if certificate.dual == 0.0:
        # zero was the better one
        return
    dual = _exact_dual(problem, witness, scores, every, rows, number)
    assert abs(float(dual - number(certificate.dual))) <= certificate.dual_error


def _exact_losses(kind, scores, every):
    if kind == "hinge":
        return slow.losses(kind, scores, every)
    found = []
    for own, features in every:
        values = [slow.score(one, scores) for one in features.values()]
        found.append(
            sum((value - values[0]).exp() for value in values).ln() + values[0] - slow.score(features[own], scores)
        )
    return found


def _exact_dual(problem, witness, scores, every, rows, number):
    risk, m, theta = problem.risk, problem.design.labels, [number(0)] * problem.risk.examples
    conjugate, begin = number(0), 0
    stored = [number(value) for value in scores.tolist()]
    chosen = witness.decomposition[9:].astype(int).tolist() if risk.max_margin() is not None else None
    for own, features in every:
        if chosen is not None:
            p = {tuple(chosen[begin : begin + len(own)]): number(1)}
            conjugate -= number(slow.hamming(next(iter(p)), own)) / 4
        else:
            values = {y: slow.score(one, stored).exp() for y, one in features.items()}
            total = sum(values.values())
            p = {y: value / total for y, value in values.items()}
            conjugate += sum(value * value.ln() for value in p.values()) / 4
        begin += len(own)
        for y, weight in ((own, number(1)), *((y, -weight) for y, weight in p.items())):
            for place, value in features[y].items():
                theta[place] += weight * value / 4
    n = risk.sequences.tokens
    v = [sum(rows[t][f] * theta[t * m + j] for t in range(n)) for f in range(len(rows[0])) for j in range(m)]
    return -sum(one * one for one in (*v, *theta[n * m :])) / (2 * number(problem.lam)) - conjugate


@every_kind
def test_solvers_find_the_optimum(kind):
    risk, x, rng = case(2, kind)
    X = rng.standard_normal((risk.sequences.tokens, 2))
    problem = Problem(ChainDesign(X, risk.sequences.labels, edge_features=2), risk, 0.05)
    every, optima = sequences_of(risk, x), []
    for solver in ("auto", "bundle", {"hinge": "frank_wolfe", "logistic": "exponentiated_gradient"}[kind]):
        solution = solve(problem, solver, tol=1e-6, max_iter=20000)
        assert solution.converged
        optima.append(solution.certificate)
        again = certify(problem, solution.model, solution.witness)
        assert again.primal == solution.certificate.primal
        assert again.dual == pytest.approx(solution.certificate.dual, rel=1e-12)
    for other in optima[1:]:
        assert optima[0].primal == pytest.approx(other.primal, rel=2e-6)
    if kind == "logistic":

        def objective(w):
            return 0.025 * w @ w + risk.shares @ np.array(slow.losses(kind, _scores(problem, X, w), every))

        found = minimize(objective, np.zeros(problem.weights_shape), method="L-BFGS-B", options={"maxfun": 10**6})
        assert optima[0].primal == pytest.approx(found.fun, rel=1e-5)
    else:
        with pytest.raises(FenchelError, match="does not support features of pairs of tokens"):
            solve(problem, "pragam")


@every_kind
def test_features_that_are_zero_are_as_none(kind):
    risk, _, rng = case(0, kind)
    plain = KINDS[kind](risk.labels, risk.sequences.lengths, risk.sequences.labels)
    X = rng.standard_normal((risk.sequences.tokens, 2))
    m, zeros = risk.sequences.labels, np.zeros((risk.sequences.tokens, 1))
    # features of first tokens belong to no pair
    zeros[risk.sequences.begins] = 7.0
    same = KINDS[kind](risk.labels, risk.sequences.lengths, m, None, zeros)
    first = solve(Problem(ChainDesign(X, m), plain, 0.1), "bundle", tol=1e-8)
    other = solve(Problem(ChainDesign(X, m, edge_features=1), same, 0.1), "bundle", tol=1e-8)
    assert first.certificate.primal == pytest.approx(other.certificate.primal, rel=1e-7)
    assert not np.any(ChainDesign(X, m, edge_features=1).split(other.model.weights)[1][1])


def test_bad_arguments():
    with pytest.raises(FenchelError, match="edges must have a row for each of the 3 tokens, got 2"):
        ChainHinge([0, 1, 0], edges=np.ones((2, 1)))
    with pytest.raises(FenchelError, match="edges contain NaN"):
        ChainHinge([0, 1, 0], edges=np.full((3, 1), np.nan))
    with pytest.raises(FenchelError, match="edge_features must be"):
        ChainDesign(np.eye(3), 2, transitions=False, edge_features=1)


@pytest.mark.meetings(1)
@pytest.mark.usefixtures("plain_loops")
@pytest.mark.parametrize("kind", [ChainHinge, ChainLogistic])
@pytest.mark.parametrize("seed", range(2))
def test_rigorous_bounds_hold_in_sixty_digits(kind, seed):
    rng, m, lengths, K = np.random.default_rng([seed, 5]), 2, [3, 1, 2], 2
    n = sum(lengths)
    X, labels, edges = rng.normal(size=(n, 2)), rng.integers(0, m, n), rng.normal(size=(n, K))
    edges[rng.random((n, K)) < 0.3] = 0.0
    weights = np.array([1.0, 0.3, 2.0])
    risk = kind(labels, lengths, m, weights, edges)
    problem = Problem(ChainDesign(X, m, edge_features=K), risk, 0.25)
    w = rng.normal(size=problem.design.shape[1])
    scores = problem.design.scores(w)
    with localcontext() as context:
        context.prec = 60
        number = [Decimal(one) for one in scores.tolist()]
        sequences = slow.every(labels, lengths, edges, m, Decimal)
        shares = [Decimal(one) / sum(map(Decimal, weights.tolist())) for one in weights.tolist()]
        loss, means, conjugate = Decimal(0), [Decimal(0)] * risk.examples, Decimal(0)
        for share, (own, features) in zip(shares, sequences, strict=True):
            values = {y: slow.score(one, number) for y, one in features.items()}
            if kind is ChainHinge:
                worst = max(values, key=lambda y, at=values, gold=own: slow.hamming(y, gold) + at[y])
                loss += share * (slow.hamming(worst, own) + values[worst] - values[own])
                p, entropy = {worst: Decimal(1)}, Decimal(slow.hamming(worst, own))
            else:
                total = sum(value.exp() for value in values.values())
                loss += share * (total.ln() - values[own])
                p = {y: value.exp() / total for y, value in values.items()}
                entropy = -sum(one * one.ln() for one in p.values())
            conjugate -= share * entropy
            for y, weight in (*p.items(), (own, Decimal(-1))):
                for place, value in features[y].items():
                    means[place] -= share * weight * value
        enclosed = risk.enclosure()
        found = enclosed.value(as_ball(scores))
        assert abs(Decimal(float(found.high)) + Decimal(float(found.low)) - loss) <= Decimal(float(found.radius))
        assert float(found.radius) <= 1e-25
        theta = -risk.subgradient(scores)
        point = enclosed.dual_point(theta, balanced=False, decomposition=risk.decompose(scores, -theta))
        # the enclosed point times its factor is the exact one, or a multiple of it just below 1
        product = point.theta * point.factor
        got = [Decimal(float(a)) + Decimal(float(b)) for a, b in zip(product.high, product.low, strict=True)]
        multiple = sum(a * b for a, b in zip(got, means, strict=True)) / sum(b * b for b in means)
        assert 1 - Decimal("1e-15") <= multiple <= 1 + Decimal("1e-25")
        assert max(abs(a - multiple * b) for a, b in zip(got, means, strict=True)) <= Decimal("1e-25")
        bound = Decimal(float(point.conjugate.high)) + Decimal(float(point.conjugate.low))
        assert abs(bound - multiple * conjugate) <= Decimal("1e-15") * (1 - multiple) + Decimal("1e-25")
    witness = Witness(theta, None, risk.decompose(scores, -theta))
    rigorous, plain = (certify(problem, Model(w), witness, rigorous=kind_of) for kind_of in (True, False))
    assert rigorous.dual == pytest.approx(plain.dual, rel=1e-12)
    assert rigorous.primal == pytest.approx(plain.primal, rel=1e-12)
