"""Laws of the risks of labelled sequences: against the enumeration of all labellings, and 40 digits."""

import functools
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
import scipy.sparse as sp

import slow_chains as slow
from fenchel import FenchelError, Problem, Witness
from fenchel.certificate import judge
from fenchel.designs import ChainDesign
from fenchel.problem import Model
from fenchel.risks import ChainHinge, ChainLogistic
from fenchel.risks.chains.oracles import log_partitions, marginals, relative_errors, viterbi
from fenchel.risks.chains.sequences import Sequences

KINDS = {"hinge": ChainHinge, "logistic": ChainLogistic}
every_kind = pytest.mark.parametrize("kind", KINDS)
every_seed = pytest.mark.parametrize("seed", range(6))
#: the scale of the scores; 0 makes every labelling tie, 200 needs logarithms
every_scale = pytest.mark.parametrize("scale", [0.0, 1.0, 30.0, 200.0])


def case(seed, kind):
    """A risk of sequences of random lengths, one of them of a single token, with weights, one of which may be zero."""
    rng = np.random.default_rng(seed)
    count, lengths = int(rng.integers(2, 5)), [1, *rng.integers(1, 6, size=3)]
    labels = rng.integers(0, count, size=sum(lengths))
    weights = None if seed % 2 else rng.random(4) * (rng.random(4) < 0.8) + np.eye(4)[0]
    return KINDS[kind](labels, lengths, count, weights), rng


@pytest.mark.meetings(1)
@every_kind
@every_scale
@every_seed
def test_value_is_that_of_all_labellings(kind, scale, seed):
    risk, rng = case(seed, kind)
    scores = scale * rng.standard_normal(risk.examples)
    expected = slow.losses(kind, scores, risk.labels, risk.sequences.lengths, risk.sequences.labels)
    assert risk.value(scores) == pytest.approx(risk.shares @ expected, rel=1e-12, abs=1e-13 * (1.0 + scale))


@pytest.mark.meetings(1)
@every_scale
@every_seed
def test_gradient_of_the_log_loss_is_the_mean_of_the_features(scale, seed):
    risk, rng = case(seed, "logistic")
    scores = scale * rng.standard_normal(risk.examples)
    own = (risk.labels, risk.sequences.lengths, risk.sequences.labels)
    p = slow.gibbs(scores, *own)
    mean = slow.mean_features(lambda q, y: risk.shares[q] * p[q][y], *own)
    gold = slow.mean_features(lambda q, y: risk.shares[q] * (list(y) == labels_of(risk, q)), *own)
    np.testing.assert_allclose(risk.subgradient(scores), mean - gold, atol=1e-11)


def labels_of(risk, q):
    begin = risk.sequences.begins[q]
    return risk.labels[begin : begin + risk.sequences.lengths[q]].tolist()


@pytest.mark.meetings(1)
@every_kind
@every_scale
@every_seed
def test_cutting_planes_are_below_the_risk_and_touch_it(kind, scale, seed):
    risk, rng = case(seed, kind)
    scores = scale * rng.standard_normal(risk.examples)
    slope, offset, value = risk.cutting_plane(scores)
    size = 1.0 + scale
    assert value == pytest.approx(risk.value(scores), rel=1e-13, abs=1e-13 * size)
    assert slope @ scores + offset == pytest.approx(value, rel=1e-12, abs=1e-12 * size)
    np.testing.assert_allclose(slope, risk.subgradient(scores), atol=1e-12)
    for _ in range(20):
        other = scores + rng.choice([0.1, 1.0, 100.0]) * rng.standard_normal(risk.examples)
        assert risk.value(other) >= slope @ other + offset - 1e-12 * (size + np.max(np.abs(other)))


@every_kind
@every_seed
def test_fenchel_young_is_an_equality_at_the_subgradient(kind, seed):
    risk, rng = case(seed, kind)
    scores = 3.0 * rng.standard_normal(risk.examples)
    theta = -risk.subgradient(scores)
    form = risk.decomposed_form(theta, risk.decompose(scores, -theta))
    np.testing.assert_array_equal(form.project(theta), theta)
    assert form.conjugate(theta) == pytest.approx(-theta @ scores - risk.value(scores), abs=1e-12)
    half = form.project(0.5 * theta)
    np.testing.assert_allclose(half, 0.5 * theta, rtol=1e-12)
    assert form.conjugate(half) == pytest.approx(0.5 * form.conjugate(theta), abs=1e-12)
    assert form.conjugate(theta + 1.0) == math.inf


