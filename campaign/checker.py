"""The independent checker on larger files: it must confirm every model that ``fenchel train`` writes.

Both run as processes.  A set whose file is not in ``FENCHEL_DATA`` is skipped.
"""

import lzma
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from pathlib import Path

from campaign import PROJECT, parsers

PROGRAM = PROJECT / "checker" / "check_certificate.py"
#: name of the file, rows (None for all), the label that is one class against all others (None keeps the labels)
SETS = {
    "a9a": ("a9a.svm.xz", None, None),
    "w8a": ("w8a.svm.xz", None, None),
    "20news.binary": ("20news.binary.svm.xz", None, None),
    "covtype, class 2": ("covtype.svm.xz", None, "2"),
    "covtype, 7 classes": ("covtype.svm.xz", 50_000, None),
}
#: options of ``fenchel train`` for each set
MODELS = (
    ("a9a", "--loss hinge"),
    ("a9a", "--loss logistic"),
    ("a9a", "--loss squared_hinge --l1-ratio 1"),
    ("a9a", "--measure f1 --surrogate bound"),
    ("w8a", "--loss hinge"),
    ("w8a", "--loss logistic --l1-ratio 0.5 --no-intercept"),
    ("w8a", "--measure f1 --surrogate bound"),
    ("20news.binary", "--loss hinge -C 0.001"),
    ("20news.binary", "--loss logistic -C 0.001"),
    ("covtype, class 2", "--loss hinge -C 0.01"),
    ("covtype, class 2", "--loss logistic -C 1e-8"),
    ("covtype, 7 classes", "--loss hinge -C 1e-8"),
)
#: what every training is given: the checker judges any gap, so the smallest one is not worth the time
COMMON = "--tol 1e-4 --time-limit 120 --quiet --force"
#: seconds that one process may take
LONGEST = 1800


def run(seed, budget, models=MODELS):
    """Train and check each model in turn, until the budget is spent."""
    deadline, defects, skipped, found = time.monotonic() + budget, [], [], {}
    source = Path(os.environ.get("FENCHEL_DATA") or PROJECT.parent / "shared" / "data")
    with tempfile.TemporaryDirectory() as name:
        for where, options in models:
            title, (file, rows, positive) = f"{where} {options}", SETS[where]
            if not (source / file).is_file():
                skipped.append(f"{title}: {file} is not in {source}")
            elif time.monotonic() > deadline:
                skipped.append(f"{title}: the budget is spent")
            else:
                data = _data(source / file, rows, positive, Path(name))
                found[title] = _checked(data, Path(name) / "model.npz", f"{options} --seed {seed}".split(), defects)
                print(f"{title}: {found[title]}", file=sys.stderr)
    return {"models": found, "skipped": skipped, "defects": defects}


def _data(path, rows, positive, folder):
    """The file, or a copy of its first rows with labels of one class against all others."""
    if rows is None and positive is None:
        return path
    part = folder / f"{rows}-{positive}.svm"
    if not part.exists():
        with lzma.open(path, "rt") as source, part.open("w") as target:
            for line in islice(source, rows):
                label, _, rest = line.partition(" ")
                sign = label if positive is None else "1" if label == positive else "-1"
                target.write(f"{sign} {rest}")
    return part


def _checked(data, model, options, defects):
    """Train, check, and compare the two bounds of the file with the exact P and D that the checker prints."""
    trained, seconds = _process("-m", "fenchel", "train", data, "-o", model, *options, *COMMON.split())
    if trained.returncode not in (0, 3):
        defects.append(f"{data.name} {options}: train ended with {trained.returncode}: {trained.stderr[-200:]}")
        return {}
    checked, spent = _process(PROGRAM, model, data)
    if checked.returncode != 0:
        defects.append(f"{data.name} {options}: {checked.stdout[-300:]}{checked.stderr[-200:]}")
    about, _ = parsers.model(model)
    exact = zip(
        *(re.findall(rf"{name} = (\S+?),? ", checked.stdout) for name in ("objective   P", "dual bound  D")),
        strict=True,
    )
    gaps, margins = [], []
    for certificate, (primal, dual) in zip(about["certificates"], exact, strict=True):
        primal, dual = Fraction(Decimal(primal)), Fraction(Decimal(dual))
        upper = Fraction(certificate["primal"]) + Fraction(certificate["primal_error"])
        lower = Fraction(certificate["dual"]) - Fraction(certificate["dual_error"])
        if primal > upper or dual < lower:
            defects.append(f"{data.name} {options}: the exact P or D is beyond the bounds {certificate}")
        gaps.append(float((primal - dual) / primal))
        margins.append(float((upper - lower - (primal - dual)) / primal))
    return {
        "problems": len(gaps),
        "largest exact gap over P": max(gaps, default=None),
        "largest excess of the certified gap over P": max(margins, default=None),
        "seconds of training": round(seconds, 1),
        "seconds of the check": round(spent, 1),
    }


def _process(*arguments):
    """Run Python with these arguments; returns the finished process and its processor seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": str(PROJECT / "src")}
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, timeout=LONGEST, env=environment
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
