"""The solvers by name, each imported on first use: a fit needs two or three of them, and all together take longer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

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


class _Solvers(Mapping[str, type[Solver]]):
    """A mapping of every name to its class."""

    def __getitem__(self, name: str) -> type[Solver]:
        module, cls = HOMES[name]
        found: type[Solver] = getattr(import_module(f"fenchel.solvers.{module}"), cls)
        return found

    def __contains__(self, name: object) -> bool:
        return name in HOMES

    def __iter__(self) -> Iterator[str]:
        return iter(HOMES)

    def __len__(self) -> int:
        return len(HOMES)


#: the solvers that users can name
SOLVERS = _Solvers()
