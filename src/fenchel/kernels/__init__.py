"""Kernels: Gram matrices as designs, in memory or cached by rows, and the RKHS norm as regularizer."""

from fenchel.kernels.cached_gram import CachedGram
from fenchel.kernels.chain_gram import ChainGram
from fenchel.kernels.gram import GramDesign, KernelDesign
from fenchel.kernels.gram_norm import GramNorm

__all__ = ["CachedGram", "ChainGram", "GramDesign", "GramNorm", "KernelDesign"]
