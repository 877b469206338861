r"""The average of the weights of the last epochs, which is a better model than the last of them.

A hinge makes the primal objective a function with kinks: at a distance r from the optimum it is off by a multiple of r,
the dual by one of r^2.  Steps of one example after the other move the weights around the optimum, and averages of them
are nearer to it: P is convex, so that :math:`P(\sum_t\omega_tW_t) \le \sum_t\omega_tP(W_t)`, and measured it is a half
to a quarter of the suboptimality of the last weights (benchmarks/README.md).  The witness stays that of the last epoch.

The weights of an epoch count :math:`e^{-\tau}` after another :math:`\tau` data passes, and at most as much as the
expected gap has fallen since: where a pass is worth much, what is older is worth little.
"""

from __future__ import annotations

import math

import numpy as np

from fenchel.arrays import Array
from fenchel.solvers.block_coordinate.loop_average import GAP, PASSES, Averages, kept_share, moved


class RunningAverage:
    """Exponentially weighted averages of arrays that a loop changes in place.

    Parameters
    ----------
    arrays : tuple of arrays
        In C order; they may be replaced by others of the same shape later.
    interval : float
        Data passes between two updates at least, so that these cost little beside epochs.
    """

    def __init__(self, arrays: tuple[Array, ...], interval: float) -> None:
        self.interval = interval
        self.restart(arrays)

    def restart(self, arrays: tuple[Array, ...]) -> None:
        """Forget all, and average these arrays from now on."""
        self.arrays = arrays
        self.averages = tuple(np.zeros_like(array) for array in arrays)
        #: data passes since the last update, and the expected gap at it
        self.clock = np.array([0.0, math.inf])

    def record(self, passes: float, gap: float) -> None:
        """Take the arrays into the averages after some data passes, at an expected gap, if it is time."""
        self.clock[PASSES] += passes
        if self.clock[PASSES] >= self.interval:
            self._update(gap)

    def present(self, gap: float) -> tuple[Array, ...]:
        """The averages at the end of the last epoch; the arrays themselves before the end of the first one."""
        if self.clock[PASSES] > 0.0:
            self._update(gap)
        return self.arrays if math.isinf(self.clock[GAP]) else self.averages

    def within_epochs(self) -> Averages:
        """The averages, for loops of several epochs that change v and the intercepts and update both."""
        v, intercepts = self.averages
        return Averages(v.reshape(-1), intercepts.reshape(-1), self.clock, self.interval)

    def _update(self, gap: float) -> None:
        """Take the arrays into the averages."""
        share = 1.0 - kept_share(float(self.clock[PASSES]), gap, float(self.clock[GAP]))
        for average, array in zip(self.averages, self.arrays, strict=True):
            moved(average.reshape(-1), array.reshape(-1), share)
        self.clock[:] = 0.0, gap
