"""What a stored row was made from: hashes of its method's sources and of its data, and the load of the machine.

    python reproductions/provenance.py                           the rows that are stale, and what renews them
    python reproductions/provenance.py --accept FROM TO "why"    note that this change gives the same results

A row in results/*.json has ``provenance``: the hash of the sources that were in place when its run began, the hash of
the files of its data, and the load average.  A row is stale when a hash of today is another one.

The sources of a row are few by intent: the files of the method itself (its loop, its inner solver), the risk or loss
whose oracle it calls, and the study's functions that make the runs.  Designs, the compiler, the loop that calls solvers
and the certificates are not among them: laws of their own watch these, and a change there would make every row stale.
Comments, docstrings, annotations, the order of files and the modules that names are imported from do not count.  So a
renamed file or a reworded comment changes nothing, and a changed constant does.

A change of these files that can't change results (a renamed variable, a new option that is off), or whose effect was
measured and is stated, is noted with ``--accept`` in accepted.json; the rows keep the hash that they were made with.
Each pair of hashes has a reason of its own: rows that are stale together need not be stale for the same change.
replay.py makes a row of each stale pair again and says how far it is from the stored one.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python reproductions/provenance.py`

from benchmarks.data import shared_folder
from benchmarks.ledger import Cell, Ledger

ROOT = Path(__file__).resolve().parents[1]
ACCEPTED = Path(__file__).with_name("accepted.json")
#: hexadecimal digits of a hash that are kept
_DIGITS = 16
#: fields of nodes that are not computed with
_IGNORED = frozenset({"annotation", "returns", "type_comment", "type_params", "ctx", "kind", "module", "level"})


def canonical(node: Any) -> str:
    """A syntax tree as text: the same for every version of Python, without docstrings and annotations."""
    if isinstance(node, list):
        return f"[{','.join(canonical(item) for item in node)}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = []
    for name, value in ast.iter_fields(node):
        if name in _IGNORED or value is None or value == []:
            continue
        kept = value[1:] if name == "body" and isinstance(value, list) and _is_text(value[0]) else value
        fields.append(f"{name}={canonical(kept)}")
    return f"{type(node).__name__}({','.join(fields)})"


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(getattr(statement.value, "value", None), str)


def hash_of_source(text: str, names: Sequence[str] = ()) -> str:
    """The hash of a module's text, of what it computes alone; of some of its definitions if they are named."""
    module = ast.parse(text)
    if names:
        module.body = [statement for statement in module.body if _defined(statement) & set(names)]
        missing = set(names) - set().union(*map(_defined, module.body))
        if missing:
            raise ValueError(f"no definition of {sorted(missing)} among the sources of a stored row")
    return hashlib.sha256(canonical(module).encode()).hexdigest()


