"""Reports: a fitted model, or a comparison of several, as one HTML file that needs no network.

They require matplotlib, of the extra ``plot``.
"""

from fenchel.reporting.comparison import compare
from fenchel.reporting.one_model import report

__all__ = ["compare", "report"]
