"""The real data sets, from the shared folder; see benchmarks/data.py for how each is prepared."""

# ruff: noqa: RUF012 (benchopt reads these class attributes from the source)

from __future__ import annotations

from typing import Any

from benchmark_utils import as_benchopt
from benchopt import BaseDataset


class Dataset(BaseDataset):
    """Sparse unless its name ends in -dense."""

    name = "Shared"
    requirements = ["pip::scikit-learn"]
    parameters = {
        "set_name": [
            *("a9a", "w8a", "20news.binary", "imdb", "covtype", "mnist", "covtype-dense", "mnist-dense"),
            *("abalone-dense", "cpusmall-dense", "cadata-dense"),
        ]
    }
    test_parameters = {"set_name": ["a9a"]}

    def get_data(self) -> dict[str, Any]:
        return as_benchopt(self.set_name)
