"""What all pictures share: matplotlib on demand, axes, colours that colour-blind readers tell apart, and titles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.errors import FenchelError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: M. Okabe and K. Ito, "Color universal design", 2008: distinct for all kinds of colour vision; black and yellow, which
#: vanish on a dark or a light page, come last
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#7F3C8D", "#8C6D31")
#: different lines in the same colour
DASHES = ("solid", (0, (4, 1)), (0, (1, 1)), (0, (4, 1, 1, 1)))
MARKERS = "osD^vPX*"
#: of positive and negative weights, of notes, of what is proved, and of an error
POSITIVE, NEGATIVE, NOTE, PROVED, WRONG = PALETTE[0], PALETTE[1], "0.45", PALETTE[2], PALETTE[1]
#: characters of a name in a picture
_LONGEST_NAME = 28
#: inches: the width of a figure that has room for a legend at the right, and the height of the axis with its label
_WIDE, _UNDER_AXIS = 6.6, 0.5
#: ratio of abscissas below which a logarithmic axis has more labels than powers of ten
_FEW_DECADES = 50.0
#: letters of a title on an inch of a figure's width
_TITLE = 9.0
#: inches of a sentence of small words
_SENTENCE = 5.0


def pyplot(wanted_by: str) -> Any:
    """matplotlib.pyplot; an error that names the extra if it is not installed."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(f"{wanted_by} needs matplotlib: pip install 'fenchel[plot]'") from error
    return plt


def one_axes(wanted_by: str, ax: Axes, size: tuple[float, float] = (7.2, 3.8)) -> Any:
    """The given Axes, or those of a new figure."""
    plt = pyplot(wanted_by)
    if ax is None:
        return plt.subplots(figsize=size, layout="constrained")[1]
    return checked_axes(ax)


def checked_axes(ax: Axes) -> Any:
    """The Axes; an error for anything else."""
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise FenchelError(f"ax must be None or matplotlib Axes, as plt.subplots()[1] is, got {type(ax).__name__}")
    return ax


def _inches(ax: Axes) -> float:
    """The width of the picture, or of the part of it, that the axes are in."""
    figure = ax.figure
    return float(figure.bbox.width / figure.dpi)


def narrow(ax: Axes) -> bool:
    """Whether the axes, as one of several in a picture, have no room for a sentence of words."""
    return float(ax.get_window_extent().width) < _SENTENCE * ax.figure.dpi


def finish(ax: Axes, title: str, **labels: Any) -> None:
    """Set the labels, and the title unless the caller's Axes have one; without the box around the picture."""
    ax.set(**labels)
    if len(title) > _TITLE * _inches(ax):
        title = title.replace(": ", ":\n", 1)
    if title and not ax.get_title():
        ax.set_title(title, fontsize="medium")
    ax.spines[["top", "right"]].set_visible(False)


def beside(ax: Axes) -> None:
    """A legend that covers no line: at the right, or below a narrow picture."""
    if _inches(ax) >= _WIDE:
        ax.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    else:
        below(ax)


def below(ax: Axes) -> None:
    """A legend below the label of the horizontal axis."""
    from matplotlib.transforms import ScaledTranslation

    under = ax.transAxes + ScaledTranslation(0.0, -_UNDER_AXIS, ax.figure.dpi_scale_trans)
    columns = 1 if narrow(ax) else 2
    ax.legend(frameon=False, fontsize="small", loc="upper center", bbox_to_anchor=(0.5, 0.0), bbox_transform=under,
              ncols=columns)  # fmt: skip


def colour(k: int) -> str:
    """The colour of line k."""
    return PALETTE[k % len(PALETTE)]


def foreground() -> str:
    """The colour of words, which is light in a dark style."""
    return str(pyplot("a picture").rcParams["text.color"])


def dash(k: int) -> Any:
    """The dashes of line k: another pattern when the colours begin again."""
    return DASHES[k // len(PALETTE) % len(DASHES)]


def short(name: Any, most: int = _LONGEST_NAME) -> str:
    """A name that fits into a picture, on one line, without its middle if it is long; dollars are no formulas."""
    words = " ".join(str(name).split())
    # names that differ at the end alone, as those of generated features, stay different
    end = most // 3
    words = words if len(words) <= most else f"{words[: most - 1 - end]}…{words[-end:]}"
    return words.replace("$", r"\$")


def scale_axis(ax: Axes, values: Sequence[float], log_from: float) -> None:
    """Make the horizontal axis logarithmic for positive values whose ratios exceed ``log_from``; with few labels."""
    known = [value for value in values if math.isfinite(value)]
    if not known or min(known) <= 0.0 or max(known) <= log_from * min(known):
        # a picture drawn before on the same axes may have made them logarithmic
        if ax.get_xscale() == "linear":
            ax.locator_params(axis="x", nbins=6)
        return
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    ax.set_xscale("log")
    few = max(known) < _FEW_DECADES * min(known)
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))


def counted(number: int, singular: str) -> str:
    """A number with its noun, "1 weight" or "1,000 weights"."""
    return f"{number:,} {singular}{'' if number == 1 else 's'}"


def colour_table(ax: Axes, weights: Any, rows: Sequence[str], columns: Sequence[str]) -> Any:
    """A table of colours with numbers in it if it is small; returns the image."""
    most = float(np.nanmax(np.abs(weights), initial=0.0)) or 1.0
    image = ax.imshow(weights, cmap="RdBu_r", vmin=-most, vmax=most, aspect="auto")
    ax.figure.colorbar(image, ax=ax, label="weight", shrink=0.8)
    if len(rows) <= _NUMBERED[0] and len(columns) <= _NUMBERED[1]:
        for i, j in np.argwhere(np.isfinite(weights)):
            shade = "white" if abs(weights[i, j]) > 0.6 * most else "black"
            ax.text(j, i, f"{weights[i, j]:.2g}", ha="center", va="center", fontsize=8, color=shade)
    turned = len(columns) > _UPRIGHT or any(len(name) > 4 for name in columns)
    ax.set_xticks(range(len(columns)), [short(name, 16) for name in columns], rotation=90 if turned else 0)
    ax.set_yticks(range(len(rows)), [short(name) for name in rows])
    ax.tick_params(length=0)
    return image


#: rows and columns of a table of colours whose weights are written as numbers, and most columns with upright names
_NUMBERED, _UPRIGHT = (26, 12), 20


def table_size(rows: int, columns: int) -> tuple[float, float]:
    """The size of a figure with a table of colours."""
    return min(14.0, 3.2 + 0.42 * columns), min(12.0, 1.4 + 0.3 * rows)