def random_decomposition(risk, rng):
    """Distributions: labellings with weights (some sequences without any), or scores with weights."""
    if isinstance(risk, ChainLogistic):
        rows = int(rng.integers(1, 4))
        return np.column_stack([rng.random(rows) + 0.01, 3.0 * rng.standard_normal((rows, risk.examples))])
    lengths = risk.sequences.lengths
    owners = rng.integers(0, len(lengths), size=int(rng.integers(1, 9)))
    labels = rng.integers(0, risk.sequences.labels, size=int(np.sum(lengths[owners])))
    return np.concatenate([[len(owners)], owners, rng.random(len(owners)) * (rng.random(len(owners)) < 0.8), labels])


def exact_dual_point(risk, decomposition):
    """Theta and the bound on R* of distributions, by enumeration."""
    own = (risk.labels, risk.sequences.lengths, risk.sequences.labels)
    if isinstance(risk, ChainLogistic):
        weights = decomposition[:, 0] / decomposition[:, 0].sum()
        each = [slow.gibbs(row[1:], *own) for row in decomposition]
        p = [{y: sum(w * e[q][y] for w, e in zip(weights, each, strict=True)) for y in each[0][q]} for q in range(4)]
        entropies = [[-sum(x * math.log(x) for x in one.values() if x > 0) for one in e] for e in each]
        conjugate = -sum(w * (risk.shares @ np.array(h)) for w, h in zip(weights, entropies, strict=True))
    else:
        p, conjugate, place = [{} for _ in risk.shares], 0.0, 1 + 2 * int(decomposition[0])
        count = int(decomposition[0])
        for k in range(count):
            q, weight = int(decomposition[1 + k]), decomposition[1 + count + k]
            y = tuple(int(label) for label in decomposition[place : place + risk.sequences.lengths[q]])
            place += len(y)
            p[q][y] = p[q].get(y, 0.0) + weight
        for q, one in enumerate(p):
            total = sum(one.values())
            p[q] = {y: weight / total for y, weight in one.items()} if total else {tuple(labels_of(risk, q)): 1.0}
            conjugate -= risk.shares[q] * sum(w * slow.hamming(y, labels_of(risk, q)) for y, w in p[q].items())
    mean = slow.mean_features(lambda q, y: risk.shares[q] * p[q].get(y, 0.0), *own)
    gold = slow.mean_features(lambda q, y: risk.shares[q] * (list(y) == labels_of(risk, q)), *own)
    return gold - mean, conjugate


@pytest.mark.meetings(1)
@every_kind
@pytest.mark.parametrize("seed", range(20))
def test_distributions_prove_their_bound(kind, seed):
    risk, rng = case(seed, kind)
    given = random_decomposition(risk, rng)
    form = risk.decomposed_form(np.zeros(risk.examples), given)
    theta, conjugate = exact_dual_point(risk, given)
    found = form.project(theta)
    np.testing.assert_allclose(found, theta, atol=1e-13)
    assert np.sum(np.abs(found - theta)) <= form.domain_distance(found) + 1e-14
    assert form.conjugate(found, feasible=True) == pytest.approx(conjugate, abs=1e-12)
    for scale in (0.1, 1.0, 10.0):
        scores = scale * rng.standard_normal(risk.examples)
        assert conjugate >= -theta @ scores - risk.value(scores) - 1e-12 * (1.0 + scale)


@pytest.mark.meetings(1)
@every_kind
@pytest.mark.parametrize("seed", range(10))
def test_weak_duality_of_random_witnesses(kind, seed):
    risk, rng = case(seed, kind)
    X = rng.standard_normal((risk.sequences.tokens, 3))
    problem = Problem(ChainDesign(X, risk.sequences.labels, ends=bool(seed % 3)), risk, 10.0 ** rng.uniform(-3, 1))
    given = random_decomposition(risk, rng)
    theta, conjugate = exact_dual_point(risk, given)
    witness = Witness(theta, decomposition=given)
    verdict = judge(problem, Model(np.zeros(problem.weights_shape)), witness)
    assert verdict.certificate.recomputed
    v = problem.design.adjoint(theta) / problem.lam
    dual = -problem.lam * 0.5 * float(v @ v) - conjugate
    # zero is a witness too
    assert verdict.certificate.dual == pytest.approx(max(dual, 0.0), rel=1e-9, abs=1e-12)
    for _ in range(5):
        w = rng.standard_normal(problem.weights_shape) * rng.choice([0.01, 0.1, 1.0])
        assert judge(problem, Model(w), witness).certificate.primal >= dual - 1e-12


