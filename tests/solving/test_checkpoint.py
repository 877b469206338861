"""A solve that was ended goes on from its checkpoint, to the same answer; a file of another problem is refused."""

import json
import os
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from fenchel import (
    FenchelError,
    LinearClassifier,
    LinearRanker,
    MeasureClassifier,
    OrdinalClassifier,
    Problem,
    SequenceClassifier,
    WinnowClassifier,
    solve,
)
from fenchel.cli.main import main
from fenchel.replacing import replacing
from fenchel.risks import MeanRisk, RocAUC
from fenchel.solving import checkpoint as module

RNG = np.random.default_rng(0)
X = RNG.standard_normal((200, 8))
Y = np.where(X[:, 0] + RNG.standard_normal(200) > 0, 1, -1)


def problem(X=X, y=Y, lam=0.01, loss="hinge", **options):
    return Problem(X, MeanRisk(loss, y), lam=lam, **options)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "long.npz"


@pytest.fixture(autouse=True)
def always(monkeypatch):
    """Every certificate is written."""
    monkeypatch.setattr(module.Checkpoint.__init__, "__defaults__", (0.0,))


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("solver", ["dual_coordinate", pytest.param("auto", marks=pytest.mark.thorough)])
def test_a_resumed_solve_ends_at_the_same_answer(path, intercept, solver):
    asked = problem(intercept=intercept)
    whole = solve(asked, solver, tol=1e-12, max_iter=10_000)
    first = solve(asked, solver, tol=1e-12, max_iter=3, checkpoint=path)
    assert first.certificate.relative_gap > 1e-6
    # another object of the same problem
    resumed = solve(
        problem(X.copy(), Y.copy(), intercept=intercept), solver, tol=1e-12, max_iter=10_000, checkpoint=path
    )
    assert resumed.trace[0].primal <= first.certificate.primal * (1 + 1e-12)
    assert abs(resumed.certificate.primal - whole.certificate.primal) <= 1e-10
    assert resumed.converged
    # and again: nothing is left to do
    again = solve(asked, solver, tol=1e-12, checkpoint=str(path))
    assert again.passes == 0.0
    assert np.array_equal(again.model.weights, resumed.model.weights)


def test_every_certificate_is_written_and_the_file_is_there_if_the_process_dies(path):
    seen = []

    def look(progress):
        with np.load(path) as archive:
            seen.append((str(archive["about"]), progress.certificate.primal))

    solve(problem(), "dual_coordinate", tol=1e-6, checkpoint=path, callback=look)
    assert len(seen) > 1
    assert all(f'"primal": {primal!r}' in about for about, primal in seen)
    assert [one.name for one in path.parent.iterdir()] == ["long.npz"]


def test_a_measure_and_sparse_rows(path):
    asked = Problem(sp.csr_array(X), RocAUC(Y), lam=0.01)
    solve(asked, tol=1e-4, max_iter=5, checkpoint=path)
    assert solve(asked, tol=1e-4, checkpoint=path).converged


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (lambda: problem(X[:150], Y[:150]), "shape"),
        (lambda: problem(lam=0.02), "lam"),
        (lambda: problem(X + 1e-9), "checksum of X"),
        (lambda: problem(X.astype(np.float32)), "checksum of X"),
        (lambda: problem(intercept=True), "intercept"),
        (lambda: problem(regularizer="entropy"), "regularizer"),
        (lambda: Problem(X, RocAUC(Y), lam=0.01), "risk"),
        (lambda: problem(loss="logistic"), "objective of its model"),
        (lambda: problem(y=-Y), "objective of its model"),
    ],
)
def test_a_file_of_another_problem_is_refused(path, other, named):
    solve(problem(), "dual_coordinate", tol=1e-3, checkpoint=path)
    before = path.read_bytes()
    with pytest.raises(FenchelError, match=rf"long\.npz is of another problem: .*{named}"):
        solve(other(), checkpoint=path)
    assert path.read_bytes() == before


