"""One chart for each question a user asks, drawn from the tables of benchmarks/README.md: no run, no other file.

    python benchmarks/charts.py                     all charts, benchmarks/charts/*.png
    python benchmarks/charts.py --only kernels      one of them

A line is a problem, a dot is a contender, further to the left is faster.  What did not reach the target has no dot.
``charts/drawn.json`` has a digest of what each chart was drawn from, so that a test can say which one is stale.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/charts.py`

from benchmarks.report import README

FOLDER = README.with_name("charts")
#: digests of what the charts of the folder were drawn from
DRAWN = FOLDER / "drawn.json"
#: columns of the tables that are contenders, as the chart names them, and their colours
CONTENDERS = {
    "Fenchel": ("Fenchel", "#1b6ca8"),
    "fenchel": ("Fenchel", "#1b6ca8"),
    "Fenchel (passes)": ("Fenchel", "#1b6ca8"),
    "own": ("Fenchel", "#1b6ca8"),
    "drop-in": ("Fenchel's drop-in", "#74b3e0"),
    "level": ("Fenchel, level bundle", "#1b6ca8"),
    "LIBLINEAR": ("LIBLINEAR", "#d1495b"),
    "liblinear": ("LIBLINEAR", "#d1495b"),
    "LIBLINEAR primal": ("LIBLINEAR primal", "#ef8354"),
    "scikit-learn": ("scikit-learn", "#e9a03b"),
    "scikit-learn primal": ("scikit-learn primal", "#c9b458"),
    "scikit-learn lbfgs": ("scikit-learn lbfgs", "#8d6a9f"),
    "scikit-learn newton-cg": ("scikit-learn newton-cg", "#a5a58d"),
    "scikit-learn newton-cholesky": ("scikit-learn newton-cholesky", "#6b705c"),
    "rehline": ("ReHLine", "#6a4c93"),
    "SVC": ("scikit-learn's SVC, SVR", "#e9a03b"),
    "SVC, SVR": ("scikit-learn's SVC, SVR", "#e9a03b"),
    "celer": ("celer", "#3c9d5b"),
    "skglm": ("skglm", "#6a4c93"),
    "Walrus": ("Walrus (C++)", "#3c9d5b"),
    "Shark": ("Shark (C++)", "#6a4c93"),
    "plain": ("cutting planes (Joachims), own code", "#e9a03b"),
    "pegasos": ("Pegasos", "#d1495b"),
}


class Question(NamedTuple):
    """What a chart shows: the tables of a section under some headings, and the problems of them."""

    title: str
    section: str
    unit: str = "processor seconds"
    #: headings of the tables; empty for all of the section
    headings: tuple[str, ...] = ()
    #: values that a line must have in these columns
    keep: tuple[tuple[str, tuple[str, ...]], ...] = ()
    #: columns that name a problem besides the first
    names: tuple[str, ...] = ()


_LINEAR = ("Hinge", "Squared hinge", "Logistic")
_TARGET = ("target", ("0.001",))
_WITH_C = ("C", ("1", "100"))
QUESTIONS = {
    "classification": Question(
        "Linear classification, to 0.1% of the optimum",
        "speed",
        "seconds",
        _LINEAR,
        (("data set", ("a9a", "w8a", "covtype", "mnist")), _TARGET, _WITH_C),
        ("C",),
    ),
    "text": Question(
        "Text, to 0.1% of the optimum",
        "speed",
        "seconds",
        _LINEAR,
        (("data set", ("20news.binary", "imdb", "reuters-moneyfx")), _TARGET, _WITH_C),
        ("C",),
    ),
    "small": Question("Small data, default settings", "small", "processor milliseconds", names=("model",)),
    "classes": Question("Several classes at once, to 1% of the optimum", "multiclass", keep=(("within", ("0.01",)),)),
    "measures": Question(
        "Performance measures, to a relative gap of 1%",
        "bundle",
        keep=(("risk", ("`roc_auc`", "`prbep`", "`f1`")), ("λ", ("0.0001",))),
        names=("risk", "λ"),
    ),
    "l1": Question("Lasso (L1)", "l1", names=("loss", "C")),
    "regression": Question(
        "Support vector regression, to 0.1% of the optimum",
        "speed",
        "seconds",
        ("Epsilon-insensitive",),
        (_TARGET,),
        ("C",),
    ),
    "kernels": Question("Kernel machines, to a relative gap of 0.1%", "kernels", names=("C, gamma", "C")),
}


class Line(NamedTuple):
    """One problem: its name, and the time of each contender that reached the target."""

    name: str
    times: dict[str, float]


def main() -> None:
    """Draw the charts that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(QUESTIONS), default=list(QUESTIONS))
    parser.add_argument("--output", type=Path, default=FOLDER, help="folder for the pictures")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    page = README.read_text(encoding="utf-8")
    for name in options.only:
        found = lines(page, QUESTIONS[name])
        draw(QUESTIONS[name], found, options.output / f"{name}.png")
        if options.output == FOLDER:
            note_drawn(name, found)
        print(name, len(found), "problems")