@every_kind
def test_mixtures_of_mixtures(kind):
    risk, rng = case(0, kind)
    parts, weights = [random_decomposition(risk, rng) for _ in range(3)], np.array([0.2, 0.0, 0.8])
    mixed = risk.mixed(weights, parts)
    theta = sum(weight * exact_dual_point(risk, part)[0] for weight, part in zip(weights, parts, strict=True))
    if kind == "logistic":
        np.testing.assert_allclose(exact_dual_point(risk, mixed)[0], theta, atol=1e-12)
    else:
        # a part without labellings of a sequence leaves its weight to the others, so compare complete ones only
        complete = [risk.decompose(s, risk.subgradient(s)) for s in rng.standard_normal((3, risk.examples))]
        theta = sum(w * exact_dual_point(risk, part)[0] for w, part in zip(weights, complete, strict=True))
        np.testing.assert_allclose(exact_dual_point(risk, risk.mixed(weights, complete))[0], theta, atol=1e-12)
        # equal labellings are one
        assert risk.mixed(np.array([0.3, 0.7]), [complete[0], complete[0]])[0] == len(risk.sequences)


@pytest.mark.parametrize("place", [0, 1, 5, -1])
@pytest.mark.parametrize("value", [-1.0, 0.5, np.nan, np.inf, 99.0])
def test_labellings_that_are_none_prove_nothing(place, value):
    risk = ChainHinge([0, 1, 1, 0], [2, 2])
    good = risk.decompose(np.zeros(risk.examples), risk.subgradient(np.zeros(risk.examples)))
    assert risk.decomposed_form(np.zeros(risk.examples), good) is not None
    bad = good.copy()
    bad[place] = value
    form = risk.decomposed_form(np.zeros(risk.examples), bad)
    # a label or a weight of another size is allowed
    assert form is None or (place == 5 and value > 0)


def test_scores_that_are_none_prove_nothing():
    risk = ChainLogistic([0, 1, 1, 0], [2, 2])
    good = risk.decompose(np.zeros(risk.examples), np.zeros(risk.examples))
    for place, value in [((0, 0), -1.0), ((0, 0), 0.0), ((0, 0), np.nan), ((0, 3), np.inf)]:
        bad = good.copy()
        bad[place] = value
        assert risk.decomposed_form(np.zeros(risk.examples), bad) is None
    with pytest.raises(FenchelError, match="row"):
        risk.decomposed_form(np.zeros(risk.examples), good[:, 1:])


@pytest.mark.meetings(1)
@every_scale
@every_seed
def test_viterbi_finds_the_best_labelling(scale, seed):
    risk, rng = case(seed, "hinge")
    scores = scale * rng.standard_normal(risk.examples)
    parts, m = risk.sequences.split(scores), risk.sequences.labels
    found = viterbi(risk.sequences, parts)
    tail = scores[risk.sequences.tokens * m :]
    for q, (begin, own) in enumerate(slow.sequences_of(risk.labels, risk.sequences.lengths)):
        local = parts.nodes[begin : begin + len(own)]
        best = max(slow.score(y, local, tail, m) for y in slow.labellings(len(own), m))
        attained = slow.score(found.labels[begin : begin + len(own)], local, tail, m)
        assert found.values[q] == pytest.approx(best, abs=1e-12 * (1.0 + scale))
        assert attained == pytest.approx(best, abs=1e-12 * (1.0 + scale))


