"""Rows of data files in plain Python: predictions on small files need neither NumPy nor compiled loops.

Larger files are read by ``fenchel.io.svmlight`` (``matrix``), which imports for half a second and is some twenty times
as fast; where it refuses a file, this reader says which line is wrong.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

#: files with these suffixes are unpacked
_COMPRESSED = (".gz", ".bz2", ".xz")
_LARGEST_FEATURE = 2**31 - 1
#: fields of SVM-light that are not features
_NAMED_FIELDS = (b"qid:", b"sid:", b"cost:")


class Row(NamedTuple):
    """One example; its features are numbered from 1."""

    label: float
    features: list[int]
    values: list[float]


class WrongLineError(Exception):
    """A line that can't be read."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(f"line {line}: {why}")
        self.line, self.why = line, why


@contextmanager
def data_stream(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked if its name says so; raise OSError if there is no such file."""
    if path.suffix in _COMPRESSED and path.is_file():
        from fenchel.io.files import opened

        with opened(path, "rb") as stream:
            yield stream
    else:
        with path.open("rb") as stream:
            yield stream


def read_rows(lines: Iterable[bytes], *, svm_light: bool = False) -> Iterator[Row]:
    """The rows of a file, a row in each line.

    Parameters
    ----------
    lines : iterable of bytes
        The lines.
    svm_light : bool, default=False
        Whether lines that begin with # are comments, and ``qid:``, ``sid:`` and ``cost:`` are skipped, as by SVM-light;
        LIBLINEAR refuses both.

    Yields
    ------
    Row
        One for each line that is no comment.
    """
    for number, whole in enumerate(lines, start=1):
        line = whole.removeprefix(BOM_UTF8) if number == 1 else whole
        if svm_light and line.startswith(b"#"):
            continue
        fields = line.partition(b"#")[0].split()
        if not fields:
            raise WrongLineError(number, "has no label; remove the line")
        try:
            label = float(fields[0])
        except ValueError:
            raise WrongLineError(number, f"the label {_shown(fields[0])} is not a number") from None
        features, values, last = [], [], 0
        for field in fields[1:]:
            if svm_light and field.startswith(_NAMED_FIELDS):
                continue
            name, colon, value = field.partition(b":")
            try:
                feature = int(name)
                values.append(float(value))
            except ValueError:
                what = "is not NUMBER:VALUE" if colon else "has no colon; features are NUMBER:VALUE"
                raise WrongLineError(number, f"{_shown(field)} {what}") from None
            if not last < feature <= _LARGEST_FEATURE:
                raise WrongLineError(number, f"{_shown(field)} {_misplaced(feature)}")
            features.append(feature)
            last = feature
        yield Row(label, features, values)


def _misplaced(feature: int) -> str:
    """Why the number of a feature is refused."""
    if feature < 1:
        return "has a feature number below 1; number the features from 1"
    if feature > _LARGEST_FEATURE:
        return "has a feature number of 2^31 or more"
    return "does not follow the feature before it: feature numbers must ascend within a row"


def _shown(field: bytes) -> str:
    text = field.decode("utf-8", "replace")
    return repr(text if len(text) <= 40 else text[:40] + "…")
