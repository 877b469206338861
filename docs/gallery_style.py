"""The look of the gallery's pictures, and a clean slate before and after each example."""

from __future__ import annotations

from typing import Any

#: one palette for the site: blue, orange, green, red, purple, brown; distinct also for colour-blind readers
COLOURS = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#6f4e37"]


def reset(gallery_conf: dict[str, Any], fname: str, when: str) -> None:
    """Set matplotlib's parameters, which sphinx-gallery resets to their defaults before each example."""
    import matplotlib as mpl

    mpl.rcParams.update(
        {
            "axes.grid": True,
            "axes.prop_cycle": mpl.cycler(color=COLOURS),
            "axes.spines.right": False,
            "axes.spines.top": False,
            "axes.titlesize": "medium",
            "figure.constrained_layout.use": True,
            "figure.dpi": 100,
            "figure.figsize": (6.4, 4.0),
            "grid.alpha": 0.3,
            "legend.frameon": False,
        }
    )
