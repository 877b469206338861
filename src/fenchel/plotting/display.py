"""What all Display classes share: ``plot``, which draws and keeps the Axes and the figure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np


class Display(ABC):
    """A picture that keeps its Axes; subclasses draw it in ``_drawn``."""

    ax_: Any
    figure_: Any

    def plot(self, ax: Any = None) -> Self:
        """Draw on these axes, or on those of a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            The axes to draw on; of a picture in several parts, a sequence of them.

        Returns
        -------
        Display
            This picture.
        """
        return self._keep(self._drawn(ax))

    def _keep(self, ax: Any) -> Self:
        """Keep the Axes that were drawn on, and their figure."""
        self.ax_, self.figure_ = ax, np.ravel(ax)[0].figure
        return self

    @abstractmethod
    def _drawn(self, ax: Any) -> Any:
        """Draw on these Axes, or on new ones if they are None; return them."""
