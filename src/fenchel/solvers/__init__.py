"""Solvers: one method a folder.  A new solver subclasses ``Solver`` and is one line in ``named.HOMES``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fenchel.loading import on_first_use as _on_first_use
from fenchel.solvers.base import STALLED, Hint, Need, Solver, Start
from fenchel.solvers.choose import choose
from fenchel.solvers.named import HOMES as _HOMES
from fenchel.solvers.named import SOLVERS

if TYPE_CHECKING:
    from fenchel.solvers.block_coordinate.solver import BlockCoordinate as BlockCoordinate
    from fenchel.solvers.bundle.solver import Bundle as Bundle
    from fenchel.solvers.constrained.barrier import Barrier as Barrier
    from fenchel.solvers.constrained.basis_pursuit import BasisPursuit as BasisPursuit
    from fenchel.solvers.dual_coordinate.augmented_lagrangian import AugmentedLagrangian as AugmentedLagrangian
    from fenchel.solvers.dual_coordinate.solver import DualCoordinate as DualCoordinate
    from fenchel.solvers.exponentiated_gradient.solver import ExponentiatedGradient as ExponentiatedGradient
    from fenchel.solvers.frank_wolfe.solver import FrankWolfe as FrankWolfe
    from fenchel.solvers.interior_point.solver import InteriorPoint as InteriorPoint
    from fenchel.solvers.l1.linear_program import LinearProgram as LinearProgram
    from fenchel.solvers.l1.prox_newton import ProxNewton as ProxNewton
    from fenchel.solvers.l1.proximal_gradient import ProximalGradient as ProximalGradient
    from fenchel.solvers.label_blocks.solver import LabelBlocks as LabelBlocks
    from fenchel.solvers.newton.multinomial import NewtonCG as NewtonCG
    from fenchel.solvers.newton.solver import Newton as Newton
    from fenchel.solvers.reference.agm import AGM as AGM
    from fenchel.solvers.reference.bregman import Bregman as Bregman
    from fenchel.solvers.reference.dual_conjugate_gradient import DualConjugateGradient as DualConjugateGradient
    from fenchel.solvers.reference.pegasos import Pegasos as Pegasos
    from fenchel.solvers.reference.pragam import Pragam as Pragam
    from fenchel.solvers.smoothing.solver import Smoothing as Smoothing

__all__ = [
    "AGM",
    "SOLVERS",
    "STALLED",
    "AugmentedLagrangian",
    "Barrier",
    "BasisPursuit",
    "BlockCoordinate",
    "Bregman",
    "Bundle",
    "DualConjugateGradient",
    "DualCoordinate",
    "ExponentiatedGradient",
    "FrankWolfe",
    "Hint",
    "InteriorPoint",
    "LabelBlocks",
    "LinearProgram",
    "Need",
    "Newton",
    "NewtonCG",
    "Pegasos",
    "Pragam",
    "ProxNewton",
    "ProximalGradient",
    "Smoothing",
    "Solver",
    "Start",
    "choose",
]

if not TYPE_CHECKING:
    # hidden from type checkers, for which it would make every name valid
    __getattr__ = _on_first_use(globals(), {cls: f"fenchel.solvers.{module}" for module, cls in _HOMES.values()})


def __dir__() -> list[str]:
    return sorted(__all__)
