"""Settings of Dask's configuration, such as ``dask.config.set({"fenchel.timeout": "1 hour"})``:

==================  =============  ==================================================================
setting             default        meaning
==================  =============  ==================================================================
fenchel.timeout     "10 minutes"   time without any finished task after which a fit is given up
fenchel.groups      None           groups of partitions; None is one for each thread of the cluster
==================  =============  ==================================================================
"""

from __future__ import annotations

import math
from datetime import timedelta

from fenchel.errors import FenchelError
from fenchel.validation import is_integer

try:
    import dask
    from dask.utils import parse_timedelta
except ImportError as error:
    raise ImportError("fenchel.dask requires Dask: pip install 'fenchel[dask]'") from error


def timeout() -> float:
    """The seconds without a finished task after which a fit is given up."""
    given = dask.config.get("fenchel.timeout", "10 minutes")
    try:
        seconds = float(parse_timedelta(given)) if isinstance(given, (str, int, float, timedelta)) else math.nan
    except (LookupError, ValueError):
        # a unit that Dask does not know, or an empty text
        seconds = math.nan
    if not 0.0 < seconds < math.inf:
        raise FenchelError(
            f"the setting fenchel.timeout of dask.config must be a positive time such as '10 minutes', got {given!r}"
        )
    return seconds


def groups() -> int | None:
    """The number of groups; None is one for each thread of the cluster."""
    given = dask.config.get("fenchel.groups", None)
    if given is not None and not is_integer(given, least=1):
        raise FenchelError(
            f"the setting fenchel.groups of dask.config must be a positive integer or None, got {given!r}"
        )
    return None if given is None else int(given)
