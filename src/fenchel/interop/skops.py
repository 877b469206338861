"""skops: which types of this package a file may hold that its loader is asked to trust."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module

from scipy.sparse import csc_array

from fenchel import estimators
from fenchel.certificate import Certificate, OptimumBall, OptimumOfFit, OptimumSketch
from fenchel.solving.solution import Trace, TracePoint

__all__ = ["trusted_types"]

#: what fitted estimators hold besides arrays; the dual variables of pairs of classes are a sparse array
_FITTED = (Certificate, OptimumBall, OptimumOfFit, OptimumSketch, Trace, TracePoint, csc_array)
#: rooms whose objects are parameters of estimators
_ROOMS = ("fenchel.features", "fenchel.losses", "fenchel.regularizers")


def trusted_types() -> list[str]:
    """The names of all types that skops has to trust in files of fitted estimators of this package.

    They are our estimators, losses, regularizers and features, the certificate with what proves predictions, traces and
    their points, and SciPy's sparse array.  None of them runs code of the file.  Types of your own are not among them.

    Returns
    -------
    list of str
        For the argument ``trusted`` of ``skops.io.load`` and ``skops.io.loads``.

    See Also
    --------
    fenchel.io.save_model : Model files without pickle that need no other package.

    Examples
    --------
    >>> from fenchel.interop.skops import trusted_types
    >>> "fenchel.estimators.LinearClassifier" in trusted_types()
    True
    """
    classes = [*_FITTED, *(getattr(estimators, name) for name in estimators.__all__)]
    for room in map(import_module, _ROOMS):
        for module in pkgutil.iter_modules(room.__path__, f"{room.__name__}."):
            found = import_module(module.name)
            classes += [one for _, one in inspect.getmembers(found, inspect.isclass) if one.__module__ == module.name]
    return sorted({f"{one.__module__}.{one.__qualname__}" for one in classes if inspect.isclass(one)})
