"""What the cells say: Fenchel against the fastest peer in each row, and medians over groups of rows."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.cells import QUESTIONS, held_out_mark, question_of
from benchmarks.ledger import Cell
from benchmarks.speed.contenders import Fenchel, FenchelIntercept
from benchmarks.speed.tasks import LOSSES

#: cells by contender, of one loss, data set, C and target
Row = dict[str, Cell]


@dataclass(frozen=True)
class Advantage:
    """The fastest peer's time over Fenchel's."""

    factor: float
    #: the fastest peer; None if none of them got there
    peer: str | None
    #: ">" or "<" if the cap stands in for a contender that did not reach the target
    bound: str

    def __str__(self) -> str:  # noqa: D105 (the class says it)
        return f"{self.bound}{self.factor:.2f}" + (f" ({self.peer})" if self.peer else "")


def rows_of(cells: list[Cell]) -> list[Row]:
    """Rows in the order of losses, then data sets as first measured, then C, then targets from loose to tight."""
    rows: dict[tuple[str, str, float, float], Row] = {}
    for cell in cells:
        rows.setdefault((cell["loss"], cell["data"], cell["C"], cell["target"]), {})[cell["contender"]] = cell
    losses, data = list(LOSSES), list(dict.fromkeys(cell["data"] for cell in cells))
    order = sorted(rows, key=lambda key: (losses.index(key[0]), data.index(key[1]), key[2], -key[3]))
    return [rows[key] for key in order]


def first_of(row: Row) -> Cell:
    """Any cell, for what all cells of a row have in common."""
    return next(iter(row.values()))


def advantage(row: Row) -> Advantage | None:
    """Fenchel against the fastest peer; None where there is nothing to compare."""
    own = row.get(Fenchel.name)
    peers = [cell for cell in row.values() if cell["counted"] and cell["status"] != "skipped"]
    reached = [cell for cell in peers if cell["status"] == "reached"]
    if own is None or not peers:
        return None
    fastest = min(reached, key=lambda cell: cell["median"], default=None)
    if own["status"] != "reached":
        return None if fastest is None else Advantage(fastest["median"] / own["cap"], fastest["contender"], "< ")
    if fastest is None:
        return Advantage(own["cap"] / own["median"], None, "> ")
    return Advantage(fastest["median"] / own["median"], fastest["contender"], "")


def intercept_cost(row: Row) -> float | None:
    """Fenchel's time with a free intercept over its time without."""
    own, other = row.get(Fenchel.name), row.get(FenchelIntercept.name)
    if own is None or other is None or own["status"] != "reached":
        return None
    taken = {"reached": other.get("median"), "cap": other["cap"]}.get(other["status"])
    return None if taken is None else float(taken / own["median"])


def groups() -> dict[str, Callable[[Cell], bool]]:
    """The groups of rows that medians are wanted for."""
    by_loss = {loss.title: (lambda cell, name=name: cell["loss"] == name) for name, loss in LOSSES.items()}
    return {
        "all": lambda cell: True,
        **by_loss,
        "covtype (sparse and dense)": lambda cell: cell["data"].startswith("covtype"),
        "dense regression sets, C ≥ 10": lambda cell: LOSSES[cell["loss"]].regression and cell["C"] >= 10,
        "text": lambda cell: cell["data"] in QUESTIONS["text"].open + QUESTIONS["text"].held_out,
        "open to tuning": lambda cell: not is_held_out(cell),
        "held out": is_held_out,
    }


def is_held_out(cell: Cell) -> bool:
    """Whether nobody tunes on this data set and C."""
    return held_out_mark(question_of(cell["data"]), cell["data"], cell["C"]) == "yes"


def middle(rows: list[Row]) -> str:
    """Median and range of the advantages of rows, how many they are, how many are defeats, and how many bounds."""
    known = [found for found in map(advantage, rows) if found is not None]
    if not known:
        return "–"  # noqa: RUF001 (a dash in a table for people)
    factors = [found.factor for found in known]
    worse, bounds = sum(factor < 1.0 for factor in factors), sum(found.bound != "" for found in known)
    text = f"{statistics.median(factors):.2f} [{min(factors):.2f}…{max(factors):.3g}], {worse} of {len(known)} below 1"
    return text + (f", bounds: {bounds}" if bounds else "")
