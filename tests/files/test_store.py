"""Stores: written in one pass, atomically; read through memory maps; damage is refused; answers are those in memory."""

import json
import os
import subprocess
import sys
import textwrap
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import fenchel
from fenchel import FenchelError, LinearClassifier, Problem, certify, solve
from fenchel.cli.main import main
from fenchel.designs import MappedDesign, as_design, mapped
from fenchel.io import StoreWriter, convert, open_store, store_writer, svmlight
from fenchel.io.readers import Layout, read
from fenchel.io.store import canonical
from fenchel.risks import MeanRisk, RocAUC
from fenchel.solvers import Newton, choose


def sparse_rows(count=300, features=20, seed=0, kind=np.float64):
    rng = np.random.default_rng(seed)
    X = sp.random_array((count, features), density=0.3, random_state=rng, format="csr").astype(kind)
    y = np.where(X @ rng.standard_normal(features) + 0.3 * rng.standard_normal(count) > 0, 1, -1)
    return X, y


def written(path, X, y, blocks=3, **others):
    with StoreWriter(path) as writer:
        for part in np.array_split(np.arange(len(y)), blocks):
            writer.append(X[part], y[part], **{name: values[part] for name, values in others.items()})
    return path


@pytest.fixture
def store(tmp_path):
    return written(tmp_path / "a.store", *sparse_rows())


def in_memory(X):
    return X.copy() if sp.issparse(X) else np.array(X)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("dense", [False, True])
def test_what_is_written_is_read(tmp_path, kind, dense):
    X, y = sparse_rows(kind=kind)
    X = X.toarray() if dense else X
    weights, qid = np.linspace(0.5, 2.0, len(y)), np.arange(len(y)) // 7
    path = written(tmp_path / "a.store", X, y, sample_weight=weights, qid=qid)
    found = open_store(path)
    assert found.X.dtype == kind
    assert found.X.shape == X.shape
    assert np.array_equal(found.X if dense else found.X.toarray(), X if dense else X.toarray())
    assert found.y.tolist() == y.tolist()
    assert found.y.dtype == np.int64
    assert found.sample_weight.tolist() == weights.tolist()
    assert found.qid.tolist() == qid.tolist()
    assert isinstance(as_design(found.X), MappedDesign)


@pytest.mark.parametrize("size", [20, 1 << 18])
@pytest.mark.parametrize("text", ["1 1:0.5 3:2\n-1 2:1\n1.5 4:1e-3\n", "1 2:1\n1 1:3\n2 0:1 2:5\n0 1:1\n", "1\n2\n"])
def test_a_file_is_converted_to_what_the_reader_reads(tmp_path, monkeypatch, text, size):
    """Feature 0 may come in a later block, after others were written as if numbered from 1."""
    monkeypatch.setattr(svmlight, "_BLOCK_BYTES", size)
    file, path = tmp_path / "a.svm", tmp_path / "a.store"
    file.write_text(text)
    shape = convert(file, path)
    found, expected = read(path), read(file)
    assert found.X.shape == expected.X.shape == shape
    assert np.array_equal(found.X.toarray(), expected.X.toarray())
    assert found.y.tolist() == expected.y.tolist()
    assert found.y.dtype == expected.y.dtype
    assert found.zero_based == expected.zero_based