def _defined(statement: ast.stmt) -> set[str]:
    """The names that a statement of a module defines."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return {node.id for target in targets if target for node in ast.walk(target) if isinstance(node, ast.Name)}


def hash_of_files(patterns: Iterable[str], root: Path = ROOT) -> str:
    """The hash of modules, in whatever order: ``path``, ``folder/*.py``, or ``path::name,name`` for definitions."""
    hashes = set()
    for pattern in patterns:
        path, _, names = pattern.partition("::")
        files = sorted(root.glob(path))
        if not files:
            raise FileNotFoundError(f"no file {path!r} among the sources of a stored row: correct the study's list")
        chosen = names.split(",") if names else ()
        hashes |= {hash_of_source(file.read_text(encoding="utf-8"), chosen) for file in files}
    return hashlib.sha256("".join(sorted(hashes)).encode()).hexdigest()[:_DIGITS]


@lru_cache(maxsize=64)
def hash_of_data(names: tuple[str, ...]) -> str:
    """The hash of files of the shared folder."""
    total = hashlib.sha256()
    for name in names:
        with (shared_folder() / name).open("rb") as file:
            total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()[:_DIGITS]


@dataclass(frozen=True)
class Study:
    """A file of stored rows: what identifies a row, what it is made from, and the command that makes it again."""

    file: Path
    key: tuple[str, ...]
    #: patterns of sources, from the root of the project, by the name of a part
    parts: Mapping[str, Sequence[str]]
    #: the parts that a row is made from
    uses: Callable[[Cell], Sequence[str]]
    #: the files of its data; none if they are made up
    data: Callable[[Cell], Sequence[str]]
    command: Callable[[Cell], str]
    #: rows that were stored before hashes were, at most: to be made again, and never to become more
    older: int = 0

    def hashes(self) -> dict[str, str]:
        """The hashes of the present sources, by part."""
        return {name: hash_of_files(patterns) for name, patterns in self.parts.items()}

    def sources(self, cell: Cell, hashes: Mapping[str, str]) -> str:
        """The hash of the sources of a row, from those of the parts."""
        own = sorted(hashes[name] for name in self.uses(cell))
        return hashlib.sha256("".join(own).encode()).hexdigest()[:_DIGITS]

    def rows(self) -> list[Cell]:
        """The stored rows."""
        return Ledger(self.file, self.key).cells

    def row(self, cell: Cell) -> str:
        """A row as reports name it."""
        return f"{self.file.parent.parent.name} {' '.join(f'{name}={cell[name]}' for name in self.key)}"


class StampedLedger(Ledger):
    """A ledger whose rows say what they were made from; the sources are those in place when it is opened."""

    def __init__(self, study: Study, folder: Path | None = None, again: bool = False) -> None:
        """Open the study's file, or the file of that name in another folder; ``again``: no row is there already."""
        super().__init__(study.file if folder is None else folder / study.file.name, study.key)
        self._again, self._added = again, set[tuple[Any, ...]]()
        self._study, self._hashes = study, study.hashes()

    def add(self, cells: Iterable[Cell]) -> None:
        """Cells with their provenance, written at once."""
        stamped = [{**cell, "provenance": self._stamp(cell)} for cell in cells]
        self._added |= {self._identity(cell) for cell in stamped}
        super().add(stamped)

    def has(self, **identity: Any) -> bool:
        """Whether a row is there, with ``again`` from this run."""
        return self._identity(identity) in self._added if self._again else super().has(**identity)

    def _stamp(self, cell: Cell) -> Cell:
        files = tuple(self._study.data(cell))
        at_hand = all((shared_folder() / name).exists() for name in files)
        return {
            "sources": self._study.sources(cell, self._hashes),
            # made-up data stand in where none are at hand (--quick)
            "data": hash_of_data(files) if files and at_hand else "made up",
            "load": round(os.getloadavg()[0], 2),
        }


class Stale(NamedTuple):
    """A stored row whose hash is not today's."""

    row: str
    #: "sources" or "data"
    what: str
    #: the hash of the row, or the last one that accepted changes lead to from there
    stored: str
    present: str
    command: str


@dataclass
class Accepted:
    """Changes of sources that were found not to change results: pairs of hashes with a reason."""

    file: Path = ACCEPTED
    changes: list[dict[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Read the file if it is there."""
        if self.file.exists():
            self.changes = json.loads(self.file.read_text(encoding="utf-8"))["changes"]

    def leads(self, stored: str, present: str) -> bool:
        """Whether accepted changes lead from one hash to the other."""
        seen, known = {stored}, -1
        while known != len(seen):
            known = len(seen)
            seen |= {change["to"] for change in self.changes if change["from"] in seen}
        return present in seen

    def latest(self, stored: str) -> str:
        """The hash that accepted changes lead to, one after another, so that rows of all of them need one more."""
        chain = [stored]
        while following := [c["to"] for c in self.changes if c["from"] == chain[-1] and c["to"] not in chain]:
            chain.append(following[-1])
        return chain[-1]

    def add(self, stored: str, present: str, why: str, stale: Iterable[Stale]) -> None:
        """Note the change between two hashes of stale rows, and write the file."""
        pairs = sorted({(one.stored, one.present) for one in stale if one.what == "sources"})
        if (stored, present) not in pairs:
            known = ", ".join(f"{old} {new}" for old, new in pairs) or "none"
            raise ValueError(f"no row is stale from {stored} to {present}: the pairs of stale rows are {known}")
        if not why.strip():
            raise ValueError(f"no reason for the change from {stored} to {present}: say why results stay as they are")
        self.changes.append({"from": stored, "to": present, "why": why})
        self.file.write_text(json.dumps({"changes": self.changes}, indent=1) + "\n", encoding="utf-8")


def stale_rows(study: Study, accepted: Accepted | None = None) -> list[Stale]:
    """The rows of a study whose sources or data have changed; data that are not at hand are not compared."""
    accepted = Accepted() if accepted is None else accepted
    found, hashes = [], study.hashes()
    for cell in study.rows():
        if "provenance" not in cell:
            continue
        files, present = tuple(study.data(cell)), study.sources(cell, hashes)
        row = study.row(cell)
        stored = cell["provenance"]
        if not accepted.leads(stored["sources"], present):
            last = accepted.latest(stored["sources"])
            found.append(Stale(row, "sources", last, present, study.command(cell)))
        if files and all((shared_folder() / name).exists() for name in files):
            today = hash_of_data(files)
            if stored["data"] != today:
                found.append(Stale(row, "data", stored["data"], today, study.command(cell)))
    return found


def report(stale: Sequence[Stale]) -> str:
    """The rows by the command that renews them."""
    commands: dict[str, list[str]] = {}
    for one in stale:
        commands.setdefault(one.command, []).append(f"  {one.row}: {one.what} changed ({one.stored} -> {one.present})")
    lines = [f"{len(stale)} stale rows; make them again with these commands, or see --accept:"] if stale else []
    return "\n".join([*lines, *(f"{command}\n" + "\n".join(rows) for command, rows in commands.items())])


def every_study() -> list[Study]:
    """Those of all papers."""
    from reproductions.saha2009 import origin as saha2009
    from reproductions.wang2021 import origin as wang2021
    from reproductions.zhang2002 import origin as zhang2002
    from reproductions.zhang2012 import origin as zhang2012

    return [*saha2009.STUDIES, *wang2021.STUDIES, *zhang2002.STUDIES, *zhang2012.STUDIES]


def main() -> None:
    """Report, and note changes with ``--accept``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    told = "a pair of hashes of stale rows, and why results stay as they are; once for each pair"
    parser.add_argument("--accept", nargs=3, action="append", default=[], metavar=("FROM", "TO", "WHY"), help=told)
    options = parser.parse_args()
    stale = [one for study in every_study() for one in stale_rows(study)]
    for stored, present, why in options.accept:
        try:
            Accepted().add(stored, present, why, stale)
        except ValueError as error:
            parser.error(str(error))
        stale = [one for one in stale if (one.what, one.stored, one.present) != ("sources", stored, present)]
    print(report(stale) or "no stored row is stale")


if __name__ == "__main__":
    main()
