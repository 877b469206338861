"""The solvers by name, each imported on first use: a fit needs two or three of them, and all together take longer."""

from __future__ import annotations

from fenchel.registry import ImportedOnFirstUse
from fenchel.solvers.base import Solver

#: name: module in this folder and class, in the order of the documentation
HOMES = {
    "dual_coordinate": ("dual_coordinate.solver", "DualCoordinate"),
    "augmented_lagrangian": ("dual_coordinate.augmented_lagrangian", "AugmentedLagrangian"),
    "newton": ("newton.solver", "Newton"),
    "block_coordinate": ("block_coordinate.solver", "BlockCoordinate"),
    "label_blocks": ("label_blocks.solver", "LabelBlocks"),
    "interior_point": ("interior_point.solver", "InteriorPoint"),
    "newton_cg": ("newton.multinomial", "NewtonCG"),
    "prox_newton": ("l1.prox_newton", "ProxNewton"),
    "proximal_gradient": ("l1.proximal_gradient", "ProximalGradient"),
    "linear_program": ("l1.linear_program", "LinearProgram"),
    "frank_wolfe": ("frank_wolfe.solver", "FrankWolfe"),
    "exponentiated_gradient": ("exponentiated_gradient.solver", "ExponentiatedGradient"),
    "smoothing": ("smoothing.solver", "Smoothing"),
    "agm": ("reference.agm", "AGM"),
    "bundle": ("bundle.solver", "Bundle"),
    "pegasos": ("reference.pegasos", "Pegasos"),
    "pragam": ("reference.pragam", "Pragam"),
    "bregman": ("reference.bregman", "Bregman"),
    "dual_conjugate_gradient": ("reference.dual_conjugate_gradient", "DualConjugateGradient"),
    "barrier": ("constrained.barrier", "Barrier"),
    "basis_pursuit": ("constrained.basis_pursuit", "BasisPursuit"),
}

#: the solvers that users can name
SOLVERS: ImportedOnFirstUse[type[Solver]] = ImportedOnFirstUse("fenchel.solvers", HOMES)
