r"""The forms ``multi_class`` of more than two classes, what ``"auto"`` stands for, and the votes of ``"ovo"``.

``python benchmarks/forms.py`` measured every form on test examples (benchmarks/README.md has its table).  One problem
for all classes is ahead of one-vs-rest on average: ``weston_watkins`` with the hinge, ``multinomial`` with the logistic
loss.  Other losses have no joint form, and elastic nets and most solvers by name have no joint problem that they solve
well: these are fitted one-vs-rest.

One-vs-one has a problem of two classes for every pair of classes: the pairs (a, b), a < b, are in the order of
``itertools.combinations``; a positive score votes for b.  The problem of a pair is :math:`\tfrac12\|w\|^2 + C \sum
\text{weight}_i f(x_i\cdot w + b, y_i)` over the examples of its two classes.  The others have weight zero: X is not
copied, and solvers do not visit them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import _ovr_decision_function

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.losses import Hinge, Logistic, Loss
from fenchel.problem import Problem
from fenchel.regularizers import Regularizer
from fenchel.risks import MULTICLASS
from fenchel.solvers import Solver, choose
from fenchel.validation import check_choice

#: what ``multi_class`` of a linear classifier may be, besides "auto": several problems of two classes, or one for all
FORMS = ("ovr", "ovo", *MULTICLASS)
#: what "auto" stands for with these losses; with any other "ovr"
_JOINT = {Hinge(): "weston_watkins", Logistic(): "multinomial"}
#: scores of pairs that exist at once (64 MB)
_SCORES = 1 << 23


def declared_form(multi_class: Any, loss: Loss, regularizer: Regularizer) -> str:
    """The form for a loss and a regularizer; ``"auto"`` is joint for the hinge and the logistic loss with ridge."""
    check_choice("multi_class", multi_class, ("auto", *FORMS))
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


def active_examples(codes: Array, weights: Array | None, a: int, b: int) -> tuple[Floats, Floats]:
    """Labels (-1 for a, else 1) and weights of a pair's problem; examples of other classes have weight zero."""
    first, second = codes == a, codes == b
    active = np.where(first | second, 1.0 if weights is None else weights, 0.0)
    if not np.any(active > 0.0):
        raise FenchelError(
            "cv: a fold has no training examples of two of the classes, which multi_class='ovo' needs; use fewer folds"
        )
    return np.where(first, -1.0, 1.0), active


def votes(design: Any, weights: Array, intercepts: Array, classes: int) -> Floats:
    """(n, classes): how many pairs a class wins, and its confidences, which count for less than one vote.

    The rule of scikit-learn's ``OneVsOneClassifier`` and ``SVC``.
    """
    step = max(1, _SCORES // len(weights))
    found = np.empty((design.shape[0], classes))
    for begin in range(0, design.shape[0], step):
        scores = design.part(begin, begin + step).scores(weights) + intercepts
        found[begin : begin + step] = _ovr_decision_function(scores > 0.0, scores, classes)
    return found


def stacked_pairs(thetas: Sequence[Any]) -> sp.csc_array:
    """(n, pairs): mostly zeros, since each example is active in classes - 1 of the pairs."""
    return sp.csc_array(sp.hstack([sp.csc_array(theta.reshape(-1, 1)) for theta in thetas], format="csc"))
