"""The races of benchmarks/README.md, read from its tables: the ratio of the fastest peer's time to Fenchel's.

A cell is a line of a table in which Fenchel and a peer that is not our own code solve the same problem to the same
accuracy.  Its ratio is the time of the fastest peer over Fenchel's, above 1 where Fenchel is faster; where no peer got
there within the cap, the cap stands in, and the ratio is a bound.  Lines in which a peer stops short without a cap have
no ratio.  Left out: the front page (problems of the speed table once more), bundle methods, rankings and ridge (they
compare solvers of Fenchel), readers and clusters (no fits).  ``defaults`` is another question, what scikit-learn's
users have today, and stands apart.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from benchmarks.cells import held_out_mark, question_of
from benchmarks.charts import seconds, tables


class Source(NamedTuple):
    """A table of races."""

    title: str
    section: str
    #: the column with the ratio; or none, and it is that of the columns that follow
    ratio: str = ""
    #: Fenchel's columns, the first that a line has
    own: tuple[str, ...] = ()
    peers: tuple[str, ...] = ()
    #: values that a line must have in a column
    keep: tuple[str, str] = ("", "")


SOURCES = (
    Source("linear models (speed)", "speed", "fastest peer ÷ Fenchel"),
    Source("ε-insensitive, against ReHLine", "rehline", "rehline ÷ Fenchel"),
    Source(
        "linear classification, large sets",
        "classification",
        own=("Fenchel",),
        peers=("LIBLINEAR", "LIBLINEAR primal", "scikit-learn newton-cholesky"),
    ),
    Source("small data", "small", own=("drop-in", "own"), peers=("scikit-learn",)),
    Source("grid searches over small fits", "grid-search", "ratio"),
    Source("growth", "growth", own=("Fenchel, proved",), peers=("LIBLINEAR", "scikit-learn")),
    Source("path of 50 values of C", "path", "÷ Fenchel", keep=("contender", "the fastest peer at each C")),
    Source("lasso (L1)", "l1", own=("fenchel",), peers=("celer", "skglm", "liblinear")),
    Source("choosing C", "selection", "÷ fenchel"),
    Source("kernel machines", "kernels", own=("fenchel",), peers=("SVC",)),
    Source("joint hinges of several classes", "multiclass", "fastest ÷ Fenchel"),
    Source("multinomial regression", "multinomial", own=("Fenchel",), peers=("lbfgs", "newton-cholesky")),
    Source("command line", "command-line", own=("`fenchel train`",), peers=("`liblinear-train`",)),
)
#: the ratio that no cell is to be below without a measured floor
LEAST = 0.9
DEFAULTS = Source("scikit-learn's defaults", "defaults", "scikit-learn ÷ Fenchel")


class Race(NamedTuple):
    """One cell: its ratio, and the line of the table that it stands in."""

    section: str
    heading: str
    data: str
    ratio: float
    is_bound: bool
    held_out: bool
    line: dict[str, str]


def races(page: str, source: Source) -> list[Race]:
    """The cells of a table that have a ratio."""
    found = []
    for heading, head, rows in tables(page, source.section):
        for row in rows:
            line = dict(zip(head, row, strict=False))
            if source.keep[0] and line.get(source.keep[0]) != source.keep[1]:
                continue
            ratio = _given(line[source.ratio]) if source.ratio in line else _computed(line, source)
            if ratio is not None:
                data = line.get("data set", line.get("data", line.get("file", row[0]))).partition(" (")[0]
                found.append(Race(source.section, heading, data, *ratio, _is_held_out(line, data), line))
    return found


def _given(cell: str) -> tuple[float, bool] | None:
    """A ratio as a table has it: "1.41 (scikit-learn)", "> 42.46", "2.5×" or a dash."""
    number = re.match(r"([<>] )?([0-9.]+)", cell)
    return (float(number[2]), number[1] is not None) if number else None


def _computed(line: dict[str, str], source: Source) -> tuple[float, bool] | None:
    """The fastest of the peers over Fenchel; a bound where all that is known of the peers is a cap."""
    own = next((found for name in source.own if (found := seconds(line.get(name, ""))) is not None), None)
    if own is None:
        return None
    cells = [line.get(name, "") for name in source.peers]
    reached = [found for cell in cells if "missed" not in cell and (found := seconds(cell)) is not None]
    caps = [float(number[1]) for cell in cells if (number := re.match(r"> ([0-9.]+)", cell))]
    if not reached and not caps:
        return None
    return (min(reached) if reached else max(caps)) / own, not reached


def _is_held_out(line: dict[str, str], data: str) -> bool:
    """What the table says; where it does not, what the list of cells does."""
    if "held out" in line:
        return line["held out"] == "yes"
    name = data.partition("@")[0]
    return held_out_mark(question_of(name), name, float(line.get("C", "1"))) == "yes"


class Floor(NamedTuple):
    """A problem of which it was measured what a fit can't go below."""

    data: str
    loss: str
    C: str
    target: str
    penalty: str = "l2"


def floors(page: str) -> set[Floor]:
    """The problems whose floor was measured: smooth losses on text, Newton fits with ridge or L1, and joint hinges."""
    known = set()
    for section in ("floors", "newton_floors", "block_floors"):
        for _, head, rows in tables(page, section):
            for line in (dict(zip(head, row, strict=False)) for row in rows):
                data, loss = line["data set"].partition(" (")[0], _loss(line.get("loss", line.get("risk", "")))
                given = line.get("C", "1"), line.get("tol", "0.01"), line.get("penalty", "l2")
                known.add(Floor(data, loss, *given))
    return known


def has_floor(race: Race, known: set[Floor]) -> bool:
    """Whether a floor was measured for the data set, loss, C and accuracy of a cell.

    Small data have one in each line of their table, what a fit takes without a step.
    """
    if race.section == "small":
        return seconds(race.line.get("checks and proof", "")) is not None
    if race.section not in ("speed", "rehline", "classification", "multiclass", "growth", "l1"):
        return False  # whole searches
    line, lasso = race.line, race.section == "l1"
    of_table = {"growth": "hinge", "rehline": "epsilon_insensitive"}
    loss = of_table.get(race.section) or _loss(line.get("loss", "") or race.heading.partition(" against")[0])
    target = "0.0001" if lasso else line.get("target", line.get("within", line.get("accuracy", "0.001")))
    return Floor(race.data, loss, line.get("C", "1"), target, "l1" if lasso else "l2") in known


def _loss(name: str) -> str:
    """The name of a loss in the library, from a heading or a cell."""
    return name.strip("`").lower().replace(" ", "_").replace("-", "_")
