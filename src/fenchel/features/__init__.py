"""Features that are computed from raw data when they are used: substrings, hashed texts, products of features."""

from __future__ import annotations

from fenchel.features.base import Features
from fenchel.features.hashed_text import HashedTextFeatures
from fenchel.features.kmers import KmerFeatures
from fenchel.features.polynomial import PolynomialFeatures

__all__ = ["Features", "HashedTextFeatures", "KmerFeatures", "PolynomialFeatures"]
