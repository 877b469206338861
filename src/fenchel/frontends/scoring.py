"""Scores of the rows of a file by a linear model.

Small files are scored in plain Python, larger ones with NumPy and SciPy; both add the products of a row in the order of
its features, as LIBLINEAR does, so that all three agree to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from fenchel.frontends.rows import Row, data_stream, read_rows

#: bytes of a file, times the outputs of the model, above which the import of NumPy and SciPy is worth its time
LARGE = 8_000_000
#: of each row: the label of the file, and the scores
Scored = tuple[float, list[float]]


class LinearScores(NamedTuple):
    """A linear function of the features, with one or several outputs."""

    #: of the first feature for each output, then of the second one, ...; what follows the features is not used
    weights: Sequence[float]
    features: int
    #: added to the scores
    offsets: Sequence[float]

    def of_row(self, row: Row) -> list[float]:
        """The scores of a row; features beyond those of the model have no weights."""
        weights, last, k = self.weights, self.features, len(self.offsets)
        pairs = zip(row.features, row.values, strict=True)
        if k == 1:
            total = 0.0
            for feature, value in pairs:
                if feature > last:
                    break
                total += weights[feature - 1] * value
            return [total + self.offsets[0]]
        totals = [0.0] * k
        for feature, value in pairs:
            if feature > last:
                break
            place = (feature - 1) * k
            for output in range(k):
                totals[output] += weights[place + output] * value
        return [total + offset for total, offset in zip(totals, self.offsets, strict=True)]


def scored(path: str, model: LinearScores, *, svm_light: bool = False) -> Iterator[Scored]:
    """Label and scores of each row of a file.

    Parameters
    ----------
    path : str
        The file.
    model : LinearScores
        The model.
    svm_light : bool, default=False
        The dialect of the file, see ``rows.read_rows``.

    Returns
    -------
    iterator of tuple
        The label and the scores of each row; ``rows.WrongLineError`` says which line can't be read.
    """
    file = Path(path)
    if file.is_file() and file.stat().st_size * len(model.offsets) > LARGE:
        return _by_scipy(path, model, svm_light)
    return _by_python(file, model, svm_light)


def _by_python(path: Path, model: LinearScores, svm_light: bool) -> Iterator[Scored]:
    with data_stream(path) as stream:
        for row in read_rows(stream, svm_light=svm_light):
            yield row.label, model.of_row(row)


def _by_scipy(path: str, model: LinearScores, svm_light: bool) -> Iterator[Scored]:
    import numpy as np

    from fenchel.frontends.matrix import read_data

    data = read_data(path, svm_light=svm_light)
    k = len(model.offsets)
    features = min(data.X.shape[1], model.features)
    weights = np.array(model.weights[: features * k]).reshape(features, k)
    # a product of matrices adds in the order of the features
    totals = data.X[:, :features] @ weights + np.array(model.offsets)
    return zip(data.y.tolist(), totals.tolist(), strict=True)