def test_queries_are_kept(tmp_path):
    (tmp_path / "a.svm").write_text("1 qid:3 1:1\n2 qid:3 1:2\n1 qid:5 2:1\n")
    convert(tmp_path / "a.svm", tmp_path / "a.store")
    assert open_store(tmp_path / "a.store").qid.tolist() == [3, 3, 5]
    (tmp_path / "b.svm").write_text("1 qid:3 1:1\n2 1:2\n")
    with pytest.raises(FenchelError, match="qid: in 1 of 2 rows"):
        convert(tmp_path / "b.svm", tmp_path / "b.store")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.store", "a.svm", "b.svm"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# a\n\n1 1:1\n1 1:1 2:nan\n", r"line 4, column 7: '2:nan' is NaN or infinite"),
        ("1 1:1\n1 2:-inf # x\n", r"line 2, column 3: '2:-inf' is NaN or infinite"),
        ("1 1:1\n1 2:1e999\n", r"line 2, column 3: '2:1e999' is NaN or infinite"),
        ("1 1:1\n\nnan qid:3 1:1\n", r"line 3, column 1: 'nan' is NaN or infinite"),
        (
            "1 1:1\n#\n9007199254740993 1:1\n",
            r"line 3, column 1: '9007199254740993' as a label is a whole number of 2\^53",
        ),
        ("-9007199254740992 1:1\n", r"line 1, column 1: '-9007199254740992' as a label"),
        ("1 1:1\n# c\n1 1:1\n2 \t qid:4 1:2\n", r"line 4 has qid:, and the rows before have none"),
        ("1 qid:100000000000000000 1:1\n", "is not a whole number below 10"),
    ],
)
def test_what_a_store_can_not_hold_is_refused_with_its_line(tmp_path, monkeypatch, text, words):
    # blocks of some lines, in the first of which the rows have no query
    monkeypatch.setattr(svmlight, "_BLOCK_BYTES", 8)
    (tmp_path / "a.svm").write_text(text)
    with pytest.raises(FenchelError, match=rf"a\.svm: .*{words}"):
        convert(tmp_path / "a.svm", tmp_path / "a.store")
    assert [path.name for path in tmp_path.iterdir()] == ["a.svm"]
    if "label" in words:
        with pytest.raises(FenchelError, match=rf"a\.svm: .*{words}"):
            read(tmp_path / "a.svm")


def test_large_numbers_that_are_no_names_of_classes_are_kept(tmp_path):
    (tmp_path / "a.svm").write_text("1e20 1:1\n-9007199254740993.5 1:2\n9007199254740991 qid:99999999999999999 2:1\n")
    convert(tmp_path / "a.svm", tmp_path / "a.store", queries=False)
    expected = [1e20, -9007199254740994.0, 9007199254740991.0]
    assert open_store(tmp_path / "a.store").y.tolist() == expected
    assert read(tmp_path / "a.svm").y.tolist() == expected
    with StoreWriter(tmp_path / "b.store") as writer:
        writer.append(np.ones((1, 1)), [1e20], sample_weight=[2**60])
    assert open_store(tmp_path / "b.store").y.tolist() == [1e20]


@pytest.mark.parametrize("column", ["label", "query"])
def test_whole_numbers_of_a_table_that_floats_merge_are_refused(tmp_path, column):
    fields = ("9007199254740993", "1") if column == "label" else ("1", "9007199254740993")
    (tmp_path / "a.csv").write_text(f"1.5,0,0\n2.5,{','.join(fields)}\n")
    with pytest.raises(
        FenchelError, match=rf"a\.csv: the {column} 9007199254740993 of line 2 is a whole number of 2\^53"
    ):
        read(tmp_path / "a.csv", Layout(label="1", qid="2"))


def test_more_entries_than_32_bits_count_have_indices_of_64(tmp_path, monkeypatch):
    monkeypatch.setattr(store_writer, "_MOST_SHORT", 100)
    X, y = sparse_rows()
    found = open_store(written(tmp_path / "a.store", X, y))
    header = json.loads((tmp_path / "a.store" / "header.json").read_text())
    assert header["arrays"]["indices"]["dtype"] == header["arrays"]["indptr"]["dtype"] == "<i8"
    assert np.array_equal(found.X.toarray(), X.toarray())


# --- answers


def solutions(X, y, risk, solver):
    problem = Problem(X, risk(y), lam=0.1)
    return problem, solve(problem, solver, tol=0.0, max_iter=3000, seed=0)


