"""Solvers: one method a file.  A new solver is one file and one line in ``choose.SOLVERS``."""

from fenchel.solvers.agm import AGM
from fenchel.solvers.augmented_lagrangian import AugmentedLagrangian
from fenchel.solvers.barrier import Barrier
from fenchel.solvers.base import STALLED, Hint, Solver
from fenchel.solvers.basis_pursuit import BasisPursuit
from fenchel.solvers.block_coordinate import BlockCoordinate
from fenchel.solvers.bregman import Bregman
from fenchel.solvers.bundle import Bundle
from fenchel.solvers.choose import SOLVERS, choose
from fenchel.solvers.dual_conjugate_gradient import DualConjugateGradient
from fenchel.solvers.dual_coordinate import DualCoordinate
from fenchel.solvers.interior_point import InteriorPoint
from fenchel.solvers.newton import Newton
from fenchel.solvers.newton_cg import NewtonCG
from fenchel.solvers.pegasos import Pegasos
from fenchel.solvers.pragam import Pragam
from fenchel.solvers.prox_newton import ProxNewton
from fenchel.solvers.smoothing import Smoothing

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
    "Newton",
    "NewtonCG",
    "Pegasos",
    "Pragam",
    "ProxNewton",
    "Smoothing",
    "Solver",
    "choose",
]
