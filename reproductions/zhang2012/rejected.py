r"""The smoothings that Zhang, Saha and Vishwanathan (2012) reject, Sec. 3.1.2 and 3.2.2, measured on data.

    python reproductions/zhang2012/rejected.py                  what is missing; goes on where it ended
    python reproductions/zhang2012/rejected.py --report-only    results/rejected.md from its JSON

The number of steps of an accelerated gradient method grows with :math:`\sqrt D\,\|A\|` (eq. 7), where the risk is
:math:`\max_{\beta\in Q} \langle A^Tw, \beta\rangle - g(\beta)`, :math:`\|A\|` its norm from that of the prox function d
to the Euclidean one, and :math:`D = \max d` for a d of modulus one.  In the scale of the paper's (3) and (5):

=========  ================  =====================================================  ===============================
measure    smoothing         A and d                                                claim for :math:`\sqrt D\|A\|`
=========  ================  =====================================================  ===============================
PRBEP      the paper's       columns :math:`-2y_ix_i/n`, square                     at most :math:`\sqrt2 R` (18)
PRBEP      over labellings   a column for each of the :math:`2^n`, entropy          :math:`2nR\sqrt{\log 2}` (21)
ROC area   the paper's       columns :math:`-(x_i - x_j)/m` for pairs, square       at most :math:`\sqrt2 R` (23)
ROC area   over sums         columns :math:`\mp x_i/m` for examples, square         :math:`Rn/\sqrt{2 n_+n_-}`
=========  ================  =====================================================  ===============================

Norms are largest singular values, found by power iterations; R is the largest row norm.  The one of the labellings is
:math:`2\max_F\|\sum_{i\in F} y_ix_i\|` over sets F of flipped examples, which is found by ascent from several starts:
a lower bound, so that what is rejected looks no worse than it is.

A slip of Sec. 3.1.2: the entropy on a simplex of size 1/n has the modulus n under the 1-norm, not 1.  With a modulus of
one D is :math:`\log 2/n`, and :math:`\sqrt D\|A\|` grows with the root of n, not with n.  Both are shown.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # for `python reproductions/zhang2012/rejected.py`

from benchmarks.data import load
from benchmarks.ledger import Cell
from benchmarks.report import markdown_table
from reproductions.provenance import StampedLedger
from reproductions.zhang2012.origin import REJECTED
from reproductions.zhang2012.runs import RESULTS

SETS = ("a9a", "reuters-moneyfx", "w8a")
SIZES = (100, 1000, 7842, 100_000)
#: of the name of a set: all examples but one are positive
_EXTREME = ", one negative"
_STARTS, _ROUNDS = 5, 300


def main() -> None:
    """Measure every set at growing sizes, what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(SETS), help="see benchmarks/data.py")
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of rejected.json and .md")
    parser.add_argument("--again", action="store_true", help="measure again what was asked for")
    parser.add_argument("--report-only", action="store_true", help="measure nothing")
    options = parser.parse_args()
    ledger = StampedLedger(REJECTED, options.output, options.again)
    extreme = [f"a9a{_EXTREME}"] if "a9a" in options.data else []
    for name in [] if options.report_only else [*options.data, *extreme]:
        data = load(name.removesuffix(_EXTREME))
        for size in options.sizes:
            rows = chosen(data.labels, size, name.endswith(_EXTREME))
            if rows is not None and not ledger.has(data=name, n=len(rows)):
                ledger.add([measured(name, data.matrix[rows], data.labels[rows])])
    text = markdown(ledger.cells)
    (options.output / "rejected.md").write_text(text + "\n", encoding="utf-8")
    print(text)


def chosen(labels: NDArray, size: int, extreme: bool) -> NDArray | None:
    """Rows: random ones, or all positives but one (the extreme of Sec. 3.2.2); None if there are no two classes."""
    if extreme:
        positives = np.flatnonzero(labels > 0)[: size - 1]
        return np.concatenate([positives, np.flatnonzero(labels < 0)[:1]]) if len(positives) == size - 1 else None
    rows = np.sort(np.random.default_rng(0).permutation(len(labels))[:size])
    return rows if np.any(labels[rows] > 0) and np.any(labels[rows] < 0) else None