@pytest.mark.filterwarnings("ignore::fenchel.GapWarning")
@pytest.mark.parametrize(
    ("risk", "solver"),
    [
        (lambda y: MeanRisk("hinge", y), "dual_coordinate"),
        (lambda y: MeanRisk("logistic", y), "newton"),
        pytest.param(lambda y: MeanRisk("logistic", y), "dual_coordinate", marks=pytest.mark.thorough),
        pytest.param(lambda y: MeanRisk("squared_hinge", y), "newton", marks=pytest.mark.thorough),
    ],
)
def test_answers_are_those_in_memory(store, monkeypatch, risk, solver):
    # several blocks in a random order
    monkeypatch.setattr(mapped, "_BLOCK_BYTES", 4000)
    monkeypatch.setattr(mapped, "_PRODUCT_ENTRIES", 100)
    found = open_store(store)
    assert as_design(found.X).block_rows < 100
    problem, solution = solutions(found.X, found.y, risk, solver)
    assert isinstance(problem.design, MappedDesign)
    other, expected = solutions(in_memory(found.X), found.y, risk, solver)
    assert not isinstance(other.design, MappedDesign)
    assert abs(solution.certificate.primal - expected.certificate.primal) <= 1e-10
    # lam/2 |w - w*|^2 is at most the gap
    gaps = [max(one.certificate.gap, 16.0 * np.finfo(float).eps) for one in (solution, expected)]
    radii = [np.sqrt(2.0 * gap / problem.lam) for gap in gaps]
    assert max(radii) <= 1e-6
    assert np.linalg.norm(solution.model.weights - expected.model.weights) <= 1e-10 + sum(radii)
    # each proves the other
    crossed = certify(other, solution.model, solution.witness)
    assert abs(crossed.gap - solution.certificate.gap) <= 1e-12
    assert crossed.relative_gap <= 1e-9


@pytest.mark.thorough
def test_a_measure_on_a_store(store):
    found = open_store(store)
    for X in (found.X, in_memory(found.X)):
        assert solve(Problem(X, RocAUC(found.y), lam=0.1), tol=1e-3).certificate.relative_gap <= 1e-3


@pytest.mark.thorough
def test_dense_rows_of_a_store(tmp_path):
    X, y = sparse_rows()
    found = open_store(written(tmp_path / "a.store", X.toarray(), y))
    one, other = (LinearClassifier(tol=1e-9, random_state=0).fit(Z, y) for Z in (found.X, np.array(found.X)))
    # sums over rows that are aligned otherwise in memory are rounded otherwise; lam/2 |w - w*|^2 is at most the gap
    radii = [np.sqrt(2.0 * len(y) * model.certificate_.gap) for model in (one, other)]
    assert one.converged_
    assert other.converged_
    assert np.linalg.norm(one.coef_ - other.coef_) <= sum(radii)


def test_auto_begins_with_samples_of_a_store_larger_than_memory(tmp_path):
    X, y = sparse_rows(2000, features=80)
    path = written(tmp_path / "a.store", X.toarray(), y)
    for limit, first in (("1GB", "dual_coordinate"), ("100kB", "newton")):
        problem = Problem(open_store(path, memory_limit=limit).X, MeanRisk("hinge", y), 1e-5)
        assert choose(problem, "auto")[0].solver.name == first


def test_an_epoch_goes_through_one_block_after_the_other():
    from fenchel.solvers.shrinking import ActiveSet, random_state

    active, random = ActiveSet(np.arange(1000), 1000, block_rows=64), random_state(3)
    seen = []
    for _ in range(2):
        part = active.next_part(1000, random, shrinking=False)
        order = part.order[: part.end].astype(int)
        assert sorted(order.tolist()) == list(range(1000))
        blocks = order // 64
        # each block once, in an order of its own, shuffled inside
        assert np.count_nonzero(np.diff(blocks)) == 15
        seen.append(order)
        inside = order[blocks == 2]
        assert inside.tolist() != sorted(inside.tolist())
        assert blocks.tolist() != sorted(blocks.tolist())
    assert not np.array_equal(*seen)
    assert ActiveSet(np.arange(10), 10, block_rows=64).block_rows is None


# --- limits


def test_a_memory_limit_refuses_methods_that_copy_the_data(store):
    found = open_store(store, memory_limit="10kB")
    design = as_design(found.X)
    assert design.memory_limit == 10_000
    assert not design.has_columns
    for copy in (design.sparse, design.transposed, lambda: design.narrowed(np.arange(2))):
        with pytest.raises(FenchelError, match="raise memory_limit"):
            copy()
    assert as_design(open_store(store, memory_limit=1e9).X).has_columns
    # a part of a mapped array keeps the limit
    assert mapped.memory_limit_of(found.X.data[5:]) == 10_000
    assert np.array_equal(design.column_counts, np.bincount(found.X.indices, minlength=20))


