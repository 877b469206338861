"""The cluster of a test file."""

from __future__ import annotations

import pytest

# the requirements of CI have it
pytest.importorskip("distributed", reason="needs the extra dask")

from cluster_cases import cluster_of


@pytest.fixture(scope="module")
def client():
    with cluster_of(2) as connected:
        yield connected