def test_damaged_and_foreign_files_are_refused_and_kept(tmp_path, path):
    solve(problem(), "dual_coordinate", tol=1e-3, checkpoint=path)
    whole = path.read_bytes()
    rng = np.random.default_rng(1)
    for _ in range(30):
        changed = bytearray(whole)
        changed[int(rng.integers(len(whole)))] ^= 1 << int(rng.integers(8))
        path.write_bytes(changed)
        try:
            assert solve(problem(), "dual_coordinate", tol=1e-3, checkpoint=path).converged
        except FenchelError as error:
            assert "long.npz" in str(error)
            assert path.read_bytes() == changed
    # the first entry of the directory: another version of zip, an encrypted one, and an unknown compression
    directory = whole.index(b"PK\x01\x02")
    others = [bytearray(whole) for _ in range(3)]
    others[0][directory + 6], others[1][directory + 8], others[2][directory + 10] = 76, 1, 77
    for content in (b"", b"precious notes", whole[:-40], *map(bytes, others)):
        path.write_bytes(content)
        with pytest.raises(FenchelError, match="is not a checkpoint, or is damaged"):
            solve(problem(), checkpoint=path)
        assert path.read_bytes() == content
    with pytest.raises(FenchelError, match="not a regular file"):
        solve(problem(), checkpoint=tmp_path)
    with pytest.raises(FenchelError, match="there is no folder"):
        solve(problem(), checkpoint=tmp_path / "no" / "where.npz")
    with pytest.raises(FenchelError, match="must be a path or None, got int"):
        solve(problem(), checkpoint=3)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("weights", lambda values: values * np.nan, "weights holds NaN or infinity"),
        ("theta", lambda values: values + np.inf, "theta holds NaN or infinity"),
        ("intercept", lambda values: values * np.nan, "intercept holds NaN or infinity"),
        ("weights", lambda values: values[..., :3], "weights has shape"),
        ("theta", lambda values: values[:5], "theta has shape"),
        ("intercept", lambda values: np.ones(len(X)), "intercept has shape"),
        ("intercept", lambda values: np.ones(1), "intercept has shape"),
    ],
)
def test_arrays_that_are_no_pair_of_the_problem_are_refused(path, classes, name, values, words):
    model, y = LinearClassifier(tol=1.0, checkpoint=path), np.arange(len(X)) % classes
    model.fit(X, y)
    with np.load(path) as archive:
        arrays = dict(archive)
    np.savez(path, **{**arrays, name: values(arrays[name])})
    before = path.read_bytes()
    with pytest.raises(FenchelError, match=rf"checkpoint: .*long\.npz is damaged: {words}"):
        model.fit(X, y)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"primal": 10**400}, "too large"),
        ({"format": 7}, "it has format 7, and this version reads 1"),
        ({"lam": None}, "is of another problem: its lam is None"),
    ],
)
def test_a_description_of_another_version_is_refused(path, changed, words):
    solve(problem(), "dual_coordinate", tol=1e-3, checkpoint=path)
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    about = json.dumps({**json.loads(str(arrays.pop("about"))), **changed})
    with path.open("wb") as stream:
        np.savez(stream, about=np.array(about), **arrays)
    with pytest.raises(FenchelError, match=words):
        solve(problem(), checkpoint=path)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("", "checkpoint must be the name of a file or None, got an empty name"),
        (".", r"checkpoint: \. is not a regular file"),
        ("folder", "checkpoint: folder is not a regular file"),
        (os.devnull, "checkpoint: .* is not a regular file"),
        ("no/where.npz", "checkpoint: there is no folder no"),
        ("a\0b", "checkpoint: .* can't be the name of a file"),
        ("a" * 300, "checkpoint: .* can't be the name of a file"),
        (b"a", "checkpoint must be a path or None, got bytes"),
    ],
)
def test_a_target_that_is_no_file_is_refused_before_anything_is_written(tmp_path, monkeypatch, classes, target, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(FenchelError, match=words):
        LinearClassifier(multi_class="ovr", checkpoint=target).fit(X, np.arange(len(X)) % classes)
    # of the numbered files, only one can't be written
    (tmp_path / "long.1.npz").mkdir()
    with pytest.raises(FenchelError, match=r"checkpoint: long\.1\.npz is not a regular file"):
        LinearClassifier(multi_class="ovr", checkpoint="long.npz").fit(X, np.arange(len(X)) % 3)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["folder", "long.1.npz"]


def test_the_file_has_the_permissions_of_a_new_one(path):
    (path.parent / "new").touch()
    solve(problem(), "dual_coordinate", tol=1e-1, checkpoint=path)
    assert path.stat().st_mode == (path.parent / "new").stat().st_mode


def test_two_writers_of_one_file_do_not_mix(path):
    with replacing(path) as one, replacing(path) as other:
        one.write(b"one")
        other.write(b"other")
    assert path.read_bytes() == b"one"
    assert [file.name for file in path.parent.iterdir()] == ["long.npz"]


def test_a_disk_that_is_full_does_not_end_the_solve(path, monkeypatch, caplog):
    def full(*arguments, **named):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.np, "savez", full)
    assert solve(problem(), "dual_coordinate", tol=1e-3, checkpoint=path).converged
    assert "can't be written: [Errno 28]" in caplog.text
    assert not list(path.parent.iterdir())


