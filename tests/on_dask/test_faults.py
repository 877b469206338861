"""Faults: workers that die, at load or in the middle of a fit, drivers that die, and fits that share a cluster."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import fenchel
from cluster_cases import cluster_of, data, disturbed, files_of, kill_a_holder, kill_all

pytest.importorskip("distributed", reason="needs the extra dask")

import dask
import dask.array as da
from dask.utils import parse_timedelta

from fenchel import FenchelError, solve
from fenchel.dask import LBFGS, CoCoA, LinearClassifier, NewtonCG
from fenchel.dask.cluster import LostDataError, restarts
from fenchel.dask.sources import load, source_of

# closing a cluster closes sockets and event loops in other threads
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


@pytest.fixture
def client():
    """A cluster of its own for each test, which may lose all of its workers."""
    with cluster_of(2) as connected:
        yield connected


def test_a_fit_goes_on_when_a_worker_is_killed(client):
    split, whole, groups = disturbed(client, at=(4,))
    found, expected = solve(split, LBFGS(), tol=1e-6), solve(whole, "smoothing", tol=1e-6)
    assert groups.calls > 4
    assert found.converged
    assert_allclose(found.model.weights, expected.model.weights, rtol=1e-2)
    # one task a group and a constant in each exchange
    assert groups.tasks <= groups.calls * (len(groups.futures) + 2)


@pytest.mark.thorough
def test_a_fit_goes_on_when_workers_are_killed_twice(client):
    split, _, groups = disturbed(client, at=(3, 6))
    found = solve(split, LBFGS(), tol=1e-6)
    assert groups.calls > 6
    assert found.converged
    split, _, _ = disturbed(client, at=())
    unharmed = solve(split, LBFGS(), tol=1e-6)
    # the groups and their order are the same; products of a group differ in the last bit where its memory is aligned
    # otherwise on another worker
    assert_allclose(found.model.weights, unharmed.model.weights, rtol=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["array", "files"])
def test_a_fit_goes_on_when_all_workers_die(client, tmp_path, kind):
    split, whole, groups = disturbed(
        client, at=(4,), disturb=kill_all, files=files_of(tmp_path) if kind == "files" else None
    )
    found, expected = solve(split, LBFGS(), tol=1e-6), solve(whole, "smoothing", tol=1e-6)
    assert groups.calls > 4
    assert found.converged
    assert_allclose(found.model.weights, expected.model.weights, rtol=1e-2)
    assert client.nthreads()


@pytest.mark.thorough
def test_a_worker_may_die_while_another_one_starts_again(client):
    """The second one dies when the first one is gone and before it is back, so that the cluster is empty."""

    def one_after_the_other(groups):
        kill_a_holder(groups)
        while len(groups.client.nthreads()) > 1:
            # the scheduler has not seen it yet
            pass
        kill_all(groups)

    split, whole, _ = disturbed(client, at=(4,), disturb=one_after_the_other)
    found, expected = solve(split, LBFGS(), tol=1e-6), solve(whole, "smoothing", tol=1e-6)
    assert found.converged
    assert_allclose(found.model.weights, expected.model.weights, rtol=1e-2)


@pytest.mark.thorough
def test_files_that_are_gone_when_their_workers_die_are_named(client, tmp_path):
    def remove_and_kill(groups):
        for file in tmp_path.glob("*.npz"):
            file.unlink()
        kill_all(groups)

    split, _, _ = disturbed(client, at=(4,), disturb=remove_and_kill, files=files_of(tmp_path))
    with pytest.raises(FenchelError, match=r"\.npz can't be loaded or used: FileNotFoundError: .*\d\.npz"):
        solve(split, LBFGS(), tol=1e-6)


@pytest.mark.thorough
def test_files_that_change_before_they_are_read_again_are_named(client, tmp_path):
    pattern = files_of(tmp_path)

    def change_and_kill(groups):
        X, y = data()
        np.savez(tmp_path / "3.npz", X=X[:75] + 1.0, y=y[:75])
        kill_all(groups)

    problem, _, _ = disturbed(client, (3,), change_and_kill, pattern)
    with pytest.raises(FenchelError, match=r"3\.npz.*X has changed since the fit began"):
        solve(problem, LBFGS(), tol=1e-9)


def test_fits_in_threads_give_workers_time_to_start_again_and_restore_the_setting():
    name = "distributed.deploy.lost-worker-timeout"
    for before in ("15s", "1 hour"):
        with dask.config.set({name: before}):
            first, second = ExitStack(), ExitStack()
            first.enter_context(restarts)
            second.enter_context(restarts)
            # the first one to begin is the first one to end
            first.close()
            assert parse_timedelta(dask.config.get(name)) >= 600
            assert parse_timedelta(dask.config.get(name)) >= parse_timedelta(before)
            second.close()
            assert dask.config.get(name) == before


@pytest.mark.thorough
def test_results_that_do_not_come_are_computed_again(client, monkeypatch):
    """The scheduler waits for the connection to a dead worker, ten minutes with the timeout of these tests."""
    split, _, _ = disturbed(client, at=())
    unharmed = solve(split, LBFGS(), tol=1e-6)
    split, _, groups = disturbed(client, at=())
    gather, results, asked = client.gather, groups._results, []

    async def never():
        await asyncio.sleep(3600)

    def late(futures, **options):
        asked.append([future.key for future in futures])
        return never() if len(asked) == 3 else gather(futures, **options)

    monkeypatch.setattr(client, "gather", late)
    # the others have all the time that a loaded machine needs
    monkeypatch.setattr(
        groups, "_results", lambda futures, patience: results(futures, 0.5 if len(asked) == 2 else patience)
    )
    found = solve(split, LBFGS(), tol=1e-6)
    assert len(asked) > 4
    # by other tasks
    assert not set(asked[2]) & set(asked[3])
    assert_allclose(found.model.weights, unharmed.model.weights, rtol=1e-12)


@pytest.mark.thorough
def test_a_worker_may_die_while_it_loads(client, tmp_path):
    X, y = data(60)
    flag = str(tmp_path / "died")

    def fatal(rows):
        import os

        if not os.path.exists(flag):
            open(flag, "w").close()
            os.kill(os.getpid(), 9)
        return rows

    blocks = [dask.delayed(X[:30]), dask.delayed(fatal)(X[30:])]
    model = LinearClassifier("logistic").fit(blocks, y)
    assert os.path.exists(flag)
    assert model.converged_


@pytest.mark.thorough
def test_data_that_kill_every_worker_are_named(client):
    X, y = data(60)

    def fatal(rows):
        import os

        os.kill(os.getpid(), 9)

    # the scheduler has read its settings
    client.cluster.scheduler.allowed_failures = 1
    blocks = [dask.delayed(X[:30]), dask.delayed(fatal)(X[30:])]
    with pytest.raises(LostDataError, match="partition 1 of X: several workers died"):
        LinearClassifier("logistic").fit(blocks, y)


@pytest.mark.thorough
def test_data_that_one_worker_alone_had_are_named(client):
    X, y = data(60)
    # what is scattered can't be computed again
    blocks = [dask.delayed(held) for held in client.scatter([X[:30], X[30:]])]
    loaded = load(client, source_of(blocks, y, None))
    kill_all(loaded.design.groups)
    with pytest.raises(LostDataError, match=r"partition 0 of X.* can't be loaded again: .*Client\.scatter"):
        loaded.design.scores(np.ones(5))


@pytest.mark.thorough
def test_a_task_that_never_ends_is_given_up(client):
    X, y = data(60)

    def slow(rows):
        import time

        time.sleep(60)
        return rows

    with (
        dask.config.set({"fenchel.timeout": "2 s"}),
        pytest.raises(LostDataError, match=r"partition 0 of X.*within 2 s"),
    ):
        LinearClassifier("logistic").fit([dask.delayed(slow)(X)], y)


@pytest.mark.thorough
def test_a_timeout_names_the_groups_that_it_waited_for(client):
    _, _, groups = disturbed(client, at=())
    slow = client.submit(time.sleep, 600)
    with (
        dask.config.set({"fenchel.timeout": "1 s"}),
        pytest.raises(LostDataError, match=f"no task of {groups.names[1]} ended within 1 s; 2 workers"),
    ):
        groups._wait({1: slow})


@pytest.mark.thorough
def test_a_scheduler_that_does_not_answer_is_given_up(client, monkeypatch):
    async def never(**_):
        await asyncio.sleep(3600)

    _, _, groups = disturbed(client, at=())
    slow = client.submit(time.sleep, 600)
    monkeypatch.setattr(client, "scheduler", SimpleNamespace(ncores=never))
    with (
        dask.config.set({"fenchel.timeout": "1 s"}),
        pytest.raises(LostDataError, match="the Dask scheduler did not answer within 1 s"),
    ):
        groups._wait({1: slow})


@pytest.mark.thorough
def test_a_cluster_without_workers_is_given_up():
    X, y = data(60)
    with (
        cluster_of(0),
        dask.config.set({"fenchel.timeout": "1 s"}),
        pytest.raises(LostDataError, match="no worker joined the Dask cluster within 1 s: start workers"),
    ):
        LinearClassifier("logistic").fit(da.from_array(X, chunks=(30, 5)), y)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("solver", "loss", "at"),
    [(NewtonCG(), "logistic", (5, 8)), (NewtonCG(), "hinge", (38, 83)), (CoCoA(), "logistic", (5, 8))],
    ids=["newton_cg", "centres", "cocoa"],
)
def test_what_stays_beside_a_group_is_computed_again(client, solver, loss, at):
    # second derivatives, centres of the smoothing and curvatures of coordinates are on the worker that dies
    split, whole, groups = disturbed(client, at=at, loss=loss)
    found = solve(split, solver, tol=1e-5)
    assert groups.killed == len(at)
    assert found.converged
    expected = solve(whole, tol=1e-8).certificate
    assert found.certificate.dual <= expected.primal + 1e-12
    assert expected.dual <= found.certificate.primal + 1e-12


@pytest.mark.thorough
def test_the_scheduler_may_die(client):
    with cluster_of(1) as own:
        split, _, groups = disturbed(own, at=(4,), disturb=lambda groups: groups.client.cluster.close())
        with pytest.raises(LostDataError, match="connection to the Dask scheduler was lost"):
            solve(split, LBFGS(), tol=1e-6)
    assert groups.calls >= 4


@pytest.mark.thorough
def test_a_worker_that_joins_takes_over():
    with cluster_of(1) as own:

        def join_and_kill(groups):
            groups.client.cluster.scale(2)
            groups.client.wait_for_workers(2, timeout=600)
            kill_a_holder(groups)

        split, whole, groups = disturbed(own, at=(4,), disturb=join_and_kill)
        found = solve(split, LBFGS(), tol=1e-6)
        assert groups.calls > 4
    assert found.converged
    assert_allclose(found.model.weights, solve(whole, "smoothing", tol=1e-6).model.weights, rtol=1e-2)


@pytest.mark.thorough
def test_a_worker_may_be_idle(client):
    X, y = data()
    # one partition is one group, on one of two workers
    model = LinearClassifier("logistic", tol=1e-6).fit(da.from_array(X, chunks=(300, 5)), y)
    assert_allclose(model.coef_, fenchel.LinearClassifier("logistic", tol=1e-9).fit(X, y).coef_, rtol=1e-2)


@pytest.mark.thorough
def test_two_fits_share_a_cluster(client):
    X, y = data()
    lazy = da.from_array(X, chunks=(70, 5))
    fits = [("logistic", 1.0), ("logistic", 0.01), ("hinge", 0.1)]
    with ThreadPoolExecutor(len(fits)) as pool:
        models = list(pool.map(lambda case: LinearClassifier(case[0], C=case[1], tol=1e-4).fit(lazy, y), fits))
    for (loss, C), model in zip(fits, models, strict=True):
        # when a fit ends depends on the time that certificates take
        expected = fenchel.LinearClassifier(loss, C=C, tol=1e-8).fit(X, y).certificate_
        assert model.converged_
        assert model.certificate_.dual <= expected.primal + 1e-12
        assert expected.dual <= model.certificate_.primal + 1e-12


DRIVER = """
    import os, signal, sys
    import dask.array as da
    from distributed import Client
    from cluster_cases import data
    from fenchel.dask import LinearClassifier
    from fenchel.solving import checkpoint
    write, written = checkpoint.Checkpoint.write, []
    def write_and_die(self, best):
        write(self, best)
        written.append(1)
        if len(written) == 2:
            os.kill(os.getpid(), signal.SIGKILL)
    checkpoint.Checkpoint.write = write_and_die
    # a minute passes between certificates
    checkpoint.Checkpoint.offer = write_and_die
    X, y = data()
    with Client(sys.argv[1]):
        model = LinearClassifier("logistic", C=100.0, tol=1e-12, checkpoint=sys.argv[2])
        model.fit(da.from_array(X, chunks=(70, 5)), y)
