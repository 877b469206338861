"""Print the lowest versions that pyproject.toml states of what users and tests install, for ``make test-lowest``."""

from __future__ import annotations

import tomllib
from pathlib import Path

#: extras of the tests whose lowest versions are installed too; other packages are as new as these allow
EXTRAS = ("test",)
#: pytest plugins and the like, of which only the newest are of interest
NEWEST = {"pandas", "polars", "pyarrow", "hypothesis", "numpydoc", "pytest-xdist", "clarabel", "liblinear-official"}


def main() -> None:
    """Print requirements of the form ``numpy==2.0.*``."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    stated = [*project["dependencies"], *(one for extra in EXTRAS for one in project["optional-dependencies"][extra])]
    for requirement in stated:
        name, _, version = requirement.partition(">=")
        print(name if name in NEWEST else f"{name}=={version}.*")


if __name__ == "__main__":
    main()
