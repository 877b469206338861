"""A design is its matrix: every storage gives NumPy's products, without a copy and without a mark on the user's X."""

import itertools
import pickle
import subprocess
import sys
import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given

import fenchel.designs.base as base
import fenchel.designs.csr as csr_module
import fenchel.designs.dense as dense_module
import fenchel.designs.rows as rows_module
from fenchel import FenchelError, Problem
from fenchel.designs import ChainDesign, CSRDesign, as_design
from fenchel.numerics.rounding import gamma
from fenchel.risks import MeanRisk
from strategies import matrices

pytestmark = pytest.mark.usefixtures("own_storage")

DTYPES = (np.float32, np.float64, np.int8, np.int64, np.bool_, np.float16, np.uint16)
ORDERS = ("C", "F", "strided", "reversed", "read-only", "mapped")


def small_matrix(dtype, n=9, d=5):
    rng = np.random.default_rng(4)
    X = rng.integers(-3, 4, (n, d))
    X[[2, 4, 8]] = 0
    X[:, 2] = 0
    return (np.abs(X) if np.dtype(dtype).kind in "ub" else X).astype(dtype)


def laid_out(X, order, folder):
    if order == "C":
        return np.ascontiguousarray(X)
    if order == "F":
        return np.asfortranarray(X)
    if order == "strided":
        wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]), X.dtype)
        wide[::2, ::3] = X
        return wide[::2, ::3]
    if order == "reversed":
        return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
    if order == "read-only":
        copy = X.copy()
        copy.flags.writeable = False
        return copy
    mapped = np.memmap(folder / "X.bin", X.dtype, "w+", shape=X.shape)
    mapped[:] = X
    mapped.flush()
    return np.memmap(folder / "X.bin", X.dtype, "r", shape=X.shape)


@pytest.fixture(params=[1 << 20, 4, 1], ids=["one block", "blocks of 4", "blocks of 1"])
def block(request, monkeypatch):
    """Products in one block and in many."""
    for module in (base, csr_module, dense_module):
        monkeypatch.setattr(module, "BLOCK", request.param)
    monkeypatch.setattr(csr_module, "_SHORT_SUMS", request.param)
    monkeypatch.setattr(csr_module, "_ENTRIES_PER_FEATURE", 1)
    return request.param


