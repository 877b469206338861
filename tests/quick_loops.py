"""How a plain run calls compiled loops: with fewer kinds of arguments, since each kind is compiled for itself.

A loop over dense rows and the same loop over sparse rows are two compilations of a second or more, and so are those of
each loss.  Without ``--full-products``, small dense data go to the loops of sparse rows, every entry stored, except in
the fit that most users see first (hinge loss, ridge); and kinds of loops that the tests call seldom, on little data,
are in plain Python: compiling one takes a second to five, and all its calls together less.  What a loop computes is
the same; ``make test-all`` compiles every kind for itself.
"""

import functools

import numpy as np

from fenchel.compile.primitives.example_sums import (
    add_adjoint,
    multiply,
    sum_average_hess,
    sum_derivatives,
    sum_dual_points,
)
from fenchel.compile.primitives.row_norms import squared_norms
from fenchel.designs.rows import CSRRows, DenseRows
from fenchel.losses.compiled_margin import CompiledHinge
from fenchel.regularizers.l2 import CompiledL2
from fenchel.solvers.block_coordinate.loop import epoch_blocks
from fenchel.solvers.block_coordinate.loop_epochs import epochs_of_blocks
from fenchel.solvers.block_coordinate.loop_softmax import epoch_softmax
from fenchel.solvers.dual_coordinate.loop import epoch
from fenchel.solvers.dual_coordinate.loop_mirror import epoch_mirror
from fenchel.solvers.dual_coordinate.loop_online import online_epoch
from fenchel.solvers.exponentiated_gradient.loop import visits as gradient_visits
from fenchel.solvers.frank_wolfe.loop import visits
from fenchel.solvers.l1.loop import descend, moments
from fenchel.solvers.l1.loop_gram import descend_path
from fenchel.solvers.label_blocks.loop import epoch_labels
from fenchel.solvers.newton.loop_small import newton_steps
from fenchel.solvers.reference.loop_pegasos import pegasos_steps
from fenchel.solvers.reference.loop_symmetric_sweep import half_sweep

#: loops that take small dense data as sparse rows
OF_SPARSE_ROWS = {
    *(epoch, epoch_mirror, epoch_blocks, epoch_softmax, visits, gradient_visits, squared_norms, descend, moments),
    epoch_labels,
    epochs_of_blocks,
    half_sweep,
}
#: the number of entries up to which data are small
FEW_ENTRIES = 1 << 17
#: loops that are in plain Python on little data, each with the classes among its arguments for which it is (None: all)
SELDOM = {
    newton_steps: {"CompiledExponential", "CompiledMargin", "CompiledPower"},
    epoch: {"ScaledRows", "CompiledPower", "CompiledCost", "CompiledNegativeLog"},
    epoch_mirror: {"CompiledDiagonal", "CompiledLogistic", "CSRRows"},
    online_epoch: None,
    descend_path: None,
    pegasos_steps: {"CSRRows"},
    sum_average_hess: {"CompiledPower", "CompiledMargin", "CompiledLogistic"},
    sum_derivatives: {"CompiledExponential", "CompiledPower"},
    sum_dual_points: {"CompiledExponential", "CompiledPower"},
    multiply: {"ScaledRows"},
    add_adjoint: {"ScaledRows"},
    squared_norms: {"ScaledRows"},
}
#: numbers in all arrays of a call, up to which plain Python is quicker than the compiler
LITTLE_DATA = 4_000
#: the same in operations of a Hessian, for Newton steps
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


def numbers_in(arguments):
    """How many numbers the arrays among these arguments, and in their fields, hold."""
    return sum(
        one.size if isinstance(one, np.ndarray) else numbers_in(one) if isinstance(one, tuple) else 0
        for one in arguments
    )


def in_plain_python(self, arguments):
    """Whether a loop is called seldom with such arguments, and does little with them."""
    if self not in SELDOM:
        return False
    classes = SELDOM[self]
    if classes is not None and classes.isdisjoint(type(one).__name__ for one in arguments):
        return False
    if self is newton_steps:
        rows, features = arguments[1].X.shape
        return rows * features**2 <= LITTLE_WORK
    return numbers_in(arguments) <= LITTLE_DATA


def quickly(call):
    """``Loop.__call__`` for a plain run."""

    def called(self, *arguments):
        if self in OF_SPARSE_ROWS and not {CompiledHinge, CompiledL2} <= set(map(type, arguments)):
            arguments = tuple(map(sparse_rows, arguments))
        if in_plain_python(self, arguments):
            return self._function(*arguments)
        return call(self, *arguments)

    return called
