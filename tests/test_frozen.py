"""Two hundred small fits give the numbers that they gave before: ``frozen/make.py`` stored them."""

import pytest

from frozen.cases import ROWS
from frozen.fits import fitted
from frozen.make import differences, stored

CLOSE = 1e-10


@pytest.fixture(scope="module")
def known():
    return stored()


def test_every_fit_has_its_numbers(known):
    assert len(ROWS) == len(known) == 200


@pytest.mark.parametrize("k", range(len(ROWS)), ids=[f"{k:03d}-{row}" for k, row in enumerate(ROWS)])
def test_a_fit_gives_the_same_numbers(k, known):
    far = {name: apart for name, apart in differences(fitted(ROWS[k]), known[k]).items() if not apart <= CLOSE}
    assert not far
