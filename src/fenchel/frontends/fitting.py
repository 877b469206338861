"""Solves of the front ends, and the certificates that are written beside their models."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import fenchel
from fenchel.certificate import Certificate
from fenchel.problem import Problem
from fenchel.replacing import replacing
from fenchel.solving.loop import solve
from fenchel.solving.solution import Solution, Status

#: the first key of a file of certificates, by which it is known
_KEY = "fenchel_certificate"
#: roundings at most of lambda, of an example's C, of their sum and of the products with it
_TRANSLATED = 8.0
#: of the layout of the file
_FORMAT = 1


class Fit(NamedTuple):
    """A solved problem."""

    solution: Solution
    #: in the units of the original program's objective
    certificate: Certificate

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it."""
        return self.solution.status is Status.INTERRUPTED


def fit(problem: Problem, scale: float, about: str, tol: float, warm_start: Solution | None = None) -> Fit:
    """Solve a problem.

    Parameters
    ----------
    problem : Problem
        The problem.
    scale : float
        By which the objective of the original program is larger.
    about : str
        That objective in words.
    tol : float
        The relative duality gap to prove.
    warm_start : Solution, default=None
        The solution of a similar problem.

    Returns
    -------
    Fit
        The solution with its certificate in the units of the original program.
    """
    # below about 1e-10 the gap is rounding; zero asks for all that the arithmetic has
    solution = solve(problem, tol=tol if tol >= 1e-10 else 0.0, warm_start=warm_start)
    return Fit(solution, solution.certificate.scaled(scale, about, roundings=_TRANSLATED))


def write_certificate(model: str, content: bytes, fits: Sequence[Fit], about: dict[str, Any]) -> None:
    """Write ``<model>.certificate`` beside a model file; a file of another kind is kept, and that is said.

    Parameters
    ----------
    model : str
        The name of the model file.
    content : bytes
        Its content, whose checksum tells whether a certificate is that of a model.
    fits : sequence of Fit
        The problems, one for each class that was trained against the others.
    about : dict
        What else is written: the program, its data and options.
    """
    target = Path(f"{model}.certificate")
    if not Path(model).is_file():
        # a model that went to a pipe or a device
        return
    if target.exists() and not _is_ours(target):
        print(f"{target} is not a certificate of Fenchel, and is not replaced", file=sys.stderr)
        return
    problems = [
        {
            "objective": one.certificate.upper,
            "lower_bound": one.certificate.lower,
            "relative_gap": one.certificate.relative_gap,
            "proved": one.solution.converged,
            "sentence": str(one.certificate),
            "solver": one.solution.solver,
            "passes": one.solution.passes,
        }
        for one in fits
    ]
    found = {
        _KEY: _FORMAT,
        "version": fenchel.__version__,
        "model": Path(model).name,
        "model_sha256": hashlib.sha256(content).hexdigest(),
        **about,
        "problems": problems,
    }
    with replacing(target) as stream:
        stream.write(json.dumps(found, indent=1, ensure_ascii=False).encode() + b"\n")


def _is_ours(path: Path) -> bool:
    """Whether a file was written by ``write_certificate``."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(100).lstrip(b"{ \n").startswith(f'"{_KEY}"'.encode())
