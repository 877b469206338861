"""A slice of the campaign: every part of it runs, finds nothing in the library, and finds what is seeded."""

import lzma
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import fenchel
from campaign import (
    arguments,
    cases,
    checker,
    checkpoints,
    faults,
    files,
    fits,
    front_ends,
    infeasible_exact,
    problems,
    processes,
    soak,
    structured,
    structured_exact,
    targets,
)
from campaign.fitted import run_fit, run_kernel_fit
from campaign.judging import Outcome, run_case
from campaign.loops import use_plain_loops
from fenchel import Model, Problem, Witness
from fenchel.certificate import judge
from fenchel.compile.loop import Loop
from fenchel.regularizers import L2, Entropy

SEED = 20


@pytest.fixture(autouse=True)
def loops(monkeypatch):
    """The campaign chooses plain loops for the whole process; other tests have loops of their own choice."""
    monkeypatch.setattr(Loop, "__call__", Loop.__call__)


def test_problems_are_judged_and_a_run_is_resumed(tmp_path, monkeypatch, full_products):
    chunk = 300 if full_products else 120
    monkeypatch.setitem(problems.CHUNKS, "problems", chunk)
    path = tmp_path / "problems.jsonl"
    first = problems.run("problems", SEED, 2 * chunk, path, budget=0.0, show=False)
    assert first["cases"] == chunk
    # a run that was killed leaves half a line
    with path.open("a") as stream:
        stream.write('{"first": 30')
        stream.write("\n")
    found = problems.run("problems", SEED, 2 * chunk, path, show=False)
    assert found["cases"] == 2 * chunk
    assert found["problems"] > 1.6 * chunk
    assert not found["wrong cases"]
    assert not found["unexpected cases"]
    assert not found["contradictory"]
    assert found["median of floor over true error"]["all"] <= 300.0
    assert problems.recheck("problems", SEED, path)["rechecked"] == 0


def test_a_floor_that_is_larger_than_any_multiple_of_the_error_is_counted(monkeypatch):
    outcome = Outcome({"loss": "some", "regularizer": "l2"}, certificates=2, ratios=[math.inf, 2.0])
    monkeypatch.setitem(problems.RUNNERS, "problems", lambda seed, index: outcome)
    found = problems.run_chunk(("problems", SEED, 0, 1))
    assert found["ratios"]["all"] == {"6165": 1, "6": 1}


@pytest.mark.parametrize(
    "part, cases",
    [
        ("kernels", 50),
        pytest.param("estimators", 12, marks=pytest.mark.thorough),
        pytest.param("kernel_estimators", 12, marks=pytest.mark.thorough),
    ],
)
def test_kernels_and_fits_are_judged(tmp_path, part, cases, full_products):
    # 12 fits reach one that chooses C
    cases *= 6 if full_products else 1
    found = problems.run(part, SEED, cases, tmp_path / "cases.jsonl", show=False)
    assert found["cases"] == cases
    assert found["problems"] > 0.8 * cases
    assert not found["wrong cases"]
    assert not found["unexpected cases"]


def test_a_witness_is_judged_at_the_multiple_that_it_states():
    """Theta is the multiple 1 - 3e-12 of the flows of a witness, and D there is more than D of the flows themselves."""
    rows = np.array([[1.0, 2.0], [0.5, -1.0], [-1.0, 0.25], [3.0, 1.0]])
    risk, labels, _ = structured.ranking_risk(
        None, "pairwise_hinge", np.array([1.0, 0.0, 1.0, 0.0]), np.array([0, 0, 1, 1]), np.array([1e-7, 1e-7, 1.0, 1.0])
    )
    flows = np.array([[1e-8, -1e-8, 0.25, -0.25]])
    C, factor = 0.35, 1.0 - 3e-12
    case = cases.Case(
        Problem(rows, risk, 1.0 / (C * float(labels.total()))), "pairwise_hinge",
        [[Decimal(entry) for entry in row] for row in rows.tolist()], labels, [], cases.exact_lam(labels, C), {}, None,
    )  # fmt: skip
    verdict = judge(case.problem, Model(np.zeros(2), 0.0), Witness(factor * flows[0], None, flows))
    # in fractions, without the judge
    base, lam = [Fraction(flow) for flow in flows[0].tolist()], 1 / (Fraction(C) * (Fraction(1e-7) + 1))
    t = sum(abs(Fraction(entry)) for entry in verdict.witness.theta.tolist()) / sum(map(abs, base))
    squares = sum(
        sum(Fraction(x) * flow for x, flow in zip(column, base, strict=True)) ** 2 for column in rows.T.tolist()
    )
    at_flows, at_theta = (
        m * sum(max(flow, 0) for flow in base) - m * m * squares / (2 * lam) for m in (Fraction(1), t)
    )
    lower = Fraction(verdict.certificate.lower)
    assert at_flows < lower <= at_theta
    found, itself = structured_exact.dual(case, verdict.witness)
    assert itself
    assert abs(Fraction(found) - at_theta) <= Fraction(1, 10**60)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("positive", [False, True])
