"""The ten dual pairs of Appendix E of Zhang (2002) and the affine rule, by brute force, with their domains.

Each pair is checked as a statement about numbers, and so is what the package makes of it: the losses through the affine
rule, the regularizers through their own conjugates.  Two slips of the print are corrected (pair 2 and the affine rule).
"""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from fenchel.losses import (
    EpsilonInsensitive,
    Exponential,
    Hinge,
    Huber,
    HuberHinge,
    Logistic,
    NegativeLog,
    Poisson,
    Squared,
)
from fenchel.regularizers import L2
from slow_reference import minimize_convex

P = (1.25, 1.5, 2.0, 3.0, 6.0)


def _xlogx(v):
    return v * math.log(v) if v > 0 else 0.0


def dual(p):
    return p / (p - 1)


#: pairs of functions of one number: p(u), q(v), the interval of v, and how far u may be
SCALAR = {
    "1": (lambda u: 0.7 * u * u / 2, lambda v: v * v / 0.7 / 2, (-np.inf, np.inf), (-50, 50)),
    "3": (lambda u: _xlogx(u) - u - u * math.log(0.3), lambda v: 0.3 * math.exp(v), (-np.inf, np.inf), (0, 20)),
    "5": (lambda u: np.logaddexp(0, u), lambda v: _xlogx(v) + _xlogx(1 - v), (0, 1), (-500, 500)),
    "6": (lambda u: -math.log(u) if u > 0 else math.inf, lambda v: -1 - math.log(-v), (-np.inf, 0), (1e-12, 1e4)),
    "7": (lambda u: u * u / 2 if abs(u) <= 1 else abs(u) - 0.5, lambda v: v * v / 2, (-1, 1), (-50, 50)),
    "8-1": (lambda u: max(abs(u) - 0.2, 0), lambda v: 0.2 * abs(v), (-1, 1), (-50, 50)),
    "9": (lambda u: 0.0 if u < 0 else u * u / 2 if u <= 1 else u - 0.5, lambda v: v * v / 2, (0, 1), (-50, 50)),
    "10-1": (lambda u: max(u, 0), lambda v: 0.0, (0, 1), (-50, 50)),
}


def powers(p, q):
    """The pairs with powers, 1/p + 1/q = 1."""
    everywhere, far = (-np.inf, np.inf), (-300, 300)
    return {
        f"2-{p}": (lambda u: abs(u) ** p / p, lambda v: abs(v) ** q / q, everywhere, far),
        f"8-{p}": (lambda u: max(abs(u) - 0.2, 0) ** p / p, lambda v: 0.2 * abs(v) + abs(v) ** q / q, everywhere, far),
        f"10-{p}": (lambda u: max(u, 0) ** p / p, lambda v: v**q / q, (0, np.inf), (-10, 300)),
    }


for power in P:
    SCALAR |= powers(power, dual(power))
every_pair = pytest.mark.parametrize("pair", list(SCALAR))


def supremum(p, v, reach):
    best = minimize_convex(lambda u: p(u) - v * u, *map(float, reach))
    return v * best - p(best)


def inside(domain, count=9):
    low, high = max(domain[0], -3.0), min(domain[1], 3.0)
    return np.linspace(low, high, count + 2)[1:-1]


@every_pair
def test_scalar_pairs_by_brute_force(pair):
    p, q, domain, reach = SCALAR[pair]
    for v in inside(domain).tolist():
        assert q(v) == pytest.approx(supremum(p, v, reach), abs=1e-9)


@every_pair
def test_scalar_pairs_are_infinite_outside(pair):
    p, _, domain, _ = SCALAR[pair]
    for end, outward in zip(domain, (-1.0, 1.0), strict=True):
        if math.isfinite(end):
            near, far = (
                supremum(p, end + 0.2 * outward, [1e-12 if pair == "6" else -width, width]) for width in (1e2, 1e4)
            )
            assert far > near + 100.0