def decimal_recursions(nodes, transitions, start, end):
    """log Z and the marginals of tokens of one sequence, in 40 digits."""
    with localcontext() as context:
        context.prec, context.Emax, context.Emin = 40, 10**9, -(10**9)
        exp = functools.cache(lambda x: Decimal(x).exp())
        e = [[exp(x) for x in row] for row in nodes.tolist()]
        E = [[exp(x) for x in row] for row in transitions.tolist()]
        f = [[exp(a) * x for a, x in zip(start.tolist(), e[0], strict=True)]]
        for row in e[1:]:
            f.append([x * sum(f[-1][i] * E[i][j] for i in range(len(E))) for j, x in enumerate(row)])
        b = [[exp(z) for z in end.tolist()]]
        for row in reversed(e[1:]):
            right = [x * y for x, y in zip(row, b[-1], strict=True)]
            b.append([sum(E[i][j] * right[j] for j in range(len(E))) for i in range(len(E))])
        b.reverse()
        Z = sum(x * y for x, y in zip(f[-1], b[-1], strict=True))
        over = 1 / Z
        joint = [[x * y * over for x, y in zip(one, other, strict=True)] for one, other in zip(f, b, strict=True)]
        return float(Z.ln()), np.array([[float(x) for x in row] for row in joint])


@pytest.mark.meetings(1)
@pytest.mark.parametrize(
    "offsets", [(0, 0, 0, 0), (1e7, 0, 0, 0), (0, 0, -1e7, 0), (1e7, -1e7, 3e6, 0), (0, 1e7, 0, 1e7)]
)
@pytest.mark.parametrize("scale", [1.0, 20.0, 150.0])
def test_errors_of_the_recursions_are_within_their_bounds(scale, offsets):
    """Offsets that all labels have in common cancel in the marginals, but not in the rounding of scores."""
    rng = np.random.default_rng(3)
    for length in (1, 2, 30):
        sequences = Sequences([length], 3)
        scores = sequences.split(scale * rng.standard_normal(sequences.size))
        for part, offset in zip(scores, offsets, strict=True):
            part += offset
        value, exact = decimal_recursions(*scores)
        found, bound = marginals(sequences, scores, np.ones(1)), relative_errors(sequences, scores)[0]
        size = sum(float(np.max(np.abs(part))) for part in scores)
        assert abs(found.log_partitions[0] - value) <= bound + 4e-16 * max(abs(value), length * size * any(offsets))
        tiny = exact < 1e-250
        assert np.all(np.abs(found.nodes - exact)[~tiny] <= bound * exact[~tiny] + 1e-17)
        assert np.all(found.nodes[tiny] < 1e-240)


@pytest.mark.thorough
def test_forward_backward_of_a_hundred_thousand_tokens():
    rng, length = np.random.default_rng(0), 100_000
    sequences = Sequences([length], 2)
    # few different numbers: exponentials of 40 digits take long
    scores = sequences.split(rng.choice(2.0 * rng.standard_normal(64), sequences.size))
    value, exact = decimal_recursions(*scores)
    found = marginals(sequences, scores, np.ones(1))
    assert found.log_partitions[0] == pytest.approx(value, rel=1e-14)
    assert log_partitions(sequences, scores)[0] == pytest.approx(value, rel=1e-14)
    np.testing.assert_allclose(found.nodes, exact, rtol=1e-9)


def test_blocks_cover_every_sequence_once():
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 40, size=3000)
    sequences = Sequences(lengths, 17)
    assert len(sequences.blocks) > 2
    assert sorted(np.concatenate([block.members for block in sequences.blocks])) == list(range(3000))
    for block in sequences.blocks:
        own = lengths[block.members]
        assert block.active == [int(np.sum(own > t)) for t in range(own.max() + 1)]


@every_kind
def test_sequences_in_many_blocks_are_as_those_of_one(kind):
    rng = np.random.default_rng(1)
    lengths, m = rng.integers(1, 30, size=700), 20
    labels = rng.integers(0, m, size=lengths.sum())
    risk, scores = KINDS[kind](labels, lengths, m), rng.standard_normal((lengths.sum() + m + 2) * m)
    assert len(risk.sequences.blocks) > 1
    parts, total = risk.sequences.split(scores), 0.0
    for begin, length in zip(risk.sequences.begins, lengths, strict=True):
        one = KINDS[kind](labels[begin : begin + length], [length], m)
        total += one.value(np.concatenate([parts.nodes[begin : begin + length].ravel(), scores[-(m * m + 2 * m) :]]))
    assert risk.value(scores) == pytest.approx(total / len(lengths), rel=1e-13)