def test_refusals_of_constraints_are_judged_in_fractions(intercept, positive):
    rng = np.random.default_rng(SEED)
    regularizer = Entropy(1.0) if positive else L2()
    for _ in range(20):
        n, d = int(rng.integers(2, 8)), int(rng.integers(1, 4))
        w, b = rng.integers(0 if positive else -3, 4, size=d), int(rng.integers(-2, 3)) * intercept
        X = rng.integers(-4, 5, size=(n, d))
        scores = X @ w + b
        X, scores = X[scores != 0], scores[scores != 0]
        if not len(X):
            continue
        assert not infeasible_exact.inseparable(signed_case(X, np.sign(scores), regularizer, intercept))
        # and a copy of the first row with the other label
        X, signs = np.concatenate([X, X[:1]]), np.append(np.sign(scores), -np.sign(scores[0]))
        assert infeasible_exact.inseparable(signed_case(X, signs, regularizer, intercept))
    # weights that must be positive, and a row for which they are wrong
    assert infeasible_exact.inseparable(signed_case([[1, 2]], [-1], regularizer, intercept)) == (
        positive and not intercept
    )


def signed_case(rows, signs, regularizer, intercept):
    """A case of two classes in numbers that ``inseparable`` reads."""
    rows = [[Decimal(int(entry)) for entry in row] for row in rows]
    labels = [[Decimal(int(sign))] for sign in signs]
    problem = SimpleNamespace(intercept=intercept, regularizer=regularizer)
    return SimpleNamespace(rows=rows, labels=labels, shares=[Decimal(1)] * len(rows), problem=problem)


def test_a_fit_whose_classes_can_not_be_separated_is_no_defect():
    use_plain_loops()
    outcome = run_fit(2720, 5958)
    assert infeasible_exact.WORDS in outcome.refused
    assert not outcome.unexpected


def test_risks_that_overflow_are_not_infeasible():
    """A polynomial kernel of degree 6 with the exponential loss, which has no constraints."""
    outcome = run_kernel_fit(3, 2302)
    assert not outcome.refused and not outcome.unexpected and not outcome.wrong


def test_every_estimator_is_drawn():
    named = {name for name in vars(fenchel)["__all__"] if hasattr(getattr(fenchel, name), "fit")}
    assert named | {"regularization_path"} == set(fits.SHARES)
    drawn = {fits.Draw(SEED, index).name for index in range(500)}
    assert drawn == set(fits.SHARES)


@pytest.mark.thorough
def test_the_checker_confirms_what_is_trained(tmp_path, monkeypatch):
    rng = np.random.default_rng(SEED)
    rows = [f"{rng.choice([1, 2])} 1:{rng.normal()!r} 3:{rng.normal()!r}" for _ in range(40)]
    with lzma.open(tmp_path / "some.svm.xz", "wt") as stream:
        stream.write("\n".join(rows) + "\n")
    monkeypatch.setenv("FENCHEL_DATA", str(tmp_path))
    monkeypatch.setitem(checker.SETS, "some", ("some.svm.xz", 30, "2"))
    found = checker.run(SEED, math.inf, [("some", "--loss squared"), ("a9a", "--loss hinge")])
    assert not found["defects"]
    assert found["models"]["some --loss squared"]["problems"] == 1
    assert len(found["skipped"]) == 1


def test_a_case_is_determined_by_its_seed_and_number():
    use_plain_loops()
    one, other = (run_case(SEED, 17) for _ in range(2))
    assert (one.strata, one.ratios) == (other.strata, other.ratios)


@pytest.mark.parametrize(
    "name",
    [
        *("ridge halved", "objective with 14 digits", "upper bound rounded down", "theta outside the domain"),
        "rounding of second moments dropped",
        *("norm of a Gram matrix halved", "C twice as large", "always converged", "counts of tokens lost"),
    ],
)
def test_a_seeded_fault_is_caught(name):
    use_plain_loops()
    (fault,) = (one for one in faults.FAULTS if one.name == name)
    assert faults.caught_after(fault, SEED, most=500) is not None


