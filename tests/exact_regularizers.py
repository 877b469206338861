"""Regularizers and their conjugates with eighty digits: an independent evaluation with ``decimal``.

Weights and v are lists of rows of Decimals, one row for each output.
"""

from decimal import Decimal

from exact_losses import DIGITS, INFINITE, digits, exp, xlogx


def decimals(rows):
    """An array of floats as rows of Decimals."""
    return [[Decimal(float(entry)) for entry in row] for row in (rows if rows.ndim == 2 else [rows])]


def normalized(regularizer, rows):
    """The weights that stored ones stand for: those with a fixed mass have it exactly."""
    if not regularizer.fixes_mass:
        return rows
    with digits(DIGITS):
        mass = _mass(regularizer, len(rows[0]))[1]
        totals = [sum(abs(entry) for entry in row) for row in rows]
        if regularizer.balanced:
            totals = [max(total, mass) for total in totals]
        return [[entry * mass / total for entry in row] for row, total in zip(rows, totals, strict=True)]


def value(regularizer, rows):
    """Omega of rows of weights."""
    with digits(DIGITS):
        return sum((_value(regularizer, row) for row in rows), Decimal(0))


def conjugate(regularizer, rows):
    """Omega* of rows of v."""
    with digits(DIGITS):
        return sum((_conjugate(regularizer, row) for row in rows), Decimal(0))


def _mass(regularizer, features):
    prior = [Decimal(float(entry)) for entry in regularizer.priors(features)]
    return prior, sum(prior) * (2 if regularizer.balanced else 1)


def _freed(regularizer, row, least):
    """A row with the best entries for free features, zeros but for entropies of positive weights; C is a selection."""
    rows = regularizer.directions.toarray()
    free = [j for j in range(len(row)) if any(rows[:, j])]
    return [least(j) if j in free else x for j, x in enumerate(row)]


def _best_weight(base, features):
    """The weight of smallest entropy, or zero."""
    if base.name != "unnormalized_entropy" or base.balanced:
        return lambda j: Decimal(0)
    return lambda j: Decimal(float(base.priors(features)[j]))


def _value(regularizer, w):
    match regularizer.name:
        case "free_directions":
            return _value(regularizer.base, _freed(regularizer, w, _best_weight(regularizer.base, len(w))))
        case "l2":
            return sum(x * x for x in w) / 2
        case "l1":
            return sum(abs(x) for x in w)
        case "elastic_net":
            rho = Decimal(regularizer.l1_ratio)
            return (1 - rho) / 2 * sum(x * x for x in w) + rho * sum(abs(x) for x in w)
        case "q_norm":
            q, power = Decimal(regularizer.q), Decimal(regularizer.power)
            total = sum(abs(x) ** q for x in w if x)
            return total ** (power / q) / power if total else Decimal(0)
        case "quadratic_form":
            return sum(x * y for x, y in zip(w, _product(regularizer, w), strict=True)) / 2
        case "unnormalized_entropy":
            prior = [Decimal(float(entry)) for entry in regularizer.priors(len(w))]
            if not regularizer.balanced:
                return sum(xlogx(x) - x * m.ln() - x + m for x, m in zip(w, prior, strict=True))
            return sum(_both(x, m) for x, m in zip(w, prior, strict=True))
    prior, mass = _mass(regularizer, len(w))
    if not regularizer.balanced:
        return sum(xlogx(x) - x * m.ln() for x, m in zip(w, prior, strict=True))
    return _balanced(w, prior, mass)


def _both(x, m):
    """The entropies of both parts of a weight."""
    root = (x * x + 4 * m * m).sqrt()
    large, small = (abs(x) + root) / 2, 2 * m * m / (abs(x) + root)
    return sum(xlogx(part) - part * m.ln() - part + m for part in (large, small))


def _balanced(w, prior, mass):
    """The entropies of both parts with the mass A, from the multiplier by bisection."""

    def parts(factor):
        roots = [(x * x + 4 * (factor * m) ** 2).sqrt() for x, m in zip(w, prior, strict=True)]
        large = [(abs(x) + root) / 2 for x, root in zip(w, roots, strict=True)]
        return [(x, (factor * m) ** 2 / x if x else x) for x, m in zip(large, prior, strict=True)]

    low, high = Decimal(0), Decimal(1)
    for _ in range(200):
        middle = (low + high) / 2
        above = sum(sum(pair) for pair in parts(middle)) > mass
        low, high = (low, middle) if above else (middle, high)
    return sum(xlogx(x) - x * m.ln() for pair, m in zip(parts(low), prior, strict=True) for x in pair)


def _conjugate(regularizer, v):
    match regularizer.name:
        case "free_directions":
            return _conjugate(regularizer.base, _freed(regularizer, v, lambda j: Decimal(0)))
        case "l2":
            return sum(x * x for x in v) / 2
        case "l1":
            return Decimal(0) if max(abs(x) for x in v) <= 1 else INFINITE
        case "elastic_net":
            rho = Decimal(regularizer.l1_ratio)
            return sum(max(abs(x) - rho, Decimal(0)) ** 2 for x in v) / (2 * (1 - rho))
        case "q_norm":
            q, power = Decimal(regularizer.q), Decimal(regularizer.power)
            p, power = q / (q - 1), power / (power - 1)
            total = sum(abs(x) ** p for x in v if x)
            return total ** (power / p) / power if total else Decimal(0)
        case "quadratic_form":
            return sum(x * y for x, y in zip(v, solved(regularizer, v), strict=True)) / 2
        case "unnormalized_entropy":
            prior = [Decimal(float(entry)) for entry in regularizer.priors(len(v))]
            grown = [x.exp() + (-x).exp() - 2 if regularizer.balanced else x.exp() - 1 for x in v]
            return sum(m * x for m, x in zip(prior, grown, strict=True))
    prior, mass = _mass(regularizer, len(v))
    top = max(abs(x) if regularizer.balanced else x for x in v)
    grown = [exp(x - top) + (exp(-x - top) if regularizer.balanced else 0) for x in v]
    return mass * (top + (sum(m * x for m, x in zip(prior, grown, strict=True)) / mass).ln())


def _product(regularizer, w):
    if regularizer.diagonal:
        return [x * Decimal(float(k)) for x, k in zip(w, regularizer.operator, strict=True)]
    return [sum(x * Decimal(float(k)) for x, k in zip(w, row, strict=True)) for row in regularizer.operator]


def solved(regularizer, v):
    """K^-1 v by elimination."""
    if regularizer.diagonal:
        return [x / Decimal(float(k)) for x, k in zip(v, regularizer.operator, strict=True)]
    rows = [[Decimal(float(k)) for k in row] + [x] for row, x in zip(regularizer.operator, v, strict=True)]
    for i in range(len(rows)):
        rows[i] = [entry / rows[i][i] for entry in rows[i]]
        for j in range(len(rows)):
            if j != i:
                rows[j] = [a - rows[j][i] * b for a, b in zip(rows[j], rows[i], strict=True)]
    return [row[-1] for row in rows]
