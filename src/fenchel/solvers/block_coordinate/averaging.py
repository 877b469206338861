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

#: numbers that are averaged at a time: 128 kB in single precision
_BLOCK = 1 << 15


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
        self.arrays = arrays
        self.interval = interval
        self.averages: tuple[Array, ...] = ()
        #: data passes since the last update, and the expected gap at it
        self.passes = 0.0
        self.gap = math.inf

    def restart(self, arrays: tuple[Array, ...]) -> None:
        """Forget all, and average these arrays from now on."""
        self.arrays, self.averages, self.passes, self.gap = arrays, (), 0.0, math.inf

    def record(self, passes: float, gap: float) -> None:
        """Take the arrays into the averages after some data passes, at an expected gap, if it is time."""
        self.passes += passes
        if self.passes >= self.interval:
            self._update(gap)

    def present(self, gap: float) -> tuple[Array, ...]:
        """The averages at the end of the last epoch; the arrays themselves before the end of the first one."""
        if self.passes > 0.0:
            self._update(gap)
        return self.averages or self.arrays

    def _update(self, gap: float) -> None:
        """Take the arrays into the averages."""
        if not self.averages:
            self.averages = tuple(array.copy() for array in self.arrays)
        else:
            fallen = gap / self.gap if gap < self.gap else 1.0
            share = 1.0 - min(math.exp(-self.passes), fallen)
            for average, array in zip(self.averages, self.arrays, strict=True):
                _move(average.reshape(-1), array.reshape(-1), share)
        self.passes, self.gap = 0.0, gap


def _move(average: Array, array: Array, share: float) -> None:
    """Move the average by this share of the way to the array, in blocks that stay in the cache."""
    for begin in range(0, len(array), _BLOCK):
        block = slice(begin, begin + _BLOCK)
        difference = array[block] - average[block]
        difference *= np.asarray(share, difference.dtype)
        average[block] += difference