def digest(found: object) -> str:
    """Of what a chart shows, by its text."""
    return hashlib.sha256(repr(found).encode()).hexdigest()[:16]


def note_drawn(name: str, found: object) -> None:
    """Say what a chart was drawn from."""
    known = json.loads(DRAWN.read_text(encoding="utf-8")) if DRAWN.exists() else {}
    text = json.dumps({**known, name: digest(found)}, indent=1, sort_keys=True)
    DRAWN.write_text(text + "\n", encoding="utf-8")


def lines(page: str, question: Question) -> list[Line]:
    """The problems of a question that Fenchel and at least one other contender solved."""
    found = []
    for heading, head, rows in tables(page, question.section):
        if question.headings and heading not in question.headings:
            continue
        for row in rows:
            cells = dict(zip(head, row, strict=False))
            if not all(_is_kept(cells.get(column, ""), values) for column, values in question.keep):
                continue
            names = [row[0].partition(" (")[0], *(_named(n, cells[n]) for n in question.names if n in cells)]
            if heading and len(question.headings) != 1:
                names.append(heading.partition(" against")[0].lower())
            times = {column: seconds(cell) for column, cell in cells.items() if column in CONTENDERS}
            line = Line(", ".join(names).replace("`", ""), {k: t for k, t in times.items() if t is not None})
            if len(line.times) > 1 and any(CONTENDERS[one][0].startswith("Fenchel") for one in line.times):
                found.append(line)
    return found


def _is_kept(cell: str, values: tuple[str, ...]) -> bool:
    return cell.partition(" (")[0] in values


def _named(column: str, cell: str) -> str:
    """What a cell says of a problem: "C = 1", or "C = 1, gamma = 0.5" of a column "C, gamma"; names stand alone."""
    if len(column) > 1 and "," not in column:
        return cell
    pairs = zip(column.split(", "), cell.split(", "), strict=False)
    return ", ".join(f"{name} = {value}" for name, value in pairs)


def tables(page: str, section: str) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """The tables between the markers of a section: the heading above, the head and the rows."""
    text = page.partition(f"<!-- {section}:begin -->")[2].partition(f"<!-- {section}:end -->")[0]
    heading, table = "", []
    for line in [*text.splitlines(), ""]:
        if line.startswith("#"):
            heading = line.lstrip("# ")
        if line.startswith("|"):
            table.append([cell.strip() for cell in line.strip("|").split("|")])
        elif table:
            yield heading, table[0], table[2:]
            table = []


def seconds(cell: str) -> float | None:
    """The time that a cell begins with; None where the target was not reached."""
    number = re.match(r"[0-9.]+(e-?[0-9]+)?(?= |$|\*)", cell)
    return float(number[0]) if number else None


def draw(question: Question, found: list[Line], file: Path) -> None:
    """Dots on one logarithmic axis, a line for each problem, the first at the top."""
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(9.0, 1.6 + 0.24 * len(found)), layout="constrained")
    for k, line in enumerate(found):
        axis.plot([min(line.times.values()), max(line.times.values())], [k, k], color="#dddddd", linewidth=1, zorder=1)
    for label, colour in dict(CONTENDERS.values()).items():
        dots = [(t, k) for k, line in enumerate(found) for one, t in line.times.items() if CONTENDERS[one][0] == label]
        if dots:
            own = label.startswith("Fenchel")
            style: dict[str, Any] = {"s": 46 if own else 28, "zorder": 3 if own else 2, "color": colour}
            axis.scatter(*zip(*dots, strict=True), label=label, **style)
    axis.set_yticks(range(len(found)), [line.name for line in found], fontsize=8)
    axis.set_ylim(len(found) - 0.5, -0.5)
    axis.set_xscale("log")
    axis.set_xlabel(f"{question.unit} (logarithmic; further to the left is faster)")
    axis.set_title(question.title)
    axis.grid(axis="x", color="#eeeeee")
    figure.legend(loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    figure.savefig(file, dpi=110)
    pyplot.close(figure)


if __name__ == "__main__":
    main()
