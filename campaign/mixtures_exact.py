"""The bound of a mixture of labellings on R* of a measure of the contingency table, in exact arithmetic.

With a_i = n y_i theta_i, labellings with weights p and counts (fn, fp) and these probabilities of flips exist if and
only if the sums of the j largest a of the positives are at most sum_k p_k min(j, fn_k), with equality for all of them,
and likewise for the negatives.  Then R*(-theta) <= -sum_k p_k Delta(fn_k, fp_k).
"""

from decimal import Decimal
from itertools import accumulate

from exact_losses import DIGITS, INFINITE, digits

KINDS = (
    *("prbep", "f1", "fbeta", "precision_at_k", "recall_at_k", "ae", "rae", "kld", "nkld", "q"),
    *("custom", "custom_blocks"),
)
#: what floats may violate: probabilities are at most 1
FEASIBLE = Decimal("1e-9")


def conjugate(case, theta, rows, delta):
    """-sum p Delta of the multiple of the mixture that theta is; infinite if it is none, None without a mixture."""
    if rows is None or rows.shape[1:] != (3,):
        return None
    with digits(DIGITS):
        cells = [(Decimal(weight), int(fn), int(fp)) for weight, fn, fp in rows.tolist()]
        total = sum(weight for weight, _, _ in cells)
        cells = [(weight / total, fn, fp) for weight, fn, fp in cells]
        signs = [own[0] for own in case.labels]
        flips = [len(signs) * y * row[0] for y, row in zip(signs, theta, strict=True)]
        mean = sum(p * (fn + fp) for p, fn, fp in cells)
        multiple = min(sum(flips) / mean, Decimal(1)) if mean else Decimal(0)
        for side, place in ((1, 1), (-1, 2)):
            own = sorted((a for a, y in zip(flips, signs, strict=True) if y == side), reverse=True)
            caps = [multiple * sum(cell[0] * min(j, cell[place]) for cell in cells) for j in range(len(own) + 1)]
            excess = [a - cap for a, cap in zip(accumulate(own, initial=Decimal(0)), caps, strict=True)]
            if max(excess) > FEASIBLE or abs(excess[-1]) > FEASIBLE or min(own) < -FEASIBLE:
                return INFINITE
        positives, negatives = signs.count(1), signs.count(-1)
        losses = [delta(case.kind, fn, fp, positives, case.parameter, negatives) for _, fn, fp in cells]
        if None in losses:
            return INFINITE
        return -multiple * sum(p * loss for (p, _, _), loss in zip(cells, losses, strict=True))
