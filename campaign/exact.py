"""P and D of a case with eighty digits, from the definitions; scores and theta are rows with one entry an output."""

import itertools
from decimal import Decimal

import numpy as np

import exact_losses
import exact_regularizers
from campaign import mixtures_exact, structured, structured_exact
from exact_losses import DIGITS, INFINITE, digits, exp

JOINT = ("weston_watkins", "costs", "crammer_singer", "multinomial")
ZERO, ONE = Decimal(0), Decimal(1)


def model_numbers(model):
    """The weights in rows and the intercepts of a model, as exact numbers."""
    rows = np.atleast_2d(model.weights).tolist()
    return [[Decimal(entry) for entry in row] for row in rows], [
        Decimal(b) for b in np.atleast_1d(np.asarray(model.intercept, dtype=np.float64)).tolist()
    ]


def primal(case, weights, intercept, lam=None):
    """P of rows of weights (Decimals) and a list of intercepts."""
    with digits(DIGITS):
        weights = exact_regularizers.normalized(case.problem.regularizer, weights)
        products = [_times(case.rows, own) for own in weights]
        scores = [[s + b for s, b in zip(row, intercept, strict=True)] for row in zip(*products, strict=True)]
        if case.problem.design.kernel() is not None:
            penalty = _half_products(weights, products)
        else:
            penalty = exact_regularizers.value(case.problem.regularizer, weights)
        return (case.lam if lam is None else lam) * penalty + risk(case, scores)


def witness_dual(case, witness, enough=INFINITE):
    """D of a witness, and whether it is at exactly this one; None where R* has no closed form here.

    Where the best multiple of a witness is searched, a value that is at least ``enough`` ends the search.
    """
    if case.kind in structured.KINDS:
        return structured_exact.dual(case, witness, enough=enough)
    if case.kind in mixtures_exact.KINDS:
        theta = completed(case, witness.theta)
        conjugate = mixtures_exact.conjugate(case, theta, witness.decomposition, delta)
        return (None, False) if conjugate is None else (dual(case, theta, conjugate), True)
    return dual(case, completed(case, witness.theta)), True


def dual(case, theta, conjugate=None):
    """D of a theta in the domain of R*, whose sum may miss zero; None where R* has no closed form here.

    ``conjugate`` is a bound on R*(-theta), if one is known.
    """
    with digits(DIGITS):
        conjugate = _conjugate(case, theta) if conjugate is None else conjugate
        if conjugate is None or conjugate == INFINITE:
            return None if conjugate is None else -INFINITE
        outputs = list(zip(*theta, strict=True))
        if case.problem.design.kernel() is not None:
            # X^T theta has the coefficients theta, and the norm is that of the Gram matrix
            return -_half_products(outputs, [_times(case.rows, own) for own in outputs]) / case.lam - conjugate
        columns = list(zip(*case.rows, strict=True))
        v = [[entry / case.lam for entry in _times(columns, own)] for own in outputs]
        return -case.lam * exact_regularizers.conjugate(case.problem.regularizer, v) - conjugate


def _times(rows, vector):
    """The products of rows with a vector."""
    return [sum(x * y for x, y in zip(row, vector, strict=True)) for row in rows]


def _half_products(first, second):
    """Half the sum of products of two tables."""
    return sum(x * y for one, other in zip(first, second, strict=True) for x, y in zip(one, other, strict=True)) / 2


def risk(case, scores):
    """R of exact scores."""
    kind, shares = case.kind, case.shares
    if kind in structured.KINDS:
        return structured_exact.risk_value(case, [row[0] for row in scores])
    if kind in ("mean", "outputs", "accuracy"):
        loss = case.problem.risk.loss
        return sum(
            c * exact_losses.value(loss, s, y)
            for c, row, own in zip(shares, scores, case.labels, strict=True)
            if c
            for s, y in zip(row, own, strict=True)
        )
    if kind in JOINT:
        return sum(c * _joint(case, row, y) for c, row, y in zip(shares, scores, case.labels, strict=True) if c)
    if kind == "multilabel":
        return sum(
            c * max([1 - p + q for p, has in zip(row, own, strict=True) if has for q, lacks in _others(row, own)] + [0])
            for c, row, own in zip(shares, scores, case.labels, strict=True)
        )
    if kind in ("roc_auc", "ordinal"):
        return _pairs(case, scores)
    return _contingency(case, scores)


def _others(row, own):
    return [(q, has) for q, has in zip(row, own, strict=True) if not has]


def _joint(case, row, y):
    """The loss of one example of several classes."""
    others = [j for j in range(len(row)) if j != y]
    if case.kind == "multinomial":
        top = max(row)
        return top - row[y] + sum(exp(s - top) for s in row).ln()
    hinges = {j: max(1 - row[y] + row[j], ZERO) for j in others}
    if case.kind == "crammer_singer":
        return max(hinges.values())
    return sum(z * (case.costs[y][j] if case.costs else 1) for j, z in hinges.items())


def _pairs(case, scores):
    """The mean hinge of all pairs of different labels."""
    total = mass = ZERO
    examples = list(zip(case.labels, scores, case.shares, strict=True))
    for (low, s, c), (high, t, e) in itertools.product(examples, examples):
        if low < high:
            total += c * e * max(1 - t[0] + s[0], ZERO)
            mass += c * e
    return total / mass


