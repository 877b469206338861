r"""Whether labels can't be separated at all, in exact arithmetic: the refusals of ``negative_log`` are judged by it.

No weights w, with or without an intercept, have :math:`y_i s_i > 0` for every example if and only if some
:math:`\rho\ge 0,\ \sum\rho_i = 1` has :math:`\sum_i\rho_i y_i x_i = 0` (at most zero where weights must not be
negative) and, for an intercept, :math:`\sum_i\rho_i y_i = 0` (Gordan's theorem).
"""

from fractions import Fraction

#: refusals that this judges
WORDS = "the constraints are infeasible"


def inseparable(case):
    """Whether no model of a case has scores of the right signs."""
    counted = [i for i, share in enumerate(case.shares) if share]
    rows = [[Fraction(case.labels[i][0] * entry) for entry in case.rows[i]] for i in counted]
    columns = [[*row, *([Fraction(case.labels[i][0])] * case.problem.intercept), Fraction(1)]
               for i, row in zip(counted, rows, strict=True)]  # fmt: skip
    size = len(columns[0])
    regularizer = case.problem.regularizer
    if not (regularizer.finite or getattr(regularizer, "balanced", False)):
        # what is missing to equality
        columns += [[Fraction(int(i == j)) for i in range(size)] for j in range(len(rows[0]))]
    return has_nonnegative_solution(columns, [Fraction(0)] * (size - 1) + [Fraction(1)])


def has_nonnegative_solution(columns, right):
    """Whether some x >= 0 has sum_k x_k columns[k] = right >= 0: the simplex method's first phase, Bland's rule."""
    count, size = len(columns), len(right)
    # the rows with artificial variables, which are not stored: they only leave the basis
    table = [[column[i] for column in columns] + [right[i]] for i in range(size)]
    basis = [count + i for i in range(size)]
    while True:
        artificial = [row for row, own in zip(table, basis, strict=True) if own >= count]
        if not any(row[-1] for row in artificial):
            return True
        entering = next((k for k in range(count) if sum(row[k] for row in artificial) > 0), None)
        if entering is None:
            return False
        able = [i for i in range(size) if table[i][entering] > 0]
        leaving = min(able, key=lambda i: (table[i][-1] / table[i][entering], basis[i]))
        pivot = table[leaving][entering]
        table[leaving] = [entry / pivot for entry in table[leaving]]
        for i in range(size):
            if i != leaving and table[i][entering]:
                factor = table[i][entering]
                table[i] = [a - factor * b for a, b in zip(table[i], table[leaving], strict=True)]
        basis[leaving] = entering
