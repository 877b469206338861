"""Files: readers of data, stores larger than memory, and model files.

Each name is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fenchel.loading import on_first_use as _on_first_use

if TYPE_CHECKING:
    from fenchel.io.converting import convert as convert
    from fenchel.io.models import load_model as load_model
    from fenchel.io.models import save_model as save_model
    from fenchel.io.store import Store as Store
    from fenchel.io.store import open_store as open_store
    from fenchel.io.store_writer import StoreWriter as StoreWriter

#: the module of each public name
_HOMES = {
    "Store": "fenchel.io.store",
    "StoreWriter": "fenchel.io.store_writer",
    "convert": "fenchel.io.converting",
    "load_model": "fenchel.io.models",
    "open_store": "fenchel.io.store",
    "save_model": "fenchel.io.models",
}
__all__ = sorted(_HOMES)

if not TYPE_CHECKING:
    # hidden from type checkers, for which it would make every name valid
    __getattr__ = _on_first_use(globals(), _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
