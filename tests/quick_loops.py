"""How a plain run calls compiled loops: with fewer kinds of arguments, since each kind is compiled for itself.

A loop over dense rows and the same loop over sparse rows are two compilations of a second or more, and so are those of
each loss.  Without ``--full-products``, small dense data go to the loops of sparse rows, every entry stored, except in
the fit that most users see first (hinge loss, ridge); and Newton steps for some losses, few and short, are in plain
Python.  What a loop computes is the same; ``make test-all`` compiles every kind for itself.
"""

import functools

import numpy as np

from fenchel.compile.primitives.row_norms import squared_norms
from fenchel.designs.rows import CSRRows, DenseRows
from fenchel.losses.compiled_margin import CompiledHinge
from fenchel.regularizers.l2 import CompiledL2
from fenchel.solvers.block_coordinate.loop import epoch_blocks
from fenchel.solvers.block_coordinate.loop_softmax import epoch_softmax
from fenchel.solvers.dual_coordinate.loop import epoch
from fenchel.solvers.dual_coordinate.loop_mirror import epoch_mirror
from fenchel.solvers.exponentiated_gradient.loop import visits as gradient_visits
from fenchel.solvers.frank_wolfe.loop import visits
from fenchel.solvers.l1.loop import descend, moments
from fenchel.solvers.newton.loop_small import newton_steps
from fenchel.solvers.reference.loop_symmetric_sweep import half_sweep

#: loops that take small dense data as sparse rows
OF_SPARSE_ROWS = {
    *(epoch, epoch_mirror, epoch_blocks, epoch_softmax, visits, gradient_visits, squared_norms, descend, moments),
    half_sweep,
}
#: the number of entries up to which data are small
FEW_ENTRIES = 1 << 16
#: losses whose Newton steps are in plain Python
SELDOM = ("CompiledExponential", "CompiledMargin", "CompiledPower")
#: operations of a Hessian, up to which plain Python is quicker than the compiler
LITTLE_WORK = 20_000


@functools.cache
def _places(rows, features):
    """The columns and the beginnings of the rows of a matrix whose entries are all stored."""
    columns = np.tile(np.arange(features, dtype=np.uint32), rows)
    begins = np.arange(rows + 1, dtype=np.uint32) * np.uint32(features)
    for array in (columns, begins):
        array.flags.writeable = False
    return columns, begins


def sparse_rows(rows):
    """Small dense rows in float64 as sparse ones that share their entries; everything else as it is."""
    if not isinstance(rows, DenseRows):
        return rows
    values = rows.values
    if values.size > FEW_ENTRIES or values.dtype != np.float64 or not values.flags.c_contiguous:
        return rows
    return CSRRows(values.reshape(-1), *_places(*values.shape))


def quickly(call):
    """``Loop.__call__`` for a plain run."""

    def called(self, *arguments):
        if self is newton_steps and type(arguments[0]).__name__ in SELDOM:
            rows, features = arguments[1].X.shape
            if rows * features**2 <= LITTLE_WORK:
                return self._function(*arguments)
        if self in OF_SPARSE_ROWS and not {CompiledHinge, CompiledL2} <= set(map(type, arguments)):
            arguments = map(sparse_rows, arguments)
        return call(self, *arguments)

    return called
