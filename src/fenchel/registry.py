"""Registries of names: read from the imports of a package, where one import registers a class and makes it public, or
lists of where classes are, which are imported on first use.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, TypeVar

Kind = TypeVar("Kind")


def named(namespace: dict[str, Any], base: type) -> dict[str, Any]:
    """The subclasses of ``base`` in a namespace that have a ``name`` of their own, by that name."""
    kinds = [value for value in namespace.values() if inspect.isclass(value) and issubclass(value, base)]
    return {vars(kind)["name"]: kind for kind in kinds if "name" in vars(kind)}


def without_arguments(kind: type) -> bool:
    """Whether an object can be made from the name alone."""
    return all(argument.default is not argument.empty for argument in inspect.signature(kind).parameters.values())


def public(namespace: dict[str, Any]) -> list[str]:
    """``__all__`` of a package: its constants, and the classes and functions that its modules define."""
    package = namespace["__name__"]
    return sorted(
        name
        for name, value in namespace.items()
        if not name.startswith("_") and (name.isupper() or getattr(value, "__module__", "").startswith(package))
    )


class ImportedOnFirstUse(Mapping[str, Kind]):
    """A mapping of names to classes: a fit needs two or three of them, and all together take longer to import.

    ``homes`` are the module, without the package, and the class of each name.
    """

    def __init__(self, package: str, homes: Mapping[str, tuple[str, str]]) -> None:
        self._package, self._homes = package, homes

    def __getitem__(self, name: str) -> Kind:
        module, cls = self._homes[name]
        found: Kind = getattr(import_module(f"{self._package}.{module}"), cls)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._homes

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)
