"""Whether stale rows come out the same today: the command of a row of each stale pair of hashes, in a temporary folder.

    python reproductions/replay.py                  every stale pair; prints what may be given to provenance.py --accept
    python reproductions/replay.py saha2009         those whose rows have this text in their names

A row that is made again is compared in all that does not depend on the machine: passes, objectives, gaps, accuracies,
curves.  Seconds, loads and dates are not compared, and where a run ends at a cap in seconds, curves are compared as far
as both go.  Nothing is stored and nothing accepted: what is printed is the largest relative difference and where it is.
Only the first row's command is run for a pair, since rows of a pair were made by the same code.
"""

from __future__ import annotations

import math
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python reproductions/replay.py`

from benchmarks.ledger import Cell, Ledger
from benchmarks.multiclass import PROGRAM
from reproductions import provenance
from reproductions.provenance import Accepted, Stale, Study

#: fields that depend on the machine
_OF_THE_MACHINE = frozenset({"seconds", "total", "solving", "certifying", "load", "provenance", "run", "program"})


class Difference(NamedTuple):
    """How far apart two values are, relative to the larger one, and where they are."""

    size: float
    where: str


def compared(stored: Cell, made: Cell) -> Difference:
    """The largest difference of two rows; of those with a curve, the curve alone decides."""
    if "curve" in stored and "curve" in made:
        return max(_of_curves(stored["curve"], made["curve"]), default=Difference(0.0, "curve"))
    return max(_of_values(stored, made, ""), default=Difference(0.0, ""))


def _of_curves(stored: dict[str, str], made: dict[str, str]) -> Iterator[Difference]:
    """Differences of the points that both have; a last point is one that the clock may have chosen."""
    for name in stored.keys() - _OF_THE_MACHINE:
        pairs = list(zip(stored[name].split(), made[name].split(), strict=False))[:-1]
        yield from (Difference(_apart(float(old), float(new)), f"curve {name}") for old, new in pairs)


def _of_values(stored: Any, made: Any, where: str) -> Iterator[Difference]:
    if isinstance(stored, dict) and isinstance(made, dict):
        for name in (stored.keys() | made.keys()) - _OF_THE_MACHINE:
            yield from _of_values(stored.get(name), made.get(name), f"{where} {name}".strip())
    elif isinstance(stored, list) and isinstance(made, list) and len(stored) == len(made):
        for old, new in zip(stored, made, strict=True):
            yield from _of_values(old, new, where)
    elif isinstance(stored, str) and isinstance(made, str) and stored != made and (old := _numbers(stored)):
        yield from _of_values(old, _numbers(made), where)
    elif isinstance(stored, int | float) and isinstance(made, int | float):
        yield Difference(_apart(stored, made), where)
    else:
        yield Difference(0.0 if stored == made else math.inf, where)


def _numbers(text: str) -> list[float]:
    """The numbers of a line that holds nothing else."""
    try:
        return [float(word) for word in text.split()]
    except ValueError:
        return []


def _apart(old: float, new: float) -> float:
    if old == new or (math.isnan(old) and math.isnan(new)):
        return 0.0
    size = abs(old - new) / max(abs(old), abs(new))
    return size if math.isfinite(size) else math.inf


def made_again(study: Study, command: str) -> list[Cell]:
    """The rows of the study after the command, which leaves the stored ones alone."""
    words = [word for word in shlex.split(command) if not word.startswith(f"{PROGRAM}=")]
    environment = {name: value for name, value in os.environ.items() if name != PROGRAM}
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(study.file, folder)
        line = [sys.executable, *words[1:], "--output", folder]
        done = subprocess.run(line, cwd=provenance.ROOT, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{command} failed:\n{done.stderr}")
        return Ledger(Path(folder) / study.file.name, study.key).cells


def replay(study: Study, stale: Stale) -> tuple[int, Difference, str]:
    """How many rows of a stale pair the command made again, their largest difference, and the row that has it."""
    hashes, stored, accepted = study.hashes(), {study.row(cell): cell for cell in study.rows()}, Accepted()
    found = []
    for cell in made_again(study, stale.command):
        old = stored.get(study.row(cell))
        if old is None or old["run"] == cell["run"] or "provenance" not in old:
            continue
        pair = accepted.latest(old["provenance"]["sources"]), study.sources(cell, hashes)
        if pair == (stale.stored, stale.present):
            found.append((compared(old, cell), study.row(cell)))
    if not found:
        raise RuntimeError(f"{stale.command} made no row of {stale.stored} -> {stale.present} again")
    difference, row = max(found)
    return len(found), difference, row


def main() -> None:
    """Replay every stale pair and print what came out."""
    wanted, seen = sys.argv[1] if len(sys.argv) > 1 else "", set()
    for study in provenance.every_study():
        for stale in provenance.stale_rows(study):
            pair = stale.stored, stale.present
            if stale.what != "sources" or pair in seen or wanted not in stale.row:
                continue
            seen.add(pair)
            count, difference, row = replay(study, stale)
            apart = f"largest relative difference {difference.size:.1e} ({difference.where} of {row})"
            said = apart if difference.size else "all the same"
            print(f"{stale.stored} {stale.present}: {count} rows made again, {said}\n  {stale.command}", flush=True)
    print(f"{len(seen)} stale pairs of hashes; nothing was stored or accepted")


if __name__ == "__main__":
    main()
