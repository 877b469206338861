"""Writes docs/support.md: which solver takes which loss and regularizer.  A test keeps it current."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fenchel.losses import LOSSES
from fenchel.problem import Problem
from fenchel.regularizers import REGULARIZERS
from fenchel.risks import MEASURES, MULTICLASS, MeanRisk
from fenchel.solvers import SOLVERS

PAGE = Path(__file__).with_name("support.md")
_HEAD = """# What supports what

Made by `python docs/support.py`. ✓: every fit ends with a certificate. A dash: the solver says why it can't.

"""


_JOINT = """
Joint risks of several classes (`multi_class`):

"""


_MEASURES = """
Measures:

"""
#: what their constructors take besides labels
_PARAMETERS = {"fbeta": (2.0,), "precision_at_k": (1,), "recall_at_k": (2,)}


def table() -> str:
    """The page, from the registries and from what each solver answers."""
    parts = ((_HEAD, _losses()), (_JOINT, _joint_risks()), (_MEASURES, _measures()))
    return "".join(head + "\n".join(lines) + "\n" for head, lines in parts)


def _losses() -> list[str]:
    lines = ["| loss | task | regularizer | intercept | " + " | ".join(f"`{name}`" for name in SOLVERS) + " |"]
    lines.append("|---" * (4 + len(SOLVERS)) + "|")
    for loss, kind in LOSSES.items():
        for regularizer in REGULARIZERS.values():
            for intercept in (False, True):
                risk = MeanRisk(kind(), np.array([1.0, -1.0]))
                problem = Problem(np.eye(2), risk, 1.0, regularizer(), intercept)
                lines.append(f"| `{loss}` | {kind.task} | `{regularizer.name}` | {_cells(problem)}")
    return lines


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
    lines = ["| measure | regularizer | intercept | " + " | ".join(f"`{name}`" for name in SOLVERS) + " |"]
    lines.append("|---" * (3 + len(SOLVERS)) + "|")
    for name, kind in MEASURES.items():
        risk = kind(np.array([1.0, -1.0, -1.0]), *_PARAMETERS.get(name, ()))
        for regularizer in REGULARIZERS.values():
            for intercept in (False, True) if risk.sees_intercept else (False,):
                problem = Problem(np.eye(3), risk, 1.0, regularizer(), intercept)
                lines.append(f"| `{name}` | `{regularizer.name}` | {_cells(problem)}")
    return lines


def _cells(problem: Problem) -> str:
    marks = ["✓" if solver().supports(problem) is None else "-" for solver in SOLVERS.values()]
    return ("free" if problem.intercept else "none") + " | " + " | ".join(marks) + " |"


if __name__ == "__main__":
    PAGE.write_text(table(), encoding="utf-8")
