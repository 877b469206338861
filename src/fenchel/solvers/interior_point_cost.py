r"""What the interior-point method costs, in data passes of block coordinate descent.

With n examples, d features, k classes and N stored entries, and the numbers measured on a processor of 2021 (seconds),

.. math::
    \text{interior point} &\approx 20\,M\cdot 1.2\cdot10^{-10} + 140\,(10^{-4} + 4\cdot10^{-9}Nk + 10^{-7}nk), \\
    \text{a pass of descent} &\approx 10^{-5} + 10^{-7}n + 3\cdot10^{-10}N(k + 4),

where M counts the products of one step: :math:`nkd^2` for the matrix of Weston-Watkins, :math:`n(kd)^2/2` for that of
Crammer-Singer, and :math:`(kd)^3/3` for its factorization.  20 steps with seven products with X each are the rule.
Only the ratio is used, which is right within a factor of about three.  The numbers of descent are those of dna, letter
and banking77.

When descent hands over, its time is lost, and when it would have ended soon, most of that of the interior-point method
is.  An estimate of its pace is worth more the longer it has run, and it is not asked for before descent has used 0.3 of
what the interior-point method costs.  The share was chosen by replaying recorded runs of both methods on 51 problems
(iris, dna and six sets of Gaussian classes): ``auto`` takes 1.16 times as long as the faster one in the geometric
mean and 1.9 times at most; 2.5 if the pace is asked for after 50 passes, 2.1 and 2.3 at shares of 0.4 and 0.5.
"""

from __future__ import annotations

from fenchel.problem import Problem

_STEPS, _PRODUCTS = 20.0, 7.0
#: data passes of descent before its pace is asked for, at least, and as a share of the cost of this method
_FEWEST_PASSES, _SHARE = 50.0, 0.3
#: seconds: of one product of numbers in a dense matrix product; of a pass over X, for each call, entry and score
_DENSE, _CALL, _ENTRY, _SCORE = 1.2e-10, 1e-4, 4e-9, 1e-7
#: seconds of block coordinate descent for each pass, for each example, and for each entry and class
_PASS, _TURN, _TURN_ENTRY = 1e-5, 1e-7, 3e-10


def predicted_passes(problem: Problem) -> float:
    """The data passes of block coordinate descent that take as long as the interior-point method."""
    risk, (examples, features) = problem.multiclass_risk, problem.design.shape
    count, entries = float(risk.outputs), float(problem.design.stored_entries)
    weights = count * (features + problem.intercept)
    matrix = 0.5 * weights**2 if risk.dual_block == "simplex" else weights**2 / count
    products = examples * matrix + weights**3 / 3.0
    around = _CALL + _ENTRY * entries * count + _SCORE * examples * count
    descent = _PASS + _TURN * examples + _TURN_ENTRY * entries * (count + 4.0)
    return _STEPS * (products * _DENSE + _PRODUCTS * around) / descent


def patience(problem: Problem) -> float:
    """The data passes of block coordinate descent before its pace decides about a handover."""
    return max(_FEWEST_PASSES, _SHARE * predicted_passes(problem))