"""


@pytest.mark.thorough
@pytest.mark.parametrize("groups", [None, 3], ids=["as_many_groups", "more_groups"])
def test_a_driver_that_is_killed_resumes_from_its_checkpoint(client, tmp_path, groups):
    path = tmp_path / "long.npz"
    folders = [str(Path(fenchel.__file__).parents[1]), str(Path(__file__).parents[1])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    command = [sys.executable, "-c", textwrap.dedent(DRIVER), client.scheduler.address, str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == -signal.SIGKILL, done.stderr
    X, y = data()
    lazy = da.from_array(X, chunks=(70, 5))
    with dask.config.set({"fenchel.groups": groups}):
        resumed = LinearClassifier("logistic", C=100.0, tol=1e-12, checkpoint=path).fit(lazy, y)
        unharmed = LinearClassifier("logistic", C=100.0, tol=1e-12).fit(lazy, y)
    # it does not start from zero, where the gap is 0.7
    first = resumed.trace_[0]
    assert first.passes == 0.0
    assert first.primal - first.dual < 1e-3
    assert_allclose(resumed.certificate_.primal, unharmed.certificate_.primal, rtol=1e-10)
    assert np.max(np.abs(resumed.coef_ - unharmed.coef_)) <= 1e-4 * np.max(np.abs(unharmed.coef_))


INTERRUPTED = """
    import os, signal, sys, threading
    import dask.array as da
    import numpy as np
    from distributed import Client, LocalCluster
    from fenchel.dask import LinearClassifier
    from fenchel.dask.cluster import DaskGroups

    signal.signal(signal.SIGINT, signal.default_int_handler)
    submitted, calls = DaskGroups._submitted, []

    def interrupting(self, *given):
        calls.append(1)
        if len(calls) == 12:
            os.killpg(0, signal.SIGINT)
        return submitted(self, *given)

    def main():
        DaskGroups._submitted = interrupting
        rng = np.random.default_rng(0)
        X = rng.standard_normal((3000, 5))
        y = X[:, 0] + rng.standard_normal(3000) > 0
        if sys.argv[1] == "own":
            client = Client(LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0"))
        model = LinearClassifier("hinge", C=100.0, tol=1e-12, n_jobs=1)
        try:
            model.fit(da.from_array(X, chunks=(1000, 5)), y)
        except BaseException as error:
            print(type(error).__name__, error, hasattr(model, "coef_"), flush=True)

    if __name__ == "__main__":
        main()
"""


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal to a group of processes")
@pytest.mark.parametrize("cluster", ["started", "own"])
def test_ctrl_c_in_a_terminal_ends_a_fit(tmp_path, cluster):
    """A terminal sends it to the workers too: those that the fit has started go on, others may end."""
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(INTERRUPTED))
    environment = {**os.environ, "PYTHONPATH": str(Path(fenchel.__file__).parents[1])}
    command = [sys.executable, str(script), cluster]
    options = {"capture_output": True, "text": True, "check": False, "timeout": 300, "start_new_session": True}
    said = subprocess.run(command, env=environment, **options).stdout.strip()
    if cluster == "started":
        assert said == "KeyboardInterrupt  True"
    else:
        # whether a worker ends by it, and another one is started, is up to Dask
        assert said.startswith(("KeyboardInterrupt", "LostDataError Ctrl-C ended the workers of the cluster too"))
