"""What the stored rows of this study are made from: see reproductions/provenance.py."""

from __future__ import annotations

from benchmarks.ledger import Cell
from reproductions.provenance import Study
from reproductions.saha2009.runs import KEY, PEERS, REFERENCES, RESULTS
from reproductions.zhang2012.origin import PARTS as MEASURED
from reproductions.zhang2012.origin import files_of, split_of

_PRAGAM = ("pragam", "excessive_gap", "averaging", "dual_sets")
_DUAL = "src/fenchel/solvers/dual_coordinate"
DUAL_COORDINATE = [
    *(f"{_DUAL}/{name}.py" for name in ("solver", "state", "face", "violators", "loop_violators")),
    f"{_DUAL}/loop.py::part_of_epoch,add_intercept,move_intercept,_dot_weights,_curvature_within",
    "src/fenchel/solvers/shrinking.py",
]
HINGE = ["src/fenchel/losses/compiled_margin.py"]
PARTS = {
    "split": MEASURED["split"],
    "runs": ["reproductions/saha2009/runs.py::Watched,SOLVERS,problem_of,run,_run_peer,run_reference"],
    "hinge": HINGE,
    "pragam": [
        *(f"src/fenchel/solvers/reference/{name}.py" for name in _PRAGAM),
        "src/fenchel/compile/primitives/projection.py",
    ],
    "pegasos": [f"src/fenchel/solvers/reference/{name}.py" for name in ("pegasos", "loop_pegasos")],
    "bmrm": MEASURED["bundle"],
    "dual_coordinate": DUAL_COORDINATE,
}


def _uses(cell: Cell) -> tuple[str, ...]:
    name, common = cell["solver"], ("runs", *split_of(cell["data"]))
    if name in (*PEERS, *REFERENCES.values()):
        # of a reference the bound is kept, which is certified
        return common
    return *common, "hinge", next(part for part in PARTS if part in name)


def _command(cell: Cell) -> str:
    chosen = f"--sets {cell['data']} --solvers {cell['solver']!r}"
    return f"python reproductions/saha2009/table.py {chosen} --again"


RUNS = Study(RESULTS / "runs.json", KEY, PARTS, _uses, lambda cell: files_of(cell["data"]), _command)
_SOLVERS = "src/fenchel/solvers"
SEQUENCE_PARTS = {
    "sequences": [
        "reproductions/saha2009/sequences.py::letters,max_margin_problem,exact_lipschitz,methods,run_method,fitted",
        "reproductions/saha2009/sequences.py::MODELS,WORDS,FIGURE_C,PASSES",
        *(f"src/fenchel/risks/chains/{name}.py" for name in ("hinge", "logistic", "markov", "oracles")),
    ],
    "pragam": [
        *PARTS["pragam"],
        f"{_SOLVERS}/reference/chain_sets.py",
        "src/fenchel/projections/chain_marginals.py",
    ],
    "bregman": [f"{_SOLVERS}/reference/{name}.py" for name in ("bregman", "excessive_gap", "chain_sets")],
    "frank_wolfe": [f"{_SOLVERS}/frank_wolfe/{name}.py" for name in ("solver", "loop", "space")],
    "exponentiated_gradient": [f"{_SOLVERS}/exponentiated_gradient/{name}.py" for name in ("solver", "loop")],
    "bundle": MEASURED["bundle"],
    "smoothing": MEASURED["smoothing"],
}
SEQUENCES = Study(
    RESULTS / "sequences.json",
    ("part", "name", "C"),
    SEQUENCE_PARTS,
    lambda cell: ("sequences", cell["solver"]),
    lambda cell: ("ocr-letters.data.xz",),
    lambda cell: f"python reproductions/saha2009/sequences.py --only {cell['part']} --again",
)
STUDIES = (RUNS, SEQUENCES)
