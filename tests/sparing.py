"""Which loops a plain run compiles: those of common arguments, and those with much to do.

Compiling took a third of the time of a run, and most loops were compiled for one test with thirty examples: a loss,
storage or inner solver that occurs nowhere else.  A call of a loop with such a rare argument and with little data runs
in plain Python instead, which is the same code and gives the same result to rounding (test_loops.py).  The choice
depends on the arguments alone, not on what ran before.  ``--full-products`` (``make test-all``) compiles everything,
and so does a test with the fixture ``compiled_loops``.
"""

import numpy as np

from fenchel.compile.loop import Loop
from fenchel.stopping import stop_point

#: what most tests have: each is compiled with every loss, storage and regularizer of this list that occurs
COMMON = {
    *("CompiledHinge", "CompiledMargin", "CompiledLogistic", "CompiledResidual", "CompiledL2", "CompiledElasticNet"),
    *("DenseRows", "CSRRows", "RootBlock", "Blocks", "Intercepts", "ClassLists", "Intercept", "Part", "Small"),
    *("QuadraticModel",),
}
#: arrays of more entries than this are too many for plain Python
MOST_ENTRIES = 500
#: the types of ordinary arrays: values, indices, counts and flags
ORDINARY = {np.dtype(name) for name in ("float64", "uint32", "int64", "bool")}

compiled = Loop.__call__


def sparing(loop, *arguments):
    """Call a loop, compiled if that is worth it."""
    if _is_worth_compiling(arguments):
        return compiled(loop, *arguments)
    stop_point()
    return loop._function(*arguments)


def _is_worth_compiling(arguments):
    arrays, is_rare = [], False
    for argument in arguments:
        if isinstance(argument, tuple):
            is_rare |= type(argument).__name__ not in COMMON
            arrays += [field for field in argument if isinstance(field, np.ndarray)]
        elif isinstance(argument, np.ndarray):
            arrays.append(argument)
    if any(array.size > MOST_ENTRIES for array in arrays):
        return True
    return not is_rare and all(array.dtype in ORDINARY and array.flags.c_contiguous for array in arrays)
