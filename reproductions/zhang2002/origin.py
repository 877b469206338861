"""What the stored rows of this study are made from: see reproductions/provenance.py."""

from __future__ import annotations

from benchmarks.ledger import Cell
from reproductions.provenance import Study
from reproductions.saha2009.origin import DUAL_COORDINATE, HINGE
from reproductions.zhang2002 import artificial, figures, reuters

_DUAL = "src/fenchel/solvers/dual_coordinate"
_COLLECTION = "reproductions/zhang2002/collection.py"
PARTS = {
    "artificial": ["reproductions/zhang2002/artificial.py::sample,run,ONLINE,LARGE_MARGIN"],
    "reuters": [
        _COLLECTION,
        "reproductions/zhang2012/runs.py::break_even",
        "reproductions/zhang2002/reuters.py::held_out,online,large_margin,right_of,EPSILON,ONLINE,LARGE_MARGIN",
    ],
    "figures": [_COLLECTION, "reproductions/zhang2002/figures.py::convergence,multiplier,Watched,LAMS"],
    "dual_coordinate": [*DUAL_COORDINATE, *HINGE],
    "entropy": [
        *(f"{_DUAL}/{name}.py" for name in ("mirror", "loop_mirror")),
        f"{_DUAL}/loop.py::intercept_along,move_sums",
        "src/fenchel/regularizers/unnormalized_entropy.py::CompiledEntropy",
    ],
    "elastic net": ["src/fenchel/regularizers/elastic_net.py::CompiledElasticNet"],
    "lagrangian": [f"{_DUAL}/{name}.py" for name in ("augmented_lagrangian", "free_directions")],
    "online": [
        *(f"{_DUAL}/{name}.py" for name in ("loop_online", "loop_mirror")),
        "src/fenchel/estimators/online.py",
    ],
}


def _method(name: str) -> tuple[str, ...]:
    """The parts of a method."""
    if name in artificial.ONLINE:
        return ("online",)
    if name.endswith("Win"):
        return "dual_coordinate", "entropy"
    if name == "Spars":
        return "dual_coordinate", "elastic net"
    return ("dual_coordinate", "lagrangian") if name == figures.LAGRANGIAN else ("dual_coordinate",)


def _reuters(cell: Cell) -> tuple[str, ...]:
    return ("reuters21578.tar.xz",)


ARTIFICIAL = Study(
    artificial.RESULTS / "artificial.json",
    artificial.KEY,
    PARTS,
    lambda cell: ("artificial", *_method(cell["method"])),
    lambda cell: (),
    lambda cell: f"python reproductions/zhang2002/artificial.py --features {cell['features']} --again",
)
REUTERS = Study(
    reuters.RESULTS / "reuters.json",
    reuters.KEY,
    PARTS,
    lambda cell: ("reuters", *_method(cell["method"])),
    _reuters,
    lambda cell: f"python reproductions/zhang2002/reuters.py --methods {cell['method']} --again",
)
FIGURES = Study(
    reuters.RESULTS / "figures.json",
    figures.KEY,
    PARTS,
    lambda cell: ("figures", *_method(cell["method"])),
    _reuters,
    lambda cell: "python reproductions/zhang2002/figures.py --again",
)
STUDIES = (ARTIFICIAL, REUTERS, FIGURES)
