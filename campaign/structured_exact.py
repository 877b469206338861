"""R of rankings and of labelled sequences, and D of their witnesses: all pairs, all labellings, 80 digits."""

import itertools
from decimal import Decimal

import numpy as np

import exact_regularizers
from campaign.structured import CHAINS, ONE, ZERO
from exact_losses import DIGITS, INFINITE, digits, exp

#: what a dual point of floats may violate, relative to c_q or to the price of a pair
FEASIBLE = Decimal("1e-9")
#: distance from 1 of a multiple of a witness that is rounding
WHOLE = Decimal("1e-9")
#: steps of the search for the best multiple of a witness: to 2e-27 of it
STEPS = 150


def risk_value(case, scores):
    """R of exact scores, one for each row."""
    if case.kind in CHAINS:
        return sum(c * _chain_loss(case, scores, begin, own) for c, begin, own in case.labels.sequences() if c)
    total = ZERO
    for c, own in case.labels.informative():
        if case.kind == "ndcg":
            total += c * _ndcg_loss(case, scores, own)
            continue
        pairs = _pairs(case.labels.grades, own)
        total += c * sum(_loss(case.kind, scores[i] - scores[j])[0] for i, j in pairs) / len(pairs)
    return total


def _pairs(grades, own):
    return [(i, j) for i, j in itertools.product(own, own) if grades[i] > grades[j]]


def _loss(kind, t):
    """f(t) and f'(t)."""
    if kind == "pairwise_logistic":
        small = exp(-abs(t))
        return max(-t, ZERO) + (1 + small).ln(), -(small if t > 0 else ONE) / (1 + small)
    x = max(1 - t, ZERO)
    return (x, -ONE if x else ZERO) if kind == "pairwise_hinge" else (x * x, -2 * x)


def _ndcg_parts(case, own):
    """The discounts d, a* and g of a query."""
    (gain, k), grades = case.parameter, [case.labels.grades[i] for i in own]
    gains = [2**y - 1 for y in grades] if gain == "exponential" else grades
    ranks = range(1, len(own) + 1)
    discounts = [Decimal(2).ln() / Decimal(1 + r).ln() if k is None or r <= k else ZERO for r in ranks]
    places = {y: [r for r, other in enumerate(sorted(grades, reverse=True)) if other == y] for y in grades}
    ideal = [sum(discounts[r] for r in places[y]) / len(places[y]) for y in grades]
    best = sum(a * g for a, g in zip(ideal, gains, strict=True))
    return discounts, ideal, [g / best for g in gains]


def _ndcg_loss(case, scores, own):
    """The largest <a - a*, s - g> over the orders of the discounts, by sorting s - g."""
    discounts, ideal, gains = _ndcg_parts(case, own)
    z = [scores[i] - g for i, g in zip(own, gains, strict=True)]
    top = sum(d * one for d, one in zip(discounts, sorted(z, reverse=True), strict=True))
    return top - sum(a * one for a, one in zip(ideal, z, strict=True))


def _labellings(case, scores, begin, own):
    """Every labelling of a sequence with its score: the sum of the scores of its features."""
    for y in itertools.product(range(case.parameter), repeat=len(own)):
        yield y, sum(amount * scores[place] for place, amount in _features(case, begin, y))


def _features(case, begin, y):
    """The places of the features of a labelling among all scores, with their amounts."""
    m, chains = case.parameter, case.labels
    tail = len(chains.labels) * m
    for t, label in enumerate(y):
        yield (begin + t) * m + label, ONE
    for t, (i, j) in enumerate(itertools.pairwise(y), start=1):
        for k, amount in enumerate(chains.features(begin + t)):
            yield tail + (k * m + i) * m + j, amount
    ends = tail + chains.matrices() * m * m
    yield ends + y[0], ONE
    yield ends + m + y[-1], ONE


def _wrong(y, own):
    return sum(a != b for a, b in zip(y, own, strict=True))


def _chain_loss(case, scores, begin, own):
    every = dict(_labellings(case, scores, begin, own))
    if case.kind == "chain_hinge":
        return max(_wrong(y, own) + score for y, score in every.items()) - every[own]
    top = max(every.values())
    return top - every[own] + sum(exp(score - top) for score in every.values()).ln()


