"""The line search bundle method of paper 003 (Algorithm 2) on the four points, in rational arithmetic."""

from fractions import Fraction

LAM = Fraction(1, 16)


def plane(w):
    """Slope and offset of 1/2 [1 - w/2]_+ + 1/2 [1 - w]_+ at a w where it has no kink."""
    assert w not in (1, 2)
    pieces = [(Fraction(-1, 4), Fraction(1, 2), 1 - w / 2 > 0), (Fraction(-1, 2), Fraction(1, 2), 1 - w > 0)]
    active = [(a, b) for a, b, counts in pieces if counts]
    return sum((a for a, _ in active), Fraction(0)), sum((b for _, b in active), Fraction(0))


def line_search(count):
    """(w_k, weight of the first plane) for k = 1, ..., count."""
    slope, offset = plane(Fraction(0))
    first, found = Fraction(1), []
    for _ in range(count):
        w = -slope / LAM
        found.append((w, first))
        a, b = plane(w)
        # maximize -(eta slope + (1 - eta) a)^2 / (2 lam) + eta offset + (1 - eta) b over 0 <= eta <= 1
        apart = slope - a
        eta = (LAM * (offset - b) / apart - a) / apart
        eta = min(max(eta, Fraction(0)), Fraction(1))
        slope, offset, first = eta * slope + (1 - eta) * a, eta * offset + (1 - eta) * b, eta * first
    return found
