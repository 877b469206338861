"""What ``multi_class`` may be, and what ``"auto"`` stands for.

``python benchmarks/forms.py`` measured every form on test examples (benchmarks/README.md has its table).  One problem
for all classes is ahead of one against the rest on average: ``weston_watkins`` with the hinge, ``multinomial`` with the
logistic loss.  Other losses have no joint form, and elastic nets and most solvers by name have no joint problem that
they solve well: these stay one against the rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.designs import as_design
from fenchel.errors import FenchelError
from fenchel.losses import Hinge, Logistic, Loss
from fenchel.problem import Problem
from fenchel.regularizers import L2, Regularizer
from fenchel.risks import MULTICLASS, MulticlassRisk, Multinomial, WestonWatkins
from fenchel.solvers import Solver, choose

#: forms that are several problems of two classes
SEVERAL = ("ovr", "ovo")
#: what "auto" stands for with these losses; with any other "ovr"
_BEST = ((Hinge(), WestonWatkins.name), (Logistic(), Multinomial.name))


def chosen_form(
    multi_class: Any, loss: Loss, regularizer: Regularizer, solver: str | Solver, fit_intercept: bool
) -> Any:
    """The form that ``"auto"`` stands for; any other is what it was."""
    if not isinstance(multi_class, str) or multi_class != "auto":
        return multi_class
    best = next((form for known, form in _BEST if known == loss), "ovr")
    if best == "ovr" or not isinstance(regularizer, L2):
        return "ovr"
    probe = Problem(as_design(np.eye(3)), MULTICLASS[best](np.arange(3), 3), 1.0, regularizer, fit_intercept)
    try:
        choose(probe, solver)
    except FenchelError:
        # the solver does not take it; or there is no such solver, as the fit will say
        return "ovr"
    return best


def joint_risk(multi_class: Any, loss: Loss) -> type[MulticlassRisk] | None:
    """The joint risk of more than two classes of that name; None for forms of several problems."""
    forms = (*SEVERAL, *MULTICLASS)
    if not isinstance(multi_class, str) or multi_class not in forms:
        names = ", ".join(map(repr, ("auto", *forms)))
        raise FenchelError(f"multi_class must be one of {names}, got {multi_class!r}")
    risk = MULTICLASS.get(multi_class)
    if risk is not None and loss != (Logistic() if risk.smooth else Hinge()):
        needed = "is the softmax: use loss='logistic'" if risk.smooth else "is a risk of hinges: leave loss='hinge'"
        raise FenchelError(f"multi_class={multi_class!r} {needed}, or use multi_class='ovr'")
    return risk
