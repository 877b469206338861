"""Kernels of tokens for labelled sequences: the design, the regularizer and the scores of tokens of both forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.designs import ChainDesign, Design
from fenchel.errors import FenchelError
from fenchel.estimators.kernel_parameters import KernelParameters
from fenchel.estimators.sequence_data import Tokens
from fenchel.estimators.task import Task, summed
from fenchel.kernels import ChainGram, GramNorm
from fenchel.problem import Model, Witness
from fenchel.regularizers import L2, Regularizer
from fenchel.solvers.base import Start
from fenchel.validation import check_choice

#: counting=: whether the features of a token count once, or once for each pair of neighbours that it belongs to
_COUNTING = ("tokens", "pairs")


@dataclass(eq=False, repr=False, kw_only=True)
class SequenceKernel(KernelParameters):
    """A kernel of tokens, or none."""

    kernel: str | Callable[[Any, Any], Array] | None = None
    counting: str = "tokens"

    def _check_sequence_kernel(self) -> None:
        check_choice("counting", self.counting, _COUNTING)
        if self.kernel is None:
            if self.counting != "tokens":
                raise FenchelError(f"counting={self.counting!r} requires a kernel, such as kernel='linear'")
            return
        self._check_kernel()

    def _counts(self, lengths: Array) -> Floats | None:
        """The pairs that each token belongs to; None if tokens count once."""
        if self.counting == "tokens":
            return None
        last = np.cumsum(lengths) - 1
        found = np.full(int(np.sum(lengths)), 2.0)
        found[last] -= 1.0
        found[last - lengths + 1] -= 1.0
        return found

    def _chain_design(
        self, tokens: Tokens, labels: int, weights: Array | None, transitions: tuple[bool, bool], edge_features: int
    ) -> tuple[Design, Regularizer, Mapping[str, Any]]:
        """The design, its regularizer, and the fitted attributes of the kernel."""
        pairs, ends = transitions
        if self.kernel is None:
            design = ChainDesign(tokens.X, labels, transitions=pairs, ends=ends, edge_features=edge_features)
            return design, L2(), {}
        X = _in_float64(tokens.X)
        if self.kernel == "precomputed":
            gamma, gram = None, self._precomputed(X, np.arange(X.shape[0]))
        else:
            own = None if weights is None else np.repeat(weights, tokens.lengths)
            gamma = self._gamma(X, own)
            gram = self._gram(X, gamma)
        chains = ChainGram(gram, labels, transitions=pairs, ends=ends, counts=self._counts(tokens.lengths))
        return chains, GramNorm(chains), {"gamma_": gamma}

    def _weights_of(self, task: Task, model: Model) -> dict[str, Any]:
        """The fitted weights: those of features or of training tokens, of pairs, and of ends."""
        chains, kernel = task.design.chains(), task.design.kernel()
        gram = None if kernel is None else kernel.chain_gram()
        if chains is not None:
            W, T, start, end = chains.split(model.weights)
            found: dict[str, Any] = {"coef_": np.ascontiguousarray(W.T)}
        else:
            assert gram is not None
            alpha, T, start, end = gram.split(model.weights)
            used = np.flatnonzero(np.any(alpha != 0.0, axis=1))
            found = {
                "support_": used,
                "dual_coef_": np.ascontiguousarray(alpha[used].T),
                "support_vectors_": None if self.kernel == "precomputed" else _in_float64(task.X.X)[used],
            }
        matrices = T.reshape(-1, *T.shape[-2:])
        found.update(transitions_=matrices[0].copy(), edge_transitions_=matrices[1:].copy())
        return {**found, "start_": start.copy(), "end_": end.copy()}

    def _last_fit(self, task: Task, theta: Floats, decomposition: Floats) -> Start | None:
        """The last fit as a warm start, if it has the same features."""
        fitted, chains, witness = vars(self), task.design.chains(), Witness(theta, None, decomposition)
        if chains is None:
            # the solver starts from the dual point
            same = "dual_coef_" in fitted and len(theta) == task.design.shape[0]
            return Start(Model(np.zeros(task.design.shape[1])), witness) if same else None
        if "coef_" not in fitted or fitted["coef_"].shape[1] != task.X.X.shape[1]:
            return None
        if len(fitted["edge_transitions_"]) != chains.edge_features:
            return None
        matrices = np.concatenate([fitted["transitions_"][None], fitted["edge_transitions_"]])
        return Start(Model(chains.joined(fitted["coef_"].T, matrices, fitted["start_"], fitted["end_"])), witness)

    def _node_scores(self, tokens: Tokens) -> Floats:
        """The scores of tokens by a fitted kernel model, (tokens, labels)."""
        scores, counts = self._support_scores(_in_float64(tokens.X)), self._counts(tokens.lengths)
        return scores if counts is None else counts[:, None] * scores


def _in_float64(X: Any) -> Any:
    """X, or a copy: a Gram matrix of float32 is not positive semi-definite, products of small integers overflow."""
    X = summed(X)
    return X if X.dtype == np.float64 else X.astype(np.float64)
