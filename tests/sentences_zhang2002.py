"""What the stored runs of T. Zhang (2002) come to, in the words of their page."""

import json
import statistics

import numpy as np

from reproductions.zhang2002 import artificial, reuters
from reproductions.zhang2002.figures import LAGRANGIAN


def cells_of(name):
    """The rows of a file."""
    return json.loads((reuters.RESULTS / f"{name}.json").read_text(encoding="utf-8"))["cells"]


def sentences():
    """All of them, by name."""
    return {**_artificial(), **_reuters(), **_lagrangian()}


def _means(features):
    cells = cells_of("artificial")
    return {method: statistics.mean(artificial.best(cells, features, method)[1]) for method in artificial.METHODS}


def _at(features, method):
    """Mean accuracies by lam."""
    found = {}
    for cell in cells_of("artificial"):
        if (cell["features"], cell["method"]) == (features, method):
            found.setdefault(cell["lam"], []).append(cell["accuracy"])
    return {lam: statistics.mean(values) for lam, values in found.items()}


def _artificial():
    """Table 1."""
    means = {features: _means(features) for features in artificial.PAPER}
    ahead, printed = (
        {
            d: " and ".join(dict.fromkeys(f"{own[name] - own['LM-Perc']:.1f}" for name in ("LM-UWin", "LM-NWin")))
            for d, own in values.items()
        }
        for values in (means, artificial.PAPER)
    )
    off = {(d, name): value - artificial.PAPER[d][name] for d, own in means.items() for name, value in own.items()}
    best, _ = artificial.best(cells_of("artificial"), 500, "LM-Perc")
    near = [_at(500, "LM-Perc")[best + step] for step in (-0.5, 0.5)]
    flat = {f"{value:.0f}" for lam, value in _at(5000, "LM-Perc").items() if lam <= 0.25}
    assert means[5000]["UWin"] > means[5000]["LM-Perc"]
    margin = f"our large-margin Perceptron {-off[5000, 'LM-Perc']:.1f} points **below**"
    return {
        "small": f"by {ahead[500]} points at d = 500 (paper: {printed[500]})",
        "large": f"by {ahead[5000]} at d = 5000 (paper: {printed[5000]})",
        "below": f"our Perceptron is {-off[5000, 'Perceptron']:.1f} points and {margin}",
        "above": f"is {off[500, 'LM-Perc']:.1f} points better than the paper's",
        "beside": f"half a decade beside the best λ it has {min(near):.0f} to {max(near):.0f} %",
        "flat": f"at d = 5000 LM-Perc is at {' or '.join(sorted(flat))} % for all λ from 10^-1.5 to 10^0.25",
    }


def _reuters():
    """Table 2."""
    cells, tested, missed = cells_of("reuters"), {}, []
    for method in reuters.PAPER:
        lam = None if method in reuters.ONLINE else reuters.chosen_lam(cells, method)
        own = {at: reuters.micro(cell) for at, cell in reuters.cells_of(cells, method, "test").items()}
        tested[method] = own[lam]
        missed.append(max(own.values()) - own[lam])
    off = [tested[method] - printed for method, printed in reuters.PAPER.items()]
    assert max(off) < 0.0
    parents = {"LM-Perc": "Perceptron", "LM-UWin": "UWin", "LM-NWin": "NWin"}
    ahead = [tested[method] - tested[parent] for method, parent in parents.items()]
    spars = reuters.cells_of(cells, "Spars", "test")[reuters.chosen_lam(cells, "Spars")]
    counts = reuters.numbers(spars["nonzeros"])
    largest = np.argsort(reuters.numbers(spars["members"]))[-10:]
    return {
        "off": f"within {max(map(abs, off)):.1f} points of the paper",
        "ahead": f"ahead of their online parents by {min(ahead):.0f} to {max(ahead):.0f} points",
        "spars": f"Spars keeps {counts.mean():.0f} weights in the mean over all topics",
        "spars largest": f"and {counts[largest].mean():.0f} over the ten largest",
        "missed": f"better by more than {max(missed):.2f} points than at the one that was chosen",
    }


def _lagrangian():
    """Figure 7."""
    own = {cell["rate"]: cell for cell in cells_of("figures") if cell["method"] == LAGRANGIAN}
    late = {rate: float(np.median(np.abs(reuters.numbers(cell["sum"])[-20:]))) for rate, cell in own.items()}
    shown = f"{late[0.1]:.2g} and {late[1.0]:.2g}, with η = 0.01 {late[0.01]:.2g}"
    return {"multiplier": f"(medians of the last 20 passes: {shown})"}
