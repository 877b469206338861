"""GridSearchCV over 100 small fits in two worker processes, their start included, beside the class of scikit-learn.

    python benchmarks/grid_search.py --update-readme

Each run is a fresh process: GridSearchCV of 20 values of C and 5 folds with n_jobs=2 on standardized columns, with
compiled loops in the cache, and bytecode too, as an installed package has it: a first run of each class, which is not
timed, writes both, whatever PYTHONDONTWRITEBYTECODE says.  Processor seconds are those of the process and of its
workers together, imports included; "import and one fit" is a process that fits once.  Runs of both classes alternate.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/grid_search.py`

from benchmarks.cells import is_held_out
from benchmarks.ledger import Cell, Ledger, add_common_options, publish
from benchmarks.report import markdown_table

KEY = ("data", "model")
SETS = ("iris", "breast_cancer", "wine")
MODELS = ("LinearSVC", "LogisticRegression")
CLASSES = {
    "scikit-learn": {"LinearSVC": "sklearn.svm", "LogisticRegression": "sklearn.linear_model"},
    "Fenchel": dict.fromkeys(MODELS, "fenchel"),
}
_RUN = """
import json, resource, sys, time, warnings
begin = time.perf_counter()
import numpy as np
from importlib import import_module
from sklearn import datasets
from sklearn.model_selection import GridSearchCV
from joblib.externals.loky import get_reusable_executor
module, name, data, search = json.loads(sys.argv[1])
warnings.simplefilter("ignore")
X, y = getattr(datasets, f"load_{data}")(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
model = getattr(import_module(module), name)(max_iter=1000)
if search:
    GridSearchCV(model, {"C": np.logspace(-3, 2, 20)}, cv=5, n_jobs=2).fit(X, y)
    get_reusable_executor().shutdown(wait=True)
else:
    model.fit(X, y)
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(json.dumps([sum(one.ru_utime + one.ru_stime for one in used), time.perf_counter() - begin]))
"""


def run(module: str, model: str, data: str, search: bool) -> list[float]:
    """Processor seconds and seconds on the clock of a fresh process."""
    arguments = [sys.executable, "-W", "ignore", "-c", _RUN, json.dumps([module, model, data, search])]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(arguments, check=True, capture_output=True, text=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


def measured(data: str, model: str, rounds: int) -> Cell:
    """One cell."""
    found: dict[str, list[list[float]]] = {f"{who} {what}": [] for who in CLASSES for what in ("search", "fit")}
    for module in (modules[model] for modules in CLASSES.values()):
        run(module, model, data, search=True)
    for _ in range(rounds):
        for who, modules in CLASSES.items():
            found[f"{who} search"].append(run(modules[model], model, data, search=True))
            found[f"{who} fit"].append(run(modules[model], model, data, search=False))
    return {"data": data, "model": model, "seconds": found}


def markdown(cells: list[Cell]) -> str:
    """The table."""
    rows = []
    for cell in cells:
        processor = {who: statistics.median(one[0] for one in runs) for who, runs in cell["seconds"].items()}
        clock = {who: statistics.median(one[1] for one in runs) for who, runs in cell["seconds"].items()}
        columns = [f"{processor[f'{who} {what}']:.2f}" for what in ("search", "fit") for who in CLASSES]
        columns += [f"{clock[f'{who} search']:.2f}" for who in CLASSES]
        ratio = processor["scikit-learn search"] / processor["Fenchel search"]
        held_out = "yes" if is_held_out("small data", cell["data"], 1.0) else ""
        rows.append([cell["data"], cell["model"], *columns, f"{ratio:.2f}", held_out])
    head = ["data set", "model", "scikit-learn", "Fenchel", "import and one fit: scikit-learn", "Fenchel"]
    head += ["on the clock: scikit-learn", "Fenchel", "ratio", "held out"]
    note = "Processor seconds of all processes, medians; the ratio is that of the searches, scikit-learn over Fenchel."
    return f"{note}\n\n{markdown_table(head, rows)}"


def main() -> None:
    """Measure the cells that are missing and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--rounds", type=int, default=3)
    add_common_options(parser, "grid_search.json and grid_search.md")
    options = parser.parse_args()
    ledger = Ledger(options.output / "grid_search.json", KEY, options.fresh and not options.report_only)
    for data in [] if options.report_only else options.data:
        for model in MODELS:
            if options.again or not ledger.has(data=data, model=model):
                ledger.add([measured(data, model, options.rounds)])
    publish(options, "grid-search", markdown(ledger.cells))


if __name__ == "__main__":
    main()
