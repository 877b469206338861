"""Certificates of chains are proved in exact arithmetic: P and D against fractions and 60 digits."""

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from fenchel import Model, Problem, Witness
from fenchel.certificate import judge
from fenchel.certificate.dual import lower_bound
from fenchel.certificate.primal import evaluate
from fenchel.certificate.rounding import risk_error
from fenchel.designs import ChainDesign
from fenchel.risks import ChainHinge, ChainLogistic

KINDS = {"hinge": ChainHinge, "logistic": ChainLogistic}
every_kind = pytest.mark.parametrize("kind", KINDS)
every_scale = pytest.mark.parametrize("scale", [0.1, 3.0, 100.0])


def random_problem(kind, seed, lam=2.0**-6):
    rng = np.random.default_rng(seed)
    count, lengths = 3, [1, 2, *rng.integers(10, 30, size=3)]
    labels = rng.integers(0, count, size=sum(lengths))
    X = rng.standard_normal((sum(lengths), 4))
    # four sequences: c_q = 1/4 is exact
    risk = KINDS[kind](labels[: sum(lengths[:4])], lengths[:4], count)
    return Problem(ChainDesign(X[: sum(lengths[:4])], count), risk, lam), rng


def exact_scores(problem, weights):
    """X w in fractions."""
    W, T, a, z = problem.design.split(weights)
    X = problem.design.tokens.rows().values
    W = [[Fraction(x) for x in row] for row in W.tolist()]
    nodes = [
        [sum(Fraction(x) * W[f][j] for f, x in enumerate(row)) for j in range(problem.design.labels)]
        for row in X.tolist()
    ]
    tail = ([[Fraction(x) for x in row] for row in T.tolist()], *([Fraction(x) for x in part] for part in (a, z)))
    return nodes, *tail


def sequences_of(risk):
    for begin, length in zip(risk.sequences.begins.tolist(), risk.sequences.lengths.tolist(), strict=True):
        yield begin, risk.labels[begin : begin + length].tolist()


def gold(nodes, T, a, z, labels):
    total = a[labels[0]] + z[labels[-1]] + sum(nodes[t][j] for t, j in enumerate(labels))
    return total + sum(T[i][j] for i, j in itertools.pairwise(labels))


def exact_risk(problem, scores):
    """R, a fraction for the max-margin risk and a decimal of 60 digits for the log-loss."""
    nodes, T, a, z = scores
    m, losses = problem.design.labels, []
    for begin, labels in sequences_of(problem.risk):
        local = nodes[begin : begin + len(labels)]
        if problem.risk.smooth:
            exp = [[_decimal(x).exp() for x in row] for row in local]
            E = [[_decimal(x).exp() for x in row] for row in T]
            f = [_decimal(x).exp() * y for x, y in zip(a, exp[0], strict=True)]
            for row in exp[1:]:
                f = [row[j] * sum(f[i] * E[i][j] for i in range(m)) for j in range(m)]
            Z = sum(x * _decimal(y).exp() for x, y in zip(f, z, strict=True))
            losses.append(Z.ln() - _decimal(gold(local, T, a, z, labels)))
        else:
            f = [a[j] + local[0][j] + (j != labels[0]) for j in range(m)]
            for t in range(1, len(labels)):
                f = [max(f[i] + T[i][j] for i in range(m)) + local[t][j] + (j != labels[t]) for j in range(m)]
            losses.append(max(x + y for x, y in zip(f, z, strict=True)) - gold(local, T, a, z, labels))
    return sum(losses) / len(losses)


def _decimal(x):
    return Decimal(x.numerator) / Decimal(x.denominator)


@pytest.fixture(autouse=True)
def digits():
    with localcontext() as context:
        context.prec = 60
        context.Emax, context.Emin = 10**9, -(10**9)
        yield


@every_kind
@every_scale
@pytest.mark.parametrize("seed", range(2))
def test_error_of_the_risk_is_within_its_bound(kind, scale, seed):
    problem, rng = random_problem(kind, seed)
    model = Model(scale * rng.standard_normal(problem.weights_shape))
    primal = evaluate(problem, model)
    exact = exact_risk(problem, exact_scores(problem, model.weights))
    error = abs(float(exact - type(exact)(primal.risk)))
    for fine in (False, True):
        bound = risk_error(problem, primal, fine=fine)
        assert error <= bound
        # a bound that is far too large would prove nothing
        assert bound <= 1e-9 * (1.0 + scale)


@every_kind
@pytest.mark.parametrize("scale", [300.0, 3000.0])
def test_errors_of_wide_scores_of_tokens(kind, scale):
    """Exponentials of tokens underflow, those of transitions do not."""
    problem, rng = random_problem(kind, 0)
    weights = rng.standard_normal(problem.weights_shape)
    nodes = problem.design.tokens.shape[1] * problem.design.labels
    weights[:nodes] *= scale
    assert np.max(np.ptp(problem.risk.sequences.split(problem.design.scores(weights)).nodes, axis=1)) > 800.0
    primal = evaluate(problem, Model(weights))
    exact = exact_risk(problem, exact_scores(problem, weights))
    bound = risk_error(problem, primal, fine=True)
    assert abs(float(exact - type(exact)(primal.risk))) <= bound <= 1e-9 * scale
    scores = problem.design.scores(weights)
    subgradient = problem.risk.subgradient(scores)
    witness = Witness(-subgradient, None, problem.risk.decompose(scores, subgradient))
    form = problem.risk.decomposed_form(-subgradient, witness.decomposition)
    theta = np.array([float(x) for part in exact_theta(problem, witness) for row in part for x in row])
    assert np.sum(np.abs(form.theta - theta)) <= form.domain_distance(form.theta)
    assert (
        abs(float(exact_conjugate(problem, witness, scores)) - form.conjugate(form.theta))
        <= form.conjugate_error(form.theta, 0.0) + 1e-15
    )


