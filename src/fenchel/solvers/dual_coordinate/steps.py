"""Which steps dual coordinate descent takes: its options, and what they mean for a problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from fenchel.errors import FenchelError
from fenchel.problem import Problem
from fenchel.solvers import needs
from fenchel.solvers.base import Need, Solver
from fenchel.solvers.dual_coordinate.mirror import RULES
from fenchel.solvers.dual_coordinate.requirements import NEEDS
from fenchel.solvers.dual_coordinate.state import OutputState, State
from fenchel.solvers.simultaneous import Simultaneous
from fenchel.validation import check_bool, check_choice, check_number, check_seed, processors

#: factor of exact steps for losses with kinks and no fewer features than rows: a tenth fewer epochs on imdb and
#: 20news.binary at C = 10 (1.2 to 1.4 take about as long)
_STRETCH = 1.3
#: fewest examples for such steps: on 30 nearly orthogonal rows they took up to 20 times as many epochs as exact ones;
#: and for more epochs before the first step on the free variables: lists of violators of fewer have hardly any room
MANY_EXAMPLES, PASSES_BEFORE_FACE = 1000, 100.0


@dataclass(frozen=True)
class DualSteps(Solver):
    """The options of dual coordinate descent, as ``DualCoordinate`` describes them."""

    shrinking: bool = True
    #: "auto", "exact", "newton" or "gradient"
    rule: str = "auto"
    #: eta of the gradient rule, for all examples; None chooses one for each
    learning_rate: float | None = None
    #: t of the scaled exact step
    stretch: float = 1.0
    #: of the random order; None takes the seed that ``solve`` was given
    seed: int | None = None
    #: whether the order is random; otherwise it is that of the data
    shuffle: bool = True
    #: threads of an epoch
    n_jobs: int = 1
    #: whether rows are centred where that costs nothing
    centres: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_choice("rule", self.rule, ("auto", *RULES))
        check_number("stretch", self.stretch, above=0.0)
        check_number("learning_rate", self.learning_rate, above=0.0, optional=True)
        check_bool("shrinking", self.shrinking)
        check_bool("shuffle", self.shuffle)
        check_seed(self.seed)
        processors(self.n_jobs)
        if self.learning_rate is not None and self.rule != "gradient":
            raise FenchelError("learning_rate is for rule='gradient'")
        if self.stretch != 1.0 and self.rule not in ("auto", "exact"):
            raise FenchelError("stretch scales exact steps: use rule='exact'")

    @property
    def needs(self) -> tuple[Need, ...]:
        return (
            *NEEDS,
            Need(self._has_step, needs.unsupported_regularizer),
        )

    def _has_step(self, problem: Problem) -> bool:
        """Whether one of the loops takes the regularizer."""
        regularizer = problem.regularizer
        if regularizer.compiled() is not None or regularizer.quadratic_form() is not None:
            return True
        return regularizer.kernel() is not None or self._mirror_map(problem) is not None

    def _mirror_map(self, problem: Problem) -> Any:
        """The compiled mirror map if ``loop_mirror`` is the loop to take, else None."""
        kernel = problem.regularizer.compiled()
        plain = kernel is not None and (kernel.linear() or (self.rule == "auto" and self.stretch == 1.0))
        return None if plain else problem.regularizer.compiled_mirror_map(problem.design.shape[1])

    def _simultaneous(self, problem: Problem, mirror_map: Any) -> Simultaneous | None:
        """Blocks for the threads, if there are several and the weights are v itself."""
        count, exact = processors(self.n_jobs), self.stretch == 1.0 and self.learning_rate is None
        plain = problem.regularizer.is_ridge and problem.design.kernel() is None and mirror_map is None
        return Simultaneous(count) if count > 1 and plain and exact else None

    def _takes_pairs(self, problem: Problem) -> bool:
        """Whether steps on pairs of dual variables are exact: then they may replace other steps with a Gram matrix."""
        plain = self.rule == "auto" and self.stretch == 1.0 and problem.regularizer.kernel() is not None
        return plain and problem.mean_risk.loss.piecewise_quadratic() is not None

    def _stretch(self, problem: Problem) -> float:
        """The factor of exact steps: with fewer features than rows, certificates come too early if it is not one."""
        many = problem.design.shape[0] >= MANY_EXAMPLES
        return _STRETCH if many and self._is_wide(problem) and not problem.risk.smooth else self.stretch

    @property
    def _plain(self) -> bool:
        """Whether steps that no paper has may follow epochs: with default options, and not for comparison with it."""
        return self.rule == "auto" and self.stretch == 1.0 and self.shrinking and self.shuffle and self.centres

    def _is_wide(self, problem: Problem) -> bool:
        """Whether there are no fewer features than rows, for steps with rows and ridge.

        With fewer features than rows "auto" compares the pace with that of another solver, for which it needs the
        target gap, and so a certificate.
        """
        rows, features = problem.design.shape
        return self._plain and problem.regularizer.is_ridge and problem.design.kernel() is None and features >= rows

    def _takes_faces(self, state: State, output: OutputState) -> bool:
        """Whether steps on all free variables at once may follow epochs: between them, for rows and ridge."""
        rows = state.problem.design.kernel() is None and state.problem.regularizer.is_ridge
        between = output.active_set.position == 0 and output.simultaneous is None
        return self._plain and rows and between and state.problem.mean_risk.loss.piecewise_quadratic() is not None
