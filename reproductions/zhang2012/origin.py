"""What the stored rows of this study are made from: see reproductions/provenance.py."""

from __future__ import annotations

from benchmarks.binary import HELD_OUT
from benchmarks.ledger import Cell
from reproductions.provenance import Study
from reproductions.zhang2012.runs import KEY, RESULTS

_LINE_SEARCH = "src/fenchel/numerics/line_search.py"
_SMOOTHED = [f"src/fenchel/solvers/smoothing/{name}.py" for name in ("objective", "measures", "loop", "spaces")]
_SMOOTHED.append("src/fenchel/risks/smoothing.py")
_WOLFE = "_CURVATURE_CONDITION,_SUFFICIENT_DECREASE,_EXTRAPOLATION,_SECANT_MARGIN,_SECANT_STEPS"
_BUNDLE = ("solver", "model", "inner_problem", "loop", "oracle", "planes", "line_search")
PARTS = {
    "split": ["benchmarks/binary.py::load_binary,HELD_OUT"],
    "runs": ["reproductions/zhang2012/runs.py::Watched,solver_of,problem_of,tested,run,described,run_row"],
    "adult": ["reproductions/zhang2012/adult.py::trained", "reproductions/zhang2012/runs.py::problem_of,break_even"],
    "prbep": [f"src/fenchel/risks/measures/{name}.py" for name in ("break_even", "counted")],
    "roc_auc": ["src/fenchel/risks/measures/roc_auc.py"],
    "smoothing": [
        *_SMOOTHED,
        *(f"src/fenchel/solvers/smoothing/{name}.py" for name in ("solver", "lbfgs", "curvature")),
        f"{_LINE_SEARCH}::wolfe_step,Bracket,{_WOLFE}",
    ],
    "agm": [*_SMOOTHED, "src/fenchel/solvers/reference/agm.py"],
    "bundle": [
        *(f"src/fenchel/solvers/bundle/{name}.py" for name in _BUNDLE),
        f"{_LINE_SEARCH}::illinois,Tangent,tangent_minimum,_MAX_EVALUATIONS",
    ],
}
_STUDY = "reproductions/zhang2012"
_SCRIPT = f"python {_STUDY}"
_MEASURES = "src/fenchel/risks/measures"
PARTS |= {
    "counted": [
        f"{_STUDY}/counted_measures.py::risk_of,run,race,SOLVERS",
        *(f"{_MEASURES}/{name}.py" for name in ("f_beta", "top_k", "contingency", "smoothed_diagonals")),
    ],
    "first matrix": [f"{_STUDY}/first_matrix.py::run_choice,LAM,_FIXED,CHOICES,MATRICES"],
    "rejected": [f"{_STUDY}/rejected.py::measured,chosen,singular,pairs,labellings,_largest,_STARTS,_ROUNDS"],
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


def split_of(data: str) -> tuple[str, ...]:
    """The part that divides the set into a training and a test part; none where they are two files."""
    return ("split",) if data in HELD_OUT else ()


def _uses(cell: Cell) -> tuple[str, ...]:
    name = cell["solver"]
    method = "bundle" if name in ("level", "plain") else "agm" if name == "agm" else "smoothing"
    return "runs", cell["measure"], method, *split_of(cell["data"])


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
COUNTED = Study(
    RESULTS / "counted_measures.json",
    ("data", "measure", "lam", "tol", "solver"),
    PARTS,
    lambda cell: ("counted", cell["solver"]),
    lambda cell: files_of(cell["data"].partition("@")[0]),
    lambda cell: f"{_SCRIPT}/counted_measures.py --data {cell['data']} --measures {cell['measure']} --again",
)
FIRST_MATRIX = Study(
    RESULTS / "first_matrix.json",
    ("data", "measure", "mu", "matrix"),
    PARTS,
    lambda cell: ("first matrix", "runs", cell["measure"], "smoothing", *split_of(cell["data"])),
    lambda cell: files_of(cell["data"]),
    lambda cell: f"{_SCRIPT}/first_matrix.py --data {cell['data']} --again",
)
REJECTED = Study(
    RESULTS / "rejected.json",
    ("data", "n"),
    PARTS,
    lambda cell: ("rejected",),
    lambda cell: files_of(cell["data"].partition(",")[0]),
    lambda cell: f"{_SCRIPT}/rejected.py --again",
)
STUDIES = (TABLE2, STUDIED, ADULT, COUNTED, FIRST_MATRIX, REJECTED)