def _contingency(case, scores):
    """The maximum over all numbers of errors; those of a class are its lowest, or highest, scores."""
    signed = [(own[0], row[0]) for own, row in zip(case.labels, scores, strict=True)]
    positives = sorted(s for y, s in signed if y > 0)
    negatives = sorted((s for y, s in signed if y < 0), reverse=True)
    n, best = len(signed), -INFINITE
    missed = list(itertools.accumulate(positives, initial=ZERO))
    wrong = list(itertools.accumulate(negatives, initial=ZERO))
    for fn, fp in itertools.product(range(len(missed)), range(len(wrong))):
        loss = delta(case.kind, fn, fp, len(positives), case.parameter, len(negatives))
        if loss is not None:
            best = max(best, loss + (wrong[fp] - missed[fn]) / n)
    return best


def delta(kind, fn, fp, positives, k, negatives=0):
    """What a labelling with these errors loses; None if it is not allowed.

    ``k`` is beta for F-beta, and the table of a custom measure.
    """
    right = positives - fn
    predicted = right + fp
    surplus = fp - fn
    relative = [Decimal(2 * surplus) / (2 * positives + 1), Decimal(-2 * surplus) / (2 * negatives + 1)]
    match kind:
        case "custom" | "custom_blocks":
            return k[fn][fp]
        case "ae":
            return Decimal(abs(surplus)) / (positives + negatives)
        case "rae":
            return sum(map(abs, relative)) / 2
        case "kld" | "nkld":
            n = positives + negatives
            shares = [Decimal(2 * positives + 1) / (2 * n + 2), Decimal(2 * negatives + 1) / (2 * n + 2)]
            found = sum(-p * (1 + x).ln() for p, x in zip(shares, relative, strict=True))
            return found if kind == "kld" else 2 / (1 + (-found).exp()) - 1
        case "q":
            recall = Decimal(right) / positives
            agreement = 1 - Decimal(abs(surplus)) / max(positives, negatives)
            return 1 - (2 * recall * agreement / (recall + agreement) if recall + agreement else 0)
        case "prbep":
            return Decimal(fn) / positives if fn == fp else None
        case "f1":
            return 1 - Decimal(2 * right) / (2 * right + fn + fp)
        case "fbeta":
            square = Decimal(k) ** 2
            return 1 - (1 + square) * right / ((1 + square) * right + square * fn + fp)
        case "precision_at_k":
            return 1 - Decimal(right) / predicted if predicted >= k else None
    return Decimal(fn) / positives if predicted <= k else None


def _conjugate(case, theta):
    """R*(-theta); None where it is not known in closed form."""
    total = ZERO
    if case.kind in ("mean", "outputs", "accuracy"):
        loss = case.problem.risk.loss
        for row, c, own in zip(theta, case.shares, case.labels, strict=True):
            for t, y in zip(row, own, strict=True):
                if c:
                    total += c * exact_losses.conjugate(loss, -t / c, y)
                elif t:
                    return INFINITE
        return total
    if case.kind == "multilabel":
        return _multilabel_conjugate(case, theta)
    if case.kind not in JOINT:
        return None
    for row, c, y in zip(theta, case.shares, case.labels, strict=True):
        beta = {j: -t for j, t in enumerate(row) if j != y}
        if min(beta.values()) < 0:
            return INFINITE
        if case.kind in ("weston_watkins", "costs"):
            if any(b > c * (case.costs[y][j] if case.costs else 1) for j, b in beta.items()):
                return INFINITE
            total -= sum(beta.values())
            continue
        if sum(beta.values()) > c:
            return INFINITE
        if case.kind == "crammer_singer":
            total -= sum(beta.values())
        elif c:
            # 1 - q rounds to one where q is below the last digit
            q = sum(beta.values()) / c
            own = (1 - q) * exact_losses.log1p(-q) if q < 1 else ZERO
            total += c * (own + sum(exact_losses.xlogx(b / c) for b in beta.values()))
    return total


def _multilabel_conjugate(case, theta):
    """Minus the masses of the labels of all examples; floats may miss the equality of sums by rounding."""
    total = ZERO
    for row, c, own in zip(theta, case.shares, case.labels, strict=True):
        present, absent = (
            [t if has else -t for t, has in zip(row, own, strict=True) if bool(has) == side] for side in (True, False)
        )
        room = structured_exact.FEASIBLE * c
        if any(t < 0 for t in (*present, *absent)) or abs(sum(present) - sum(absent)) > room or sum(present) > c + room:
            return INFINITE
        total += sum(present)
    return -total


def completed(case, theta):
    """Theta as it stands for a dual point: the entry at a label is minus the exact sum of the others."""
    rows = [[Decimal(entry) for entry in row] for row in theta.reshape(len(theta), -1).tolist()]
    if case.kind in JOINT:
        with digits(DIGITS):
            for row, y in zip(rows, case.labels, strict=True):
                row[y] = ZERO
                row[y] = -sum(row)
    return rows


def ridge_optimum(case, lam=None):
    """The exact minimizer of a squared loss with ridge, as (rows of weights, intercepts), by elimination."""
    with digits(DIGITS):
        lam = case.lam if lam is None else lam
        bias = [ONE] if case.problem.intercept else []
        rows = [[*row, *bias] for row in case.rows]
        d, size = len(case.rows[0]), len(rows[0])
        system = [
            [
                sum(c * row[i] * row[j] for c, row in zip(case.shares, rows, strict=True))
                + (lam if i == j and i < d else 0)
                for j in range(size)
            ]
            + [sum(c * row[i] * y[0] for c, row, y in zip(case.shares, rows, case.labels, strict=True))]
            for i in range(size)
        ]
        for i in range(size):
            if not system[i][i]:
                return None
            system[i] = [entry / system[i][i] for entry in system[i]]
            for j in range(size):
                if j != i:
                    system[j] = [a - system[j][i] * b for a, b in zip(system[j], system[i], strict=True)]
        found = [row[-1] for row in system]
        return [found[:d]], (found[d:] or [ZERO])
