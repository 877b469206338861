"""Mutated files for every reader: a FenchelError, or what an independent parser reads.

Any other exception is a defect, and so is content that differs.
"""

import bz2
import gzip
import lzma
import math
import re
import tempfile
import time
import warnings
from collections import Counter
from functools import cache, partial
from pathlib import Path

import numpy as np

from campaign import parsers
from campaign.models import checker_mutant, load_checker, model_files, model_mutant
from campaign.mutations import DefectError, mutated
from fenchel import FenchelError
from fenchel.io.columns import read_columns
from fenchel.io.kinds import name_of
from fenchel.io.readers import Layout, read

#: mutants for each reader
MOST = 100_000
SVMLIGHT = (
    b"+1 1:0.5 3:-2\n-1 2:1e-3 4:7\n+1 1:1\n-1 3:2.5 4:-1\n",
    b"3 0:1 1:2\n4.5 0:3\n# a comment\n-2 1:1 # another\n",
    b"1 qid:1 1:0.1\n2 qid:2 2:0.2\n",
)
TABLES = (
    b"1.5,2,0\n3,-4e-3,1\n5,6,1\n",
    b"a,b,label\n1,2,yes\n3,4,no\n5,6,yes\n",
    b'"x, y",z,t\r\n1,2,"p"\r\n3,4,"q ""r"""\r\n',
    "\ufeffgröße,b,t\n1,2,ä\n3,4,ö\n".encode(),
)
TEXTS = (
    b"age\tcity\tok\n31\tRome\tyes\n\tOslo\tno\n27\tRome\tyes\n",
    b"age;city;ok\r\n31.5;Rome;1\r\n28;;2\r\n27;Oslo;3\r\n28;Oslo;4\r\n",
    b"red,1,no\nblue,NA,yes\nred,3,yes\n",
    'größe,"b;c",t\n1,"x\ny",0\n?,x,1\n2,y,0\n'.encode(),
)
IMPUTED = (None, "median", "mean", "most-frequent")
COLUMNS = (
    b"He PRP B-NP\nreckons VBZ B-VP\n\nRockwell NNP B-NP\n. . O\n",
    b"\n# # B-NP \r\n5 CD\tI-NP\r\n \t\r\nno DT O",
    "\ufeffGr\u00f6\u00dfe\u00a0x A\n\n\n\u2028 B\nc B\n".encode(),
)
#: what compresses and what unpacks, by suffix
PACKED = {
    ".gz": (gzip.compress, gzip.decompress),
    ".bz2": (bz2.compress, bz2.decompress),
    # the default preset takes ten times as long for a few bytes
    ".xz": (partial(lzma.compress, preset=0), lzma.decompress),
}
#: files in memory: truncating one on disk takes longer than reading it
MEMORY = Path("/dev/shm")


