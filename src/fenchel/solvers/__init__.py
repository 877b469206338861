"""Solvers: one method a folder.  A new solver subclasses ``Solver`` and is one line in ``choose.SOLVERS``."""

from fenchel.solvers.base import STALLED, Hint, Need, Solver, Start
from fenchel.solvers.block_coordinate.solver import BlockCoordinate
from fenchel.solvers.bundle.solver import Bundle
from fenchel.solvers.choose import SOLVERS, choose
from fenchel.solvers.constrained.barrier import Barrier
from fenchel.solvers.constrained.basis_pursuit import BasisPursuit
from fenchel.solvers.dual_coordinate.augmented_lagrangian import AugmentedLagrangian
from fenchel.solvers.dual_coordinate.solver import DualCoordinate
from fenchel.solvers.interior_point.solver import InteriorPoint
from fenchel.solvers.l1.prox_newton import ProxNewton
from fenchel.solvers.l1.proximal_gradient import ProximalGradient
from fenchel.solvers.newton.multinomial import NewtonCG
from fenchel.solvers.newton.solver import Newton
from fenchel.solvers.reference.agm import AGM
from fenchel.solvers.reference.bregman import Bregman
from fenchel.solvers.reference.dual_conjugate_gradient import DualConjugateGradient
from fenchel.solvers.reference.pegasos import Pegasos
from fenchel.solvers.reference.pragam import Pragam
from fenchel.solvers.smoothing.solver import Smoothing

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
    "Hint",
    "InteriorPoint",
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
