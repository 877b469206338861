"""Two hundred small fits prove the same as they did before: ``frozen/make.py`` stored their numbers.

Where a fit stops depends on the last bits of its arithmetic, and so on the processor.  What two processors must agree
on is the optimum: the intervals that they prove to contain it overlap.  ``python -m frozen.make --compare``, in the
folder of the tests, compares all numbers to 1e-12 with those that another version stored on the same machine.
"""

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


@pytest.mark.parametrize("k", range(len(ROWS)), ids=[f"{k:03d}-{row}" for k, row in enumerate(ROWS)])
def test_a_fit_proves_the_same_optimum(k, known, rarely_compiled):
    found, before = fitted(ROWS[k]), known[k]
    for name in ("coef", "intercept", "primal", "dual"):
        assert found[name].shape == before[name].shape, name
    upper, lower = found["primal"] + found["floor"], found["dual"] - found["floor"]
    assert np.all(lower <= before["primal"] + before["floor"])
    assert np.all(before["dual"] - before["floor"] <= upper)
