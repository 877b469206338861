"""How much a fit raises peak resident memory beyond a matrix that is already loaded.

Each contender and each case runs in a process of its own: make the matrix, fit a small one of the same types first (so
that compiled code is there), reset the peak (write 5 to /proc/self/clear_refs), fit, read VmHWM.

    python -m benchmarks.memory                 1 GB of sparse rows, default classifier and LIBLINEAR
    python -m benchmarks.memory --size-mb 200   quick
    python -m benchmarks.memory --cases         other losses, regularizers and forms of X, at 300 MB

The cases have CSR float32 rows as above, or dense float64 rows in C order; classes are those of a planted model.  A
limit of five passes ends the fits, but for dense ones of two classes, whose first passes are over samples.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/memory.py`

from benchmarks import report

NONZEROS_PER_ROW = 200
#: columns; each row has one entry in every stretch of columns / NONZEROS_PER_ROW columns
COLUMNS = 200_000
_BLOCK_ROWS = 20_000
_MEGABYTE = 10**6
_PASSES = 5
DENSE_COLUMNS = 100
#: classes of the cases of several
CLASSES = 10
MEGABYTES, CASE_MEGABYTES = 1000.0, 300.0
#: of the matrix, in percent: what a fit may add besides the model
GOAL = 15.0


def matrix_of(megabytes: float) -> tuple[sp.csr_matrix, np.ndarray]:
    """A CSR matrix of float32 values and int32 indices of that size, and the labels of a planted model."""
    rows = max(2, round(megabytes * _MEGABYTE / (8 * NONZEROS_PER_ROW + 4)))
    values = np.empty((rows, NONZEROS_PER_ROW), dtype=np.float32)
    indices = np.empty((rows, NONZEROS_PER_ROW), dtype=np.int32)
    labels = np.empty(rows)
    random = np.random.default_rng(0)
    planted = random.standard_normal(COLUMNS, dtype=np.float32)
    stretch = COLUMNS // NONZEROS_PER_ROW
    starts = np.arange(NONZEROS_PER_ROW, dtype=np.int32) * stretch
    for begin in range(0, rows, _BLOCK_ROWS):
        block = slice(begin, min(rows, begin + _BLOCK_ROWS))
        shape = values[block].shape
        random.standard_normal(shape, dtype=np.float32, out=values[block])
        values[block] /= np.float32(NONZEROS_PER_ROW**0.5)
        indices[block] = random.integers(0, stretch, shape, dtype=np.int32) + starts
        labels[block] = np.where(np.einsum("ij,ij->i", values[block], planted[indices[block]]) > 0, 1.0, -1.0)
    indptr = np.arange(rows + 1, dtype=np.int32) * NONZEROS_PER_ROW
    matrix = sp.csr_matrix((values.reshape(-1), indices.reshape(-1), indptr), shape=(rows, COLUMNS), copy=False)
    matrix.has_sorted_indices = True
    return matrix, labels


def fit_fenchel(matrix: sp.csr_matrix, labels: np.ndarray) -> str:
    """The default classifier for a few passes; a message on how it went."""
    from fenchel import LinearClassifier

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LinearClassifier(loss="hinge", max_iter=_PASSES, random_state=0).fit(matrix, labels)
    return f"{model.n_iter_:.3g} passes, relative gap {model.certificate_.relative_gap:.1e}"


def fit_liblinear(matrix: sp.csr_matrix, labels: np.ndarray) -> str:
    """LIBLINEAR -s 3; its problem holds 16 bytes for each non-zero, a copy of the matrix."""
    from liblinear import liblinear as library

    problem = library.problem(labels, matrix)
    model = library.liblinear.train(problem, library.parameter("-s 3 -e 1 -q"))
    library.toPyModel(model)
    return "-s 3 -e 1"


class Case(NamedTuple):
    """A fit of Fenchel: the form of X, how many classes, and the parameters of LinearClassifier."""

    dense: bool
    classes: int
    given: dict[str, Any]

    def fit(self, matrix: Any, labels: np.ndarray) -> tuple[int, str]:
        """Bytes of the model, and how it went."""
        from fenchel import LinearClassifier

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = LinearClassifier(**{"max_iter": _PASSES, "random_state": 0, **self.given}).fit(matrix, labels)
        certificate = model.certificates_[0] if self.classes > 2 else model.certificate_
        return model.coef_.nbytes, f"{np.max(model.n_iter_):.3g} passes, relative gap {certificate.relative_gap:.1e}"

    def data(self, megabytes: float) -> tuple[Any, np.ndarray]:
        """X and the labels."""
        X, y = dense_of(megabytes) if self.dense else matrix_of(megabytes)
        if self.classes == 2:
            return X, y
        planted = np.random.default_rng(1).standard_normal((X.shape[1], self.classes), dtype=np.float32)
        return X, np.argmax(X @ planted, axis=1)


def dense_of(megabytes: float) -> tuple[np.ndarray, np.ndarray]:
    """Dense float64 rows of that size, and the labels of a planted model with noise."""
    random = np.random.default_rng(0)
    X = random.standard_normal((max(2, round(megabytes * _MEGABYTE / (8 * DENSE_COLUMNS))), DENSE_COLUMNS))
    scores = X @ random.standard_normal(DENSE_COLUMNS) + 5.0 * random.standard_normal(len(X))
    return X, np.where(scores > 0.0, 1.0, -1.0)


CASES = {
    "sparse, hinge": Case(False, 2, {"loss": "hinge"}),
    "sparse, logistic": Case(False, 2, {"loss": "logistic"}),
    "sparse, logistic, `newton`": Case(False, 2, {"loss": "logistic", "solver": "newton"}),
    "sparse, logistic, L1": Case(False, 2, {"loss": "logistic", "l1_ratio": 1.0}),
    "sparse, Weston-Watkins, 10 classes": Case(False, CLASSES, {"loss": "hinge", "multi_class": "weston_watkins"}),
    "sparse, multinomial, 10 classes": Case(False, CLASSES, {"loss": "logistic", "multi_class": "multinomial"}),
    "dense, hinge": Case(True, 2, {"loss": "hinge", "max_iter": 1000}),
    "dense, logistic": Case(True, 2, {"loss": "logistic", "max_iter": 1000}),
    "dense, logistic, L1": Case(True, 2, {"loss": "logistic", "l1_ratio": 1.0, "max_iter": 1000}),
    "dense, Weston-Watkins, 10 classes": Case(True, CLASSES, {"loss": "hinge", "multi_class": "weston_watkins"}),
}


CONTENDERS: dict[str, Callable[[sp.csr_matrix, np.ndarray], str]] = {
    "Fenchel": fit_fenchel,
    "LIBLINEAR": fit_liblinear,
}


def measured_here(contender: str, megabytes: float) -> dict[str, Any]:
    """Measure one contender in this process, which must be a fresh one."""
    fit = CONTENDERS[contender]
    fit(*matrix_of(1.0))
    matrix, labels = matrix_of(megabytes)
    size = matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = process_status("VmRSS")
    begin = time.perf_counter()
    how = fit(matrix, labels)
    seconds = time.perf_counter() - begin
    peak = process_status("VmHWM")
    return {
        "contender": contender,
        "matrix_bytes": size,
        "rows": matrix.shape[0],
        "columns": matrix.shape[1],
        "nonzeros_per_row": NONZEROS_PER_ROW,
        "resident_before": before,
        "peak": peak,
        "raise_percent": 100.0 * (peak - before) / size,
        "seconds": seconds,
        "how": how,
    }


def case_here(name: str, megabytes: float) -> dict[str, Any]:
    """Measure one case in this process, which must be a fresh one."""
    case = CASES[name]
    case.fit(*case.data(1.0))
    matrix, labels = case.data(megabytes)
    size = matrix.nbytes if case.dense else matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = process_status("VmRSS")
    begin = time.process_time()
    model, how = case.fit(matrix, labels)
    spent = time.process_time() - begin
    raised = process_status("VmHWM") - before
    return {"case": name, "matrix": size, "raise": raised, "model": model, "seconds": spent, "how": how}


def cases_table(results: list[dict[str, Any]]) -> str:
    """The cases in Markdown."""
    rows = []
    for found in results:
        share = 100.0 * (found["raise"] - found["model"]) / found["matrix"]
        sizes = [f"{found[part] / _MEGABYTE:,.0f}" for part in ("matrix", "raise", "model")]
        within = "yes" if share <= GOAL else "no"
        rows.append([found["case"], *sizes, f"{share:.1f} %", within, f"{found['how']}; {found['seconds']:.1f} s"])
    head = ["case", "matrix, MB", "raise, MB", "model, MB", "raise without the model, share of the matrix"]
    return report.markdown_table([*head, f"at most {GOAL:g} %", "fit, processor s"], rows)


def process_status(field: str) -> int:
    """Bytes from /proc/self/status."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {field}: this benchmark needs Linux")


