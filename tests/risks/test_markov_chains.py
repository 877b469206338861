"""Markov chains as witnesses of the max-margin risk: against enumeration, and their errors against fractions."""

from fractions import Fraction

import numpy as np
import pytest

import slow_chains as slow
from fenchel import FenchelError, Model, Problem, Witness, solve
from fenchel.certificate import judge
from fenchel.designs import ChainDesign
from fenchel.risks import ChainHinge
from fenchel.risks.chains.markov import gibbs_chain, mixed
from fenchel.risks.chains.oracles import log_partitions

every_seed = pytest.mark.parametrize("seed", range(6))


def case(seed):
    rng = np.random.default_rng(seed)
    count, lengths = int(rng.integers(1, 4)), [1, *rng.integers(1, 5, size=3)]
    labels = rng.integers(0, count, size=sum(lengths))
    weights = None if seed % 2 else rng.random(4) * (rng.random(4) < 0.8) + np.eye(4)[0]
    return ChainHinge(labels, lengths, count, weights), rng


def random_weights(risk, rng):
    """Weights of pairs, some of which, and some rows of which, are zero."""
    n, m = risk.sequences.tokens, risk.sequences.labels
    return rng.random((n, m, m)) * (rng.random((n, m, m)) < 0.7) * (rng.random((n, m, 1)) < 0.8)


def probabilities(risk, weights, number=float):
    """The probabilities of all labellings of each sequence by the definition, as floats or as fractions."""
    found, m = [], risk.sequences.labels
    for begin, own in slow.sequences_of(risk.labels, risk.sequences.lengths):
        one = {}
        for y in slow.labellings(len(own), m):
            p = number(1)
            for t, j in enumerate(y):
                block = weights[begin + t]
                row = [sum(number(x) for x in block[:, k]) for k in range(m)] if t == 0 else block[y[t - 1]].tolist()
                row = [number(x) for x in row]
                total = sum(row)
                p *= row[j] / total if total else number(int(j == own[t]))
            one[y] = p
        found.append(one)
    return found


def dual_point(risk, p):
    own = (risk.labels, risk.sequences.lengths, risk.sequences.labels)
    every = [labels for _, labels in slow.sequences_of(*own[:2])]
    mean = slow.mean_features(lambda q, y: risk.shares[q] * p[q].get(y, 0.0), *own)
    gold = slow.mean_features(lambda q, y: risk.shares[q] * (list(y) == every[q]), *own)
    wrong = sum(risk.shares[q] * sum(w * slow.hamming(y, every[q]) for y, w in one.items()) for q, one in enumerate(p))
    return gold - mean, -wrong


@every_seed
def test_they_are_the_distributions_of_their_definition(seed):
    risk, rng = case(seed)
    weights = random_weights(risk, rng)
    form = risk.decomposed_form(np.zeros(risk.examples), weights)
    theta, conjugate = dual_point(risk, probabilities(risk, weights))
    np.testing.assert_allclose(form.theta, theta, atol=1e-14)
    assert form.conjugate(theta) == pytest.approx(conjugate, abs=1e-14)
    for scale in (0.1, 1.0, 10.0):
        scores = scale * rng.standard_normal(risk.examples)
        assert conjugate >= -theta @ scores - risk.value(scores) - 1e-12 * (1.0 + scale)


@every_seed
def test_gibbs_distributions_are_chains(seed):
    risk, rng = case(seed)
    scores = rng.choice([0.0, 1.0, 100.0]) * rng.standard_normal(risk.examples)
    own = (risk.labels, risk.sequences.lengths, risk.sequences.labels)
    logs, weights = gibbs_chain(risk.sequences, risk.sequences.split(scores))
    for one, other in zip(probabilities(risk, weights), slow.gibbs(scores, *own), strict=True):
        assert one == pytest.approx(other, abs=1e-11)
    gold = risk.gold_scores(risk.sequences.split(scores))
    np.testing.assert_allclose(logs - gold, slow.losses("logistic", scores, *own), atol=1e-11)


@every_seed
def test_mixtures_of_chains_and_labellings(seed):
    risk, rng = case(seed)
    scores = rng.standard_normal(risk.examples)
    labellings = risk.decompose(scores, risk.subgradient(scores))
    parts, shares = [random_weights(risk, rng), labellings, random_weights(risk, rng)], np.array([0.2, 0.5, 0.3])
    forms = [risk.decomposed_form(np.zeros(risk.examples), part) for part in parts]
    found = risk.decomposed_form(np.zeros(risk.examples), risk.mixed(shares, parts))
    expected = sum(share * form.theta for share, form in zip(shares, forms, strict=True))
    np.testing.assert_allclose(found.theta, expected, atol=1e-14)
    values = [form.conjugate(form.theta) for form in forms]
    assert found.conjugate(found.theta) == pytest.approx(shares @ values, abs=1e-14)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("size", [1.0, 1e-150, 1e-310, 1e200])
