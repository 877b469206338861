"""What the judges of mutated files share: reading one, and comparing what was read with what another parser reads."""

import bz2
import gzip
import lzma
import math
import warnings
from functools import partial

import numpy as np

from campaign.mutations import DefectError
from fenchel import FenchelError

#: what compresses and what unpacks, by suffix
PACKED = {
    ".gz": (gzip.compress, gzip.decompress),
    ".bz2": (bz2.compress, bz2.decompress),
    # the default preset takes ten times as long for a few bytes
    ".xz": (partial(lzma.compress, preset=0), lzma.decompress),
}


def refused_or_read(reader, *arguments, **options):
    """What the reader finds; None if it refuses."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return reader(*arguments, **options)
    except FenchelError:
        return None
    except Exception as error:
        raise DefectError(f"raised {type(error).__name__}: {error}") from error


def compare_columns(found, features, names):
    """Compare X and the names of its columns with lists of numbers, one for each column."""
    if found.names is not None and found.names != names:
        raise DefectError(f"names {found.names} differ from {names}")
    X = np.array(features).T
    if found.X.shape != X.shape or not np.allclose(dense(found.X), X, rtol=1e-15, atol=0.0):
        raise DefectError(f"X is {dense(found.X).tolist()}, not {X.tolist()}")


def compare_sparse(found, rows):
    """Compare sparse rows and their labels with those of a parser, whose columns are as written."""
    labels = [label for label, _ in rows]
    if list(found.y) != labels and not any(map(math.isnan, labels)):
        raise DefectError(f"labels {list(found.y)} differ from {labels}")
    matrix, shift = found.X.tocsr(), 0 if any(0 in entries for _, entries in rows) else 1
    for place, (_, entries) in enumerate(rows):
        own = slice(matrix.indptr[place], matrix.indptr[place + 1])
        stored = dict(zip(matrix.indices[own].tolist(), matrix.data[own].tolist(), strict=True))
        if not _same(stored, {column - shift: value for column, value in entries.items()}):
            raise DefectError(f"row {place} is {stored}, not {entries}")


def _same(first, second):
    """Equal dictionaries; explicit zeros may be stored or not, and NaN equals NaN."""
    first, second = ({key: value for key, value in one.items() if value != 0.0} for one in (first, second))
    return first.keys() == second.keys() and all(
        first[key] == second[key] or (first[key] != first[key] and second[key] != second[key]) for key in first
    )


def compare_labels(found, texts):
    """Compare labels with the texts of a parser."""
    try:
        # as Python reads them, with digits and spaces of any script
        labels = [float(text.strip()) for text in texts]
    except ValueError:
        labels = [text.strip() for text in texts]
    same = len(labels) == len(found) and all(a == b or a != a for a, b in zip(labels, found.tolist(), strict=True))
    if not same:
        raise DefectError(f"labels {found.tolist()} differ from {labels}")


def written(rng, folder, name, content):
    """The file, compressed in one case of eight."""
    if rng.random() < 0.125:
        suffix = any_suffix(rng)
        name, content = f"{name}{suffix}", PACKED[suffix][0](content)
    path = folder / name
    path.write_bytes(content)
    return path


def any_suffix(rng):
    """Of a compressed file."""
    return list(PACKED)[int(rng.integers(len(PACKED)))]


def dense(X):
    """A matrix with all its zeros."""
    return X.toarray() if hasattr(X, "toarray") else X
