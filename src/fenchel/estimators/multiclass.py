"""The forms ``multi_class`` of more than two classes, and what ``"auto"`` stands for.

``python benchmarks/forms.py`` measured every form on test examples (benchmarks/README.md has its table).  One problem
for all classes is ahead of one-vs-rest on average: ``weston_watkins`` with the hinge, ``multinomial`` with the logistic
loss.  Other losses have no joint form, and elastic nets and most solvers by name have no joint problem that they solve
well: these are fitted one-vs-rest.
"""

from __future__ import annotations

from typing import Any

from fenchel.errors import FenchelError
from fenchel.losses import Hinge, Logistic, Loss
from fenchel.problem import Problem
from fenchel.regularizers import Regularizer
from fenchel.risks import MULTICLASS, Multinomial, WestonWatkins
from fenchel.solvers import Solver, choose

#: what ``multi_class`` of a linear classifier may be, besides "auto": several problems of two classes, or one for all
FORMS = ("ovr", "ovo", *MULTICLASS)
#: what "auto" stands for with these losses; with any other "ovr"
_JOINT = {Hinge(): WestonWatkins.name, Logistic(): Multinomial.name}


def declared_form(multi_class: Any, loss: Loss, regularizer: Regularizer) -> str:
    """The form for a loss and a regularizer; ``"auto"`` is joint for the hinge and the logistic loss with ridge."""
    if not isinstance(multi_class, str) or multi_class not in ("auto", *FORMS):
        names = ", ".join(map(repr, ("auto", *FORMS)))
        raise FenchelError(f"multi_class must be one of {names}, got {multi_class!r}")
    if multi_class == "auto":
        return next((form for known, form in _JOINT.items() if known == loss), "ovr") if regularizer.is_ridge else "ovr"
    risk = MULTICLASS.get(multi_class)
    if risk is not None:
        needed = Logistic() if risk.smooth else Hinge()
        if loss != needed:
            raise FenchelError(f"multi_class={multi_class!r} requires loss={needed.name!r}; or use multi_class='ovr'")
    return multi_class


def supports(problem: Problem, solver: str | Solver) -> bool:
    """Whether a solver that the user has chosen takes this joint problem; ``"auto"`` always has one that does."""
    if isinstance(solver, str) and solver == "auto":
        return True
    try:
        choose(problem, solver)
    except FenchelError:
        return False
    return True