def dual(case, witness, whole=None, enough=INFINITE):
    """D of what a witness holds, times ``whole``, and whether it is at exactly this: at its best multiple otherwise.

    Without ``whole`` it is the multiple that a certificate is of, which the 1-norm of theta states. Near 1 it may be
    another one by the rounding of theta alone, so D is the larger one of there and at 1. A search for the best multiple
    ends where D is at least ``enough``. The dual points of smooth pairs and of chains are those of scores and
    labellings, exactly; those of the hinge of pairs and of the NDCG are floats, which may miss the domain by rounding.
    None where a witness holds nothing.
    """
    if witness.decomposition is None and case.kind != "ndcg":
        return None, False
    with digits(DIGITS):
        if case.kind == "ndcg":
            theta, conjugate = _of_permutahedra(case, [Decimal(entry) for entry in witness.theta.tolist()])
        else:
            theta, conjugate = _points(case, witness.decomposition)
        if conjugate == INFINITE:
            return -INFINITE, True
        columns = zip(*case.rows, strict=True)
        v = [sum(x * t for x, t in zip(column, theta, strict=True)) / case.lam for column in columns]
        kernel = case.problem.design.kernel() is not None
        # X^T theta has the coefficients theta, and the norm is that of the Gram matrix
        square = sum(x * t for x, t in zip(v, theta, strict=True)) / case.lam if kernel else None

        def value(t):
            if square is not None:
                return -case.lam * t * t * square / 2 - t * conjugate
            penalty = exact_regularizers.conjugate(case.problem.regularizer, [[t * entry for entry in v]])
            return -INFINITE if penalty == INFINITE else -case.lam * penalty - t * conjugate

        size = sum(map(abs, theta))
        multiple = sum(abs(Decimal(entry)) for entry in witness.theta.tolist()) / size if size else ONE
        wholes = (ONE, min(multiple, ONE)) if whole is None else (whole,)
        found = max(map(value, wholes)) if abs(multiple - 1) <= WHOLE else -INFINITE
        if found != -INFINITE:
            return found, True
        found = max(value(t) for t in (ZERO, ONE, _largest_multiple(v)))
        return found if found >= enough else max(found, _best_value(value, enough)), False


def _largest_multiple(v):
    """Of a v in the unit ball of the largest entry, for the lasso."""
    return min(ONE, 1 / max(map(abs, v))) if any(v) else ONE


def _best_value(value, enough):
    """The largest value of a concave function on [0, 1], or one that is enough, by ternary search."""
    low, high = ZERO, ONE
    for _ in range(STEPS):
        first, second = low + (high - low) / 3, high - (high - low) / 3
        left, right = value(first), value(second)
        if max(left, right) >= enough:
            return max(left, right)
        if right > left:
            low = first
        else:
            high = second
    return value((low + high) / 2)


def _points(case, decomposition):
    """Theta and the bound on R*(-theta) of what a witness holds."""
    if case.kind == "chain_hinge":
        return (_of_markov_chains if np.ndim(decomposition) == 3 else _of_labellings)(case, decomposition)
    if case.kind == "pairwise_hinge":
        return _of_flows(case, decomposition)
    rows = [[Decimal(entry) for entry in row] for row in decomposition.tolist()]
    total = sum(row[0] for row in rows)
    theta, conjugate = [ZERO] * len(case.rows), ZERO
    for weight, *scores in rows:
        own, value = (_of_gibbs if case.kind in CHAINS else _of_pairs)(case, scores)
        theta = [a + weight / total * b for a, b in zip(theta, own, strict=True)]
        conjugate += weight / total * value
    return theta, conjugate


def _of_permutahedra(case, theta):
    """Theta and -<theta, g>, if the sums of the k largest a* - theta/c_q are at most those of the discounts."""
    conjugate, counted = ZERO, set()
    for c, own in case.labels.informative():
        discounts, ideal, gains = _ndcg_parts(case, own)
        a = sorted((ideal[k] - theta[i] / c for k, i in enumerate(own)), reverse=True)
        excess = [x - y for x, y in zip(itertools.accumulate(a), itertools.accumulate(discounts), strict=True)]
        if max(excess) > FEASIBLE or abs(excess[-1]) > FEASIBLE:
            return theta, INFINITE
        conjugate -= sum(theta[i] * g for i, g in zip(own, gains, strict=True))
        counted.update(own)
    return theta, INFINITE if any(t for i, t in enumerate(theta) if i not in counted) else conjugate