def measured(name: str, X: Any, y: NDArray) -> Cell:
    """What the smoothings have on these rows."""
    n, n_pos, n_neg = len(y), int(np.sum(y > 0)), int(np.sum(y < 0))
    largest = singular(X)
    flipped = labellings(X, y)
    return {
        "data": name,
        "n": n,
        "n_pos": n_pos,
        "R": math.sqrt(float(np.max(X.multiply(X).sum(axis=1)))),
        "count": math.sqrt(n / 2.0) * 2.0 / n * largest,
        "printed": math.sqrt(math.log(2.0)) * flipped,
        "corrected": math.sqrt(math.log(2.0) / n) * flipped,
        "pairs": math.sqrt(n_pos * n_neg / 2.0) * pairs(X, y),
        "sums": math.sqrt((n_pos**2 * n_neg + n_pos * n_neg**2) / 2.0) * largest / (n_pos * n_neg),
        "sums_claim": n / math.sqrt(2.0 * n_pos * n_neg),
    }


def singular(X: Any) -> float:
    """The largest singular value."""
    return math.sqrt(_largest(lambda w: X.T @ (X @ w), X.shape[1]))


def pairs(X: Any, y: NDArray) -> float:
    """The norm of A for all pairs: A A^T by sums over the classes instead of over pairs."""
    positive, negative = X[y > 0], X[y < 0]
    n_pos, n_neg = positive.shape[0], negative.shape[0]

    def times(w: NDArray) -> NDArray:
        s, t = positive @ w, negative @ w
        # sum over pairs of (x_i - x_j)(s_i - t_j)
        return positive.T @ (n_neg * s - np.sum(t)) - negative.T @ (np.sum(s) - n_pos * t)

    return math.sqrt(_largest(times, X.shape[1])) / (n_pos * n_neg)


def _largest(times: Any, size: int) -> float:
    """The largest eigenvalue of a positive matrix, by power iterations."""
    w, value = np.random.default_rng(0).random(size), 0.0
    for _ in range(_ROUNDS):
        w /= np.linalg.norm(w)
        product = times(w)
        before, value = value, float(w @ product)
        if abs(value - before) <= 1e-9 * value:
            break
        w = product
    return value


def labellings(X: Any, y: NDArray) -> float:
    """max over sets F of 2 |sum of y_i x_i over F|: flip all that point the way of the present sum, again and again."""
    signed, random, best = X.multiply(y[:, None]).tocsr(), np.random.default_rng(0), 0.0
    starts = [signed[y > 0].sum(axis=0), signed[y < 0].sum(axis=0)]
    starts += [random.normal(size=X.shape[1]) for _ in range(_STARTS)]
    for start in starts:
        u, length = np.asarray(start).ravel(), -1.0
        for _ in range(_ROUNDS):
            u = np.asarray(signed.T @ (signed @ u > 0.0).astype(float)).ravel()
            before, length = length, float(np.linalg.norm(u))
            if length <= before:
                break
        best = max(best, 2.0 * length)
    return best


def markdown(rows: list[Cell]) -> str:
    """The claims beside what was found."""
    head = ["data", "n", "positive", "R"]
    head += ["PRBEP, the paper's (claim √2·R)", "over labellings, as printed (2nR√log 2)", "the same with modulus 1"]
    head += ["ROC area, the paper's (claim √2·R)", "over sums (claim)"]
    lines = []
    for row in rows:
        R = row["R"]
        claimed = [math.sqrt(2.0) * R, 2.0 * row["n"] * R * math.sqrt(math.log(2.0)), row["sums_claim"] * R]
        lines.append(
            [
                row["data"],
                f"{row['n']:,}",
                f"{row['n_pos']:,}",
                f"{R:.3g}",
                f"{row['count']:.3g} ({claimed[0]:.3g})",
                f"{row['printed']:.3g} ({claimed[1]:.3g})",
                f"{row['corrected']:.3g}",
                f"{row['pairs']:.3g} ({claimed[0]:.3g})",
                f"{row['sums']:.3g} ({claimed[2]:.3g})",
            ]
        )
    legend = (
        "√D·‖A‖ measured, and the paper's bound in parentheses, in the scale of its eqs. (3) and (5). "
        "`python reproductions/zhang2012/rejected.py` makes this."
    )
    return "\n\n".join(["# Smoothings that the paper rejects (Sec. 3.1.2, 3.2.2)", markdown_table(head, lines), legend])


if __name__ == "__main__":
    main()
