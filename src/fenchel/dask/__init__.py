"""Data on the workers of a Dask cluster: the linear estimators, and the solvers that they use.

Each name is imported on first use.  Requires the extra ``dask``: ``pip install fenchel[dask]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fenchel.loading import on_first_use as _on_first_use

if TYPE_CHECKING:
    from fenchel.dask.cocoa import CoCoA as CoCoA
    from fenchel.dask.estimators import LinearClassifier as LinearClassifier
    from fenchel.dask.estimators import LinearRegressor as LinearRegressor
    from fenchel.dask.estimators import MeasureClassifier as MeasureClassifier
    from fenchel.dask.lbfgs import LBFGS as LBFGS
    from fenchel.dask.newton import NewtonCG as NewtonCG

#: the module of each public name
_HOMES = {
    "CoCoA": "fenchel.dask.cocoa",
    "LBFGS": "fenchel.dask.lbfgs",
    "LinearClassifier": "fenchel.dask.estimators",
    "LinearRegressor": "fenchel.dask.estimators",
    "MeasureClassifier": "fenchel.dask.estimators",
    "NewtonCG": "fenchel.dask.newton",
}
__all__ = sorted(_HOMES)

if not TYPE_CHECKING:
    # hidden from type checkers, for which it would make every name valid
    __getattr__ = _on_first_use(globals(), _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
