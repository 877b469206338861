r"""Splice sites: substrings computed on the fly against the matrix of the same features, in time and memory.

The features are those of paper 001's ``dna_string`` (Sec. 5.2): substrings of lengths 1 to 8, at each position (the
weighted degree kernel), and anywhere before and after the site (two weighted spectrum kernels), 87,380 for each of 143
blocks: 12,495,340 features.  The strings are made up, since the original ones are not at hand: 141 letters with AG at
60 and 61; in true sites (one in ten) 23 letters before it are C or T with probability 0.8, the letter before AG is C
with probability 0.7 and the one after it G with probability 0.5, and letters behind are G or C with probability 0.54;
all others are uniform.

    python benchmarks/splice_sites.py            # 2,000 and 10,000 strings both ways
    python benchmarks/splice_sites.py --rows 50000 --limit 1000 --loss hinge

Each fit runs in a process of its own, whose memory ``--limit`` bounds in MB.  Times are processor seconds of one
thread, of the fit with its proof and the making of X; memory is the most that the process had, less what it had after
its imports: with the loops that it compiles or loads, and some vectors of all features, 100 MB each.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np

from fenchel import LinearClassifier, MeasureClassifier
from fenchel.features import KmerFeatures

SIZE, SITE = 141, 59
FEATURES = KmerFeatures(
    k=8, shortest=1, windows=((0, SITE), (SITE + 2, SIZE)), positions=SIZE, weighting="degree", normalize=True
)
_MB = 1 << 20


def splice_sites(rows: int, seed: int = 0) -> tuple[list[bytes], np.ndarray]:
    """Strings around AG, and whether each is a splice site."""
    rng = np.random.default_rng(seed)
    labels = rng.random(rows) < 0.1
    letters = rng.integers(0, 4, (rows, SIZE))
    true = np.flatnonzero(labels)

    def drawn(begin: int, end: int, probabilities: list[float]) -> None:
        letters[true, begin:end] = rng.choice(4, (len(true), end - begin), p=probabilities)

    # in the order A, C, G, T
    drawn(SITE - 24, SITE - 1, [0.1, 0.4, 0.1, 0.4])
    drawn(SITE - 1, SITE, [0.1, 0.7, 0.1, 0.1])
    drawn(SITE + 3, SIZE, [0.23, 0.27, 0.27, 0.23])
    drawn(SITE + 2, SITE + 3, [0.2, 0.15, 0.5, 0.15])
    letters[:, SITE], letters[:, SITE + 1] = 0, 2
    text = np.frombuffer(b"ACGT", dtype=np.uint8)[letters]
    return [row.tobytes() for row in text], labels


def measured(way: str, rows: int, loss: str, tol: float, limit: int | None) -> dict[str, float | str]:
    """The fit in this process."""
    begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # compiles the loops, or loads them
    small, few = splice_sites(60)
    _fit(way, small, few, loss, tol)
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (limit * _MB, limit * _MB))
    strings, labels = splice_sites(rows)
    start = time.process_time()
    try:
        model, made = _fit(way, strings, labels, loss, tol)
    except MemoryError:
        return {"way": way, "rows": rows, "error": "out of memory"}
    end = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "way": way,
        "rows": rows,
        "made": made,
        "seconds": time.process_time() - start,
        "passes": model.n_iter_,
        "gap": model.certificate_.relative_gap,
        "megabytes": (end - begin) / 1024,
    }


def _fit(way, strings, labels, loss, tol):
    """The fitted model, and the seconds until there was a matrix."""
    options = {"tol": tol, "random_state": 0, "fit_intercept": False}
    start = time.process_time()
    if way == "on the fly":
        X, options["features"] = strings, FEATURES
    else:
        X = FEATURES.design(strings).sparse()
        X.sum_duplicates()
    made = time.process_time() - start
    model = MeasureClassifier("roc_auc", **options) if loss == "roc_auc" else LinearClassifier(loss, **options)
    return model.fit(X, labels), made


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[2000, 10_000])
    parser.add_argument("--loss", default="hinge", choices=["hinge", "logistic", "roc_auc"])
    parser.add_argument("--tol", type=float, default=1e-2)
    parser.add_argument("--limit", type=int, help="memory for data, in MB")
    parser.add_argument("--way", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way is not None:
        print(json.dumps(measured(options.way, options.rows[0], options.loss, options.tol, options.limit)))
        return
    print(f"{options.loss}, relative gap {options.tol:g}, {FEATURES.n_features:,} features")
    print(
        "| strings | features | seconds | of them to make X | passes | gap proved | MB |\n|---|---|---|---|---|---|---|"
    )
    for rows in options.rows:
        for way in ("matrix", "on the fly"):
            given = [sys.executable, __file__, "--rows", str(rows), "--loss", options.loss, "--tol", str(options.tol)]
            given += ["--way", way, *(["--limit", str(options.limit)] if options.limit is not None else [])]
            done = subprocess.run(given, capture_output=True, text=True, check=False)
            found = json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr.strip()[-300:]}
            if "error" in found:
                print(f"| {rows:,} | {way} | {found['error']} | | | | |", flush=True)
            else:
                numbers = f"{found['seconds']:.1f} | {found['made']:.1f} | {found['passes']} | {found['gap']:.1g}"
                print(f"| {rows:,} | {way} | {numbers} | {found['megabytes']:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
