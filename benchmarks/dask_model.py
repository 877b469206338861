r"""A cost model of one exchange with W workers, fitted to measurements, and its projection to 100 workers; a picture.

python benchmarks/dask_model.py --update-readme

One exchange evaluates the risk and its gradient: two products with X on the workers, w sent to all of them, and the
gradients added up.  The model of its seconds is

    T(W) = 2 c nnz / (W t) + o + s 8 d / B + 2 c nnz / (W t) r sqrt(2 ln W)

with c seconds for an entry in a product, t threads a worker, o seconds of overhead, d features, B bytes a second, s
transfers one after the other, and r the standard deviation of the time of a task relative to its mean, whose largest of
W is what an exchange waits for (order statistics of normal numbers).  The driver adds the gradients up in a fixed
order, so that s is W; with a tree of workers it would be 2 log2 W.

c and r are fitted to the processor seconds of tasks, o and B to the elapsed seconds of exchanges beyond those of their
longest task (medians), so the machine has to be idle otherwise.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/dask_model.py`
os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})

import numpy as np

from benchmarks import report

RESULTS = report.RESULTS / "dask_model.json"
PICTURE = Path(__file__).resolve().parents[1] / "docs" / "dask-projection.png"
#: rows of a group, entries of a row and features, of which one is varied at a time
_ROWS, _LENGTH, _FEATURES = (1_000, 10_000, 40_000), 80, (10_000, 100_000, 1_000_000)
_REPEATS = 15
#: of the projection: entries, features, and bytes a second of a network of 10 Gbit/s
_ENTRIES, _WIDE, _NETWORK = 1e10, 1e6, 1.25e9


class Model(NamedTuple):
    """The parameters of the model."""

    #: seconds for an entry in a product
    c: float
    overhead: float
    #: bytes a second
    bandwidth: float
    #: relative standard deviation of the time of a task
    spread: float

    def terms(self, workers: Any, entries: float, features: float, transfers: Any) -> dict[str, Any]:
        """The seconds of each term of an exchange."""
        compute = 2.0 * self.c * entries / workers
        return {
            "two products with X": compute,
            "overhead": self.overhead + 0.0 * compute,
            "transfers": transfers * 8.0 * features / self.bandwidth,
            "the slowest of the tasks": compute * self.spread * np.sqrt(2.0 * np.log(workers)),
        }


def timed_evaluation(shard: Any, part: Any, weights: np.ndarray) -> tuple[float, np.ndarray]:
    """Run on a worker: the processor seconds of an evaluation, and the gradient."""
    from fenchel.dask.shard import evaluate

    begin = time.thread_time()
    term = evaluate(shard, part, weights, 0.0)
    return time.thread_time() - begin, term.x_theta


def made(rows: int, features: int, seed: int) -> Any:
    """Run on a worker: a group of sparse rows with their labels."""
    import scipy.sparse as sp

    rng = np.random.default_rng(seed)
    columns = rng.integers(features, size=(rows, _LENGTH), dtype=np.int32)
    ends = _LENGTH * np.arange(rows + 1, dtype=np.int32)
    return sp.csr_array((rng.random(rows * _LENGTH), columns.ravel(), ends), shape=(rows, features))


def measure(workers: int) -> list[dict[str, float]]:
    """Exchanges of several sizes with a cluster on this machine, as a fit starts it."""
    import dask

    from fenchel.dask import shard as on_shard
    from fenchel.dask.cluster import connected
    from fenchel.dask.sources import load, source_of
    from fenchel.risks import MeanRisk

    found = []
    sizes = [(rows, _FEATURES[0]) for rows in _ROWS] + [(_ROWS[0], features) for features in _FEATURES[1:]]
    with connected(workers) as client:
        for rows, features in sizes:
            blocks = [dask.delayed(made)(rows, features, seed) for seed in range(workers)]
            y = np.where(np.arange(rows * workers) % 2 > 0, 1.0, -1.0)
            loaded = load(client, source_of(blocks, y, None))
            groups, risk = loaded.design.groups, MeanRisk("logistic", y)
            parts = groups.place(on_shard.beside, [risk.part(span) for span in loaded.design.spans])
            weights = np.linspace(-1.0, 1.0, features)
            spent, beyond, busy = [], [], []
            for repeat in range(1 + _REPEATS):
                begin = time.perf_counter()
                results = groups.map(timed_evaluation, parts, weights=weights)
                loaded.design.ordered_sum([gradient for _, gradient in results])
                elapsed, own = time.perf_counter() - begin, [seconds for seconds, _ in results]
                # the first one loads the groups
                if repeat:
                    spent.append(elapsed)
                    beyond.append(elapsed - max(own))
                    busy += own
            counted = {"workers": workers, "rows": rows, "features": features, "entries": rows * _LENGTH}
            spread = float(np.std(busy) / np.mean(busy))
            seconds = {"spent": np.median(spent), "beyond": np.median(beyond), "busy": np.median(busy)}
            found.append({**counted, **{name: float(value) for name, value in seconds.items()}, "spread": spread})
            print(found[-1], flush=True)
    return found


def fitted(measured: list[dict[str, float]]) -> Model:
    """The parameters that fit best."""
    entries, features, busy, beyond, workers, spread = (
        np.array([one[name] for one in measured])
        for name in ("entries", "features", "busy", "beyond", "workers", "spread")
    )
    # a task also takes time for each feature and each call
    columns = np.stack([2.0 * entries, features, np.ones(len(entries))], axis=1)
    c = float(np.linalg.lstsq(columns, busy, rcond=None)[0][0])
    overhead, per_byte = np.linalg.lstsq(
        np.stack([np.ones(len(beyond)), workers * 8.0 * features], axis=1), beyond, rcond=None
    )[0]
    large = entries == np.max(entries)
    return Model(c, max(float(overhead), 1e-4), 1.0 / max(float(per_byte), 1e-12), float(np.median(spread[large])))


def draw(model: Model, path: Path) -> None:
    """The projection: seconds of an exchange by the number of workers."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    slow = model._replace(bandwidth=min(model.bandwidth, _NETWORK))
    workers = np.arange(1, 101)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11.0, 4.6), layout="constrained")
    terms = slow.terms(workers, _ENTRIES, _WIDE, workers)
    for name, seconds in terms.items():
        left.plot(workers, np.where(seconds > 0.0, seconds, np.nan), label=name)
    left.plot(workers, sum(terms.values()), color="black", linewidth=2.0, label="sum")
    left.set(xscale="log", yscale="log", ylim=(1e-2, 40.0 * _ENTRIES * model.c))
    left.set(xlabel="workers of one thread", ylabel="seconds of an exchange", title="Sums on the driver, as built")
    left.legend(fontsize=8, loc="upper right")
    trees = {"sums on the driver, as built": workers, "sums in a tree of workers": 2.0 * np.log2(workers)}
    for name, transfers in trees.items():
        total = sum(slow.terms(workers, _ENTRIES, _WIDE, transfers).values())
        right.plot(workers, total[0] / total, label=name)
    right.plot(workers, workers, color="grey", linestyle=":", label="linear")
    right.set(xlabel="workers of one thread", ylabel="times as fast as one worker", title="Speed-up")
    right.legend(fontsize=8)
    figure.suptitle(
        f"PROJECTION, not measured: $10^{{{math.log10(_ENTRIES):.0f}}}$ non-zeros, "
        f"$10^{{{math.log10(_WIDE):.0f}}}$ features, network of 10 Gbit/s;\n"
        "model fitted to clusters of one and two workers on one machine"
    )
    figure.savefig(path, dpi=110)


