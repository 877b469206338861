"""All races in one table, from the tables of benchmarks/README.md: no run, no other file.

    python benchmarks/overall.py                     print it
    python benchmarks/overall.py --update-readme     write it, its chart, and the table of docs/benchmarks.md

``races.py`` says what is counted.
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/overall.py`

from benchmarks.charts import FOLDER, note_drawn, seconds
from benchmarks.races import DEFAULTS, LEAST, SOURCES, Floor, Race, floors, has_floor, races
from benchmarks.report import README, markdown_table, replace_section

DOCS = README.parents[1] / "docs" / "benchmarks.md"
CHART = FOLDER / "overall.png"
#: what the whole is to reach, as medians, and what no cell is to be below without a measured floor
GOAL_FASTEST, GOAL_DEFAULTS = 2.0, 4.0


def middle(found: Iterable[Race]) -> str:
    """The median of ratios."""
    ratios = [race.ratio for race in found]
    return f"{statistics.median(ratios):.2f} ({len(ratios)})" if ratios else "–"


def markdown(page: str) -> str:
    """The table, and what it says about the goals."""
    groups = {source.title: races(page, source) for source in SOURCES}
    everything = [race for found in groups.values() for race in found]
    known, defaults = floors(page), races(page, DEFAULTS)
    lines = [_line(title, found, known) for title, found in groups.items() if found]
    lines.append(_line("**all**", everything, known))
    if defaults:
        lines.append(_line(f"**{DEFAULTS.title}** (apart)", defaults, known))
    head = [
        "race",
        "median (cells)",
        "open to tuning",
        "held out",
        "least",
        f"below {LEAST:g}",
        "of these with a floor",
    ]
    return "\n\n".join([markdown_table(head, lines), _findings(everything, groups, defaults, known)])


def _line(title: str, found: list[Race], known: set[Floor]) -> list[str]:
    below = [race for race in found if race.ratio < LEAST]
    parts = [found, [race for race in found if not race.held_out], [race for race in found if race.held_out]]
    floored = sum(has_floor(race, known) for race in below)
    return [title, *map(middle, parts), f"{min(race.ratio for race in found):.2f}", str(len(below)), str(floored)]


def _findings(everything: list[Race], groups: dict[str, list[Race]], defaults: list[Race], known: set[Floor]) -> str:
    """Each goal, and whether it is met."""
    median = statistics.median(race.ratio for race in everything)
    open_, held = ([race.ratio for race in everything if race.held_out is which] for which in (False, True))
    below = [race for race in everything if race.ratio < LEAST]
    bare = sum(not has_floor(race, known) for race in below)
    of_groups = statistics.median(statistics.median(race.ratio for race in found) for found in groups.values() if found)
    sentences = [
        f"Against the fastest peer of each cell the median is {median:.2f} over {len(everything)} cells, of which "
        f"{sum(race.is_bound for race in everything)} are bounds (goal: {GOAL_FASTEST:g}: "
        f"{_met(median, GOAL_FASTEST)}); "
        f"the median of the medians of the tables is {of_groups:.2f}.",
        f"Below {LEAST:g} are {len(below)} cells, {bare} of them without a measured floor (goal: none: "
        f"{'missed' if bare else 'met'}).",
        f"Held-out cells have the median {statistics.median(held):.2f}, the others {statistics.median(open_):.2f} "
        f"(goal: no worse: {_met(statistics.median(held), statistics.median(open_))}).",
    ]
    if defaults:
        found = statistics.median(race.ratio for race in defaults)
        behind = sum(race.ratio < 1.0 for race in defaults)
        sentences.append(
            f"Against scikit-learn's defaults, at an equal or better objective, the median is {found:.2f} over "
            f"{len(defaults)} cells (goal: {GOAL_DEFAULTS:g}: {_met(found, GOAL_DEFAULTS)}); in {behind} "
            "scikit-learn is faster."
        )
    return " ".join(sentences)


def _met(value: float, goal: float) -> str:
    return "met" if value >= goal else "missed"


def docs_table(page: str) -> str:
    """The figures of docs/benchmarks.md."""
    found = {source.section: races(page, source) for source in (*SOURCES, DEFAULTS)}
    speed, kernels = found["speed"], found["kernels"]
    joint = [race for race in found["multiclass"] if race.heading.startswith("Weston")]
    lbfgs = [seconds(race.line["lbfgs"]) / seconds(race.line["Fenchel"]) for race in found["multinomial"]  # type: ignore[operator]
             if seconds(race.line["lbfgs"])]  # fmt: skip
    inside = [race for race in kernels if _fits(race.line["matrix, limit"])]
    beyond = [race for race in kernels if not _fits(race.line["matrix, limit"])]
    everything = [race for source in SOURCES for race in found[source.section]]
    rows = [
        [f"all races, {len(everything)} cells, against the fastest peer of each", _median(everything),
         "`make bench-overall`"],
        [f"scikit-learn's defaults, at an equal or better objective, {len(found['defaults'])} cells",
         _median(found["defaults"]), "`make bench-defaults`"],
        *([f"{loss[0].lower() + loss[1:]}, C from 0.1 to 100", _median(_of(speed, loss)), "`make bench-speed`"]
          for loss in ("Epsilon-insensitive", "Hinge", "Logistic", "Squared hinge")),
        ["covtype, same C", _range(race for race in speed if race.data == "covtype"), "`make bench-speed`"],
        ["path of 50 values of C, against cold fits",
         ", ".join(f"{race.ratio:.3g} ({race.data})" for race in found["path"]), "`make bench-path`"],
        [f"Weston–Watkins on {len({race.data for race in joint})} sets, against the authors' C++ program",
         _range(joint), "`make bench-multiclass`"],
        ["multinomial regression, against scikit-learn's lbfgs",
         f"{statistics.median(lbfgs):.2g} (median of {len(lbfgs)} problems)", "`make bench-multinomial`"],
        ["kernel machines in memory, against SVC and SVR", _range(inside), "`make bench-kernels`"],
        ["the same beyond memory", _range(beyond), "`make bench-kernels`"],
    ]  # fmt: skip
    behind = [race for race in speed if race.ratio < 1.0]
    head = ["problem", "time of the fastest peer / Fenchel's", "command"]
    return "\n\n".join(
        [
            markdown_table(head, rows),
            f"Above 1 Fenchel is faster. In {len(behind)} of the {len(speed)} cells of `make bench-speed` a peer is "
            f"faster, the worst ratio is {min(race.ratio for race in speed):.2f}.",
        ]
    )


def _of(found: list[Race], heading: str) -> list[Race]:
    return [race for race in found if race.heading == heading]


def _median(found: list[Race]) -> str:
    return f"{statistics.median(race.ratio for race in found):.3g} (median)" if found else "–"


def _range(found: Iterable[Race]) -> str:
    ratios = [race.ratio for race in found]
    return f"{min(ratios):.2g} to {max(ratios):.2g}" if ratios else "–"


def _fits(cell: str) -> bool:
    """Whether a Gram matrix is within its limit: "763 MB, 125 MB"."""
    matrix, limit = (float(part.removesuffix(" MB").replace(",", "")) for part in cell.split(", "))
    return matrix <= limit


def dots(page: str) -> dict[str, list[Race]]:
    """What the chart shows, from top to bottom."""
    found = {source.title: races(page, source) for source in (*SOURCES, DEFAULTS)}
    return {title: cells for title, cells in found.items() if cells}


def draw(found: dict[str, list[Race]], file: Path) -> None:
    """A dot for each cell on a logarithmic axis, a line of the chart for each table, its median as a bar."""
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(9.0, 1.4 + 0.42 * len(found)), layout="constrained")
    which: dict[str, tuple[str, float, Callable[[Race], bool]]] = {
        "open to tuning": ("#e9a03b", -0.14, lambda race: not race.held_out),
        "held out": ("#1b6ca8", 0.14, lambda race: race.held_out),
    }
    for label, (colour, shift, belongs) in which.items():
        points = [(race.ratio, k + shift) for k, cells in enumerate(found.values()) for race in cells if belongs(race)]
        axis.scatter(*zip(*points, strict=True), s=14, alpha=0.6, color=colour, label=label, linewidths=0, zorder=2)
    medians = [statistics.median(race.ratio for race in cells) for cells in found.values()]
    axis.scatter(medians, range(len(found)), marker="|", s=420, color="black", label="median", zorder=3)
    for ratio, style in ((1.0, "-"), (GOAL_FASTEST, ":")):
        axis.axvline(ratio, color="#888888", linestyle=style, linewidth=1, zorder=1)
    axis.set_yticks(range(len(found)), list(found), fontsize=8)
    axis.set_ylim(len(found) - 0.5, -0.5)
    axis.set_xscale("log")
    axis.set_xlabel(
        "time of the fastest peer ÷ Fenchel's (logarithmic; right of 1 Fenchel is faster, dotted: the goal of 2)"
    )
    axis.grid(axis="x", color="#eeeeee")
    figure.legend(loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    figure.savefig(file, dpi=110)
    pyplot.close(figure)


def main() -> None:
    """Print the summary; write it where it stands, with the chart, if that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--update-readme", action="store_true", help="write README.md, docs/benchmarks.md and the chart"
    )
    options = parser.parse_args()
    page = README.read_text(encoding="utf-8")
    print(markdown(page))
    print(docs_table(page))
    if options.update_readme:
        replace_section(README, "overall", markdown(page))
        replace_section(DOCS, "overall", docs_table(page))
        draw(dots(page), CHART)
        note_drawn("overall", dots(page))


if __name__ == "__main__":
    main()
