"""The certificate: bounds on the primal and the dual objective, and the gap between them."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace

from fenchel.errors import FenchelError
from fenchel.markup import OPEN, PROVED, WRONG, card

#: largest rounding floor, relative to the objective, at which a gap below the floor counts as optimal with tol=0
RESOLVED = 1e-6
#: multiple of the rounding floor up to which a gap counts as rounding: the sums of a solver, in another order, have
#: errors of about the size of those of the certificate
_WITHIN_ROUNDING = 4.0
#: between the words for different objectives of a sum
_SUM = " + "


@dataclass(frozen=True)
class Certificate:
    """A proof of how far a model is from the best one: ``upper - lower >= objective - optimum``.

    Parameters
    ----------
    primal : float
        The primal objective P of the model, as computed.
    dual : float
        The dual objective D, a lower bound on the objective of every model, as computed.
    primal_error : float, default=0.0
        Proved bound on the rounding error of ``primal``: the exact objective is at most ``primal + primal_error``.
    dual_error : float, default=0.0
        Proved bound on the rounding error of ``dual``: no model is below ``dual - dual_error``.
    recomputed : bool, default=True
        Whether everything was recomputed from the data; False if a bound was taken on trust from a solver.
    trivial : bool, default=False
        Whether the model without weights has the same objective up to rounding, so that no accuracy relative to the
        objective can be asked for.
    consistent : bool, default=True
        False for a sum of certificates of which one contradicts itself.
    rigorous : bool, default=False
        Whether both bounds were computed in ball arithmetic, as ``certify(..., rigorous=True)`` does.
    about : str, default=""
        The objective in words, where an estimator chose it; printed in parentheses after its value.

    See Also
    --------
    certify : Compute the certificate of a model.
    Solution : A model with its certificate.

    Examples
    --------
    >>> from fenchel import Certificate
    >>> certificate = Certificate(primal=1.0, dual=0.998, primal_error=1e-15, dual_error=1e-15)
    >>> certificate.meets(tol=0.01)
    True
    >>> print(certificate)
    The objective 1 is proved to be within 0.002 (0.2%) of the optimum: no model is below 0.998.
    """

    primal: float
    dual: float
    primal_error: float = 0.0
    dual_error: float = 0.0
    recomputed: bool = True
    trivial: bool = False
    consistent: bool = True
    rigorous: bool = False
    about: str = ""

    @property
    def upper(self) -> float:
        """Upper bound on the exact objective of the model, P plus its rounding error."""
        return _up(self.primal + self.primal_error)

    @property
    def lower(self) -> float:
        """Lower bound on the objective of every model, D less its rounding error."""
        return -_up(self.dual_error - self.dual)

    @property
    def rounding_floor(self) -> float:
        """Bound on the part of the gap that may be rounding of the evaluation itself."""
        return self.primal_error + self.dual_error

    @property
    def gap(self) -> float:
        """Duality gap P - D as computed, never clamped."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """Relative duality gap, gap / max(abs(P), abs(D)); 0/0 is 0, and infinite if P is."""
        if math.isinf(self.gap):
            return self.gap
        return self.gap / self.scale if self.scale > 0 else 0.0

    @property
    def scale(self) -> float:
        """The largest finite one of abs(P) and abs(D)."""
        return max((abs(value) for value in (self.primal, self.dual) if math.isfinite(value)), default=0.0)

    @property
    def at_floor(self) -> bool:
        """Whether the gap is within rounding: a few times the rounding floor, since solvers round too."""
        return not self.contradictory and self.gap <= _WITHIN_ROUNDING * self.rounding_floor

    @property
    def contradictory(self) -> bool:
        """Whether the objective is below its lower bound by more than rounding: then the certificate is invalid."""
        return not self.consistent or self.gap < -self.rounding_floor

    @property
    def optimal(self) -> bool:
        """Whether the gap is within rounding, and rounding is a small share of the objective or the model trivial."""
        return self.at_floor and (self.trivial or self.rounding_floor <= RESOLVED * self.scale)

    def proves(self, tol: float) -> bool:
        """Whether ``upper - lower <= tol * max(abs(upper), abs(lower))``: the gap plus rounding is within ``tol``."""
        width = self.upper - self.lower
        return not self.contradictory and math.isfinite(width) and width <= tol * max(abs(self.upper), abs(self.lower))

    def meets(self, tol: float) -> bool:
        """Whether this proves ``tol``; with ``tol=0``, or for a trivial model, whether the gap is within rounding."""
        return self.proves(tol) or (self.optimal and (tol == 0.0 or self.trivial))

    def scaled(self, factor: float, about: str = "", roundings: float = 1.0) -> Certificate:
        """The certificate of the same problem with its objective multiplied by a positive number.

        Parameters
        ----------
        factor : float
            The positive number: the sum of all C, say, for an objective of sums instead of means.
        about : str, default=""
            The objective in words.
        roundings : float, default=1.0
            The relative errors of the products, in units of 2^-53: that of each product, and those of the factor and of
            the weights of the penalty and the risk, which must not be negative then.

        Returns
        -------
        Certificate
            The same gap in the units of the other objective; the roundings of the products are added to its errors.
        """
        if not 0.0 < factor < math.inf:
            raise FenchelError(f"factor must be a positive number, got {factor!r}")
        primal, primal_error = _product(self.primal, self.primal_error, factor, roundings * 2.0**-53)
        dual, dual_error = _product(self.dual, self.dual_error, factor, roundings * 2.0**-53)
        return replace(self, primal=primal, dual=dual, primal_error=primal_error, dual_error=dual_error, about=about)

    def __add__(self, other: Certificate) -> Certificate:
        """The certificate of two separate problems taken together."""
        primal, primal_lost = _sum_and_lost(self.primal, other.primal)
        dual, dual_lost = _sum_and_lost(self.dual, other.dual)
        return Certificate(
            primal,
            dual,
            _sum_up(self.primal_error, other.primal_error, primal_lost),
            _sum_up(self.dual_error, other.dual_error, dual_lost),
            self.recomputed and other.recomputed,
            self.trivial and other.trivial,
            not (self.contradictory or other.contradictory),
            self.rigorous and other.rigorous,
            _SUM.join(dict.fromkeys(part for own in (self, other) for part in own.about.split(_SUM) if part)),
        )

    def __str__(self) -> str:
        trust = " (rigorous)" if self.rigorous else ""
        trust = trust if self.recomputed else " (the lower bound was taken on trust from the solver)"
        # adding zero turns -0.0 into 0
        primal, below = f"{self.primal + 0.0:.6g}", f"{self.dual + 0.0:.6g}"
        primal += f" ({self.about})" if self.about else ""
        if math.isinf(self.primal):
            what = "not proved to be finite" if self.rigorous else "infinite"
            return f"The objective of this model is {what}: no model is below {below}{trust}."
        if self.contradictory:
            where = f"the objective {primal} is below its lower bound {below}"
            if not self.consistent:
                where = f"one of the objectives that add up to {primal} is below its lower bound"
            return (
                f"The objective and its lower bound are inconsistent: {where} by more than rounding explains{trust}; "
                "a kernel must be positive semi-definite to this accuracy (scale or centre X), and a loss, regularizer "
                "or risk of your own must pass check_loss, check_regularizer or check_risk."
            )
        if self.optimal:
            exact = "optimal to the accuracy of the arithmetic"
            return f"The objective {primal} is {exact}: no model is below {below}{trust}."
        if self.at_floor:
            return (
                f"The objective {primal} is known only up to rounding errors of {self.rounding_floor:.2g}: no model is "
                f"below {self.lower:.6g}{trust}. Scale X."
            )
        return f"The objective {primal} is proved to be {self._distance()}: no model is below {below}{trust}."

    def _repr_html_(self) -> str:
        shade = WRONG if self.contradictory else PROVED if math.isfinite(self.relative_gap) else OPEN
        figures = (self.primal, self.dual, self.relative_gap, self.rounding_floor)
        header = ("objective P", "lower bound D", "relative gap", "rounding")
        return card(
            shade,
            [str(self)],
            header,
            [[f"{value:.6g}" for value in figures[:2]] + [f"{value:.2g}" for value in figures[2:]]],
        )

    def _distance(self) -> str:
        """The distance to the optimum, in percent of the proved optimum or, if it is large, as a multiple of it."""
        width, bound = self.upper - self.lower, self.lower
        if bound <= 0.0:
            return f"within {width:.2g} of the optimum"
        if width >= bound:
            return f"at most {self.upper / bound:.3g} times the optimum"
        return f"within {width:.2g} ({100.0 * width / bound:.2g}%) of the optimum"


def _product(value: float, error: float, factor: float, relative: float) -> tuple[float, float]:
    """A bound in other units with its error, which is infinite where the product is too large for a float."""
    found = value * factor
    if math.isinf(found):
        return (value, error) if math.isinf(value) else (math.copysign(sys.float_info.max, value), math.inf)
    moved = _up((1.0 + 2.0 * relative) * error * factor) if error else 0.0
    return found, _sum_up(moved, _up(abs(found) * relative) if found else 0.0)


def _up(value: float) -> float:
    """The next float above a computed sum, unless it is an infinity."""
    return math.nextafter(value, math.inf)


def _sum_and_lost(a: float, b: float) -> tuple[float, float]:
    """fl(a + b) and the size of its rounding error, exactly; no error where the sum is infinite."""
    total = a + b
    return total, abs(math.fsum((a, b, -total))) if math.isfinite(total) else 0.0


def _sum_up(*errors: float) -> float:
    """An upper bound on a sum of non-negative numbers; zero only if all are."""
    total = math.fsum(errors)
    return math.nextafter(total, math.inf) if total > 0.0 else total
