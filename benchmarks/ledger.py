"""Measured cells in a JSON file, so that an interrupted run goes on and single cells can be measured again."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import report

Cell = dict[str, Any]


class Ledger:
    """Cells by what identifies them; every ``add`` is written at once."""

    def __init__(self, file: Path, key: tuple[str, ...], fresh: bool = False) -> None:
        self.file, self._key = file, key
        kept = {} if fresh else report.read_json(file)
        # files of earlier forms of a benchmark have cells that do not say all of this
        known = [cell for cell in kept.get("cells", []) if all(field in cell for field in key)]
        self._cells = {self._identity(cell): cell for cell in known}
        #: cells of one run were measured side by side, so their ratios mean something
        self.run = datetime.now(UTC).isoformat(timespec="seconds")

    @property
    def cells(self) -> list[Cell]:
        return list(self._cells.values())

    def has(self, **identity: Any) -> bool:
        return self._identity(identity) in self._cells

    def add(self, cells: Iterable[Cell]) -> None:
        """Cells that are measured again replace the old ones; the order is that of the first measurement."""
        self._cells.update({self._identity(cell): {**cell, "run": self.run} for cell in cells})
        report.write_json(self.file, {"cells": self.cells})

    def _identity(self, cell: Cell) -> tuple[Any, ...]:
        return tuple(cell[field] for field in self._key)


def add_common_options(parser: argparse.ArgumentParser, files: str) -> None:
    """What every benchmark with a ledger can be told."""
    parser.add_argument("--output", type=Path, default=report.RESULTS, help=f"folder for {files}")
    parser.add_argument("--again", action="store_true", help="measure again what was asked for, if it is there already")
    parser.add_argument("--fresh", action="store_true", help="forget all earlier results")
    parser.add_argument("--verbose", action="store_true", help="say which settings were found")
    parser.add_argument("--report-only", action="store_true", help="measure nothing, report what is in the file")
    parser.add_argument("--update-readme", action="store_true", help="write the section in benchmarks/README.md")


def teller(verbose: bool) -> Any:
    """Prints, or does not."""
    return (lambda text: print(text, flush=True)) if verbose else (lambda text: None)


def publish(options: argparse.Namespace, section: str, text: str) -> None:
    """The text on the screen, in a file beside the JSON, and in the README if that was asked for."""
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / f"{section}.md").write_text(text + "\n", encoding="utf-8")
    if options.update_readme:
        report.update_readme(section, text)
    print(text)
