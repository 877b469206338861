"""Where the Newton method stands."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fenchel.problem import Problem
from fenchel.solvers.newton.sample import Sample


@dataclass
class OutputState:
    """Where one output stands."""

    labels: NDArray[np.float64]
    weights: NDArray[np.float64]
    intercept: float
    sample: Sample
    mu: float
    #: X^T theta / lam
    dual: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    #: what smoothing leaves, how far w is from the weights of theta, and the sum of theta
    smoothing: float = np.inf
    distance: float = np.inf
    total: float = 0.0
    #: half of the decrease that the last quadratic model promised
    promise: float = np.inf
    #: root mean square change of the scores in the last step
    radius: float = 0.0
    #: the smallest gap so far, and steps since then
    best: float = np.inf
    idle: int = 0
    stalled: bool = False


@dataclass
class State:
    """The fixed parts of a problem and where each of its outputs stands."""

    problem: Problem
    order: NDArray[np.unsignedinteger]
    pool: ThreadPoolExecutor | None
    random: np.random.Generator
    outputs: list[OutputState]
    turn: int = 0
