"""Draw the curves of benchopt's results: ``python curves.py out.png RESULT.parquet ...``, one panel for each file."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import matplotlib
import pandas as pd

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import NullFormatter

#: relative suboptimality below which rounding decides
FLOOR = 1e-12
WIDTH = 2


def curve(runs: pd.DataFrame, best: float) -> pd.DataFrame:
    """Seconds and relative distance from the best value; runs later and worse than another are omitted."""
    found = pd.DataFrame(
        {"seconds": runs["time"], "above": (runs["objective_value"] - best) / abs(best) + FLOOR}
    ).sort_values("seconds")
    return found[found["above"] <= found["above"].cummin()]


def main() -> None:
    """Write the picture."""
    target, *files = map(Path, sys.argv[1:])
    rows = math.ceil(len(files) / WIDTH)
    figure, panels = plt.subplots(rows, WIDTH, figsize=(5 * WIDTH, 3.2 * rows), squeeze=False, layout="constrained")
    for panel in panels.flat[len(files) :]:
        panel.axis("off")
    for panel, file in zip(panels.flat, files, strict=False):
        results = pd.read_parquet(file)
        best = results["objective_value"].min()
        for solver, runs in sorted(results.groupby("solver_name"), key=lambda item: item[0] != "Fenchel"):
            drawn, ours = curve(runs, best), solver == "Fenchel"
            panel.loglog(
                drawn["seconds"], drawn["above"], marker="o", markersize=3, label=solver, lw=2.5 if ours else 1.2
            )
        size = results[["p_dataset_n_samples", "p_dataset_n_features"]].iloc[0].astype(int)
        panel.set_title(
            f"{results['objective_name'].iloc[0].partition('[')[0]}\n{size.iloc[0]} x {size.iloc[1]}", size=9
        )
        panel.set_xlabel("processor seconds", size=8)
        panel.set_ylabel("(objective - best) / best", size=8)
        panel.tick_params(labelsize=7)
        panel.xaxis.set_minor_formatter(NullFormatter())
        panel.legend(fontsize=6)
    figure.savefig(target, dpi=80)


if __name__ == "__main__":
    main()
