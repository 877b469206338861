"""What the stored rows of this study are made from: see reproductions/provenance.py."""

from __future__ import annotations

from benchmarks.ledger import Cell
from reproductions.provenance import Study
from reproductions.zhang2012.runs import KEY, RESULTS

_SMOOTHED = [f"src/fenchel/solvers/smoothing/{name}.py" for name in ("objective", "measures", "loop")]
_SMOOTHED.append("src/fenchel/risks/smoothing.py")
_L_BFGS = ("solver", "lbfgs", "curvature")
_BUNDLE = ("solver", "model", "inner_problem", "loop", "oracle", "planes", "line_search")
PARTS = {
    "runs": ["reproductions/zhang2012/runs.py::Watched,solver_of,problem_of,tested,run,described,run_row"],
    "adult": ["reproductions/zhang2012/adult.py::trained", "reproductions/zhang2012/runs.py::problem_of,break_even"],
    "prbep": [f"src/fenchel/risks/measures/{name}.py" for name in ("break_even", "counted")],
    "roc_auc": ["src/fenchel/risks/measures/roc_auc.py"],
    "smoothing": [
        *_SMOOTHED,
        *(f"src/fenchel/solvers/smoothing/{name}.py" for name in ("solver", "lbfgs", "curvature")),
    ],
    "agm": [*_SMOOTHED, "src/fenchel/solvers/reference/agm.py"],
    "bundle": [f"src/fenchel/solvers/bundle/{name}.py" for name in _BUNDLE],
}
_FILES = {
    "web8": ("w8a.svm.xz",),
    "w8a": ("w8a.svm.xz",),
    "covertype": ("covtype.svm.xz",),
    "covtype": ("covtype.svm.xz",),
    "kdd99": ("kddcup99-10percent.csv.xz", "kddcup99-corrected.csv.xz"),
    "simulated": (),
}


def files_of(data: str) -> tuple[str, ...]:
    """The shared files of one of the sets of benchmarks/binary.py."""
    if data in _FILES:
        return _FILES[data]
    if data.startswith("reuters-") and data != "reuters-moneyfx":
        return "reuters21578.svm.xz", "reuters21578.t.svm.xz", "reuters21578.topics.txt"
    return f"{data}.svm.xz", f"{data}.t.svm.xz"


def _uses(cell: Cell) -> tuple[str, ...]:
    name = cell["solver"]
    method = "bundle" if name in ("level", "plain") else "agm" if name == "agm" else "smoothing"
    return "runs", cell["measure"], method


def _table2(cell: Cell) -> str:
    row = f"--sets {cell['data']} --measures {cell['measure']} --lambdas {cell['lam']:g} --cap {cell['cap']:g}"
    return f"python reproductions/zhang2012/table2.py {row} --again"


TABLE2 = Study(RESULTS / "runs.json", KEY, PARTS, _uses, lambda cell: files_of(cell["data"]), _table2)
STUDIED = Study(
    RESULTS / "studies.json",
    KEY,
    PARTS,
    _uses,
    lambda cell: files_of(cell["data"]),
    lambda cell: f"python reproductions/zhang2012/figures.py --sets {cell['data']} --again",
)
ADULT = Study(
    RESULTS / "adult.json",
    ("measure", "lam"),
    PARTS,
    lambda cell: ("adult", cell["measure"], "smoothing"),
    lambda cell: files_of("a9a"),
    lambda cell: "python reproductions/zhang2012/adult.py",
)
STUDIES = (TABLE2, STUDIED, ADULT)