@pytest.mark.parametrize(
    "name, kind",
    [
        ("log Z off by 1e-9", "chain_logistic"),
        ("scores of features of pairs off by 1e-9", "chain_logistic"),
        ("distances of labellings twice", "chain_hinge"),
        ("theta outside the permutahedra", "ndcg"),
        ("flows of hinges of pairs not made feasible", "pairwise_hinge"),
        ("masses of labels outside the domain", "multilabel"),
    ],
)
def test_a_seeded_fault_of_a_rare_risk_is_caught_among_its_own_cases(name, kind, monkeypatch):
    use_plain_loops()
    monkeypatch.setattr(cases, "RISKS", {kind: 1.0})
    (fault,) = (one for one in faults.FAULTS if one.name == name)
    assert faults.caught_after(fault, SEED, most=100) is not None
    # and not without it
    cases.clear_data()
    assert not any(run_case(SEED, index).wrong for index in range(8))


def test_there_are_enough_faults_and_each_has_a_place():
    assert len({fault.name for fault in faults.FAULTS}) == len(faults.FAULTS) >= 20
    for fault in faults.FAULTS:
        with fault.patch():
            pass


def test_mutated_files_and_a_run_that_goes_on():
    former = files.run(SEED, math.inf, most=20, former=files.run(SEED, math.inf, most=30, chosen=["table"]))
    assert former["mutants"]["table"] == 30
    found = files.run(SEED, math.inf, most=60, former=former)
    assert not found["defects"]
    assert found == files.run(SEED, math.inf, most=60)
    assert found["mutants"]["svmlight: accepted"] > 0
    assert found["mutants"]["model: accepted"] > 0
    assert all(found["mutants"][f"{reader}: accepted"] > 0 for reader in ("parquet", "stored table", "stored svmlight"))


def test_mutated_files_of_the_front_ends(full_products):
    found = front_ends.run(SEED, math.inf, most=1000 if full_products else 100)
    assert not found["defects"]
    assert all(found["mutants"][f"{reader}: accepted"] > 0 for reader in front_ends.READERS)


def test_the_readers_of_the_front_ends_are_really_compared(monkeypatch):
    """Separators of Unicode, which C does not call space, are found if a reader splits at them."""
    load = front_ends.load_liblinear

    def at_any_space(path):
        content = Path(path).read_bytes()
        Path(path).write_bytes(b" ".join(word.encode() for word in content.decode("latin-1").split()))
        return load(path)

    monkeypatch.setattr(front_ends, "load_liblinear", at_any_space)
    assert front_ends.run(SEED, math.inf, most=400)["defects"]


def test_wrong_arguments():
    found = arguments.run(SEED, math.inf, most=6)
    assert not found["defects"]
    assert not found["no valid call is known"]
    assert found["calls"] > 0


@pytest.mark.thorough
def test_a_directory_as_target(tmp_path):
    attack = targets.Attack(tmp_path)
    attack.refused("a directory as target", "train", attack.data, "--force", "-o", tmp_path)
    assert not attack.defects


@pytest.mark.thorough
def test_a_signal_at_a_random_moment():
    defects = []
    processes.interrupted_fit(np.random.default_rng(SEED), defects)
    assert not defects


@pytest.mark.thorough
def test_a_solve_that_is_killed_goes_on_from_its_checkpoint(tmp_path):
    defects = []
    checkpoints.write_store(tmp_path)
    checkpoints.killed_solve(np.random.default_rng(SEED), tmp_path, defects)
    assert not defects


@pytest.mark.parametrize("kind", [*cases.CUSTOM, "multilabel", "f1"])
def test_kinds_that_are_drawn_rarely(kind, monkeypatch):
    """Every cell of a measure, several labels with intercepts, and rows in stores, by a slice of their own."""
    monkeypatch.setattr(cases, "RISKS", {kind: 1})
    monkeypatch.setattr(cases, "STORAGES", ("store", "store_csr", "dense"))
    cases.clear_data()
    use_plain_loops()
    outcomes = [run_case(SEED + 1, index) for index in range(40)]
    cases.clear_data()
    assert not [line for one in outcomes for line in (*one.wrong, *one.unexpected)]
    assert sum(one.certificates for one in outcomes) > 20
    assert {one.strata["risk"] for one in outcomes if one.strata} == {kind}


@pytest.mark.filterwarnings("ignore::fenchel.GapWarning")
def test_a_round_of_the_soak():
    use_plain_loops()
    found = soak.run(SEED, budget=0.0)
    assert not found["defects"]
    assert found["rounds"] == 1