@every_pair
def test_the_dual_of_the_dual_is_the_function(pair):
    p, q, domain, _ = SCALAR[pair]
    low, high = max(domain[0], -30.0), min(domain[1], 30.0)
    for u in (-1.5, -0.3, 0.0, 0.4, 1.2):
        if (pair == "6" and u <= 0) or (pair == "3" and u < 0):
            continue
        edge = 1e-12 if pair == "6" else 0.0
        assert supremum(q, u, (low, high - edge)) == pytest.approx(p(u), abs=1e-8)


def random_spd(rng, d):
    A = rng.standard_normal((d, d))
    return A @ A.T + 0.3 * np.eye(d)


def vector_pairs(rng, d=4):
    """(p with its gradient, q) of vectors: the pairs 1, 2 and 4."""
    K = random_spd(rng, d)
    inverse = np.linalg.inv(K)
    yield lambda u: (0.5 * u @ K @ u, K @ u), lambda v: 0.5 * v @ inverse @ v
    for r, t in ((1.5, 3.0), (3.0, 1.5), (4.0, 2.0)):
        yield norms(r, t)


def norms(r, t):
    """As corrected: 1/p' |u|_p^p' and 1/q' |v|_q^q', for p = r and p' = t."""

    def norm(u):
        size = np.sum(np.abs(u) ** r) ** (1 / r)
        return size**t / t, np.sign(u) * np.abs(u) ** (r - 1) * size ** (t - r) if size > 0 else 0 * u

    return norm, lambda v: np.sum(np.abs(v) ** dual(r)) ** (dual(t) / dual(r)) / dual(t)


def vector_supremum(p, v, d):
    found = minimize(
        lambda u: (p(u)[0] - v @ u, p(u)[1] - v), np.ones(d), jac=True, method="BFGS", options={"gtol": 1e-10}
    )
    return -found.fun


def test_vector_pairs_by_brute_force():
    rng = np.random.default_rng(0)
    for p, q in vector_pairs(rng):
        for _ in range(5):
            v = rng.standard_normal(4)
            assert q(v) == pytest.approx(vector_supremum(p, v, 4), rel=1e-6, abs=1e-8)


def test_the_print_of_pair_two_is_a_slip():
    """(1/q)|v|_q^q' is not the dual of (1/p')|u|_p'^p' for p other than p'."""
    p, q = list(vector_pairs(np.random.default_rng(0)))[1]
    v, wrong = np.ones(4), 3.0 ** (1.5 / 3.0)
    assert abs(vector_supremum(p, v, 4) - np.sum(v**3.0) ** (1.5 / 3.0) / 3.0) > 0.1 * wrong
    assert vector_supremum(p, v, 4) == pytest.approx(q(v), rel=1e-6)


def test_normalized_entropy_by_brute_force():
    """Pair 4: u on the simplex of mass A, written as A softmax(z)."""
    rng = np.random.default_rng(1)
    mu = rng.random(4) + 0.1
    mass = mu.sum()
    for _ in range(5):
        v = 2 * rng.standard_normal(4)

        def negative(z, v=v):
            u = mass * np.exp(z - np.logaddexp.reduce(z))
            return np.sum(u * np.log(u / mu)) - v @ u

        found = -minimize(negative, np.zeros(4), method="BFGS", options={"gtol": 1e-9}).fun
        assert mass * np.log(np.sum(mu / mass * np.exp(v))) == pytest.approx(found, abs=1e-8)


def test_affine_rule_of_vectors():
    """p'(u) = a p(S^T u + b) has the dual a q(S^-1 v / a) - b^T S^-1 v: S^-1 where S^-T is printed."""
    rng = np.random.default_rng(2)
    for p, q in vector_pairs(rng):
        S, b, a = random_spd(rng, 4) + np.triu(rng.standard_normal((4, 4))), rng.standard_normal(4), 1.7
        for _ in range(3):
            v = rng.standard_normal(4)

            def composed(u, S=S, b=b, a=a, p=p):
                value, gradient = p(S.T @ u + b)
                return a * value, a * S @ gradient

            back = np.linalg.solve(S, v)
            assert a * q(back / a) - b @ back == pytest.approx(vector_supremum(composed, v, 4), rel=1e-5, abs=1e-7)
            printed = np.linalg.solve(S.T, v)
            assert abs(a * q(printed / a) - b @ printed - (a * q(back / a) - b @ back)) > 1e-6


