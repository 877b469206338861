"""Mutated files for every reader: a FenchelError, or what an independent parser reads.

Any other exception is a defect, and so is content that differs.
"""

import re
import tempfile
import time
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np

from campaign import parsers
from campaign.comparing import (
    PACKED,
    any_suffix,
    compare_columns,
    compare_labels,
    compare_sparse,
    dense,
    refused_or_read,
    written,
)
from campaign.models import checker_mutant, load_checker, model_files, model_mutant
from campaign.mutations import DefectError, mutated
from campaign.stores import (
    parquet_files,
    parquet_mutant,
    stored_parquet_mutant,
    stored_rows_mutant,
    stored_table_mutant,
)
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
#: tables that a store can hold: numbers in every column
NUMBERS = (
    TABLES[0],
    b"q;w;y\r\n1;0.5;-1\r\n1;2;1\r\n\r\n2;0;-1\r\n",
    b'a\tb\t"the\nlabel"\n1\t"2"\t3\n4\t-5e-3\t6\n',
    b"1,2,3,4\n1,9007199254740991,0,1e300\n2,-3,0,-1e-310\n",
)
IMPUTED = (None, "median", "mean", "most-frequent")
COLUMNS = (
    b"He PRP B-NP\nreckons VBZ B-VP\n\nRockwell NNP B-NP\n. . O\n",
    b"\n# # B-NP \r\n5 CD\tI-NP\r\n \t\r\nno DT O",
    "\ufeffGr\u00f6\u00dfe\u00a0x A\n\n\n\u2028 B\nc B\n".encode(),
)
#: files in memory: truncating one on disk takes longer than reading it
MEMORY = Path("/dev/shm")


def svmlight_mutant(rng, folder):
    """Read one mutated svmlight file and compare it."""
    content = mutated(rng, SVMLIGHT[int(rng.integers(len(SVMLIGHT)))])
    found = refused_or_read(read, written(rng, folder, "mutant.svm", content), Layout())
    if found is None:
        return content, False
    try:
        rows = parsers.svmlight(content)
    except ValueError as error:
        raise DefectError(f"accepted, but {error}") from error
    compare_sparse(found, rows)
    return content, True


def table_mutant(rng, folder, originals=TABLES):
    """Read one mutated table and compare it: numbers, categories, missing values, names and labels."""
    content = mutated(rng, originals[int(rng.integers(len(originals)))])
    impute = IMPUTED[int(rng.integers(len(IMPUTED)))]
    found = refused_or_read(read, written(rng, folder, "mutant.csv", content), Layout(impute=impute))
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
    compare_columns(found, features, names)
    compare_labels(found.y, [row[-1] for row in rows])
    return content, True


def text_mutant(rng, folder):
    """Read one mutated table with texts and missing values and compare it."""
    return table_mutant(rng, folder, TEXTS)


def sniffed_mutant(rng, folder):
    """Say what content without a name is: a suffix that the readers know, or an error."""
    originals = (*SVMLIGHT, *TABLES, *TEXTS)
    content = originals[int(rng.integers(len(originals)))]
    suffix = any_suffix(rng) if rng.random() < 0.5 else ""
    content = mutated(rng, PACKED[suffix][0](content) if suffix else content)
    found = refused_or_read(name_of, content, None)
    if found is not None and not re.fullmatch(r"\.(svm|csv|parquet)(\.gz|\.bz2|\.xz)?", found):
        raise DefectError(f"{found!r} is no suffix")
    return content, found is not None


def columns_mutant(rng, folder):
    """Read one mutated file of labelled sequences and compare it."""
    content = mutated(rng, COLUMNS[int(rng.integers(len(COLUMNS)))])
    found = refused_or_read(read_columns, written(rng, folder, "mutant.conll", content))
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


@cache
def _packed(original, suffix):
    return PACKED[suffix][0](original)


def compressed_mutant(rng, folder):
    """Read a file that is damaged after compression: the original content, or an error."""
    original = TABLES[0] if rng.random() < 0.5 else SVMLIGHT[0]
    suffix = any_suffix(rng)
    content = mutated(rng, _packed(original, suffix))
    path = folder / f"mutant{'.csv' if original is TABLES[0] else '.svm'}{suffix}"
    path.write_bytes(content)
    found = refused_or_read(read, path, Layout())
    if found is None:
        return content, False
    whole = folder / f"whole{'.csv' if original is TABLES[0] else '.svm'}"
    # gzip has no checksum of its header, and data may follow the end of a stream
    try:
        whole.write_bytes(PACKED[suffix][1](content))
    except Exception as error:
        raise DefectError(f"accepted, but unpacking raises {type(error).__name__}: {error}") from error
    expected = refused_or_read(read, whole, Layout())
    if expected is None or not np.array_equal(dense(found.X), dense(expected.X)):
        raise DefectError("the content differs from the unpacked one")
    return content, True


def run(seed, budget, most=MOST, former=None, chosen=None):
    """Mutants of every reader in turn, or of the ``chosen``, until the budget is spent or each has had ``most``.

    A run goes on where the ``former`` one of this seed, of which this is the report, ended.
    """
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name:
        folder = Path(name)
        originals, checker, parquets = model_files(folder), load_checker(), parquet_files()
        readers = {
            "svmlight": svmlight_mutant,
            "table": table_mutant,
            "compressed": compressed_mutant,
            "model": lambda rng, folder: model_mutant(rng, folder, originals),
            "checker": lambda rng, folder: checker_mutant(rng, folder, originals, checker),
            "columns": columns_mutant,
            "texts": text_mutant,
            "sniffed": sniffed_mutant,
            "parquet": lambda rng, folder: parquet_mutant(rng, folder, parquets),
            "stored table": lambda rng, folder: stored_table_mutant(rng, folder, NUMBERS),
            "stored parquet": lambda rng, folder: stored_parquet_mutant(rng, folder, parquets),
            "stored svmlight": lambda rng, folder: stored_rows_mutant(rng, folder, SVMLIGHT),
        }
        return rounds(readers, folder, seed, budget, most, former, chosen)


def rounds(readers, folder, seed, budget, most, former, chosen=None):
    """The report of mutants of some readers in turn."""
    if unknown := set(chosen or ()) - set(readers):
        raise SystemExit(f"there is no reader {', '.join(unknown)}; choose from {', '.join(readers)}")
    asked = set(chosen or readers)
    deadline, counts = time.monotonic() + budget, Counter({} if former is None else former["mutants"])
    defects = [] if former is None else former["defects"]
    for index in range(min(counts[reader] for reader in asked), most):
        if time.monotonic() > deadline:
            break
        for place, (reader, one) in enumerate(readers.items()):
            if reader not in asked or counts[reader] > index:
                continue
            try:
                _, accepted = one(np.random.default_rng([seed, place, index]), folder)
                counts[f"{reader}: accepted"] += accepted
            except DefectError as finding:
                defects.append(f"{reader}, mutant {index}: {finding}"[:300])
            counts[reader] += 1
    return {"mutants": dict(counts), "defects": defects}
