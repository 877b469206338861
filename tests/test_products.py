"""The cases that a plain run leaves out: every two values still meet, and nothing of one or two axes is lost."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

from catalog import CASES, SOLVER_NAMES
from products import axes_of, covering


def meetings(rows, strength):
    return {meeting for row in rows for meeting in itertools.combinations(row.items(), strength)}


def product(*sizes):
    return [dict(enumerate(values)) for values in itertools.product(*map(range, sizes))]


@pytest.mark.parametrize("strength", [1, 2, 3])
@pytest.mark.parametrize("sizes", [(3, 3, 3), (7, 4, 3, 2, 2, 2), (2,) * 8, (12, 2, 9)], ids=str)
def test_all_meetings_occur_in_few_rows(sizes, strength):
    rows = product(*sizes)
    chosen = covering(rows, strength)
    assert meetings([rows[place] for place in chosen], strength) == meetings(rows, strength)
    largest = sorted(sizes)[-strength:]
    assert np.prod(largest) <= len(chosen) <= 2 * np.prod(largest) + 2 * len(sizes)
    assert chosen == covering(rows, strength) == sorted(set(chosen))


@pytest.mark.parametrize("sizes", [(5,), (4, 6)], ids=str)
def test_one_or_two_axes_stay_whole(sizes):
    rows = product(*sizes)
    assert covering(rows) == list(range(len(rows)))
    assert covering(rows, 3) == list(range(len(rows)))


def test_only_meetings_that_occur_are_asked_for():
    rows = [row for row in product(4, 4, 4) if row[0] <= row[1] or row[2] == 3]
    chosen = [rows[place] for place in covering(rows)]
    assert meetings(chosen, 2) == meetings(rows, 2)
    assert all(row in rows for row in chosen)
    assert covering([]) == []
    assert covering([{}]) == [0]


def test_some_axes_have_to_meet_and_the_others_come_in_turn():
    rows = product(3, 3, 5)
    chosen = [rows[place] for place in covering(rows, 2, only=[0, 1])]
    assert [(row[0], row[1]) for row in chosen] == list(itertools.product(range(3), repeat=2))
    assert {row[2] for row in chosen} == set(range(5))


@dataclass
class Some:
    loss: str
    lam: float = 1.0


def test_axes_are_parameters_and_fields_of_dataclasses():
    axes = axes_of({"case": Some("hinge"), "solver": "newton", "X": np.eye(2)})
    assert list(axes) == ["case", "case.loss", "case.lam", "solver", "X"]
    assert axes_of({"X": np.eye(2)}) == axes_of({"X": np.eye(2)}) != axes_of({"X": np.ones(2)})
    assert len({axes_of({"x": value})["x"] for value in (0, 0.0, False, -0.0)}) == 3


def test_every_loss_meets_every_storage_and_solver():
    rows = [axes_of({"case": case, "solver": solver}) for case in CASES for solver in SOLVER_NAMES]
    chosen = [rows[place] for place in covering(rows)]
    assert len(chosen) < len(rows) / 4
    assert meetings(chosen, 2) == meetings(rows, 2)
