"""Fits on clusters of processes: inputs, and agreement with fits in memory."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import fenchel
from cluster_cases import data

# the requirements of CI have it
pytest.importorskip("distributed", reason="needs the extra dask")

import dask
import dask.array as da

from fenchel import FenchelError
from fenchel.dask import CoCoA, LinearClassifier, LinearRegressor, MeasureClassifier, settings
from fenchel.dask.blocks import Block, shard_of, shard_of_files
from fenchel.dask.cluster import connected
from fenchel.dask.sources import load, source_of
from fenchel.features import PolynomialFeatures

# closing a cluster closes sockets and event loops in other threads
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


@pytest.mark.thorough
def test_errors_of_workers_name_the_partition(client):
    X, y = data(60)
    blocks = [dask.delayed(X[:30]), dask.delayed(X[30:, :3])]
    with pytest.raises(FenchelError, match="different numbers of features"):
        LinearClassifier("logistic").fit(blocks, y)

    def failing(rows):
        raise OSError("no such disk")

    with pytest.raises(FenchelError, match="partition 1 of X can't be loaded or used: OSError: no such disk"):
        LinearClassifier("logistic").fit([blocks[0], dask.delayed(failing)(X)], y)
    for wrong in (np.nan, np.inf, -np.inf):
        held = np.where(np.arange(150).reshape(30, 5) == 77, wrong, X[30:])
        for block in (held, sp.csr_array(held)):
            with pytest.raises(FenchelError, match=r"^partition 1 of X: X holds NaN or infinity"):
                LinearClassifier("logistic").fit([blocks[0], dask.delayed(block)], y)
    with pytest.raises(FenchelError, match="got ndarray"):
        LinearClassifier("logistic").fit(X, y)


def test_sparse_and_dense_blocks_make_one_group():
    X, y = data(60)
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    blocks = [Block(sp.csr_matrix(X[:20]), y[:20]), Block(X[20:30], y[20:30]), Block(sp.csc_array(X[30:]), y[30:])]
    shard = shard_of(blocks, ["first", "second", "third"])
    assert_array_equal(shard.design.sparse().toarray(), X)
    assert_array_equal(shard.labels, y)


CASES = [
    (LinearClassifier, {"loss": "logistic"}),
    (LinearClassifier, {"loss": "logistic", "solver": "newton_cg"}),
    (LinearClassifier, {"loss": "hinge"}),
    (LinearClassifier, {"loss": "hinge", "solver": "cocoa", "tol": 1e-2}),
    (LinearClassifier, {"loss": "squared_hinge", "l1_ratio": 0.5}),
    (LinearRegressor, {"loss": "huber"}),
    (LinearRegressor, {"loss": "absolute", "C": 0.1}),
    (MeasureClassifier, {"measure": "roc_auc"}),
    (MeasureClassifier, {"measure": "prbep", "surrogate": "bound"}),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "parameters"), CASES, ids=["-".join(map(str, case[1].values())) for case in CASES])
def test_estimators_agree_with_those_in_memory(client, kind, parameters, tmp_path):
    X, y = data()
    # uneven partitions, one of them empty and one of one class
    order = np.argsort(y[:40])
    X[:40], y[:40] = X[:40][order], y[:40][order]
    sizes = (7, 0, 93, 1, 150, 49)
    lazy = da.from_array(X, chunks=(sizes, (5,)))
    model = kind(**parameters).fit(lazy, da.from_array(y, chunks=100), sample_weight=None)
    expected = getattr(fenchel, kind.__name__)(**{**parameters, "solver": "auto", "tol": 1e-6}).fit(X, y)
    assert model.certificate_.dual <= expected.certificate_.primal + 1e-12
    assert expected.certificate_.dual <= model.certificate_.primal + 1e-12
    assert model.converged_
    predicted = model.predict(lazy)
    assert isinstance(predicted, da.Array)
    # products of a partition of one row may be summed in another order
    agree = partial(assert_allclose, rtol=1e-12) if kind is LinearRegressor else assert_array_equal
    agree(predicted.compute(), model.predict(X))
    assert_array_equal(model.to_local().predict(X), model.predict(X))
    assert type(model.to_local()) is getattr(fenchel, kind.__name__)


@pytest.mark.thorough
def test_more_groups_than_workers(client):
    """Seven uneven groups on two workers, by the method of each kind of loss and of measures."""
    X, y = data()
    lazy = da.from_array(X, chunks=((7, 60, 1, 32) * 3, (5,)))
    fits = [(LinearClassifier, {"loss": loss}) for loss in ("logistic", "hinge")]
    fits += [(LinearClassifier, {"loss": "hinge", "solver": "cocoa"}), (MeasureClassifier, {"measure": "roc_auc"})]
    with dask.config.set({"fenchel.groups": 7}):
        loaded = load(client, source_of(lazy, y, None))
        assert len({one.rows for one in loaded.design.facts}) > 1
        assert len(loaded.design.facts) == 7
        for kind, parameters in fits:
            model = kind(C=0.1, **parameters).fit(lazy, y)
            expected = getattr(fenchel, kind.__name__)(C=0.1, **{**parameters, "solver": "auto", "tol": 1e-6}).fit(X, y)
            assert model.converged_
            assert model.certificate_.dual <= expected.certificate_.primal + 1e-12
            assert expected.certificate_.dual <= model.certificate_.primal + 1e-12


@pytest.mark.thorough
def test_the_elastic_net_of_several_classes(client):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 4))
    y = np.argmax(X[:, :3] + 0.3 * rng.standard_normal((200, 3)), axis=1)
    model = LinearClassifier("logistic", l1_ratio=0.5, multi_class="multinomial").fit(
        da.from_array(X, chunks=(50, 4)), y
    )
    assert model.solver_ == "proximal_gradient"
    expected = fenchel.LinearClassifier("logistic", l1_ratio=0.5, multi_class="multinomial", tol=1e-6).fit(X, y)
    assert model.certificate_.dual <= expected.certificate_.primal + 1e-12
    assert expected.certificate_.dual <= model.certificate_.primal + 1e-12


@pytest.mark.thorough
def test_classes_words_and_probabilities(client):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 4))
    y = np.array(["a", "b", "c"])[np.argmax(X[:, :3] + 0.3 * rng.standard_normal((200, 3)), axis=1)]
    forms = [("logistic", "auto", "multinomial"), ("hinge", "auto", "ovr")]
    forms += [("hinge", joint, joint) for joint in ("weston_watkins", "crammer_singer")]
    for loss, asked, form in forms:
        model = LinearClassifier(loss, multi_class=asked).fit(da.from_array(X, chunks=(50, 4)), y)
        assert model.multi_class_ == form
        expected = fenchel.LinearClassifier(loss, multi_class=form, tol=1e-6).fit(X, y)
        assert model.certificate_.dual <= expected.certificate_.primal + 1e-12
        assert expected.certificate_.dual <= model.certificate_.primal + 1e-12
        assert_array_equal(model.predict(da.from_array(X, chunks=(60, 2))).compute(), model.to_local().predict(X))
    model = LinearClassifier("logistic").fit(da.from_array(X, chunks=(50, 4)), y)
    assert_allclose(model.predict_proba(da.from_array(X, chunks=(60, 4))).compute(), model.predict_proba(X))


def test_tables_have_columns_of_weights(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = data(30)
    weights = 1.0 + np.arange(30) % 4
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame.insert(2, "w", weights)
    frame["label"] = y
    frame.to_csv(tmp_path / "0.csv", index=False)
    frame.to_parquet(tmp_path / "0.parquet")
    for name in ("0.csv", "0.parquet"):
        source = source_of(str(tmp_path / name), "label", "w")
        shard = shard_of_files(source.names, source.columns, None)
        assert_array_equal(shard.design.sparse().toarray(), X)
        assert_array_equal(shard.weights, weights)
        assert_array_equal(shard.labels, y)
        assert shard.names == {tuple("abcde")}
        with pytest.raises(FenchelError, match=r"has no column of numbers 'none'; pass the name"):
            shard_of_files(source.names, source.columns._replace(weight="none"), None)


def test_the_name_of_a_column_of_weights_is_for_tables(tmp_path):
    np.savez(tmp_path / "0.npz", X=np.eye(2), y=[0, 1])
    for X, y in ((str(tmp_path / "?.npz"), None), (da.zeros((4, 2)), [0, 1, 0, 1])):
        with pytest.raises(FenchelError, match="sample_weight='w': the name of a column is for tables in files"):
            LinearClassifier("logistic").fit(X, y, sample_weight="w")


@pytest.mark.thorough
@pytest.mark.parametrize("suffix", ["csv", "parquet", "npz"])
def test_weights_of_files_are_those_of_the_rows(client, tmp_path, suffix):
    pd = pytest.importorskip("pandas")
    X, y = data(90)
    weights = 1.0 + np.arange(90) % 4
    for k in range(3):
        part = slice(30 * k, 30 * k + 30)
        frame = pd.DataFrame(X[part], columns=list("abcde")).assign(w=weights[part], label=y[part])
        if suffix == "npz":
            np.savez(tmp_path / f"{k}.npz", X=X[part], y=y[part], sample_weight=weights[part])
        else:
            write = frame.to_csv if suffix == "csv" else frame.to_parquet
            write(tmp_path / f"{k}.{suffix}", index=False)
    named = (None, None) if suffix == "npz" else ("label", "w")
    model = LinearClassifier("logistic", tol=1e-9).fit(str(tmp_path / f"?.{suffix}"), *named)
    expected = fenchel.LinearClassifier("logistic", tol=1e-9).fit(X, y, weights)
    assert_allclose(model.coef_, expected.coef_, rtol=1e-4, atol=1e-5)
    assert_allclose(model.certificate_.primal, expected.certificate_.primal, rtol=1e-8)


@pytest.mark.thorough
def test_files_are_read_on_the_workers(client, tmp_path):
    from sklearn.datasets import dump_svmlight_file

    X, y = data(90)
    X[:, 4], X[:50, 3] = 0.0, 0.0
    X[60:, 4] = 1.0
    parts = [slice(0, 30), slice(30, 60), slice(60, 90)]
    pd = pytest.importorskip("pandas")
    for k, part in enumerate(parts):
        dump_svmlight_file(X[part], y[part], str(tmp_path / f"{k}.svm"), zero_based=False)
        np.savez(tmp_path / f"{k}.npz", X=X[part], y=y[part])
        S = sp.csr_array(X[part])
        np.savez(tmp_path / f"s{k}.npz", data=S.data, indices=S.indices, indptr=S.indptr, shape=S.shape, y=y[part])
        frame = pd.DataFrame(X[part], columns=list("abcde")).assign(label=y[part])
        frame.to_parquet(tmp_path / f"{k}.parquet")
        frame.to_csv(tmp_path / f"{k}.csv", index=False)
    expected = fenchel.LinearClassifier("logistic", tol=1e-9).fit(X, y)
    tables, others = ("?.parquet", "?.csv"), ("?.svm", "?.npz", "s?.npz")
    for pattern, label in (*((name, "label") for name in tables), *((name, None) for name in others)):
        model = LinearClassifier("logistic", tol=1e-9).fit(str(tmp_path / pattern), label)
        assert_allclose(model.coef_, expected.coef_, rtol=1e-4, atol=1e-5)
    with pytest.raises(FenchelError, match="no such file"):
        LinearClassifier("logistic").fit(str(tmp_path / "*.none"))
    for name in ("2.parquet", "2.csv"):
        write = frame[["b", "a", "c", "d", "e", "label"]]
        (write.to_csv if name.endswith("csv") else write.to_parquet)(tmp_path / name, index=False)
        with pytest.raises(FenchelError, match="different features, a, b, c, d, e, … and b, a, c, d, e"):
            LinearClassifier("logistic").fit(str(tmp_path / name.replace("2", "?")), "label")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("suffix", "header"), [("svm", ""), ("svm", "# nothing\n"), ("csv", ""), ("csv", "a,b,c,d,e,label\n")]
)
def test_files_without_rows_are_empty_partitions(client, tmp_path, monkeypatch, suffix, header):
    from sklearn.datasets import dump_svmlight_file

    X, y = data(60)
    label = "label" if suffix == "csv" else None
    for k in range(4):
        file = tmp_path / f"{k}.{suffix}"
        file.write_text(header)
        if k in (1, 2):
            part = slice(30 * k - 30, 30 * k)
            if suffix == "svm":
                dump_svmlight_file(X[part], y[part], str(file), zero_based=False)
            else:
                rows = np.column_stack([X[part], y[part]])
                np.savetxt(file, rows, "%.17g", ",", header="a,b,c,d,e,label", comments="")
    # the workers have another working folder
    monkeypatch.chdir(tmp_path)
    expected = fenchel.LinearClassifier("logistic", tol=1e-9).fit(X, y)
    for groups in (1, 4):
        with dask.config.set({"fenchel.groups": groups}):
            model = LinearClassifier("logistic", tol=1e-9).fit(f"?.{suffix}", label)
        assert_allclose(model.coef_, expected.coef_, rtol=1e-4, atol=1e-5)
    with pytest.raises(FenchelError, match="X has no rows"):
        LinearClassifier("logistic").fit([f"0.{suffix}", f"3.{suffix}"], label)
    with pytest.raises(FenchelError, match=r"y must be None .* the name of the column .*, got ndarray"):
        LinearClassifier("logistic").fit(f"?.{suffix}", y)


def test_features_are_not_for_clusters():
    with pytest.raises(FenchelError, match="features are computed in memory"):
        LinearClassifier(features=PolynomialFeatures()).fit(da.zeros((4, 2)), [0, 1, 0, 1])


@pytest.mark.thorough
def test_data_frames_keep_their_names(client):
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    X, y = data(90)
    table = pd.DataFrame(X, columns=list("abcde"))
    frame = dd.from_pandas(table.assign(y=y), npartitions=3)
    model = LinearClassifier("logistic").fit(frame[list("abcde")], frame["y"])
    assert model.feature_names_in_.tolist() == list("abcde")
    assert_array_equal(model.predict(frame[list("abcde")]).compute(), model.predict(table))


@pytest.mark.thorough
def test_sparse_blocks_and_solver_objects(client):
    X, y = data(120)
    X = np.where(np.abs(X) > 0.7, X, 0.0)
    blocks = [dask.delayed(sp.csr_matrix)(X[k : k + 40]) for k in (0, 40, 80)]
    labels = [dask.delayed(y[k : k + 40]) for k in (0, 40, 80)]
    model = LinearClassifier("hinge", solver=CoCoA(epochs=2), tol=1e-2, C=0.1).fit(blocks, labels)
    assert model.solver_ == "cocoa"
    assert model.decision_function(blocks).compute().shape == (120,)


@pytest.mark.thorough
def test_a_cluster_is_started_and_closed_without_one():
    X, y = data(60)
    with dask.config.set({"fenchel.timeout": "600 s"}):
        model = LinearClassifier("logistic", n_jobs=1).fit(da.from_array(X, chunks=(20, 5)), y)
    assert model.converged_


@pytest.mark.thorough
def test_a_script_that_its_processes_can_not_import_is_told_so(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import dask.array as da, numpy as np\n"
        "from fenchel.dask import LinearClassifier\n"
        'LinearClassifier("logistic", n_jobs=1).fit(da.from_array(np.eye(4), chunks=(2, 4)), [0, 1, 0, 1])\n'
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(fenchel.__file__).parents[1])}
    command = [sys.executable, str(script)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("fenchel.errors.FenchelError: the local Dask cluster did not start")
    assert 'call fit under `if __name__ == "__main__":`' in last


@pytest.mark.thorough
def test_a_fit_says_what_it_does_before_the_first_certificate(client, caplog):
    X, y = data(60)
    lazy = da.from_array(X, chunks=(20, 5))

    def said(verbose):
        caplog.clear()
        LinearClassifier("logistic", verbose=verbose).fit(lazy, y)
        # Dask has messages of its own
        return [record.getMessage() for record in caplog.records if record.name == "fenchel"]

    assert not said(0)
    messages = said(1)
    assert messages[:3] == [
        "LinearClassifier: connecting to the Dask cluster, or starting one on this machine",
        "LinearClassifier: loading 3 partitions or files on 2 workers",
        "LinearClassifier: 60 rows of 5 features in 2 groups are loaded",
    ]
    assert any("gap" in message for message in messages[3:])


@pytest.mark.thorough
def test_workers_of_a_local_cluster_keep_freed_memory_unless_the_environment_says_otherwise(monkeypatch):
    names = "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"
    monkeypatch.delenv(names[0], raising=False)
    monkeypatch.setenv(names[1], "262144")

    def no_client():
        raise ValueError

    # that of other tests may be there still
    monkeypatch.setattr("fenchel.dask.cluster.default_client", no_client)
    with connected(1) as client:
        ((trim, own),) = client.run(lambda: tuple(os.environ[name] for name in names)).values()
    assert int(trim) >= 1 << 26
    assert own == "262144"
    # the setting of Dask for other clusters is unchanged
    assert int(dask.config.get("distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_")) == 65536


@pytest.mark.thorough
def test_the_example_of_the_page_runs(client, capsys):
    page = (Path(__file__).parents[2] / "docs" / "larger-data.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```py\n(.*?)```", page, re.DOTALL)
    exec(code, {"__name__": "__main__"})
    said = capsys.readouterr().out
    assert "is proved to be within" in said
    assert "dask.array" in said


@pytest.mark.parametrize(("name", "value"), [("timeout", "soon"), ("timeout", -1), ("groups", "many"), ("groups", 0)])
def test_settings_that_make_no_sense_are_named(name, value):
    with (
        dask.config.set({f"fenchel.{name}": value}),
        pytest.raises(FenchelError, match=f"the setting fenchel.{name} of dask.config must be a positive"),
    ):
        getattr(settings, name)()
