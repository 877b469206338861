"""Writes docs/support.md: which solver takes which risk and regularizer.  A test keeps it current."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fenchel.losses import NAMED
from fenchel.problem import Problem
from fenchel.regularizers import REGULARIZERS
from fenchel.risks import MEASURES, MULTICLASS, MeanRisk, OwnMeasure
from fenchel.solvers import SOLVERS

PAGE = Path(__file__).with_name("support.md")
_HEAD = """# What supports what

Made by `python docs/support.py`. ✓: every fit ends with a certificate. A dash: the solver says why it can't.
Entropies and q-norms have `dual_coordinate` alone, which needs a mean of losses: the other solvers rest on the square
(or on its mixture with absolute values), and joint risks and measures have none but them. A square with an operator,
`Square(K)`, has `dual_coordinate` too.

"""


_OBJECTS = """
Objects take parameters: `Hinge(power=p)` and `EpsilonInsensitive(epsilon, power=p)` for every p >= 1 are supported as
`squared_hinge` and `squared_epsilon_insensitive` are, but that `smoothing` and `agm` need p >= 2. A loss of your own:
[custom-loss.md](custom-loss.md). On a Gram matrix (`KernelClassifier`, `KernelRegressor`) every loss of this table but
`interpolation` is for `dual_coordinate`.
"""
_JOINT = """
Joint risks of several classes (`multi_class`):

"""
_MEASURES = """
Measures (`MeasureClassifier(measure=...)`; `own` is a Delta(fn, fp) of one's own). Where the conjugate has no closed
form, the planes' bound on it is taken on trust and the certificate says so. Some measures do not see an intercept:
`Problem` refuses a free one, and the estimator chooses the threshold afterwards.

"""


def table() -> str:
    """The page, from the registries and from what each solver answers."""
    parts = [_HEAD, *_losses(), _JOINT, *_joint_risks(), _MEASURES, *_measures()]
    return "".join(part if part.endswith("\n") else part + "\n" for part in parts)


def _losses() -> list[str]:
    lines = ["| loss | task | regularizer | intercept | " + " | ".join(f"`{name}`" for name in SOLVERS) + " |"]
    lines.append("|---" * (4 + len(SOLVERS)) + "|")
    reasons: dict[str, list[str]] = {}
    for loss, kind in NAMED.items():
        for regularizer in REGULARIZERS.values():
            for intercept in (False, True):
                labels = np.array([1.0, -1.0] if kind().refusal(np.array([-1.0])) is None else [1.0, 2.0])
                problem = Problem(np.eye(2), MeanRisk(kind(), labels), 1.0, regularizer(), intercept)
                lines.append(f"| `{loss}` | {kind.task} | `{regularizer.name}` | {_cells(problem)}")
                for solver in SOLVERS.values():
                    reason = solver().supports(problem)
                    if reason is not None and reason not in reasons.setdefault(solver.name, []):
                        reasons[solver.name].append(reason)
    why = [f"- {reason}" for solver in reasons.values() for reason in solver]
    return [*lines, "\nWhat the dashes of this table say:\n\n", *why, _OBJECTS]


def _joint_risks() -> list[str]:
    lines = ["| risk | regularizer | intercept | " + " | ".join(f"`{name}`" for name in SOLVERS) + " |"]
    lines.append("|---" * (3 + len(SOLVERS)) + "|")
    for name, kind in MULTICLASS.items():
        for regularizer in REGULARIZERS.values():
            for intercept in (False, True):
                problem = Problem(np.eye(3), kind(np.arange(3)), 1.0, regularizer(), intercept)
                lines.append(f"| `{name}` | `{regularizer.name}` | {_cells(problem)}")
    return lines


def _measures() -> list[str]:
    head = "| measure | conjugate | regularizer | intercept | "
    lines = [head + " | ".join(f"`{name}`" for name in SOLVERS) + " |", "|---" * (4 + len(SOLVERS)) + "|"]
    labels = np.array([1.0, -1.0, -1.0])
    more = {"precision_at_k": (1,), "recall_at_k": (2,), "own": (lambda fn, fp: (fn + 2 * fp) / 3,)}
    for name, kind in {**MEASURES, "own": OwnMeasure}.items():
        risk = kind(labels, *more.get(name, ()))
        conjugate = "closed form" if hasattr(risk, "conjugate") else "planes"
        for regularizer in REGULARIZERS.values():
            for intercept in (False, True) if risk.sees_intercept else (False,):
                problem = Problem(np.eye(3), risk, 1.0, regularizer(), intercept)
                cells = _cells(problem) if risk.sees_intercept else _cells(problem).replace("none", "not seen", 1)
                lines.append(f"| `{name}` | {conjugate} | `{regularizer.name}` | {cells}")
    return lines


def _cells(problem: Problem) -> str:
    marks = ["✓" if solver().supports(problem) is None else "-" for solver in SOLVERS.values()]
    return ("free" if problem.intercept else "none") + " | " + " | ".join(marks) + " |"


if __name__ == "__main__":
    PAGE.write_text(table(), encoding="utf-8")