def main() -> None:
    """Measure, fit, draw and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--report-only", action="store_true", help="from the JSON file of an earlier run")
    parser.add_argument("--update-readme", action="store_true")
    options = parser.parse_args()
    if not options.report_only:
        measured = [one for workers in (1, 2) for one in measure(workers)]
        report.write_json(RESULTS, {"measured": measured, "load": os.getloadavg()[1]})
    results = report.read_json(RESULTS)
    model = fitted(results["measured"])
    draw(model, PICTURE)
    head = ["workers", "rows of a group", "features", "ms of an exchange", "ms of a task", "model, ms", "residual"]
    rows, residuals = [], []
    for one in results["measured"]:
        terms = model.terms(one["workers"], one["workers"] * one["entries"], one["features"], one["workers"])
        numbers = one["spent"], one["busy"], math.fsum(map(float, terms.values()))
        shape = f"{one['workers']}", f"{one['rows']:,}", f"{one['features']:,}"
        residuals.append(numbers[-1] / one["spent"] - 1.0)
        rows.append([*shape, *(f"{1e3 * number:.1f}" for number in numbers), f"{100.0 * residuals[-1]:+.0f}%"])
    text = report.markdown_table(head, rows)
    slow = model._replace(bandwidth=min(model.bandwidth, _NETWORK))
    seconds = [math.fsum(map(float, slow.terms(w, _ENTRIES, _WIDE, w).values())) for w in (1, 10, 100)]
    text += (
        f"\n\nFitted: c = {1e9 * model.c:.2f} ns an entry, o = {1e3 * model.overhead:.0f} ms, "
        f"B = {model.bandwidth / 1e6:,.0f} MB/s, r = {model.spread:.2f}; the residuals of the model "
        f"are {100.0 * math.sqrt(np.mean(np.square(residuals))):.0f}% of an exchange (root mean square); "
        f"load average {results['load']:.1f} on "
        f"{os.cpu_count()} cores. Projection to 10^10 non-zeros and 10^6 features, at most {_NETWORK / 1e9:g} GB/s: "
        f"{seconds[0]:.0f} s an exchange with one worker, {seconds[1]:.1f} s with 10, {seconds[2]:.1f} s with 100."
    )
    if options.update_readme:
        report.update_readme("dask_model", text)
    print(text)


if __name__ == "__main__":
    main()