@pytest.mark.parametrize("limit", [0, -1, "2 parsecs", "GB", "1.2.3MB", float("nan"), True, [1]])
def test_wrong_memory_limits(store, limit):
    with pytest.raises(FenchelError, match="memory_limit must be a positive number of bytes"):
        open_store(store, memory_limit=limit)


#: a fit of data larger than what the process may allocate; RLIMIT_DATA does not count mapped files
LIMITED = """
    import re, resource, sys, warnings
    import numpy as np, scipy.sparse as sp
    from fenchel import LinearClassifier, MeasureClassifier
    from fenchel.io import open_store

    path, kind, limit = sys.argv[1], sys.argv[2], int(sys.argv[3])
    makers = {
        "hinge": lambda: LinearClassifier(C=1e-4, tol=1e-2, solver="dual_coordinate", random_state=0),
        "logistic": lambda: LinearClassifier(C=1e-2, loss="logistic", tol=1e-2, random_state=0),
        "roc_auc": lambda: MeasureClassifier("roc_auc", tol=1e-2, random_state=0),
    }
    def kilobytes(name):
        return int(re.search(name + r":\\s+(\\d+)", open("/proc/self/status").read())[1])
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(1)
    # loops are compiled and libraries loaded before memory is limited
    makers[kind]().set_params(max_iter=20).fit(sp.csr_array(rng.standard_normal((500, 30))), rng.integers(0, 2, 500))
    bytes_now = 1024 * kilobytes("VmData")
    resource.setrlimit(resource.RLIMIT_DATA, (bytes_now + limit, bytes_now + limit))
    store = open_store(path, memory_limit="50MB")
    try:
        store.X.data.copy()
        raise SystemExit("a copy of X fits: the limit is too large to show anything")
    except MemoryError:
        pass
    model = makers[kind]().fit(store.X, store.y)
    print(model.converged_, model.certificate_.relative_gap, model.solver_, kilobytes("RssAnon"))
"""


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_DATA covers mapped anonymous memory on Linux")
@pytest.mark.parametrize("kind", ["hinge", "logistic", "roc_auc"])
def test_data_larger_than_the_memory_that_may_be_used(tmp_path_factory, kind):
    path = tmp_path_factory.getbasetemp() / "large.store"
    if not path.exists():
        with StoreWriter(path) as writer:
            rng = np.random.default_rng(0)
            X = sp.csr_array(rng.standard_normal((2000, 400)))
            for _ in range(31):
                scores = X @ rng.standard_normal(400)
                writer.append(X, np.where(scores + 10.0 * rng.standard_normal(2000) > 0, 1, -1))
    assert sum(file.stat().st_size for file in path.iterdir()) > 290e6
    paths = [str(Path(fenchel.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", textwrap.dedent(LIMITED), str(path), kind, str(150_000_000)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("True"), done.stdout


def test_samples_of_a_store_are_runs_of_rows(tmp_path):
    X, y = sparse_rows(6000)
    # sorted by label: samples have both classes all the same
    order = np.argsort(y, kind="stable")
    X, y = X.toarray()[order], y[order]
    opened = open_store(written(tmp_path / "a.store", X, y), memory_limit=8 * 16 * 20 * 600)
    problem = Problem(opened.X, MeanRisk("logistic", opened.y), 1e-3, intercept=True)
    # 600 rows in a block, and 4 in a run
    assert problem.design.block_rows == 600
    state = Newton().start(problem, None)
    (sample,) = (output.sample for output in state.outputs)
    assert len(sample.selected) == 1500
    assert np.all(np.diff(sample.selected.reshape(-1, 4), axis=1) == 1)
    assert np.unique(opened.y[sample.selected]).tolist() == [-1, 1]
    assert np.array_equal(np.sort(state.order), np.arange(6000))
    found = solve(problem, Newton(), tol=1e-6)
    assert found.converged
    expected = solve(Problem(X, MeanRisk("logistic", y), 1e-3, intercept=True), tol=1e-9).certificate
    assert found.certificate.dual <= expected.primal + 1e-12
    assert expected.dual <= found.certificate.primal + 1e-12


# --- damage, and what is never replaced


@pytest.mark.parametrize("name", ["data", "indices", "indptr", "labels"])
def test_a_changed_byte_is_refused_by_name(store, name):
    file = store / f"{name}.bin"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 4
    file.write_bytes(content)
    with pytest.raises(FenchelError, match=rf"a\.store: {name}\.bin is damaged"):
        open_store(store)


@pytest.mark.parametrize("damage", ["shorter", "longer", "missing"])
def test_files_of_another_length_are_refused_without_reading_them(store, damage):
    file = store / "indices.bin"
    content = file.read_bytes()
    file.unlink()
    if damage != "missing":
        file.write_bytes(content[:-1] if damage == "shorter" else content + b"\0")
    with pytest.raises(FenchelError, match=r"a\.store: indices\.bin (is missing|has .* bytes instead of)"):
        open_store(store, verify=False)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"crc32": 3}', b"[" * 100_000, b"\xff"])
def test_a_damaged_header_is_refused(store, content):
    (store / "header.json").write_bytes(content)
    with pytest.raises(FenchelError, match=r"a\.store: header\.json is damaged"):
        open_store(store)


def test_any_changed_byte_of_a_header_is_refused_or_changes_nothing(store):
    rng, file = np.random.default_rng(0), store / "header.json"
    whole, expected = file.read_bytes(), json.loads(file.read_bytes())
    for _ in range(60):
        content = bytearray(whole)
        content[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
        file.write_bytes(content)
        try:
            open_store(store, verify=False)
        except FenchelError:
            continue
        assert json.loads(content) == expected


def test_a_store_of_another_format_is_refused(store):
    file = store / "header.json"
    header = json.loads(file.read_text())
    del header["crc32"]
    header["format"] = 99
    file.write_text(json.dumps({**header, "crc32": zlib.crc32(canonical(header))}))
    with pytest.raises(FenchelError, match="has format 99"):
        open_store(store)


def test_only_a_store_is_replaced(tmp_path, store):
    X, y = sparse_rows(seed=1)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "precious").write_text("kept")
    (tmp_path / "file").write_text("kept")
    # a folder of somebody else's with such a name in it, and a store with a file of the user's
    (tmp_path / "folder" / "header.json").write_text("{}")
    (store / "notes.txt").write_text("kept")
    for name in ("folder", "file", "a.store"):
        with pytest.raises(FenchelError, match="only a store is replaced"):
            StoreWriter(tmp_path / name, force=True)
    (store / "notes.txt").unlink()
    with pytest.raises(FenchelError, match="exists: choose another name"):
        StoreWriter(store)
    with pytest.raises(FenchelError, match="there is no folder"):
        StoreWriter(tmp_path / "no" / "where")
    link = tmp_path / "link.store"
    link.symlink_to(store)
    with StoreWriter(link, force=True) as writer:
        writer.append(X, y)
    assert link.is_symlink()
    assert np.array_equal(open_store(store).X.toarray(), X.toarray())
    assert (tmp_path / "folder" / "precious").read_text() == (tmp_path / "file").read_text() == "kept"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.store", "file", "folder", "link.store"]


def test_half_a_store_never_has_its_name(tmp_path, store):
    X, y = sparse_rows(seed=1)
    before = open_store(store).X.toarray()
    for path in (tmp_path / "new.store", store):
        with pytest.raises(KeyboardInterrupt), StoreWriter(path, force=True) as writer:
            writer.append(X, y)
            raise KeyboardInterrupt
    assert [path.name for path in tmp_path.iterdir()] == ["a.store"]
    assert np.array_equal(open_store(store).X.toarray(), before)


@pytest.mark.parametrize("rows", [2000, 200_000], ids=["at_the_end", "in_a_block"])
def test_a_full_disk_is_an_error_with_the_name_of_the_store(tmp_path, store, rows):
    resource = pytest.importorskip("resource")
    before, limits = open_store(store).X.toarray(), resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(path):
        # the limit is restored before pytest writes
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
        try:
            with StoreWriter(path, force=True) as writer:
                writer.append(np.ones((rows, 1)), np.ones(rows))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    for path in (tmp_path / "new.store", store):
        with pytest.raises(OSError, match="too large") as found:
            fill(path)
        assert found.value.filename == str(path)
    assert [path.name for path in tmp_path.iterdir()] == ["a.store"]
    assert np.array_equal(open_store(store).X.toarray(), before)


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"X": np.eye(2), "y": [1, 2, 3]}, "y must have shape"),
        ({"X": np.eye(2), "y": ["a", "b"]}, "y must hold numbers"),
        ({"X": np.eye(2), "y": [1, np.nan]}, "y holds NaN"),
        ({"X": np.eye(2), "y": [1, 2], "qid": [0.5, 1.0]}, "qid must hold whole numbers"),
        ({"X": np.eye(2), "y": [1, 2], "sample_weight": [1, 2]}, "some have weights and others not"),
        ({"X": np.eye(3), "y": [1, 2, 3]}, "X has 3 columns"),
        ({"X": np.eye(2, dtype=np.float32), "y": [1, 2]}, "X has float32 numbers"),
        ({"X": sp.eye_array(2), "y": [1, 2]}, "some have data, indices, indptr, values"),
        ({"X": [[np.inf, 1.0]], "y": [1]}, "X holds NaN or infinity"),
        ({"X": [["a", "b"]], "y": [1]}, "X must hold real numbers"),
        ({"X": [1.0, 2.0], "y": [1, 2]}, "two dimensions"),
        ({"X": np.eye(2), "y": [1, 2**53]}, "y holds 9007199254740992: .* not all distinct"),
        ({"X": np.eye(2), "y": [1, -(2**63)]}, "y holds -9223372036854775808"),
        ({"X": np.eye(2), "y": np.array([1, 2**64 - 1], dtype=np.uint64)}, "y holds 18446744073709551615"),
        ({"X": np.eye(2), "y": [1, 2], "qid": np.array([1, 2**63], dtype=np.uint64)}, r"qid must be below 2\^63"),
        ({"X": np.empty((2, 0)), "y": [1, 2]}, "X has no columns"),
        ({"X": sp.csr_array((2, 0)), "y": [1, 2]}, "X has no columns"),
    ],
)
def test_a_wrong_block_is_refused_and_not_written(tmp_path, block, words):
    with StoreWriter(tmp_path / "a.store") as writer:
        writer.append(np.eye(2), [1, 2])
        with pytest.raises(FenchelError, match=words):
            writer.append(**block)
        writer.append(-np.eye(2), [3, 4])
    assert open_store(tmp_path / "a.store").X.tolist() == [[1, 0], [0, 1], [-1, 0], [0, -1]]


