"""What compiled loops read of a regularizer: NamedTuples of floats with methods in plain Python."""

from __future__ import annotations

from typing import Protocol


class CompiledRegularizer(Protocol):
    """A separable regularizer for compiled loops: a NamedTuple of floats with scalar methods."""

    def linear(self) -> bool:
        """Whether ``weight`` is the identity: a constant, so that loops are compiled for one case."""
        ...

    def weight(self, v: float) -> float:
        """One component of ``grad_conjugate``."""
        ...

    def hess_bound(self, v: float, radius: float) -> float:
        """The largest second derivative of the conjugate within ``radius`` of v."""
        ...


class CompiledMirrorMap(Protocol):
    r"""A conjugate of the form :math:`\Omega^*(v) = G(\sum_j h_j(v_j))` for compiled loops.

    A NamedTuple of floats.  The weights are :math:`w_j = G'(z)\,h_j'(v_j)` with :math:`z = \sum_j h_j(v_j)`, so that
    one number, z, is all that ties features together.  ``frame`` and ``floor`` keep the numbers within the range of
    floats; they are chosen from the extreme components of v.
    """

    def coupled(self) -> bool:
        """Whether the weights depend on z, the sum over features."""
        ...

    def rescale(self, top: float, bottom: float) -> tuple[float, float]:
        """Frame and floor for components of v between bottom and top."""
        ...

    def grad_and_value(self, v: float, prior: float, frame: float, floor: float) -> tuple[float, float]:
        """h'(v) and h(v) in this frame, for a feature of this prior."""
        ...

    def can_update(self, v: float, shift: float) -> bool:
        """Whether ``update`` is as accurate as ``grad_and_value``."""
        ...

    def update(self, grad: float, value: float, v: float, shift: float, frame: float) -> tuple[float, float]:
        """The grad_and_value at v + shift from the one at v, cheaper than ``grad_and_value``."""
        ...

    def outer_grad(self, total: float, frame: float) -> float:
        """G'(z) for a z in this frame; zero where there are no weights."""
        ...