def _of_flows(case, rows):
    """The sum of the flows of each bit and minus their total, if Gale and Ryser's condition holds in each group."""
    levels = sorted(set(case.labels.grades))
    codes, total = [levels.index(grade) for grade in case.labels.grades], ZERO
    flows = [[Decimal(entry) for entry in row] for row in rows.tolist()]
    left = {(bit, i) for bit, row in enumerate(flows) for i, x in enumerate(row) if x}
    for c, own in case.labels.informative():
        price = c / len(_pairs(case.labels.grades, own))
        for bit, row in enumerate(flows):
            for group in {codes[i] >> (bit + 1) for i in own}:
                members = [i for i in own if codes[i] >> (bit + 1) == group]
                into = sorted((row[i] for i in members if codes[i] >> bit & 1), reverse=True)
                out = [-row[i] for i in members if not codes[i] >> bit & 1]
                sums = list(itertools.accumulate(into, initial=ZERO))
                caps = [sum(min(x, k * price) for x in out) for k in range(len(sums))]
                excess = [x - y for x, y in zip(sums, caps, strict=True)]
                if (
                    max(excess) > FEASIBLE * price
                    or min([*into, *out]) < 0
                    or abs(sums[-1] - sum(out)) > FEASIBLE * price
                ):
                    return flows[0], INFINITE
                left -= {(bit, i) for i in members}
                total += sums[-1]
    return [sum(column) for column in zip(*flows, strict=True)], INFINITE if left else -total


def _of_pairs(case, scores):
    theta, conjugate = [ZERO] * len(scores), ZERO
    for c, own in case.labels.informative():
        pairs = _pairs(case.labels.grades, own)
        for i, j in pairs:
            t = scores[i] - scores[j]
            value, slope = _loss(case.kind, t)
            theta[i] -= c * slope / len(pairs)
            theta[j] += c * slope / len(pairs)
            conjugate += c * (t * slope - value) / len(pairs)
    return theta, conjugate


def _of_gibbs(case, scores):
    """Minus the gradient at the scores, and minus the mean entropy."""
    theta, conjugate = [ZERO] * len(scores), ZERO
    for c, begin, own in case.labels.sequences():
        every = dict(_labellings(case, scores, begin, own))
        top = max(every.values())
        total = sum(exp(score - top) for score in every.values())
        _add(case, theta, begin, own, c)
        for y, score in every.items():
            p = exp(score - top) / total
            _add(case, theta, begin, y, -c * p)
            conjugate += c * p * (score - top - total.ln())
    return theta, conjugate


def _of_labellings(case, stored):
    count = int(stored[0])
    owners, weights = stored[1 : 1 + count].astype(int).tolist(), [Decimal(p) for p in stored[1 + count :].tolist()]
    labels = [int(y) for y in weights[count:]]
    theta, conjugate, begin_label = [ZERO] * len(case.rows), ZERO, 0
    listed = {}
    for owner, weight in zip(owners, weights[:count], strict=True):
        length = case.labels.lengths[owner]
        listed.setdefault(owner, []).append((weight, tuple(labels[begin_label : begin_label + length])))
        begin_label += length
    for q, (c, begin, own) in enumerate(case.labels.sequences()):
        total = sum(weight for weight, _ in listed.get(q, ()))
        if not total:
            continue
        _add(case, theta, begin, own, c)
        for weight, y in listed[q]:
            _add(case, theta, begin, y, -c * weight / total)
            conjugate -= c * weight / total * _wrong(y, own)
    return theta, conjugate


def _of_markov_chains(case, weights):
    """The means over all labellings y of P(y_1) P(y_2 | y_1) ...; a label of the data where all weights are zero."""
    rows = [[[Decimal(entry) for entry in row] for row in token] for token in weights.tolist()]
    m, theta, conjugate = case.parameter, [ZERO] * len(case.rows), ZERO

    def probability(row, label, gold):
        return row[label] / sum(row) if any(row) else ZERO + (label == gold)

    for c, begin, own in case.labels.sequences():
        _add(case, theta, begin, own, c)
        for y in itertools.product(range(m), repeat=len(own)):
            p = probability([sum(column) for column in zip(*rows[begin], strict=True)], y[0], own[0])
            for t, (i, j) in enumerate(itertools.pairwise(y), start=1):
                p *= probability(rows[begin + t][i], j, own[t])
            _add(case, theta, begin, y, -c * p)
            conjugate -= c * p * _wrong(y, own)
    return theta, conjugate


def _add(case, theta, begin, y, amount):
    """Add the features of a labelling."""
    for place, factor in _features(case, begin, y):
        theta[place] += amount * factor