def assert_is_matrix(design, expected):
    """Products, norms and rows agree with those of a dense float64 matrix."""
    expected = np.asarray(expected, dtype=np.float64)
    n, d = expected.shape
    rng = np.random.default_rng(5)
    assert design.shape == (n, d)
    for w, theta in ((rng.normal(size=d), rng.normal(size=n)), (rng.normal(size=(3, d)), rng.normal(size=(n, 3)))):
        scores, adjoint = design.scores(w), design.adjoint(theta)
        assert scores.dtype == adjoint.dtype == np.float64
        np.testing.assert_allclose(scores, expected @ w.T, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(adjoint, theta.T @ expected, rtol=1e-13, atol=1e-13)
        assert adjoint.flags.c_contiguous
    np.testing.assert_allclose(design.squared_row_norms, (expected**2).sum(axis=1), rtol=1e-13)
    rows = design.rows()
    w = rng.normal(size=d)
    for i in range(n):
        assert rows.row_dot(i, w) == pytest.approx(expected[i] @ w, rel=1e-13, abs=1e-13)
        added = w.copy()
        rows.row_add(i, np.float64(0.7), added)
        np.testing.assert_allclose(added, w + 0.7 * expected[i], rtol=1e-13, atol=1e-13)
        rows.row_prefetch(i)
        rows.index_prefetch(i)


@pytest.mark.parametrize(("dtype", "order"), list(itertools.product(DTYPES, ORDERS)))
def test_dense(dtype, order, block, tmp_path):
    X = laid_out(small_matrix(dtype), order, tmp_path)
    before, flags = X.tobytes(), str(X.flags)
    design = as_design(X)
    assert_is_matrix(design, np.asarray(X, dtype=np.float64))
    assert X.tobytes() == before
    assert str(X.flags) == flags
    assert design.stored_entries == X.size
    values = design.rows().values
    assert not values.flags.writeable
    assert type(values) is np.ndarray
    if dtype is not np.float16:
        assert np.shares_memory(values, X)


@pytest.mark.parametrize("dtype", [">f8", ">f4", ">i4", "f16", object])
def test_dense_foreign_numbers_are_converted(dtype):
    X = small_matrix(np.float64).astype(dtype)
    assert_is_matrix(as_design(X), X.astype(np.float64))


def unaligned(values):
    """A copy that begins at an odd address, as arrays do that Dask received in a message."""
    space = np.zeros(values.nbytes + 1, dtype=np.uint8)
    space[1:] = np.frombuffer(values.tobytes(), dtype=np.uint8)
    return space[1:].view(values.dtype).reshape(values.shape)


@pytest.mark.parametrize("rows", [5, 20_000], ids=["few", "many"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_rows_that_begin_at_any_byte_have_the_type_and_checksum_of_others(rows, dtype):
    X = np.arange(4 * rows).astype(dtype).reshape(rows, 4) % 7
    S = sp.csr_array(X)
    moved = sp.csr_array((unaligned(S.data), unaligned(S.indices), unaligned(S.indptr)), shape=S.shape)
    for one, other in ((X, unaligned(X)), (S, moved)):
        design = as_design(other)
        assert design.checksum() == as_design(one).checksum()
        assert all(value.flags.aligned for value in vars(design).values() if isinstance(value, np.ndarray))
        assert design.stored_entries == as_design(one).stored_entries


def test_dense_lists_and_matrices():
    assert_is_matrix(as_design([[1, 2], [3, 4]]), [[1, 2], [3, 4]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        matrix = np.asmatrix([[1.0, 2.0], [3.0, 4.0]])
    assert_is_matrix(as_design(matrix), [[1, 2], [3, 4]])
    with pytest.raises(FenchelError, match="two dimensions"):
        as_design(np.zeros(3))
    design = as_design(np.eye(2))
    assert as_design(design) is design


def sparse_input(dtype, index, kind, layout):
    container = {"array": sp.csr_array, "matrix": sp.csr_matrix}[kind]
    X = container(small_matrix(dtype))
    if layout == "unsorted":
        for start, stop in itertools.pairwise(X.indptr):
            X.indices[start:stop] = X.indices[start:stop][::-1].copy()
            X.data[start:stop] = X.data[start:stop][::-1].copy()
        X = container((X.data, X.indices, X.indptr), shape=X.shape)
    elif layout == "duplicates":
        X = container((np.repeat(X.data, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
    elif layout == "read-only":
        X.data.flags.writeable = False
        X.indices.flags.writeable = X.indptr.flags.writeable = False
    X.indices, X.indptr = X.indices.astype(index, copy=False), X.indptr.astype(index, copy=False)
    return X


LAYOUTS = ("plain", "unsorted", "duplicates", "read-only")
# the full cross for float64, the other dtypes pairwise
SPARSE = [(np.float64, *rest) for rest in itertools.product((np.int32, np.int64), ("array", "matrix"), LAYOUTS)] + [
    (dtype, (np.int32, np.int64)[k % 2], ("array", "matrix")[k // 2 % 2], layout)
    for k, (dtype, layout) in enumerate(itertools.product(DTYPES, LAYOUTS))
    if dtype not in (np.float64, np.float16)
]


@pytest.mark.parametrize(("dtype", "index", "kind", "layout"), SPARSE)
def test_csr(dtype, index, kind, layout, block):
    X = sparse_input(dtype, index, kind, layout)
    expected = X.astype(np.float64).toarray()
    X = sparse_input(dtype, index, kind, layout)
    arrays = (X.data, X.indices, X.indptr)
    before, known = [a.tobytes() for a in arrays], dict(vars(X))
    design = as_design(X)
    assert_is_matrix(design, expected)
    assert [a.tobytes() for a in arrays] == before
    # nothing cached on the user's matrix, such as has_sorted_indices
    assert set(vars(X)) == set(known)
    assert all(value is known[name] for name, value in vars(X).items())
    rows = design.rows()
    for view, array in zip(rows, arrays, strict=True):
        assert np.shares_memory(view, array)
        assert not view.flags.writeable
    assert rows.indices.dtype == rows.indptr.dtype == np.dtype(f"u{np.dtype(index).itemsize}")
    assert design.stored_entries == X.nnz


@pytest.mark.parametrize("sparse_format", ["csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_other_sparse_formats(sparse_format, kind, block):
    X = getattr(sp, f"{sparse_format}_{kind}")(small_matrix(np.float64))
    expected = X.toarray()
    assert_is_matrix(as_design(X), expected)
    np.testing.assert_array_equal(X.toarray(), expected)


def test_coo_duplicates_are_summed():
    X = sp.coo_array(([1.0, 2.0, 4.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    assert_is_matrix(as_design(X), [[0, 3], [4, 0]])
    assert X.nnz == 3


def test_mapped_csr(tmp_path):
    X = sp.csr_array(small_matrix(np.float32))
    for name in ("data", "indices", "indptr"):
        np.save(tmp_path / f"{name}.npy", getattr(X, name))
    parts = [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("data", "indices", "indptr")]
    design = as_design(sp.csr_array(tuple(parts), shape=X.shape))
    assert_is_matrix(design, X.toarray())
    assert np.shares_memory(design.rows().data, parts[0])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("build", [*ORDERS, "csr", "csr64"])
def test_loops_read_few_entries_in_the_usual_storage(dtype, build, tmp_path, monkeypatch):
    """One compiled loop serves all; one entry more, and they read the user's own array."""
    X = small_matrix(dtype)
    kept = sp.csr_array(X.astype(np.float32 if dtype is np.float16 else dtype)) if "csr" in build else None
    if build == "csr64":
        kept.indices, kept.indptr = kept.indices.astype(np.int64), kept.indptr.astype(np.int64)
    given, entries = (laid_out(X, build, tmp_path), X.size) if kept is None else (kept, max(kept.nnz, len(X) + 1))
    monkeypatch.setattr(rows_module, "_FEW_ENTRIES", entries)
    design = as_design(given)
    assert_is_matrix(design, X)
    rows = design.rows()
    assert all(not part.flags.writeable and part.flags.c_contiguous for part in rows)
    assert rows[0].dtype == np.float64
    assert all(part.dtype == np.uint32 for part in rows[1:])
    monkeypatch.setattr(rows_module, "_FEW_ENTRIES", entries - 1)
    if dtype is not np.float16:
        assert all(
            np.shares_memory(*parts)
            for parts in zip(
                as_design(given).rows(),
                [given] if kept is None else (kept.data, kept.indices, kept.indptr),
                strict=True,
            )
        )


def test_empty_rows_before_a_row_longer_than_a_block(monkeypatch):
    monkeypatch.setattr(csr_module, "BLOCK", 2)
    X = np.zeros((4, 6), dtype=np.float32)
    X[2] = 1.0
    assert_is_matrix(as_design(sp.csr_array(X)), X)


def test_spare_capacity_behind_the_entries():
    X = sp.csr_array((np.arange(6.0), np.array([0, 1, 2, 0, 9, 9]), np.array([0, 2, 4])), shape=(2, 3))
    assert_is_matrix(as_design(X), [[0, 1, 0], [3, 0, 2]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_rows_entries_at_all(dtype, block):
    assert_is_matrix(as_design(sp.csr_array((3, 4), dtype=dtype)), np.zeros((3, 4)))


@given(matrices())
def test_sparse_and_dense_agree(X):
    assert_is_matrix(as_design(X), X)
    assert_is_matrix(as_design(sp.csr_array(X)), X)
    assert_is_matrix(as_design(sp.csc_array(X)), X)


@pytest.mark.parametrize(
    ("part", "position", "value"),
    [("indices", 1, 5), ("indices", 0, -1), ("indptr", 1, 99), ("indptr", 1, -2), ("indptr", 0, 1), ("indptr", -1, 99)],
)
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_broken_csr_is_refused(part, position, value, index):
    X = sp.csr_array(np.ones((3, 5)))
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    getattr(X, part)[position] = value
    with pytest.raises(FenchelError, match="X is a broken sparse matrix"):
        as_design(X)


@pytest.mark.parametrize(("part", "position", "value"), [("indices", 0, -(10**6)), ("indptr", 1, 99)])
def test_broken_csc_is_refused(part, position, value):
    """In a process of its own: SciPy's conversion to rows writes to foreign memory if it is not checked before."""
    code = f"""
import numpy as np, scipy.sparse as sp
from fenchel import FenchelError, Problem
from fenchel.designs import ChainDesign, CSRDesign, as_design
from fenchel.numerics.rounding import gamma
from fenchel.risks import MeanRisk
X = sp.csc_array(np.ones((5, 3)))
X.{part}[{position}] = {value}
try:
    as_design(X)
except FenchelError as error:
    print("refused:", error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("refused: X is a broken sparse matrix"), (done.returncode, done.stderr[-500:])


def test_matrices_with_broken_indices_are_refused():
    """SciPy's own conversions would read foreign memory."""
    broken = []
    coo = sp.coo_array(np.eye(4))
    for where, value in (("row", 99), ("col", -3), ("row", 2**30)):
        one = coo.copy()
        one.coords = tuple(c.copy() for c in one.coords)
        one.coords[0 if where == "row" else 1][1] = value
        broken.append(one)
    bsr = sp.bsr_array(np.kron(np.eye(2), np.ones((2, 2))), blocksize=(2, 2))
    for name, value in (("indices", 77), ("indices", -1), ("indptr", 9)):
        one = bsr.copy()
        getattr(one, name)[-1] = value
        broken.append(one)
    for columns in ([0, 50], [-1], [0]):
        one = sp.lil_array(np.eye(4))
        one.rows[1] = columns
        one.data[1] = [1.0] * (2 if len(columns) == 1 and columns == [0] else len(columns))
        broken.append(one)
    for matrix in broken:
        with pytest.raises(FenchelError, match="broken sparse matrix"):
            as_design(matrix)
    for sound in (coo, bsr, sp.lil_array(np.eye(4)), sp.dok_array(np.eye(4)), sp.dia_array(np.eye(4))):
        np.testing.assert_array_equal(as_design(sound).scores(np.arange(4.0)), sound.toarray() @ np.arange(4.0))


def test_complex_masked_and_infinite_entries_are_refused():
    with pytest.raises(FenchelError, match="complex"):
        as_design(np.ones((2, 2)) * 1j)
    with pytest.raises(FenchelError, match="complex"):
        as_design(sp.csr_array(np.eye(2) * 1j))
    with pytest.raises(FenchelError, match="masked"):
        as_design(np.ma.masked_equal(np.eye(2), 0.0))
    np.testing.assert_array_equal(as_design(np.ma.array(np.eye(2))).scores(np.ones(2)), np.ones(2))
    for value in (np.nan, np.inf, -np.inf):
        X = np.ones((3, 2))
        X[1, 1] = value
        for matrix in (X, sp.csr_array(X), X.astype(np.float32)):
            with pytest.raises(FenchelError, match="NaN or infinity"):
                Problem(matrix, MeanRisk("hinge", [1, -1, 1]), 0.1)
    with pytest.raises(FenchelError, match="no features"):
        Problem(np.zeros((3, 0)), MeanRisk("hinge", [1, -1, 1]), 0.1, "entropy")


@pytest.mark.parametrize("repeated", [1, 2, 2000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_roundings_of_a_sum_count_repeated_entries(repeated, dtype, block):
    rng = np.random.default_rng(3)
    for n in (1, 16):
        data, theta = (1.0 + rng.random((n, repeated))).astype(dtype), 1.0 + rng.random(n)
        columns, starts = np.zeros(data.size, dtype=np.int32), repeated * np.arange(n + 1)
        design = CSRDesign(sp.csr_array((data.ravel(), columns, starts), (n, 1)))
        exact = [sum(map(Fraction, row)) for row in data.astype(np.float64).tolist()]
        product = sum(x * Fraction(t) for x, t in zip(exact, theta.tolist(), strict=True))
        error = abs(Fraction(float(design.adjoint(theta)[0])) - product)
        assert error <= Fraction(gamma(design.adjoint_roundings)) * product
        assert max(exact) <= Fraction(design.largest_row_norm)


def test_sums_of_long_columns_are_short():
    """Blocks keep the sums of X^T theta short, unless blocks of that many features would cost more than X."""
    n = 1 << 17
    narrow = sp.csr_array((np.ones(4 * n), np.tile(np.arange(4, dtype=np.int32), n), 4 * np.arange(n + 1)), (n, 4))
    assert CSRDesign(narrow).adjoint_roundings < n / 1.9
    wide = sp.csr_array((narrow.data, narrow.indices, narrow.indptr), (n, 10**6))
    # a product and n - 1 sums
    assert CSRDesign(wide).adjoint_roundings == n


def test_the_order_of_entries_does_not_count():
    X = sp.random_array((50, 30), density=0.3, format="csr", random_state=np.random.default_rng(5))
    reverse = np.concatenate([np.arange(X.indptr[i + 1] - 1, X.indptr[i] - 1, -1) for i in range(50)])
    unsorted = CSRDesign(sp.csr_array((X.data[reverse], X.indices[reverse], X.indptr), X.shape))
    for name in ("adjoint_roundings", "largest_row_norm", "largest_entry"):
        assert getattr(unsorted, name) == getattr(CSRDesign(X), name)
    np.testing.assert_allclose(unsorted.row_magnitudes, CSRDesign(X).row_magnitudes, rtol=1e-12)


@pytest.mark.parametrize("columns", [300, csr_module._MANY_COLUMNS + 1])
def test_products_with_several_outputs_of_wide_matrices(columns):
    """X^T theta of several outputs had the wrong shape for many columns, and chains took it in the wrong order."""
    rng = np.random.default_rng(0)
    X = sp.random(40, columns, 5.0 / columns, format="csr", random_state=0)
    theta, weights = rng.standard_normal((40, 3)), rng.standard_normal((columns, 3))
    design = CSRDesign(X)
    np.testing.assert_allclose(design.adjoint(theta), (X.T @ theta).T, atol=1e-13)
    np.testing.assert_allclose(design.adjoint_by_feature(theta), X.T @ theta, atol=1e-13)
    np.testing.assert_allclose(design.scores_by_feature(weights), X @ weights, atol=1e-13)
    np.testing.assert_allclose(design.scores_by_output(weights.T), (X @ weights).T, atol=1e-13)
    np.testing.assert_allclose(design.scores(weights.T), X @ weights, atol=1e-13)
    chain = ChainDesign(X, 3)
    dual, w = rng.standard_normal(chain.shape[0]), rng.standard_normal(chain.shape[1])
    assert chain.scores(w) @ dual == pytest.approx(w @ chain.adjoint(dual), rel=1e-12)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_blocks_of_compressed_rows_are_views(index):
    """SciPy's constructor would copy every block that is less than half of X."""
    rng = np.random.default_rng(0)
    X = sp.csr_array(np.where(rng.random((40, 6)) < 0.5, rng.standard_normal((40, 6)), 0.0))
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    design, total = CSRDesign(X), np.zeros(6)
    blocks = list(design._blocks(20))
    assert len(blocks) > 4
    for rows, block in blocks:
        assert np.shares_memory(block.data, X.data)
        assert np.shares_memory(block.indices, X.indices)
        np.testing.assert_array_equal(block.toarray(), X.toarray()[rows])
        total += block.T @ np.arange(40.0)[rows]
    np.testing.assert_allclose(design.adjoint(np.arange(40.0)), total, rtol=1e-13)


@pytest.mark.parametrize("kinds", [(np.int32, np.int64), (np.int64, np.int32)])
def test_of_indices_of_two_types_the_pointers_are_converted(kinds):
    """A copy of the indices, of one for each entry, would be kept."""
    X = sp.csr_array(np.eye(6))
    X.indices, X.indptr = (part.astype(kind) for part, kind in zip((X.indices, X.indptr), kinds, strict=True))
    design = CSRDesign(X)
    np.testing.assert_array_equal(design.adjoint(np.arange(6.0)), np.arange(6.0))
    np.testing.assert_array_equal(design.scores(np.arange(6.0)), np.arange(6.0))
    for entries in (None, 2):
        assert all(np.shares_memory(block.indices, X.indices) for _, block in design._blocks(entries))
    assert (X.indices.dtype, X.indptr.dtype) == kinds


@pytest.mark.parametrize("entries", [40, 1 << 17], ids=["few", "many"])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_rows_of_an_unpickled_design_are_read_only_and_not_stored(convert, entries):
    design = as_design(convert(np.random.default_rng(0).standard_normal((entries // 4, 4)).astype(np.float32)))
    plain, rows = pickle.dumps(design), design.rows()
    stored = pickle.dumps(design)
    assert len(stored) == len(plain)
    again = pickle.loads(stored).rows()
    for one, other in zip(rows, again, strict=True):
        # loops are compiled for read-only arrays
        assert not one.flags.writeable and not other.flags.writeable
        assert one.dtype == other.dtype and np.array_equal(one, other)


@pytest.mark.parametrize("convert", [np.array, sp.csr_array, sp.csr_matrix])
def test_a_snapshot_stays_as_it_is(convert):
    X = convert(np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]]))
    design, w = as_design(X), np.array([1.0, 10.0, 100.0])
    assert design.snapshot(2) is None
    copy = design.snapshot(6)
    (X if isinstance(X, np.ndarray) else X.data)[:] = 7.0
    np.testing.assert_array_equal(copy.scores(w), [20.0, 301.0])
    assert not np.array_equal(design.scores(w), copy.scores(w))


@pytest.mark.parametrize("convert", [np.array, sp.csr_array])
def test_a_design_that_was_sent_beside_its_pickle_is_aligned(convert):
    buffers = []
    design = as_design(convert(np.arange(1.0, 13.0).reshape(4, 3)))
    stored = pickle.dumps(design, protocol=5, buffer_callback=buffers.append)
    # as in a message of Dask: one buffer after the other, behind an odd number of bytes
    message = memoryview(b"x" + b"".join(one.raw() for one in buffers))
    ends = 1 + np.cumsum([0, *(one.raw().nbytes for one in buffers)])
    again = pickle.loads(stored, buffers=[message[begin:end] for begin, end in itertools.pairwise(ends)])
    assert buffers
    assert all(value.flags.aligned for value in vars(again).values() if isinstance(value, np.ndarray))
    np.testing.assert_array_equal(again.scores(np.ones(3)), design.scores(np.ones(3)))
