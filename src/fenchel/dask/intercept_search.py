"""The intercept that almost minimizes R for given weights, from few exchanges with several intercepts each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fenchel.arrays import Array, Floats

#: intercepts of an exchange, in units of the last move; and how many divide a bracket
_OFFSETS = np.array([-4.0, -1.0, -0.25, 0.0, 0.25, 1.0, 4.0])
_INSIDE = 6
#: exchanges at most: they go sixteen times as far each, or divide the bracket by 7
_MOST_EXCHANGES = 30


@dataclass
class InterceptSearch:
    """Where the last search ended, and how far it went."""

    at: float
    step: float = 1.0

    def find(self, slopes: Callable[[Array], Floats], tolerance: float) -> float:
        """Return an intercept whose R is within ``tolerance`` of the least; ``slopes`` are its derivatives there."""
        before, found, points = self.at, np.zeros(0), np.zeros(0)
        trying, low, high = self.at + self.step * _OFFSETS, -np.inf, np.inf
        for _ in range(_MOST_EXCHANGES):
            points, found = np.append(points, trying), np.append(found, slopes(trying))
            short = found < 0.0
            low, high = float(np.max(points[short], initial=-np.inf)), float(np.min(points[~short], initial=np.inf))
            # R is convex
            if not np.min(np.abs(found)) * (high - low) > tolerance:
                break
            if np.isfinite(high - low):
                trying = np.linspace(low, high, _INSIDE + 2)[1:-1]
            else:
                self.step *= 16.0
                trying = self.at + self.step * _OFFSETS[_OFFSETS > 0.0 if np.isinf(high) else _OFFSETS < 0.0]
        self.at = float(points[np.argmin(np.abs(found))])
        width = high - low if np.isfinite(high - low) else self.step
        self.step = max(abs(self.at - before), width, 1e-6 * abs(self.at)) or 1.0
        return self.at
