"""Textbook formulas of single losses and measures, one file each, found by name.

Nothing here calls the code that it is compared with.
"""

import importlib
from pathlib import Path


def found(kind):
    """The modules of a subfolder, by name."""
    paths = sorted((Path(__file__).parent / kind).glob("*.py"))
    return {path.stem: importlib.import_module(f"formulas.{kind}.{path.stem}") for path in paths}
