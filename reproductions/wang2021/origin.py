"""What the stored rows of this study are made from: see reproductions/provenance.py."""

from __future__ import annotations

from benchmarks.ledger import Cell
from reproductions.provenance import Study
from reproductions.wang2021.race import KEY as RACE_KEY
from reproductions.wang2021.race import OURS
from reproductions.wang2021.runs import KEY, RESULTS

_BLOCK = "src/fenchel/solvers/block_coordinate"
_BLOCKS = f"{_BLOCK}/loop_blocks.py"
PARTS = {
    "solver": [
        *(f"{_BLOCK}/{name}.py" for name in ("solver", "loop", "loop_standing", "state", "averaging")),
        _BLOCKS,
        "src/fenchel/solvers/shrinking.py",
        "src/fenchel/risks/multiclass/hinges.py",
    ],
    "runs": ["reproductions/wang2021/runs.py::Crossings,problem_of,solver_of,run,_SHARK_ACCURACY"],
    "race": ["reproductions/wang2021/race.py::our_run,authors_run,run,crossings,VIOLATION,AUTHORS"],
    "thousand": ["reproductions/wang2021/race_sets.py::thousand,_ROWS"],
    "subproblem": ["reproductions/wang2021/subproblem.py", _BLOCKS],
}
_SCALED = ("dna", "satimage", "letter", "sector")


def files_of(data: str) -> tuple[str, ...]:
    """The shared files of a set; none if it is made up."""
    if data in ("clouds", "thousand"):
        return ()
    if data == "news20":
        return ("news20.svm.xz",)
    stem = f"{data}.scale" if data in _SCALED else data
    return f"{stem}.svm.xz", f"{stem}.t.svm.xz"


def _race_uses(cell: Cell) -> tuple[str, ...]:
    made_up = ("thousand",) if cell["data"] == "thousand" else ()
    return ("race", *made_up, *(("solver",) if cell["contender"] in OURS else ()))


def _race_command(cell: Cell) -> str:
    chosen = f"--sets {cell['data']} --exponents {cell['exponent']}"
    return f"FENCHEL_WW_TRAIN=… python reproductions/wang2021/race.py {chosen} --again"


def _run_command(cell: Cell) -> str:
    chosen = f"--sets {cell['data']} --exponents {cell['exponent']} --seeds {cell['seed']}"
    return f"python reproductions/wang2021/tables.py {chosen} --again"


RACE = Study(
    RESULTS / "race.json",
    RACE_KEY,
    PARTS,
    _race_uses,
    lambda cell: files_of(cell["data"]),
    _race_command,
)
TABLES = Study(
    RESULTS / "runs.json",
    KEY,
    PARTS,
    lambda cell: ("runs", "solver"),
    lambda cell: files_of(cell["data"]),
    _run_command,
    older=3,
)
TRACES = Study(
    RESULTS / "traces.json",
    ("figure", "data", "exponent", "inner"),
    PARTS,
    lambda cell: ("runs", "solver"),
    lambda cell: files_of(cell["data"]),
    lambda cell: "python reproductions/wang2021/figures.py --again",
)
SUBPROBLEM = Study(
    RESULTS / "subproblem.json",
    ("table", "value"),
    PARTS,
    lambda cell: ("subproblem",),
    lambda cell: (),
    lambda cell: "python reproductions/wang2021/subproblem.py --again",
)
STUDIES = (RACE, TABLES, TRACES, SUBPROBLEM)
