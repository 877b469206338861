"""Writes docs/support.md: which solver takes which loss and regularizer.  A test keeps it current."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fenchel.losses import LOSSES
from fenchel.problem import Problem
from fenchel.regularizers import REGULARIZERS
from fenchel.risks import MeanRisk
from fenchel.solvers import SOLVERS

PAGE = Path(__file__).with_name("support.md")
_HEAD = """# What supports what

Made by `python docs/support.py`. ✓: every fit ends with a certificate. A dash: the solver says why it can't.

"""


def table() -> str:
    """The page, from the registries and from what each solver answers."""
    lines = ["| loss | task | regularizer | intercept | " + " | ".join(f"`{name}`" for name in SOLVERS) + " |"]
    lines.append("|---" * (4 + len(SOLVERS)) + "|")
    for loss, kind in LOSSES.items():
        for regularizer in REGULARIZERS.values():
            for intercept in (False, True):
                risk = MeanRisk(kind(), np.array([1.0, -1.0]))
                problem = Problem(np.eye(2), risk, 1.0, regularizer(), intercept)
                cells = ["✓" if SOLVERS[name]().supports(problem) is None else "-" for name in SOLVERS]
                free = "free" if intercept else "none"
                lines.append(f"| `{loss}` | {kind.task} | `{regularizer.name}` | {free} | " + " | ".join(cells) + " |")
    return _HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(table(), encoding="utf-8")