def test_writers_side_by_side_have_a_folder_each(tmp_path, store):
    """Two threads that replace one store: whichever ends last, the store is whole, of one of them."""
    both = threading.Barrier(2)

    def write(value):
        with StoreWriter(store, force=True) as writer:
            both.wait()
            for _ in range(20):
                writer.append(np.full((50, 2), value), np.full(50, value))
            both.wait()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, [1.0, 2.0]))
    found = open_store(store)
    assert found.X.shape == (1000, 2)
    assert len(np.unique(found.X)) == 1
    assert found.y.tolist() == found.X[:, 0].tolist()
    assert [path.name for path in tmp_path.iterdir()] == ["a.store"]
    (tmp_path / "new").mkdir()
    assert store.stat().st_mode == (tmp_path / "new").stat().st_mode


def test_what_a_killed_writer_left_is_removed_after_a_day(tmp_path):
    old, live, other = (
        tmp_path / f".{name}.{digits}.part" for name, digits in zip("aab", ("0" * 16, "1" * 16, "2" * 16), strict=True)
    )
    own = tmp_path / ".a.notes.part"
    for folder in (old, live, other, own):
        folder.mkdir()
        (folder / "data.bin").write_bytes(b"")
        os.utime(folder / "data.bin", (0, 0))
        os.utime(folder, (0, 0))
    # its folder is old, and something was written to a file of it just now
    os.utime(live / "data.bin")
    with StoreWriter(tmp_path / "a") as writer:
        writer.append(np.eye(2), [1, 2])
    assert {path.name for path in tmp_path.iterdir()} == {"a", live.name, other.name, own.name}