@pytest.mark.parametrize("seed", range(3))
def test_errors_are_within_their_bounds(seed, size):
    """Theta and R* of the exact distributions of these very weights, in fractions; c_q = 1/4 is exact."""
    rng = np.random.default_rng(seed)
    lengths, m = [1, 6, 4, 5], 2
    risk = ChainHinge(rng.integers(0, m, size=sum(lengths)), lengths, m)
    weights = size * rng.random((sum(lengths), m, m)) ** rng.choice([1, 40])
    p = probabilities(risk, weights, Fraction)
    nodes, tail = [[Fraction(0)] * m for _ in risk.labels], [Fraction(0)] * (m * m + 2 * m)
    wrong = Fraction(0)
    for one, (begin, own) in zip(p, slow.sequences_of(risk.labels, lengths), strict=True):
        assert sum(one.values()) == 1
        for y, weight in [*((y, w / 4) for y, w in one.items()), (tuple(own), Fraction(-1, 4))]:
            wrong += weight * slow.hamming(y, own)
            here, rest = slow.features(y, m)
            for t, j in np.argwhere(here).tolist():
                nodes[begin + t][j] -= weight
            for k in np.flatnonzero(rest).tolist():
                tail[k] -= weight * int(rest[k])
    form = risk.decomposed_form(np.zeros(risk.examples), weights)
    exact = [x for row in nodes for x in row] + tail
    distance = sum(abs(x - Fraction(y)) for x, y in zip(exact, form.theta.tolist(), strict=True))
    assert distance <= form.domain_distance(form.theta)
    found = form.conjugate(form.theta)
    assert abs(-wrong - Fraction(found)) <= form.conjugate_error(form.theta, found)
    # bounds that are far too large would prove nothing
    assert form.domain_distance(form.theta) <= 1e-12
    assert form.conjugate_error(form.theta, found) <= 1e-12


def test_features_of_pairs_are_those_of_labellings():
    rng = np.random.default_rng(4)
    lengths, m = [1, 3, 4], 2
    edges = rng.standard_normal((sum(lengths), 2))
    risk = ChainHinge(rng.integers(0, m, size=sum(lengths)), lengths, m, edges=edges)
    scores = rng.standard_normal(risk.examples)
    labelling = risk.decompose(scores, risk.subgradient(scores))
    chain = mixed(risk.sequences, risk.labels, np.ones(1), [labelling])
    one, other = (risk.decomposed_form(np.zeros(risk.examples), part) for part in (labelling, chain))
    np.testing.assert_allclose(one.theta, other.theta, atol=1e-14)
    logs, _ = gibbs_chain(risk.sequences, risk.sequences.split(scores))
    np.testing.assert_allclose(logs, log_partitions(risk.sequences, risk.sequences.split(scores)), rtol=1e-12)
    problem = Problem(ChainDesign(np.eye(sum(lengths)), m, edge_features=2), risk, 1.0)
    for solver in ("pragam", "bregman"):
        with pytest.raises(FenchelError, match="features of pairs"):
            solve(problem, solver)


def test_a_certificate_of_a_chain():
    risk, rng = case(1)
    design = ChainDesign(rng.standard_normal((risk.sequences.tokens, 2)), risk.sequences.labels)
    problem, weights = Problem(design, risk, 0.3), random_weights(risk, rng)
    theta, conjugate = dual_point(risk, probabilities(risk, weights))
    found = judge(problem, Model(np.zeros(problem.weights_shape)), Witness(theta, None, weights)).certificate
    v = design.adjoint(theta)
    assert found.recomputed
    assert found.dual == pytest.approx(max(0.0, -float(v @ v) / 0.6 - conjugate), abs=1e-12)


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf, 1e300])
def test_weights_that_are_none_prove_nothing(value):
    risk = ChainHinge([0, 1, 1, 0], [2, 2])
    weights = np.ones((4, 2, 2))
    assert risk.decomposed_form(np.zeros(risk.examples), weights) is not None
    weights[2, 1, 0] = value
    assert risk.decomposed_form(np.zeros(risk.examples), weights) is None
    assert risk.decomposed_form(np.zeros(risk.examples), np.ones((3, 2, 2))) is None
