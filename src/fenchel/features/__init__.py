"""Features that are computed from raw data when they are used: substrings, hashed texts, products of features.

They are imported on first use, since most fits have none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fenchel.features.base import Features
from fenchel.loading import on_first_use as _on_first_use

if TYPE_CHECKING:
    from fenchel.features.hashed_text import HashedTextFeatures
    from fenchel.features.kmers import KmerFeatures
    from fenchel.features.polynomial import PolynomialFeatures

#: public name: module
_HOMES = {
    "HashedTextFeatures": "fenchel.features.hashed_text",
    "KmerFeatures": "fenchel.features.kmers",
    "PolynomialFeatures": "fenchel.features.polynomial",
}
__all__ = ["Features", "HashedTextFeatures", "KmerFeatures", "PolynomialFeatures"]

if not TYPE_CHECKING:
    # hidden from type checkers, for which it would make every name valid
    __getattr__ = _on_first_use(globals(), _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