def test_a_writer_is_for_one_with_block(tmp_path):
    writer = StoreWriter(tmp_path / "a.store")
    with pytest.raises(FenchelError, match="append belongs into the `with` block"):
        writer.append(np.eye(2), [1, 2])
    with writer:
        writer.append(np.eye(2), [1, 2])
        with pytest.raises(FenchelError, match="make another one"):
            writer.__enter__()
    with pytest.raises(FenchelError, match="append belongs into the `with` block"):
        writer.append(np.eye(2), [1, 2])
    with pytest.raises(FenchelError, match="make another one"), writer:
        pass
    assert open_store(tmp_path / "a.store").X.shape == (2, 2)


def test_a_store_without_rows(tmp_path):
    with pytest.raises(FenchelError, match="holds no rows"), StoreWriter(tmp_path / "a.store"):
        pass
    assert not list(tmp_path.iterdir())


# --- the command line


def test_convert_train_predict_and_certify(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("a.svm").write_text("".join(f"{k % 2} 1:{k % 7 + 1} 3:{(k * k) % 5}\n" for k in range(100)))
    assert main(["convert", "a.svm"]) == 0
    assert "a.svm: 100 rows, 3 features\nwritten: a.store" in capsys.readouterr().out
    assert main(["convert", "a.svm"]) == 2
    assert "exists" in capsys.readouterr().err
    assert main(["convert", "a.svm", "--force"]) == 0
    for data in ("a.store", "a.svm"):
        assert main(["train", data, "-o", f"{data}.npz"]) == 0
        assert main(["certify", f"{data}.npz", "a.store"]) == 0
        assert main(["predict", f"{data}.npz", "a.store", "-o", f"{data}.txt"]) == 0
    assert Path("a.store.txt").read_text() == Path("a.svm.txt").read_text()
    assert main(["convert", "a.svm", "-o", "zero.store", "--zero-based"]) == 0
    capsys.readouterr()
    assert main(["predict", "a.svm.npz", "zero.store"]) == 2
    assert "convert the data again with --no-zero-based" in capsys.readouterr().err
    assert main(["train", "a.svm", "-o", "b.npz", "--label", "1"]) == 2
    Path("a.csv").write_text("1,2\n")
    assert main(["convert", "a.csv", "-o", "table.store"]) == 0
    assert main(["convert", "nothing.svm"]) == 2
    assert "there is no such file" in capsys.readouterr().err
    Path("z.svm").write_text("1 0:1\n0 1:1\n")
    assert main(["convert", "z.svm", "--no-zero-based"]) == 2
    said = capsys.readouterr().err
    assert "z.svm: has a feature 0, and zero_based=False (--no-zero-based) says" in said
    assert "model" not in said
    Path("a.conll").write_text("a A\nb B\n")
    assert main(["convert", "a.conll"]) == 2
    assert "a.conll: is a file of labelled sequences (.conll), and only rows are converted" in capsys.readouterr().err
    for command in ("predict", "certify"):
        assert main([command, "a.svm.npz", "a.conll"]) == 2
        assert "a.conll: is a file of labelled sequences (.conll), and the model was trained" in capsys.readouterr().err


def test_weights_of_a_store_take_part_in_training(tmp_path, capsys):
    X, y = sparse_rows(60)
    weights = np.linspace(0.1, 3.0, 60)
    path = written(tmp_path / "w.store", X, y, sample_weight=weights)
    assert main(["train", str(path), "-o", str(tmp_path / "m.npz")]) == 0
    assert main(["certify", str(tmp_path / "m.npz"), str(path)]) == 0
    with np.load(tmp_path / "m.npz") as archive:
        coef = archive["coef_"]
    assert np.array_equal(coef, LinearClassifier(random_state=0).fit(X, y, sample_weight=weights).coef_)
