"""Registries of names, read from the imports of a package: one import registers a class and makes it public."""

from __future__ import annotations

import inspect
from typing import Any


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
