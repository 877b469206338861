"""The objective of each loss, without or with a free intercept.  It judges everyone; no solver judges itself."""

# ruff: noqa: RUF012 (benchopt reads these class attributes from the source)

from __future__ import annotations

from typing import Any

import numpy as np
from benchmark_utils import LOSSES, Judge, Task, reference
from benchopt import BaseObjective
from benchopt.stopping_criterion import SufficientProgressCriterion


class Objective(BaseObjective):
    """lam/2 |w|² + mean loss with lam = 1/(C n), and its relative distance from a certified optimum."""

    name = "LinearModel"
    min_benchopt_version = "1.10"
    url = "benchmarks/README.md"
    requirements = ["pip::fenchel"]
    parameters = {
        "loss": ["hinge", "squared_hinge", "logistic", "epsilon_insensitive"],
        "C": [1.0, 10.0],
        "fit_intercept": [False],
        "reference_seconds": [120.0],
    }
    test_config = {"loss": "hinge", "C": 1.0, "reference_seconds": 5.0, "dataset": {"name": "Simulated"}}
    sampling_strategy = "tolerance"
    stopping_criterion = SufficientProgressCriterion(
        eps=1e-12, patience=4, strategy="tolerance", key_to_monitor="suboptimality"
    )

    def skip(self, name: str, matrix: Any, labels: np.ndarray, regression: bool) -> tuple[bool, str | None]:
        fits = LOSSES[self.loss].regression == regression
        return not fits, None if fits else "the loss and the labels are of different kinds"

    def set_data(self, name: str, matrix: Any, labels: np.ndarray, regression: bool) -> None:
        self.task = Task(matrix, labels, self.C, self.fit_intercept, self.loss)
        self.judge = Judge(self.task, reference(name, self.task, self.reference_seconds))

    def get_objective(self) -> dict[str, Any]:
        return {"task": self.task}

    def evaluate_result(self, weights: np.ndarray, intercept: float) -> dict[str, float]:
        suboptimality = self.judge.suboptimality(weights, intercept)
        return {
            "value": self.judge.objective(weights, intercept),
            "suboptimality": suboptimality,
            "reference_gap": self.judge.reference.relative_gap,
        }

    def get_one_result(self) -> dict[str, Any]:
        return {"weights": np.zeros(self.task.matrix.shape[1]), "intercept": 0.0}
