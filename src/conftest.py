"""The examples of docstrings: each leaves its figures open, and matplotlib warns, an error here, above twenty."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    """Close what an example has drawn, if it has drawn anything."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
