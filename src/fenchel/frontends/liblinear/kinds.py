"""The solver types of LIBLINEAR, ``-s``: which problem each one solves."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Kind(NamedTuple):
    """A solver type."""

    number: int
    #: in model files
    name: str
    loss: Literal["logistic", "squared_hinge", "hinge", "epsilon_insensitive", "squared_epsilon_insensitive", "none"]
    task: Literal["classification", "regression", "one-class"]
    #: LIBLINEAR's own tolerance, where -e is not given, and the relative duality gap that is proved for it
    default_eps: float
    default_tol: float
    #: whether the regularizer is the sum of absolute values instead of half the sum of squares
    l1: bool = False
    #: whether LIBLINEAR solves the dual problem, and prints its objective
    dual: bool = False
    #: whether all classes are trained together
    joint: bool = False

    @property
    def has_probabilities(self) -> bool:
        """Whether ``predict -b 1`` is possible."""
        return self.loss == "logistic"

    @property
    def frees_bias(self) -> bool:
        """Whether ``-R`` is possible."""
        return not self.dual and not self.joint

    @property
    def objective(self) -> str:
        """The objective in words."""
        if self.task == "one-class":
            return "|w|²/2 - nu l rho + sum max(0, rho - w·x) + |nu sum x|²/2"
        terms = {
            "logistic": "log(1 + exp(-y w·x))",
            "squared_hinge": "max(0, 1 - y w·x)²",
            "hinge": "max(0, 1 - y w·x)",
            "epsilon_insensitive": "max(0, |y - w·x| - p)",
            "squared_epsilon_insensitive": "max(0, |y - w·x| - p)²",
        }
        term = "max(0, 1 - (w_y - w_k)·x over k)" if self.joint else terms[self.loss]
        return f"{'|w|₁' if self.l1 else '|w|²/2'} + sum C {term}"


_ALL = (
    Kind(0, "L2R_LR", "logistic", "classification", 0.01, 1e-5),
    Kind(1, "L2R_L2LOSS_SVC_DUAL", "squared_hinge", "classification", 0.1, 1e-4, dual=True),
    Kind(2, "L2R_L2LOSS_SVC", "squared_hinge", "classification", 0.01, 1e-5),
    Kind(3, "L2R_L1LOSS_SVC_DUAL", "hinge", "classification", 0.1, 1e-4, dual=True),
    Kind(4, "MCSVM_CS", "hinge", "classification", 0.1, 1e-4, dual=True, joint=True),
    Kind(5, "L1R_L2LOSS_SVC", "squared_hinge", "classification", 0.01, 1e-4, l1=True),
    Kind(6, "L1R_LR", "logistic", "classification", 0.01, 1e-4, l1=True),
    Kind(7, "L2R_LR_DUAL", "logistic", "classification", 0.1, 1e-4, dual=True),
    Kind(11, "L2R_L2LOSS_SVR", "squared_epsilon_insensitive", "regression", 0.0001, 1e-6),
    Kind(12, "L2R_L2LOSS_SVR_DUAL", "squared_epsilon_insensitive", "regression", 0.1, 1e-4, dual=True),
    Kind(13, "L2R_L1LOSS_SVR_DUAL", "epsilon_insensitive", "regression", 0.1, 1e-4, dual=True),
    Kind(21, "ONECLASS_SVM", "none", "one-class", 0.01, 1e-5, dual=True),
)
#: by the number of ``-s``
KINDS = {kind.number: kind for kind in _ALL}
#: by the name in model files
NAMED_KINDS = {kind.name: kind for kind in _ALL}
