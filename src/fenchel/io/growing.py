"""Arrays of what is read from a file whose length is not known."""

from __future__ import annotations

import numpy as np

from fenchel.arrays import Array


class Growing:
    """An array that grows at its end; large ones are moved by the system, not copied."""

    def __init__(self, kind: type[np.generic]) -> None:
        self._values, self.size = np.empty(1024, dtype=kind), 0

    def reserve(self, count: int) -> None:
        """Have room for this many; memory that is never written to is never taken from the system."""
        if count > len(self._values):
            values = np.empty(count, dtype=self._values.dtype)
            values[: self.size] = self._values[: self.size]
            self._values = values

    def extend(self, more: Array) -> None:
        """Add numbers at the end."""
        size = self.size + len(more)
        if size > len(self._values):
            self._values.resize(max(size, len(self._values) * 3 // 2), refcheck=False)
        self._values[self.size : size] = more
        self.size = size

    def array(self) -> Array:
        """The array; this object must not be used again."""
        self._values.resize(self.size, refcheck=False)
        return self._values
