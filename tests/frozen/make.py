"""Fit every row of the table and store the numbers: ``python -m frozen.make`` in the folder of the tests.

``--compare`` stores nothing and prints what differs by more than 1e-12 from what is stored; ``--only NAME``
of an estimator replaces the rows of one estimator, whose numbers were changed on purpose.
"""

import argparse
from pathlib import Path

import numpy as np

from .cases import ROWS
from .fits import KEPT, fitted

STORE = Path(__file__).with_name("fits.npz")


def stored():
    """The numbers of each row, as ``fitted`` gives them."""
    with np.load(STORE, allow_pickle=False) as archive:
        values, lengths = archive["values"], archive["lengths"]
    parts = iter(np.split(values, np.cumsum(lengths.ravel())[:-1]))
    return [{name: next(parts) for name in KEPT} for _ in range(len(lengths))]


def differences(found, known):
    """The largest difference of each kept number, relative to the largest entry, and to one for coefficients."""
    worst = {}
    for name in KEPT:
        one, other = found[name], known[name]
        if one.shape != other.shape:
            worst[name] = np.inf
            continue
        with np.errstate(invalid="ignore"):
            apart = np.where(one == other, 0.0, np.abs(one - other))
        finite = np.abs(other[np.isfinite(other)])
        scale = max(float(np.max(finite, initial=0.0)), 1.0 if name in ("coef", "intercept") else 1e-300)
        worst[name] = float(np.max(np.nan_to_num(apart, nan=np.inf), initial=0.0)) / scale
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--only")
    options = parser.parse_args()
    kept = stored() if options.only else [None] * len(ROWS)
    found = [
        known if options.only not in (None, row.estimator) else fitted(row)
        for row, known in zip(ROWS, kept, strict=True)
    ]
    if options.compare:
        for k, (one, known) in enumerate(zip(found, stored(), strict=True)):
            large = {name: value for name, value in differences(one, known).items() if value > 1e-12}
            if large:
                print(k, ROWS[k], large)
        return
    lengths = np.array([[len(one[name]) for name in KEPT] for one in found])
    np.savez_compressed(STORE, values=np.concatenate([one[name] for one in found for name in KEPT]), lengths=lengths)
    print(f"{len(found)} fits, {STORE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