def _read(path, *layout, reader=read):
    """What the reader finds; None if it refuses."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return reader(path, *layout)
    except FenchelError:
        return None
    except Exception as error:
        raise DefectError(f"raised {type(error).__name__}: {error}") from error


def svmlight_mutant(rng, folder):
    """Read one mutated svmlight file and compare it."""
    content = mutated(rng, SVMLIGHT[int(rng.integers(len(SVMLIGHT)))])
    found = _read(_written(rng, folder, "mutant.svm", content), Layout())
    if found is None:
        return content, False
    try:
        rows = parsers.svmlight(content)
    except ValueError as error:
        raise DefectError(f"accepted, but {error}") from error
    shift = 0 if any(0 in entries for _, entries in rows) else 1
    if list(found.y) != [label for label, _ in rows] and not any(math.isnan(label) for label, _ in rows):
        raise DefectError(f"labels {list(found.y)} differ from {[label for label, _ in rows]}")
    matrix = found.X.tocsr()
    for place, (_, entries) in enumerate(rows):
        own = slice(matrix.indptr[place], matrix.indptr[place + 1])
        stored = dict(zip(matrix.indices[own].tolist(), matrix.data[own].tolist(), strict=True))
        if not _same(stored, {column - shift: value for column, value in entries.items()}):
            raise DefectError(f"row {place} is {stored}, not {entries}")
    return content, True


def _same(first, second):
    """Equal dictionaries; explicit zeros may be stored or not, and NaN equals NaN."""
    first, second = ({key: value for key, value in one.items() if value != 0.0} for one in (first, second))
    return first.keys() == second.keys() and all(
        first[key] == second[key] or (first[key] != first[key] and second[key] != second[key]) for key in first
    )


def table_mutant(rng, folder, originals=TABLES):
    """Read one mutated table and compare it: numbers, categories, missing values, names and labels."""
    content = mutated(rng, originals[int(rng.integers(len(originals)))])
    impute = IMPUTED[int(rng.integers(len(IMPUTED)))]
    found = _read(_written(rng, folder, "mutant.csv", content), Layout(impute=impute))
    if found is None:
        return content, False
    try:
        rows = parsers.table(content, parsers.delimiter(content))
        header = None if found.encoding.names is None else [name.strip() for name in rows.pop(0)]
        features, names = [], []
        for place, fields in enumerate(list(zip(*rows, strict=True))[:-1]):
            made = parsers.column(fields, impute)
            features += made.values()
            names += [(f"column {place + 1}" if header is None else header[place]) + name for name in made]
    except ValueError as error:
        raise DefectError(f"accepted, but {error}") from error
    if found.names is not None and found.names != names:
        raise DefectError(f"names {found.names} differ from {names}")
    X = np.array(features).T
    if found.X.shape != X.shape or not np.allclose(_dense(found.X), X, rtol=1e-15, atol=0.0):
        raise DefectError(f"X is {_dense(found.X).tolist()}, not {X.tolist()}")
    _compare_labels(found.y, [row[-1] for row in rows])
    return content, True


def text_mutant(rng, folder):
    """Read one mutated table with texts and missing values and compare it."""
    return table_mutant(rng, folder, TEXTS)


def sniffed_mutant(rng, folder):
    """Say what content without a name is: a suffix that the readers know, or an error."""
    originals = (*SVMLIGHT, *TABLES, *TEXTS)
    content = originals[int(rng.integers(len(originals)))]
    suffix = _suffix(rng) if rng.random() < 0.5 else ""
    content = mutated(rng, PACKED[suffix][0](content) if suffix else content)
    found = _read(content, None, reader=name_of)
    if found is not None and not re.fullmatch(r"\.(svm|csv|parquet)(\.gz|\.bz2|\.xz)?", found):
        raise DefectError(f"{found!r} is no suffix")
    return content, found is not None


def columns_mutant(rng, folder):
    """Read one mutated file of labelled sequences and compare it."""
    content = mutated(rng, COLUMNS[int(rng.integers(len(COLUMNS)))])
    found = _read(_written(rng, folder, "mutant.conll", content), reader=read_columns)
    try:
        sequences = parsers.columns(content)
    except ValueError as error:
        if found is None:
            return content, False
        raise DefectError(f"accepted, but {error}") from error
    if found is None:
        raise DefectError("refused, but it is well formed")
    tokens = [token for sequence in sequences for token in sequence]
    if found.lengths != list(map(len, sequences)):
        raise DefectError(f"lengths {found.lengths} differ from {list(map(len, sequences))}")
    if [[*fields, label] for fields, label in zip(found.tokens, found.labels, strict=True)] != tokens:
        raise DefectError(f"tokens {found.tokens} differ from {tokens}")
    # lines end with LF, as an editor counts them
    lines = content.decode("utf-8-sig").split("\n")
    fields = [[one for one in re.split("[ \\t\\r]+", lines[number - 1]) if one] for number in found.lines]
    if fields != tokens:
        raise DefectError(f"lines {found.lines} are not those of the tokens")
    return content, True


def _compare_labels(found, texts):
    try:
        # as Python reads them, with digits and spaces of any script
        labels = [float(text.strip()) for text in texts]
    except ValueError:
        labels = [text.strip() for text in texts]
    same = len(labels) == len(found) and all(a == b or a != a for a, b in zip(labels, found.tolist(), strict=True))
    if not same:
        raise DefectError(f"labels {found.tolist()} differ from {labels}")


def _written(rng, folder, name, content):
    """The file, compressed in one case of eight."""
    if rng.random() < 0.125:
        suffix = _suffix(rng)
        name, content = f"{name}{suffix}", PACKED[suffix][0](content)
    path = folder / name
    path.write_bytes(content)
    return path


def _suffix(rng):
    return list(PACKED)[int(rng.integers(len(PACKED)))]


@cache
def _packed(original, suffix):
    return PACKED[suffix][0](original)


def compressed_mutant(rng, folder):
    """Read a file that is damaged after compression: the original content, or an error."""
    original = TABLES[0] if rng.random() < 0.5 else SVMLIGHT[0]
    suffix = _suffix(rng)
    content = mutated(rng, _packed(original, suffix))
    path = folder / f"mutant{'.csv' if original is TABLES[0] else '.svm'}{suffix}"
    path.write_bytes(content)
    found = _read(path, Layout())
    if found is None:
        return content, False
    whole = folder / f"whole{'.csv' if original is TABLES[0] else '.svm'}"
    # gzip has no checksum of its header, and data may follow the end of a stream
    try:
        whole.write_bytes(PACKED[suffix][1](content))
    except Exception as error:
        raise DefectError(f"accepted, but unpacking raises {type(error).__name__}: {error}") from error
    expected = _read(whole, Layout())
    if expected is None or not np.array_equal(_dense(found.X), _dense(expected.X)):
        raise DefectError("the content differs from the unpacked one")
    return content, True


def _dense(X):
    return X.toarray() if hasattr(X, "toarray") else X


def run(seed, budget, most=MOST, former=None):
    """Mutants of every reader in turn, until the budget is spent or each has had ``most``.

    A run goes on where the ``former`` one of this seed, of which this is the report, ended.
    """
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name:
        folder = Path(name)
        originals, checker = model_files(folder), load_checker()
        readers = {
            "svmlight": svmlight_mutant,
            "table": table_mutant,
            "compressed": compressed_mutant,
            "model": lambda rng, folder: model_mutant(rng, folder, originals),
            "checker": lambda rng, folder: checker_mutant(rng, folder, originals, checker),
            "columns": columns_mutant,
            "texts": text_mutant,
            "sniffed": sniffed_mutant,
        }
        return rounds(readers, folder, seed, budget, most, former)


def rounds(readers, folder, seed, budget, most, former):
    """The report of mutants of some readers in turn."""
    deadline, counts = time.monotonic() + budget, Counter({} if former is None else former["mutants"])
    defects = [] if former is None else former["defects"]
    for index in range(counts[next(iter(readers))], most):
        if time.monotonic() > deadline:
            break
        for place, (reader, one) in enumerate(readers.items()):
            try:
                _, accepted = one(np.random.default_rng([seed, place, index]), folder)
                counts[f"{reader}: accepted"] += accepted
            except DefectError as finding:
                defects.append(f"{reader}, mutant {index}: {finding}"[:300])
            counts[reader] += 1
    return {"mutants": dict(counts), "defects": defects}
