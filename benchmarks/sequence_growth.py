"""How the cost of labelled sequences grows with tokens and with labels: processor seconds of a pass, and memory.

    python benchmarks/sequence_growth.py
    python benchmarks/sequence_growth.py --most-tokens 10000 --most-labels 10      quick

Made-up sentences of 20 tokens: labels are drawn from a Markov chain, each token has ten indicators out of 2,000 that
depend on its label.  A fit makes a fixed number of passes with the solver that "auto" chooses, and is certified as fits
are; the table has processor seconds over passes (one thread, median of the rounds), and the rise of the resident size
during the fit over the least that a dual method needs, which is the same for both losses: 8 bytes for each token and
label, and for each sequence and pair of labels.  Slopes are those of all sizes, and of all but the smallest.
Free memory is returned to the system before each of them, since a fit would reuse that of the one before.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/sequence_growth.py`

import numpy as np
import scipy.sparse as sp

from benchmarks.memory import process_status
from benchmarks.report import markdown_table
from fenchel import GapWarning, SequenceClassifier

TOKENS = (1_000, 10_000, 100_000, 1_000_000)
LABELS = (5, 10, 20, 40, 60)
#: the labels while tokens grow, and the tokens while labels grow
FEW_LABELS, SOME_TOKENS = 10, 20_000
LENGTH, FEATURES, NONZEROS = 20, 2_000, 10
PASSES = 6
LOSSES = {"logistic": "log-loss (CRF)", "hinge": "max-margin (M3N)"}


class Sentences(NamedTuple):
    """A flat matrix of tokens, their labels, and the lengths of the sequences."""

    X: sp.csr_matrix
    y: Any
    lengths: Any


class Measured(NamedTuple):
    """One fit: its size, processor seconds of a pass, and bytes."""

    tokens: int
    labels: int
    solver: str
    seconds: float
    rise: int


def sentences(tokens: int, labels: int, seed: int = 0) -> Sentences:
    """Made-up sequences."""
    rng = np.random.default_rng(seed)
    following = rng.dirichlet(np.full(labels, 0.3), size=labels)
    y = np.empty((tokens // LENGTH, LENGTH), dtype=np.int64)
    y[:, 0] = rng.integers(labels, size=len(y))
    for t in range(1, LENGTH):
        bounds = np.cumsum(following[y[:, t - 1]], axis=1)
        y[:, t] = np.minimum(np.sum(rng.random((len(y), 1)) > bounds, axis=1), labels - 1)
    flat = y.ravel()
    # half of the indicators are those of the label
    share = FEATURES // labels
    own = flat[:, None] * share + rng.integers(share, size=(len(flat), NONZEROS // 2))
    others = rng.integers(FEATURES, size=(len(flat), NONZEROS - NONZEROS // 2))
    columns = np.hstack([own, others]).ravel()
    X = sp.csr_matrix((np.ones(columns.size), columns, np.arange(len(flat) + 1) * NONZEROS), (len(flat), FEATURES))
    X.sum_duplicates()
    return Sentences(X, flat, np.full(len(y), LENGTH))


def fitted(loss: str, data: Sentences) -> tuple[float, SequenceClassifier]:
    """Processor seconds of a pass."""
    model = SequenceClassifier(loss, C=0.1, tol=1e-12, max_iter=PASSES, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GapWarning)
        begin = time.process_time()
        model.fit(data.X, data.y, lengths=data.lengths)
        return (time.process_time() - begin) / model.n_iter_, model


def measured(loss: str, tokens: int, labels: int, rounds: int) -> Measured:
    """The median of the rounds, and the memory of the first."""
    data, seconds = sentences(tokens, labels), []
    rise = 0
    for k in range(rounds):
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        before = process_status("VmRSS")
        own, model = fitted(loss, data)
        seconds.append(own)
        if k == 0:
            rise = process_status("VmHWM") - before
    return Measured(tokens, labels, model.solver_, float(np.median(seconds)), rise)


def least_bytes(one: Measured) -> float:
    """Tokens x labels numbers and labels^2 for each sequence, of 8 bytes."""
    return 8.0 * (one.tokens * one.labels + one.tokens // LENGTH * one.labels**2)


def slope(sizes: list[float], seconds: list[float]) -> float:
    """The exponent of growth, by least squares of the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def table(loss: str, found: list[Measured], axis: str) -> str:
    """The measurements and the slope."""
    sizes = [float(getattr(one, axis)) for one in found]
    rows = [
        [
            f"{one.tokens:,}",
            str(one.labels),
            one.solver,
            f"{one.seconds:.4f}",
            f"{one.rise / 1e6:,.0f}",
            f"{least_bytes(one) / 1e6:,.1f}",
            f"{one.rise / least_bytes(one):.1f}",
        ]
        for one in found
    ]
    head = ["tokens", "labels", "solver", "s a pass", "rise, MB", "least, MB", "rise over least"]
    large = slope(sizes[1:], [one.seconds for one in found[1:]]) if len(found) > 2 else float("nan")
    whole = slope(sizes, [one.seconds for one in found]) if len(found) > 1 else float("nan")
    said = f"{LOSSES[loss]}: slope in {axis} {whole:.2f}, without the smallest {large:.2f}"
    return f"{said}\n\n{markdown_table(head, rows)}\n"


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most-tokens", type=int, default=TOKENS[-1])
    parser.add_argument("--most-labels", type=int, default=LABELS[-1])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--loss", choices=tuple(LOSSES), action="append", help="one of the losses only")
    options = parser.parse_args()
    few = min(SOME_TOKENS, options.most_tokens)
    for loss in options.loss or LOSSES:
        fitted(loss, sentences(200, 5))  # compiles
        tokens = [one for one in TOKENS if one <= options.most_tokens]
        print(table(loss, [measured(loss, one, FEW_LABELS, options.rounds) for one in tokens], "tokens"), flush=True)
        labels = [one for one in LABELS if one <= options.most_labels]
        print(table(loss, [measured(loss, few, one, options.rounds) for one in labels], "labels"), flush=True)


if __name__ == "__main__":
    main()
