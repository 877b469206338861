"""Linear programs whose coefficients overflow have no solution, as those that HiGHS does not solve."""

import numpy as np
import pytest
import scipy.sparse as sp

from fenchel.numerics.linear_program import solve_linear_program


@pytest.mark.parametrize("made", [np.array, sp.csr_array])
def test_coefficients_that_overflow_have_no_solution(made):
    assert solve_linear_program(np.ones(2), (0, None), A_eq=made([[1.0, np.inf]]), b_eq=np.ones(1)) is None
    assert solve_linear_program(np.ones(2), (0, None), A_eq=made([[1.0, 2.0]]), b_eq=np.ones(1)).fun == 0.5
