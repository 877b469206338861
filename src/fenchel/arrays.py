"""Types of arrays: :data:`Floats` is computed with in float64; :data:`Array` has the user's own element type.

:data:`MatrixLike` is what estimators take as ``X``: arrays, data frames and sparse matrices; :data:`ArrayLike` is what
they take as labels and weights.
"""

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from scipy.sparse import sparray, spmatrix

__all__ = ["Array", "ArrayLike", "Floats", "MatrixLike"]

Array: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]
MatrixLike: TypeAlias = "ArrayLike | sparray | spmatrix"
