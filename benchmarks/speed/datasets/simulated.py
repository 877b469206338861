"""A small made-up set for smoke tests."""

# ruff: noqa: RUF012 (benchopt reads these class attributes from the source)

from __future__ import annotations

from typing import Any

from benchmark_utils import as_benchopt
from benchopt import BaseDataset


class Dataset(BaseDataset):
    """Needs no files."""

    name = "Simulated"
    parameters = {"storage": ["simulated", "simulated-dense", "simulated-regression-dense"]}
    test_parameters = {"storage": ["simulated-dense"]}

    def get_data(self) -> dict[str, Any]:
        return as_benchopt(self.storage)
