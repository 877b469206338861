"""Types of arrays: :data:`Floats` is computed with in float64; :data:`Array` has the user's own element type."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]
