"""Euclidean projections onto boxes with linear equalities, and onto the edge marginals of chains."""

from fenchel.projections.box_and_equalities import onto_box_and_equalities
from fenchel.projections.box_and_equality import checked_parts, onto_box_and_equality, onto_box_and_sum
from fenchel.projections.chain_marginals import onto_chain_marginals

__all__ = [
    "checked_parts",
    "onto_box_and_equalities",
    "onto_box_and_equality",
    "onto_box_and_sum",
    "onto_chain_marginals",
]
