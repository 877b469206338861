"""Adult (a9a): what the models for PRBEP and for ROC area are worth on the test part, beside what the paper prints.

python reproductions/zhang2012/adult.py           results/adult.md and adult.json, a minute
python reproductions/zhang2012/adult.py --quick   made-up data, nothing is kept
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

# before NumPy is loaded: processor seconds of idle threads would count
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # for `python reproductions/zhang2012/adult.py`

from scipy.stats import norm

from benchmarks.binary import BinarySplit
from benchmarks.ledger import Cell
from benchmarks.report import markdown_table
from fenchel import solve
from reproductions.provenance import StampedLedger
from reproductions.zhang2012 import paper
from reproductions.zhang2012.runs import MEASURES, RESULTS, break_even, load, problem_of

_NAMES = {"prbep": "PRBEP", "roc_auc": "ROC area"}


def main() -> None:
    """Train six models and write what they are worth."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for adult.json and adult.md")
    parser.add_argument("--report-only", action="store_true", help="run nothing")
    parser.add_argument("--quick", action="store_true", help="made-up data")
    options = parser.parse_args()
    from reproductions.zhang2012.origin import ADULT

    if options.quick and options.output == RESULTS:
        options.output = Path(tempfile.mkdtemp())
    ledger = StampedLedger(ADULT, options.output)
    if not options.report_only:
        split = load("simulated" if options.quick else "a9a")
        ledger.add(trained(split, measure, lam) for measure in MEASURES for lam in paper.LAMBDAS)
    text = markdown(ledger.cells)
    (options.output / "adult.md").write_text(text + "\n", encoding="utf-8")
    print(text)


def trained(split: BinarySplit, measure: str, lam: float) -> Cell:
    """A model for a measure, and all measures of it on the test part, in percent."""
    from sklearn.metrics import roc_auc_score

    solution = solve(problem_of(split, measure, lam), tol=1e-3, max_iter=1e5)
    labels, scores = split.test_labels, split.test_matrix @ solution.model.weights
    return {
        "measure": measure,
        "lam": lam,
        "relative_gap": solution.certificate.relative_gap,
        "positive": break_even(labels, scores),
        "negative": break_even(-labels, -scores),
        "area": float(100.0 * roc_auc_score(labels > 0, scores)),
    }


def area_of_equal_bells(right: float) -> float:
    """The ROC area, in percent, of two normal clouds of scores of one width, from the percentage that is right."""
    return float(100.0 * norm.cdf(2.0**0.5 * norm.ppf(right / 100.0)))


def markdown(cells: list[Cell]) -> str:
    """Our six models, and the paper's three values for each measure."""
    lines = []
    for cell in cells:
        place = paper.LAMBDAS.index(cell["lam"])
        printed = [f"{paper.TEST_OF_ALPHA[measure][place]:.2f}" for measure in MEASURES]
        mean = 0.5 * (cell["positive"] + cell["negative"])
        values = [f"{value:.2f}" for value in (cell["positive"], cell["negative"], mean, cell["area"])]
        shown = [printed[MEASURES.index(cell["measure"])]]
        lines.append([_NAMES[cell["measure"]], f"{cell['lam']:g}", *values, *shown, f"{cell['relative_gap']:.1e}"])
    head = ["trained for", "λ", "PRBEP of the positives", "of the negatives", "their mean", "ROC area"]
    table = markdown_table([*head, "printed near Figure 2, of the measure trained for", "relative gap"], lines)
    area = area_of_equal_bells(paper.TEST_OF_ALPHA["prbep"][-1])
    return "\n\n".join(["# Adult", _LEGEND, table, f"{_EXPLANATION} {area:.1f}, near the printed 86.12."])


_LEGEND = "Percent on the test part of a9a (16,281 examples, 23.6% positive)."
_EXPLANATION = (
    "The values 78.27 and 86.12 are not adult9's but those of the next figure, alpha: in the text of the paper a "
    "caption follows its panels. The panels before the caption of webspam-u differ between λ = 1e-4 and 1e-6 by 0.72 "
    "and 0.73, which is what Sec. 5.5.1 says of webspam-u; those before the caption of beta have 50.13, which is what "
    "it says of beta. So the panels between the captions of adult9 and alpha are alpha's, and those of adult9 are not "
    "in the text. What Sec. 5.5.1 says of adult9 does not fit them either: its best λ for ROC area is 1e-4, while "
    "theirs is 1e-6. Nor do they fit Adult: our PRBEP hardly depends on λ, theirs falls to 66.55 at λ = 1e-2, and no "
    "mean over classes makes a ROC area of 86 or 62 from one of 90. That the mean of the two PRBEP here is near 78.27 "
    "is a coincidence. Alpha has as many positives as negatives, so its PRBEP is also the share of right answers, and "
    "two normal clouds of scores of one width with 78.27% right answers have the ROC area"
)


if __name__ == "__main__":
    main()