def table(results: list[dict[str, Any]]) -> str:
    """The results in Markdown."""
    first = results[0]
    rows = [
        [
            result["contender"],
            f"{result['resident_before'] / _MEGABYTE:,.0f}",
            f"{result['peak'] / _MEGABYTE:,.0f}",
            f"{(result['peak'] - result['resident_before']) / _MEGABYTE:,.0f}",
            f"{result['raise_percent']:.1f} %",
            f"{result['how']}; {result['seconds']:.1f} s",
        ]
        for result in results
    ]
    head = ["", "resident before, MB", "peak, MB", "raise, MB", "raise, share of the matrix", "fit"]
    matrix = (
        f"CSR, float32 values, int32 indices, {first['rows']:,} by {first['columns']:,}, {first['nonzeros_per_row']} "
        f"non-zeros a row, {first['matrix_bytes'] / _MEGABYTE:,.0f} MB. Goal for Fenchel: below 15 %."
    )
    return f"{matrix}\n\n{report.markdown_table(head, rows)}"


def main() -> None:
    """Measure each contender in a process of its own and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size-mb", type=float, default=None, help="size of the matrix: 1000, of the cases 300")
    parser.add_argument("--output", type=Path, default=report.RESULTS, help="folder for memory.json")
    parser.add_argument("--update-readme", action="store_true", help="write the table into benchmarks/README.md")
    parser.add_argument("--cases", nargs="*", choices=list(CASES), help="these cases, without a name all")
    parser.add_argument("--measure-here", choices=[*CONTENDERS, *CASES], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure_here in CASES:
        print(json.dumps(case_here(options.measure_here, options.size_mb)))
    elif options.measure_here:
        print(json.dumps(measured_here(options.measure_here, options.size_mb)))
    elif options.cases is not None:
        results = [_apart(name, options.size_mb or CASE_MEGABYTES) for name in options.cases or CASES]
        _publish(options, "memory-cases", results, cases_table(results))
    else:
        results = [_apart(name, options.size_mb or MEGABYTES) for name in CONTENDERS]
        _publish(options, "memory", results, table(results))


def _apart(name: str, megabytes: float) -> dict[str, Any]:
    """A contender or a case in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.memory", "--measure-here", name, "--size-mb", str(megabytes)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=report.README.parents[1])
    print(done.stdout.splitlines()[-1], file=sys.stderr, flush=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _publish(options: argparse.Namespace, section: str, results: list[dict[str, Any]], text: str) -> None:
    report.write_json(options.output / f"{section}.json", {"results": results})
    if options.update_readme:
        report.update_readme(section, text)
    print(text)


if __name__ == "__main__":
    main()
