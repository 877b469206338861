"""Two hundred small fits prove the same as they did before: ``frozen/make.py`` stored their numbers.

Where a fit stops depends on the last bits of its arithmetic, and so on the processor.  What two processors must agree
on is the optimum: the intervals that they prove to contain it overlap.  ``python -m frozen.make --compare``, in the
folder of the tests, compares all numbers to 1e-12 with those that another version stored on the same machine.
"""

from dataclasses import dataclass

import numpy as np
import pytest

from frozen.cases import ROWS
from frozen.fits import fitted
from frozen.make import stored


@pytest.fixture(scope="module")
def known():
    return stored()


def test_every_fit_has_its_numbers(known):
    assert len(ROWS) == len(known) == 200


@dataclass(frozen=True)
class Frozen:
    """A row and its values that have to meet."""

    place: int
    estimator: str
    storage: str
    loss: str
    solver: str


FROZEN = [
    Frozen(k, row.estimator, row.storage, str(row.options.get("loss")), str(row.options.get("solver")))
    for k, row in enumerate(ROWS)
]


@pytest.mark.meetings(1, only=[f"case.{name}" for name in ("estimator", "storage", "loss", "solver")])
@pytest.mark.parametrize("case", FROZEN, ids=[f"{k:03d}-{row}" for k, row in enumerate(ROWS)])
def test_a_fit_proves_the_same_optimum(case, known, rarely_compiled):
    found, before = fitted(ROWS[case.place]), known[case.place]
    # a kernel model keeps its support vectors, of which rounding decides a few
    for name in ("coef", "intercept", "primal", "dual")["kernel" in str(ROWS[case.place]) :]:
        assert found[name].shape == before[name].shape, name
    if "cover" in str(ROWS[case.place]):
        # certificates decide which values of C lie between the ends
        found, before = ({key: value[[0, -1]] for key, value in one.items()} for one in (found, before))
    upper, lower = found["primal"] + found["floor"], found["dual"] - found["floor"]
    assert np.all(lower <= before["primal"] + before["floor"])
    assert np.all(before["dual"] - before["floor"] <= upper)