@pytest.mark.filterwarnings("ignore::fenchel.GapWarning")
def test_a_fit_goes_on_where_it_ended(path):
    kind = partial(LinearClassifier, solver="dual_coordinate", tol=1e-10, random_state=0, checkpoint=path)
    first = kind(max_iter=2).fit(X, Y)
    assert not first.converged_
    second = kind().fit(X, Y)
    assert second.converged_
    # the last certificate of the first fit is the first one of the second
    assert second.trace_[0].primal == pytest.approx(first.certificate_.primal, rel=1e-9)
    whole = LinearClassifier(solver="dual_coordinate", tol=1e-10, random_state=0).fit(X, Y)
    assert abs(second.certificate_.primal - whole.certificate_.primal) <= 1e-10
    with pytest.raises(FenchelError, match="of another problem"):
        kind(C=2.0).fit(X, Y)
    with pytest.raises(FenchelError, match="checkpoint must be a path or None"):
        LinearClassifier(checkpoint=3).fit(X, Y)


def test_several_problems_have_a_file_each(path):
    y = np.arange(len(X)) % 3
    model = LinearClassifier(loss="squared_hinge", multi_class="ovr", solver="dual_coordinate", checkpoint=path)
    model.fit(X, y)
    assert sorted(one.name for one in path.parent.iterdir()) == [f"long.{k}.npz" for k in range(3)]
    assert model.fit(X, y).n_iter_ == 1


GRADES, QUERIES = np.digitize(X[:, 0], [-0.5, 0.5]), np.repeat(np.arange(20), 10)
ESTIMATORS = {
    "measure": (partial(MeasureClassifier, "roc_auc"), {}, Y),
    "ranking": (LinearRanker, {"qid": QUERIES}, GRADES),
    "ordinal": (OrdinalClassifier, {}, GRADES),
    "winnow": (WinnowClassifier, {}, Y),
    "sequences": (SequenceClassifier, {"lengths": [10] * 20}, GRADES),
}


@pytest.mark.filterwarnings("ignore::fenchel.GapWarning")
@pytest.mark.parametrize(
    "name", ["measure", *(pytest.param(name, marks=pytest.mark.thorough) for name in list(ESTIMATORS)[1:])]
)
def test_fits_of_other_estimators_go_on_where_they_ended(path, name):
    kind, rows, y = ESTIMATORS[name]
    first = kind(tol=1e-7, max_iter=3, random_state=0, checkpoint=path).fit(X, y, **rows)
    second = kind(tol=1e-7, random_state=0, checkpoint=path).fit(X, y, **rows)
    assert not first.converged_
    assert second.converged_
    assert second.trace_[0].primal <= first.certificate_.primal * (1.0 + 1e-6)
    with pytest.raises(FenchelError, match="of another problem"):
        kind(tol=1e-7, C=2.0, checkpoint=path).fit(X, y, **rows)


def test_the_command_line_resumes_only_if_asked_to(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.savetxt("a.csv", np.column_stack([X, Y]), delimiter=",")
    assert main(["train", "a.csv", "--resume"]) == 2
    assert "name it with --checkpoint" in capsys.readouterr().err
    assert main(["train", "a.csv", "--checkpoint", "long.npz"]) == 0
    assert main(["train", "a.csv", "--checkpoint", "long.npz", "--force"]) == 2
    assert "add --resume to go on from it" in capsys.readouterr().err
    assert main(["train", "a.csv", "--checkpoint", "long.npz", "--force", "--resume"]) == 0
    # the model does not point to the file
    (tmp_path / "long.npz").write_bytes(b"")
    assert main(["certify", "a.model.npz", "a.csv"]) == 0