@every_kind
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5, 1], [2]), "integers"),
        (([-1, 1], [2]), "integers"),
        (([], []), "integers"),
        (([0, 1], [2, 0]), "at least 1"),
        (([0, 1], [3]), "add up to 3"),
        (([0, 3], [2], 2), "count=2"),
        (([0, 1], [1, 1], 2, [1.0]), "2 sequences"),
        (([0, 1], [1, 1], 2, [0.0, 0.0]), "all zero"),
        ((["a", "b"], [2]), "numbers"),
    ],
)
def test_bad_arguments(kind, arguments, message):
    with pytest.raises(FenchelError, match=message):
        KINDS[kind](*arguments)


@every_kind
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": [0, 1e300]}, "labels must be 0, 1, ..., up to 65535, got 1e[+]300"),
        ({"labels": [0, np.inf]}, "labels must be"),
        ({"count": "3"}, "count must be an integer from 1 to 65536, or None, got '3'"),
        ({"count": 2.5}, "count must be an integer"),
        ({"count": 10**12}, "count must be an integer"),
        ({"lengths": ["a"]}, "lengths must hold real numbers"),
        ({"lengths": [np.nan]}, "lengths must hold the number"),
        ({"lengths": [1.5, 0.5]}, "lengths must hold the number"),
        ({"lengths": [10**30]}, "lengths must hold the number"),
        ({"weights": "a"}, "weights must hold real numbers"),
        ({"weights": [1j]}, "weights must hold real numbers"),
    ],
)
def test_arguments_of_the_wrong_kind(kind, options, message):
    with pytest.raises(FenchelError, match=message):
        KINDS[kind](**{"labels": [0, 1], **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": 2.7}, "labels must be an integer from 1 to 65536, got 2.7"),
        ({"labels": "2"}, "labels must be an integer"),
        ({"labels": None}, "labels must be an integer"),
        ({"transitions": "full"}, "transitions must be True or False, got 'full'"),
        ({"ends": 1}, "ends must be True or False"),
        ({"tokens": np.ones((2, 2)) * 1j}, "complex"),
        ({"tokens": sp.csr_array(np.ones((2, 2)) * 1j)}, "complex"),
        ({"tokens": np.array([[1.0, np.nan]])}, "tokens hold NaN or infinity"),
        ({"tokens": sp.csr_array([[1.0, np.inf]])}, "tokens hold NaN or infinity"),
        ({"tokens": np.ma.masked_array([[1.0, 2.0]], [[True, False]])}, "masked"),
        ({"tokens": [[1.0], [1.0, 2.0]]}, "as many features in every row"),
        ({"tokens": [["a"]]}, "real numbers"),
    ],
)
def test_bad_arguments_of_the_design(options, message):
    with pytest.raises(FenchelError, match=message):
        ChainDesign(**{"tokens": np.eye(2), "labels": 2, **options})


@every_kind
@pytest.mark.parametrize("size", [1e200, 1e308, 1.7e308])
def test_scores_that_overflow_have_an_infinite_risk_and_prove_nothing(kind, size):
    risk, rng = case(1, kind)
    scores = size * np.sign(rng.standard_normal(risk.examples))
    problem = Problem(ChainDesign(np.ones((risk.sequences.tokens, 1)), risk.sequences.labels), risk, 0.1)
    with np.errstate(over="ignore", invalid="ignore"):
        assert risk.value(scores) >= size or risk.value(scores) == 0.0
        assert size == 1e200 or math.isinf(risk.value(scores))
        subgradient = risk.subgradient(np.zeros(risk.examples))
        found = judge(
            problem,
            Model(np.zeros(problem.weights_shape)),
            Witness(-subgradient, None, risk.decompose(scores, subgradient)),
        )
    assert np.isfinite(found.certificate.gap)
    with pytest.raises(FenchelError, match="overflow"):
        judge(problem, Model(np.full(problem.weights_shape, size)), Witness(np.zeros(problem.theta_shape)))


@every_kind
def test_weights_count_as_repetitions(kind):
    rng = np.random.default_rng(2)
    labels = np.array([0, 1, 2, 1, 0])
    weighted = KINDS[kind](labels, [3, 2], 3, [2.0, 1.0])
    repeated = KINDS[kind](np.concatenate([labels[:3], labels]), [3, 3, 2], 3)
    scores = rng.standard_normal(weighted.examples)
    twice = np.concatenate([scores[:9], scores])
    assert weighted.value(scores) == pytest.approx(repeated.value(twice), rel=1e-14)
    assert weighted.total_weight == repeated.total_weight == 3
