"""Every risk with a closed form keeps its own bounds on rounding errors, in exact rational arithmetic.

``project`` and ``balance`` return points of the domain of R*: exactly for means and joint classes, where the entry at a
label stands for minus the exact sum of the others, else up to ``dual_roundings``.  R and R* are within their bounds.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from fenchel import FenchelError, Model, Problem, Witness
from fenchel.certificate import judge
from fenchel.numerics.rounding import gamma
from fenchel.risks import (
    BreakEven,
    CrammerSinger,
    ErrorRate,
    MeanRisk,
    MultilabelHinge,
    Multinomial,
    OrdinalHinge,
    RecallAtK,
    RocAUC,
    WestonWatkins,
    micro,
)

N, K = 9, 3
SIGNS = np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0, 1.0, -1.0, -1.0])
CLASSES = np.array([0, 1, 2, 0, 1, 2, 0, 1, 0])
TABLE = np.random.default_rng(0).integers(0, 2, size=(N, K))
COSTS = np.array([[0.0, 0.1, 3.0], [0.7, 0.0, 0.3], [1.0, 1.0, 0.0]])
WEIGHTS = np.array([0.1, 3.0, 1e-3, 0.7, 1.0, 0.0, 2.0, 1e4, 0.3])

MEANS = {
    "hinge": lambda w: MeanRisk("hinge", SIGNS, w),
    "absolute": lambda w: MeanRisk("absolute", 0.1 * SIGNS, w),
    "quantile": lambda w: MeanRisk("quantile", 0.1 * SIGNS, w),
    "accuracy": lambda w: ErrorRate(SIGNS, w),
}
JOINT = {
    "weston_watkins": lambda w: WestonWatkins(CLASSES, K, w),
    "weston_watkins_costs": lambda w: WestonWatkins(CLASSES, K, w, costs=COSTS),
    "crammer_singer": lambda w: CrammerSinger(CLASSES, K, w),
    "multinomial": lambda w: Multinomial(CLASSES, K, w),
}
MEASURES = {
    "roc_auc": lambda w: RocAUC(SIGNS, w),
    "prbep": lambda w: BreakEven(SIGNS),
    "recall_at_k": lambda w: RecallAtK(SIGNS, 5),
    "micro_prbep": lambda w: micro(BreakEven(2.0 * TABLE.ravel() - 1.0), K),
    "multilabel": lambda w: MultilabelHinge(TABLE, w),
}
weighted = pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])


def fractions(values):
    return [Fraction(float(entry)) for entry in np.ravel(values)]


def exact_shares(weights):
    weights = fractions(np.ones(N) if weights is None else weights)
    return [weight / sum(weights) for weight in weights]


def random_points(risk, seed):
    """Dual points far out, on the ends of the domain, and a few roundings outside."""
    rng = np.random.default_rng(seed)
    shape = (N,) if risk.outputs is None else (N, risk.outputs)
    for size in (1e-12, 0.3, 1.0, 3.0, 1e6):
        theta = size * rng.normal(size=shape) / N
        yield theta
        yield -risk.subgradient(30.0 * theta)
        yield -risk.subgradient(theta) * (1.0 + 4e-16 * rng.integers(-2, 3, size=shape))


@pytest.mark.parametrize("name", MEANS)
@weighted
def test_means_are_projected_into_their_domain_exactly(name, weights):
    risk = MEANS[name](weights)
    low, high = (np.broadcast_to(end, (N,)) for end in risk.loss.domain(risk.labels))
    for theta in random_points(risk, 1):
        inside = risk.project(theta)
        for point in (inside, risk.balance(inside)[0]):
            for shares in (exact_shares(weights), fractions(risk.shares)):
                ends = zip(fractions(low), fractions(high), fractions(point), shares, strict=True)
                assert all(a * c <= -t <= b * c for a, b, t, c in ends)
        balanced, left = risk.balance(inside)
        assert abs(sum(fractions(balanced))) <= Fraction(float(left[0]))


@pytest.mark.parametrize("name", JOINT)
@weighted
def test_joint_classes_are_projected_into_their_domain_exactly(name, weights):
    risk = JOINT[name](weights)
    for theta in random_points(risk, 2):
        inside = risk.project(theta)
        balanced, left = risk.balance(inside.copy())
        for point in (inside, balanced):
            for shares in (exact_shares(weights), fractions(risk.shares)):
                for row, y, share in zip(point, CLASSES, shares, strict=True):
                    beta = [-Fraction(float(entry)) for j, entry in enumerate(row) if j != y]
                    assert min(beta) >= 0
                    if name.startswith("weston"):
                        costs = [Fraction(float(a)) for j, a in enumerate(risk.costs[y]) if j != y]
                        assert all(b <= share * a for a, b in zip(costs, beta, strict=True))
                    else:
                        assert sum(beta) <= share
        sums = [Fraction(0)] * K
        for row, y in zip(balanced, CLASSES, strict=True):
            for j in range(K):
                if j != y:
                    sums[j] += Fraction(float(row[j]))
                    sums[y] -= Fraction(float(row[j]))
        assert all(abs(total) <= Fraction(float(bound)) for total, bound in zip(sums, left, strict=True))


def violation(name, risk, theta, weights):
    """How far theta is outside the domain, the largest violation of an inequality."""
    table = risk.table if name.startswith("micro") else risk
    if name == "multilabel":
        found = [Fraction(0)]
        for row, has, share in zip(theta, TABLE > 0, exact_shares(weights), strict=True):
            up = sum((Fraction(float(t)) for t, own in zip(row, has, strict=True) if own), Fraction(0))
            down = -sum((Fraction(float(t)) for t, own in zip(row, has, strict=True) if not own), Fraction(0))
            signs = [-Fraction(float(t if own else -t)) for t, own in zip(row, has, strict=True)]
            found.append(abs(up - down) + max(up - share, down - share, 0) + max(*signs, 0))
        return sum(found)
    t, y = fractions(theta), fractions(table.labels)
    if name == "roc_auc":
        return roc_violation(t, y, exact_shares(weights))
    most = Fraction(1, len(t))
    outside = sum(max(-a * b, a * b - most, 0) for a, b in zip(t, y, strict=True))
    total = sum(t)
    if name == "recall_at_k":
        return outside + max(-total - Fraction(risk.k - risk.n_pos, len(t)), 0)
    return outside + abs(total)


def roc_violation(t, y, shares):
    """By the minimal cuts: all sets of positives, with the best negatives for each."""
    classes = {sign: sum(c for c, label in zip(shares, y, strict=True) if label == sign) for sign in (1, -1)}
    a = [(c / classes[1], v) for c, v, label in zip(shares, t, y, strict=True) if label > 0]
    b = [(c / classes[-1], -v) for c, v, label in zip(shares, t, y, strict=True) if label < 0]
    worst = max(*(-v for _, v in a + b), abs(sum(t)), Fraction(0))
    for chosen in itertools.product((0, 1), repeat=len(a)):
        weight = sum(c for (c, _), one in zip(a, chosen, strict=True) if one)
        taken = sum(v for (_, v), one in zip(a, chosen, strict=True) if one)
        worst = max(worst, taken - sum(min(v, c * weight) for c, v in b))
    return worst


@pytest.mark.parametrize("name", MEASURES)
@weighted
def test_measures_are_projected_next_to_their_domain(name, weights):
    risk = MEASURES[name](weights)
    form = risk.closed_form()
    for theta in random_points(risk, 3):
        inside = form.project(theta)
        allowed = Fraction(gamma(risk.dual_roundings)) * sum(abs(entry) for entry in fractions(inside))
        assert violation(name, risk, inside, weights) <= allowed


def exact_value(name, risk, scores, weights):
    """R of the scores by its definition; labellings are enumerated."""
    s, shares = fractions(scores), exact_shares(weights)
    zero = Fraction(0)
    if name in MEANS:
        y = fractions(risk.labels)
        if name in ("hinge", "accuracy"):
            return sum(c * max(1 - a * b, zero) for c, a, b in zip(shares, s, y, strict=True))
        low, high = (Fraction(float(-end[0])) for end in risk.loss.domain(risk.labels))
        return sum(c * max(low * (b - a), -high * (a - b)) for c, a, b in zip(shares, s, y, strict=True))
    if name in JOINT or name == "multilabel":
        rows, total = [s[i * K : (i + 1) * K] for i in range(N)], zero
        for i, (row, share) in enumerate(zip(rows, shares, strict=True)):
            if name == "multilabel":
                pairs = [(p, q) for p in range(K) for q in range(K) if TABLE[i, p] and not TABLE[i, q]]
                total += share * max([1 - row[p] + row[q] for p, q in pairs] + [zero])
                continue
            y = CLASSES[i]
            hinges = {j: max(1 - row[y] + row[j], zero) for j in range(K) if j != y}
            if name == "crammer_singer":
                total += share * max(hinges.values())
            else:
                total += share * sum(Fraction(float(risk.costs[y, j])) * z for j, z in hinges.items())
        return total
    if name == "roc_auc":
        own = {sign: sum(c for c, y in zip(shares, SIGNS, strict=True) if y == sign) for sign in (1, -1)}
        pairs = itertools.product(np.flatnonzero(SIGNS > 0), np.flatnonzero(SIGNS < 0))
        return sum(shares[i] * shares[j] / (own[1] * own[-1]) * max(1 - s[i] + s[j], zero) for i, j in pairs)
    table = risk.table if name.startswith("micro") else risk
    positives = sorted(v for v, y in zip(s, table.labels, strict=True) if y > 0)
    negatives = sorted((v for v, y in zip(s, table.labels, strict=True) if y < 0), reverse=True)
    best, n = zero, len(s)
    for fn, fp in itertools.product(range(len(positives) + 1), range(len(negatives) + 1)):
        allowed = fn == fp if "prbep" in name else len(positives) - fn + fp <= risk.k
        if allowed:
            value = Fraction(fn, len(positives)) + (sum(negatives[:fp]) - sum(positives[:fn])) / n
            best = max(best, value)
    return best


@pytest.mark.meetings(1)
@pytest.mark.parametrize("name", [name for name in (*MEANS, *JOINT, *MEASURES) if name != "multinomial"])
@weighted
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e9])
def test_values_are_within_their_bounds(name, weights, offset):
    risk = {**MEANS, **JOINT, **MEASURES}[name](weights)
    rng = np.random.default_rng(4)
    shape = (N,) if risk.outputs is None else (N, risk.outputs)
    for size in (1e-9, 1.0, 1e6):
        for _ in range(4):
            scores = size * rng.normal(size=shape) + offset
            noise = gamma(risk.score_roundings) * (np.abs(scores) + risk.label_sizes())
            bound = gamma(risk.roundings) * risk.value(scores) + np.sum(risk.subgradient_bounds(scores, noise) * noise)
            error = abs(exact_value(name, risk, scores, weights) - Fraction(float(risk.value(scores))))
            assert error <= Fraction(float(bound) * (1.0 + 1e-6)) + Fraction(2) ** -1060


@pytest.mark.parametrize("name", [*MEASURES, "weston_watkins", "crammer_singer"])
@weighted
def test_linear_conjugates_are_within_their_bounds(name, weights):
    risk = {**JOINT, **MEASURES}[name](weights)
    form = risk.closed_form()
    for theta in random_points(risk, 5):
        inside = form.project(theta)
        computed = form.conjugate(inside, feasible=True)
        positive = inside > 0.0
        factor = Fraction(1)
        if name in ("prbep", "micro_prbep", "recall_at_k"):
            table = risk.table if name.startswith("micro") else risk
            factor = Fraction(table.examples, table.n_pos)
        if name in JOINT:
            # the label stands for minus the exact sum of the others
            positive = inside < 0.0
            factor = Fraction(-1)
        true = -factor * sum(fractions(inside[positive]), Fraction(0))
        bound = Fraction(form.conjugate_error(inside, computed, fine=True))
        # any point of the domain this near has nearly the same conjugate
        moved = abs(factor) * Fraction(gamma(risk.dual_roundings)) * sum(abs(entry) for entry in fractions(inside))
        assert abs(true - Fraction(computed)) + moved <= bound * Fraction(1000001, 1000000)


@pytest.mark.parametrize("tiny", [1e-249, 2023 * 2.0**-1074])
def test_weights_whose_shares_would_underflow_are_refused(tiny):
    """The share of the second one rounds to a multiple of 2^-1074, by 1 in 2,000, which no error bound charges."""
    weights, row, model = np.array([3.0, tiny]), [0.0, 1e148], 1e5

    def certified():
        problem = Problem(np.array(row)[:, None], MeanRisk("squared", np.zeros(2), weights), 1e-30)
        return judge(problem, Model(np.array([model]), 0.0), Witness(np.zeros(2))).certificate

    if tiny < 1e-250:
        with pytest.raises(FenchelError, match=r"weights from 9.99e-321 to 3 differ by a factor of more than 1e\+250"):
            certified()
        return
    share = Fraction(tiny) / (3 + Fraction(tiny))
    primal = Fraction(1e-30) * Fraction(model) ** 2 / 2 + share * (Fraction(row[1]) * Fraction(model)) ** 2 / 2
    found = certified()
    assert primal <= Fraction(found.upper)
    assert found.upper <= (1.0 + 1e-13) * float(primal)


def test_products_of_the_weights_of_pairs_must_not_underflow():
    for make in (lambda w: RocAUC([1, -1, 1], w), lambda w: OrdinalHinge([1, 0, 1], w)):
        # the second pair alone is wrong
        scores = np.array([2.0, 0.0, 0.0])
        found = Fraction(make(np.array([1.0, 1.0, 2e-120])).value(scores))
        tiny = Fraction(2e-120)
        assert abs(found - tiny / (1 + tiny)) <= 2.0**-49 * tiny
        with pytest.raises(FenchelError, match=r"more than 1e\+120"):
            make(np.array([1.0, 1.0, 1e-121]))
