"""What partitions and files hold: what a fit in memory refuses is refused on workers, and nothing is mixed up."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

from cluster_cases import data

# the requirements of CI have it
pytest.importorskip("distributed", reason="needs the extra dask")

import dask
import dask.array as da
from distributed import Client

from fenchel import FenchelError
from fenchel.dask import LinearClassifier
from fenchel.dask.blocks import Block, block, shard_of

# closing a cluster closes sockets and event loops in other threads
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")

X, Y = data(60)
NAMES = list("abcde")


@pytest.fixture(scope="module")
def threads():
    """A cluster of threads of this process."""
    with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None) as connected:
        yield connected


def frames(second=NAMES):
    """The rows as two data frames; the second one may have another order of its columns."""
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(X, columns=NAMES)
    return [dask.delayed(table[:30]), dask.delayed(table[30:][second])]


def halves(values):
    return [dask.delayed(values[:30]), dask.delayed(values[30:])]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (X.astype(str), "X must hold numbers, but holds strings such as"),
        (X.astype("S"), "X must hold numbers, but holds strings such as"),
        (np.ma.masked_greater(X, 1.0), "X is a masked array with masked entries"),
        (sp.csr_array((np.ones(1), [7], [0, *[1] * 60]), shape=(60, 9))[:, :5], None),
    ],
    ids=["strings", "bytes", "masked", "sound"],
)
def test_rows_that_a_fit_in_memory_refuses(rows, words):
    if words is None:
        assert shard_of([block(rows)], ["0"]).design.shape == (60, 5)
        return
    for parts in ([rows], [rows[:30], rows[30:]]):
        with pytest.raises(FenchelError, match=words):
            shard_of([block(part) for part in parts], [f"partition {k} of X" for k in range(len(parts))])


def test_broken_sparse_blocks_are_refused_before_they_are_put_together():
    broken = sp.csr_array(X)
    broken.indptr[10:] += 10_000
    with pytest.raises(FenchelError, match="partition 1 of X: X is a broken sparse matrix"):
        shard_of([Block(sp.csr_array(X)), Block(broken)], ["partition 0 of X", "partition 1 of X"])


def test_columns_of_texts_are_named():
    pd = pytest.importorskip("pandas")
    with pytest.raises(FenchelError, match="these columns hold texts or dates: 't'"):
        block(pd.DataFrame({"a": [1.0, 2.0], "t": ["x", "y"]}))


def test_columns_of_texts_in_files_are_named(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    from fenchel.dask.blocks import Columns, file_block

    name = str(tmp_path / "0.parquet")
    pd.DataFrame({"a": [1.0, 2.0], "t": ["x", "y"], "label": [0, 1]}).to_parquet(name)
    with pytest.raises(FenchelError, match="these columns hold texts or dates: 't'"):
        file_block(name, Columns("label"), None)


def test_a_matrix_without_columns_is_refused(threads):
    with pytest.raises(FenchelError, match="X has no features"):
        LinearClassifier("logistic").fit(da.zeros((60, 0), chunks=(30, 1)), Y)


@pytest.mark.parametrize("groups", [1, 2])
def test_data_frames_with_another_order_of_columns_are_refused(threads, groups):
    with dask.config.set({"fenchel.groups": groups}):
        with pytest.raises(FenchelError, match="different features, a, b, c, d, e, … and e, d, c, b, a, …"):
            LinearClassifier("logistic").fit(frames(NAMES[::-1]), Y)
        model = LinearClassifier("logistic").fit(frames(), Y)
    assert model.feature_names_in_.tolist() == NAMES
    assert_array_equal(model.predict(frames()).compute(), model.predict(da.from_array(X, chunks=(20, 5))).compute())
    with pytest.raises(FenchelError, match=r"X has the features \['e', 'd'"):
        model.predict(frames(NAMES[::-1])).compute()


def test_columns_with_missing_values_of_pandas(threads, tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    table = pd.DataFrame(X, columns=NAMES).assign(a=pd.array(np.arange(60) % 7, dtype="Int64"))
    model = LinearClassifier("logistic").fit([dask.delayed(table)], Y)
    assert_array_equal(model.predict([dask.delayed(table)]).compute(), model.predict(table))
    table.loc[3, "a"] = pd.NA
    table.assign(label=Y).to_parquet(tmp_path / "0.parquet")
    for given in (([dask.delayed(table)], Y), (str(tmp_path / "0.parquet"), "label")):
        with pytest.raises(FenchelError, match="X holds NaN or infinity: impute them"):
            LinearClassifier("logistic").fit(*given)
    with pytest.raises(ValueError, match="X contains NaN"):
        model.predict([dask.delayed(table)]).compute()


def test_names_that_are_no_strings_are_none(threads):
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=2)
    model = LinearClassifier("logistic").fit(frame, Y)
    assert not hasattr(model, "feature_names_in_")
    assert_array_equal(model.predict(frame).compute(), model.predict(X))


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("first", ["words", "numbers"])
def test_labels_that_are_text_in_some_partitions_and_numbers_in_others_are_refused(threads, groups, first):
    parts = [np.full(30, "a"), np.arange(30) % 2]
    order = slice(None) if first == "words" else slice(None, None, -1)
    with (
        dask.config.set({"fenchel.groups": groups}),
        pytest.raises(FenchelError, match=r"y holds text in partition \d of X.* and numbers in partition \d of X"),
    ):
        LinearClassifier("logistic").fit(halves(X), [dask.delayed(part) for part in parts[order]])


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("what", ["y", "sample_weight"])
def test_partitions_without_labels_or_weights_are_named(threads, groups, what):
    given = {"y": halves(Y), "sample_weight": halves(np.ones(60))}
    given[what][1] = dask.delayed(None)
    with (
        dask.config.set({"fenchel.groups": groups}),
        pytest.raises(FenchelError, match=f"partition 1 of X: has no {what}, and other partitions have it"),
    ):
        LinearClassifier("logistic").fit(halves(X), **given)


def test_weights_in_files_and_as_an_argument_are_refused(threads, tmp_path):
    np.savez(tmp_path / "0.npz", X=X, y=Y, sample_weight=np.ones(60))
    pattern = str(tmp_path / "?.npz")
    LinearClassifier("logistic").fit(pattern)
    with pytest.raises(FenchelError, match="sample_weight is given, and the files hold weights too: omit it"):
        LinearClassifier("logistic").fit(pattern, sample_weight=np.ones(60))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"PK rubbish", "1.npz: can't be read, it may be damaged or not a NumPy archive"),
        (b"", "1.npz: can't be read, it may be damaged or not a NumPy archive"),
        ({"X": X, "y": 1}, "1.npz: y must be an array with an entry for each row"),
        ({"data": [1.0], "indices": [0], "indptr": [0, 1], "shape": 1, "y": [1]}, "1.npz: .*shape"),
    ],
    ids=["rubbish", "empty", "scalar", "shape"],
)
def test_a_file_among_others_that_is_damaged_is_named(threads, tmp_path, content, words):
    for k in range(3):
        np.savez(tmp_path / f"{k}.npz", X=X[:20], y=Y[:20])
    if isinstance(content, bytes):
        (tmp_path / "1.npz").write_bytes(content)
    else:
        np.savez(tmp_path / "1.npz", **content)
    name = re.escape(str(tmp_path)) + "/"
    with dask.config.set({"fenchel.groups": 1}), pytest.raises(FenchelError, match=f"^{name}{words}"):
        LinearClassifier("logistic").fit(str(tmp_path / "?.npz"))


@pytest.mark.parametrize("argument", ["y", "sample_weight"])
def test_the_name_of_a_column_is_for_tables_in_files(argument):
    with pytest.raises(FenchelError, match=f"{argument}='label': the name of a column is for tables in files"):
        LinearClassifier("logistic").fit(da.from_array(X, chunks=(30, 5)), **{"y": Y, argument: "label"})


def test_tables_separated_by_tabs_are_tables(threads, tmp_path):
    for k in range(2):
        rows = np.column_stack([X[30 * k : 30 * k + 30], Y[30 * k : 30 * k + 30]])
        np.savetxt(tmp_path / f"{k}.tsv", rows, "%.17g", "\t", header="\t".join([*NAMES, "label"]), comments="")
    model = LinearClassifier("logistic").fit(str(tmp_path / "?.tsv"), "label")
    assert model.feature_names_in_.tolist() == NAMES
    # without names, and with a feature less
    for k in range(2):
        np.savetxt(tmp_path / f"{k}.tsv", np.column_stack([Y[:30], X[:30, k:]]), "%.17g", "\t")
    with pytest.raises(FenchelError, match=r"different numbers of features: \[4, 5\]"):
        LinearClassifier("logistic").fit(str(tmp_path / "?.tsv"), 0)


def test_files_of_which_some_are_tables_have_no_column_of_labels(tmp_path):
    (tmp_path / "0.svm").write_text("1 1:2\n")
    (tmp_path / "1.csv").write_text("a,label\n1,0\n")
    with pytest.raises(FenchelError, match="the name of the column of labels if all files are tables"):
        LinearClassifier("logistic").fit(str(tmp_path / "*.*"), "label")


@pytest.mark.parametrize("groups", [1, 2])
def test_files_of_features_by_number_make_no_other_file_wider(threads, tmp_path, groups):
    (tmp_path / "0.svm").write_text("1 1:2 5:1\n-1 2:1\n")
    np.savez(tmp_path / "1.npz", X=X[:, :3], y=Y)
    with (
        dask.config.set({"fenchel.groups": groups}),
        pytest.raises(FenchelError, match=r"different numbers of features: \[3, 5\]"),
    ):
        LinearClassifier("logistic").fit(str(tmp_path / "?.*"))


def test_an_error_of_a_file_names_nothing_of_the_command_line(threads, tmp_path):
    (tmp_path / "0.csv").write_text("a,b,label\n1,,1\n2,3,0\n")
    with pytest.raises(FenchelError, match=r"0\.csv: line 2, column 2 \(b\): .* is missing; impute it, or remove"):
        LinearClassifier("logistic").fit(str(tmp_path / "0.csv"), "label")


def test_a_pattern_may_go_through_folders(threads, tmp_path):
    for folder in ("a", "b/c"):
        (tmp_path / folder).mkdir(parents=True)
        np.savez(tmp_path / folder / "0.npz", X=X, y=Y)
    model = LinearClassifier("logistic").fit(str(tmp_path / "**" / "*.npz"))
    assert model.theta_.shape == (120,)


def test_an_asynchronous_client_is_refused(monkeypatch):
    monkeypatch.setattr("fenchel.dask.cluster.default_client", lambda: SimpleNamespace(asynchronous=True))
    with pytest.raises(FenchelError, match="the present Dask client is asynchronous"):
        LinearClassifier("logistic").fit(da.from_array(X, chunks=(30, 5)), Y)


def test_predictions_need_a_fit_and_as_many_features(threads):
    lazy = da.from_array(X, chunks=(30, 5))
    with pytest.raises(NotFittedError, match="LinearClassifier instance is not fitted yet"):
        LinearClassifier("logistic").predict(lazy)
    model = LinearClassifier("logistic").fit(lazy, Y)
    with pytest.raises(FenchelError, match="X has 4 features, but LinearClassifier was fitted with 5"):
        model.predict(lazy[:, :4])


def test_logarithms_of_probabilities_are_lazy(threads):
    lazy = da.from_array(X, chunks=(30, 5))
    for labels in (Y, np.arange(60) % 3):
        model = LinearClassifier("logistic").fit(lazy, labels)
        found = model.predict_log_proba(lazy)
        assert isinstance(found, da.Array)
        assert_array_equal(found.compute(), model.predict_log_proba(X))


def test_scores_of_other_losses_are_no_probabilities(threads):
    lazy = da.from_array(X, chunks=(30, 5))
    model = LinearClassifier("hinge").fit(lazy, Y)
    for name in ("predict_proba", "predict_log_proba"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match="predict_proba requires loss='logistic'"):
            getattr(model, name)