@pytest.mark.meetings(1)
@every_kind
@every_scale
@pytest.mark.parametrize(("seed", "offset"), [(0, 0.0), (1, 0.0), (2, 1e7)])
def test_the_dual_bound_is_below_the_exact_objective_of_its_own_point(kind, scale, seed, offset):
    """D of the exact distributions is within the error of the computed one; an offset is common to all labels."""
    problem, rng = random_problem(kind, seed, lam=2.0**6)
    weights = scale * rng.standard_normal(problem.weights_shape)
    scores = problem.design.scores(weights)
    problem.risk.sequences.split(scores).nodes[...] += offset
    subgradient = problem.risk.subgradient(scores)
    witness = Witness(-subgradient, None, problem.risk.decompose(scores, subgradient))
    bound = lower_bound(problem, witness, math.inf)
    certificate = judge(problem, Model(np.zeros(problem.weights_shape)), witness).certificate
    if problem.risk.smooth and scale == 100.0:
        # distributions of a single labelling have a conjugate of zero
        assert certificate.dual == 0.0 or np.any(bound.theta)
        return
    assert np.any(bound.theta)
    exact = -exact_penalty(problem, witness) - exact_conjugate(problem, witness, scores)
    assert abs(float(exact - type(exact)(certificate.dual))) <= certificate.dual_error


def exact_theta(problem, witness):
    """Theta of the labellings, in fractions; of Gibbs distributions in 60 digits."""
    risk, m = problem.risk, problem.design.labels
    n, Q = risk.sequences.tokens, len(risk.sequences)
    nodes = [[0] * m for _ in range(n)]
    T, a, z = [[0] * m for _ in range(m)], [0] * m, [0] * m
    given = witness.decomposition
    for begin, labels in sequences_of(risk):
        if risk.smooth:
            _add_marginals(risk, given[0, 1:], begin, labels, nodes, T, a, z)
        else:
            chosen = given[1 + 2 * Q :].astype(int).tolist()[begin : begin + len(labels)]
            _add(nodes, T, a, z, begin, chosen, -1)
        _add(nodes, T, a, z, begin, labels, 1)
    over = Decimal(1) / Q if risk.smooth else Fraction(1, Q)
    return tuple([[x * over for x in row] for row in part] for part in (nodes, T, [a], [z]))


def _add(nodes, T, a, z, begin, labels, sign):
    for t, j in enumerate(labels):
        nodes[begin + t][j] += sign
    for i, j in itertools.pairwise(labels):
        T[i][j] += sign
    a[labels[0]] += sign
    z[labels[-1]] += sign


def _add_marginals(risk, scores, begin, labels, nodes, T, a, z):
    parts, m, length = risk.sequences.split(scores), risk.sequences.labels, len(labels)
    e = [[Decimal(x).exp() for x in row] for row in parts.nodes[begin : begin + length].tolist()]
    E = [[Decimal(x).exp() for x in row] for row in parts.transitions.tolist()]
    f = [[Decimal(x).exp() * y for x, y in zip(parts.start.tolist(), e[0], strict=True)]]
    for row in e[1:]:
        f.append([row[j] * sum(f[-1][i] * E[i][j] for i in range(m)) for j in range(m)])
    b = [[Decimal(x).exp() for x in parts.end.tolist()]]
    for row in reversed(e[1:]):
        b.append([sum(E[i][j] * row[j] * b[-1][j] for j in range(m)) for i in range(m)])
    b.reverse()
    Z = sum(x * y for x, y in zip(f[-1], b[-1], strict=True))
    for t in range(length):
        for j in range(m):
            p = f[t][j] * b[t][j] / Z
            nodes[begin + t][j] -= p
            if t == 0:
                a[j] -= p
            if t == length - 1:
                z[j] -= p
            for i in range(m if t else 0):
                T[i][j] -= f[t - 1][i] * E[i][j] * e[t][j] * b[t][j] / Z


def exact_penalty(problem, witness):
    """lam / 2 |X^T theta / lam|^2."""
    nodes, *tail = exact_theta(problem, witness)
    kind = Decimal if problem.risk.smooth else Fraction
    X = [[kind(x) for x in row] for row in problem.design.tokens.rows().values.tolist()]
    m = problem.design.labels
    total = sum(x * x for part in tail for row in part for x in row)
    for f in range(len(X[0])):
        for j in range(m):
            total += sum(row[f] * theta[j] for row, theta in zip(X, nodes, strict=True)) ** 2
    return total / (2 * kind(problem.lam))


def exact_conjugate(problem, witness, scores):
    """-mean Hamming distance, or -theta . s - R(s)."""
    risk = problem.risk
    if not risk.smooth:
        chosen = witness.decomposition[1 + 2 * len(risk.sequences) :].astype(int)
        return Fraction(-int(np.sum(chosen != risk.labels)), len(risk.sequences))
    parts = risk.sequences.split(scores)
    as_fractions = [[[Fraction(x) for x in row] for row in np.atleast_2d(part).tolist()] for part in parts]
    nodes, T, (a,), (z,) = as_fractions
    theta = exact_theta(problem, witness)
    product = sum(
        x * _decimal(y)
        for one, other in zip(theta, as_fractions, strict=True)
        for row, values in zip(one, other, strict=True)
        for x, y in zip(row, values, strict=True)
    )
    return -product - exact_risk(problem, (nodes, T, a, z))