def affine(q, u, a, scale, shift):
    """The dual of s -> a p(scale s + shift) at u."""
    return a * q(u / (scale * a)) - shift * u / scale


#: a loss with a label: the pair, and a, scale and shift of the affine map of the score
LOSSES = [
    (Squared(), "2-2.0", lambda y: (1.0, 1.0, -y), [-1.5, 0.0, 2.0]),
    (Huber(1.0), "7", lambda y: (1.0, 1.0, -y), [-1.5, 0.0, 2.0]),
    (Huber(0.5), "7", lambda y: (0.25, 2.0, -2.0 * y), [-1.5, 0.0, 2.0]),
    (HuberHinge(1.0), "9", lambda y: (1.0, -y, 1.0), [-1.0, 1.0]),
    (HuberHinge(0.25), "9", lambda y: (0.25, -4.0 * y, 4.0), [-1.0, 1.0]),
    (Logistic(), "5", lambda y: (1.0, -y, 0.0), [-1.0, 1.0]),
    (NegativeLog(), "6", lambda y: (1.0, y, 0.0), [-1.0, 1.0]),
    (Hinge(), "10-1", lambda y: (1.0, -y, 1.0), [-1.0, 1.0]),
    (EpsilonInsensitive(0.2), "8-1", lambda y: (1.0, 1.0, -y), [-1.5, 0.0, 2.0]),
    *((Hinge(power=p), f"10-{p}", lambda y: (1.0, -y, 1.0), [-1.0, 1.0]) for p in P),
    *((EpsilonInsensitive(0.2, power=p), f"8-{p}", lambda y: (1.0, 1.0, -y), [-1.5, 0.0, 2.0]) for p in P),
]


@pytest.mark.parametrize(("loss", "pair", "maps", "labels"), LOSSES, ids=[repr(row[0]) for row in LOSSES])
def test_losses_are_pairs_under_the_affine_rule(loss, pair, maps, labels):
    p, q, domain, _ = SCALAR[pair]
    for y in labels:
        a, scale, shift = maps(y)
        for s in (-2.3, -0.4, 0.0, 0.7, 1.9):
            assert float(loss.value(np.float64(s), np.float64(y))) == pytest.approx(a * p(scale * s + shift), abs=1e-14)
        ends = sorted(end * scale * a for end in domain)
        np.testing.assert_allclose([float(end) for end in loss.domain(np.float64(y))], ends, atol=0)
        for v in inside(domain).tolist():
            u = v * scale * a
            expected = affine(q, u, a, scale, shift)
            assert float(loss.conjugate(np.float64(u), np.float64(y))) == pytest.approx(expected, abs=1e-13)


def test_exponentials_are_the_third_pair_from_its_other_side():
    """exp(t) is the dual of v ln(v / e): so the conjugates of both losses are entropies."""
    p, q = SCALAR["3"][:2]
    for v in (0.2, 1.0, 4.0):
        # mu = 0.3 is a shift of the score: 0.3 e^v = e^(v + ln 0.3)
        entropy = p(v) + v * math.log(0.3)
        assert float(Exponential().conjugate(np.float64(-v), np.float64(1.0))) == pytest.approx(entropy, abs=1e-14)
        for y in (0.0, 0.5, 3.0):
            found = float(Poisson().conjugate(np.float64(v - y), np.float64(y)))
            assert found == pytest.approx(entropy - _xlogx(y) + y, abs=1e-14)
        assert float(Exponential().value(np.float64(-v), np.float64(1.0))) == pytest.approx(q(v) / 0.3, rel=1e-14)


def test_the_square_is_the_first_pair():
    v = np.random.default_rng(3).standard_normal(5)
    assert L2().conjugate(v) == pytest.approx(0.5 * v @ v)
