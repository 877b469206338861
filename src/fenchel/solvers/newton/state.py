"""State of the Newton method."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Floats
from fenchel.problem import Problem
from fenchel.solvers.newton.sample import Sample


@dataclass
class OutputState:
    """State of one output."""

    labels: Floats
    weights: Floats
    intercept: float
    sample: Sample
    #: smoothing parameter; zero for smooth losses
    mu: float
    #: X^T theta / lam
    v: Floats = field(default_factory=lambda: np.zeros(0))
    #: R(s) + R*(-theta) + theta . s on the sample
    risk_gap: float = np.inf
    #: lam (Omega(w) + Omega*(v) - w . v)
    regularizer_gap: float = np.inf
    theta_sum: float = 0.0
    #: half of the directional derivative along the last direction: the decrease that its quadratic model predicts
    predicted_decrease: float = np.inf
    #: root mean square change of the scores in the last step
    radius: float = 0.0
    best_gap: float = np.inf
    steps_without_progress: int = 0
    stalled: bool = False


@dataclass
class State:
    """The constant parts of a problem and the state of each output."""

    problem: Problem
    #: random permutation of the rows with positive weight; samples are its beginnings
    order: NDArray[np.unsignedinteger]
    pool: ThreadPoolExecutor | None
    random: np.random.Generator
    outputs: list[OutputState]
    #: the output of the next step
    turn: int = 0
