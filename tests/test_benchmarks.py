"""The benchmarks run: tiny data, one round, nothing asserted about time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fenchel
from benchmarks import charts, overall
from benchmarks.cells import QUESTIONS, cells, held_out_mark, is_held_out, question_of
from benchmarks.floors import products_of
from benchmarks.gain import gain
from benchmarks.races import DEFAULTS, SOURCES, floors, has_floor, races
from benchmarks.report import README
from benchmarks.solvers import regret
from commands import run_module
from conftest import shared_file
from fenchel.risks import RANKINGS

ROOT = Path(__file__).resolve().parents[1]
SECTIONS = ("machine", "speed", "growth", "path", "bundle", "memory", "start")


def _run_apart(*arguments: str) -> str:
    """Run a module that starts processes of its own from the project root with the same fenchel as here."""
    paths = [str(Path(fenchel.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _cells(folder: Path, name: str) -> list[dict[str, Any]]:
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))["cells"]


def _need(*peers: str) -> None:
    for peer in peers:
        pytest.importorskip(peer, reason=f"the benchmark's peer {peer} is not installed")


@pytest.mark.parametrize("question", QUESTIONS)
def test_at_least_half_of_the_cells_are_held_out(question: str) -> None:
    found = list(cells(question))
    assert len(found) == len(set(found))
    assert 2 * sum(cell.held_out for cell in found) >= len(found)
    assert all(cell.held_out == is_held_out(question, cell.data, cell.C) for cell in found)


@pytest.mark.thorough
def test_speed_table(tmp_path: Path) -> None:
    _need("liblinear", "rehline")
    options = ["--data", "simulated-dense", "--loss", "hinge", "--C", "1", "--rounds", "1", "--cap", "30"]
    contenders = ["--only", "Fenchel", "LIBLINEAR", "rehline", "--output", str(tmp_path)]
    printed = _run_apart("benchmarks.speed.table", *options, *contenders)
    cells = _cells(tmp_path, "speed")
    status = {(cell["contender"], cell["target"]): cell["status"] for cell in cells}
    # LIBLINEAR can't go beyond 300 passes; everyone else gets to both targets
    assert status.pop(("LIBLINEAR", 1e-6)) in ("reached", "stopped")
    assert set(status.values()) == {"reached"}
    assert len(status) == 5
    assert all(cell["suboptimality"] <= cell["target"] for cell in cells if cell["status"] == "reached")
    assert "simulated-dense" in printed
    # a second run finds everything measured
    assert "[1/1]" in printed
    assert "[1/1]" not in _run_apart("benchmarks.speed.table", *options, *contenders)
    assert _cells(tmp_path, "speed") == cells


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "epsilon_insensitive"])
def test_every_peer_solves_the_same_problem(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _need("liblinear", "rehline")
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.data import load
    from benchmarks.speed.judging import Judge
    from benchmarks.speed.peers import PEERS
    from benchmarks.speed.references import certified
    from benchmarks.speed.tasks import LOSSES, Task

    data = load("simulated-regression-dense" if LOSSES[loss].regression else "simulated-dense")
    task = Task(data.matrix, data.labels, 0.1, loss=loss)
    judge = Judge(task, certified(task, seconds=20.0))
    peers = [peer() for peer in PEERS if peer().reason_to_skip(task) is None]
    assert len(peers) >= 3
    for peer in peers:
        peer.prepare(task)
        peer.run(1e-7)
        # LIBLINEAR stops after 300 passes
        assert -1e-12 <= judge.suboptimality(peer.weights) <= (1e-5 if peer.stopped is None else 1e-2), peer.name


def test_a_peer_is_given_up_after_the_cap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.ledger import Ledger
    from benchmarks.speed import table
    from benchmarks.speed.judging import Reference
    from benchmarks.speed.worker import Order

    ledger = Ledger(tmp_path / "speed.json", table.KEY)
    place = {"loss": "hinge", "data": "a9a", "C": 1.0, "contender": "LIBLINEAR"}
    ledger.add([{**place, "target": 1e-6, "status": "cap", "cap": 30.0}])
    kept = Ledger(tmp_path / "speed.json", table.KEY)
    order = Order("LIBLINEAR", "a9a", 10.0, False, Reference(1.0, 1.0, "", 0.0))
    assert table._capped_before(kept, order, 1e-6, cap=30.0) == 1.0
    assert table._capped_before(kept, order, 1e-3, cap=30.0) is None
    assert table._capped_before(kept, order, 1e-6, cap=60.0) is None


@pytest.mark.thorough
def test_growth_reports_slopes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="the figure needs matplotlib")
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks import growth

    common = {"panel": "non-zeros", "C": 1.0, "target": 1e-3, "status": "reached", "description": "", "rows": 1}
    spread = {"least": 1.0, "most": 2.0, "seconds": [1.0, 2.0]}
    cells = [
        common | spread | {"data": f"text@{count}", "contender": name, "stored": count, "median": count**1.5}
        for count in (10, 100, 1000)
        for name in growth.CONTENDERS
    ]
    growth.draw(cells, tmp_path / "growth.png")
    assert (tmp_path / "growth.png").stat().st_size > 0
    assert "1.50 from 10 to 1,000 (goal: at most 1.1: missed)" in growth.markdown(cells)


@pytest.mark.thorough
def test_path(tmp_path: Path) -> None:
    _need("liblinear")
    if not hasattr(fenchel, "regularization_path"):
        pytest.skip("this Fenchel has no regularization_path")
    options = ["--quick", "--data", "simulated", "--rounds", "1", "--output", str(tmp_path)]
    assert "the fastest peer at each C" in run_module("benchmarks.path", *options)
    own = next(cell for cell in _cells(tmp_path, "path") if cell["contender"] == "Fenchel")
    assert own["worst"] <= 1e-3
    some = ["--quick", "--data", "simulated", "--rounds", "1", "--only", "LIBLINEAR", "--largest", "0.05"]
    assert "| scikit-learn |" not in run_module("benchmarks.path", *some, "--output", str(tmp_path / "some"))
    found = _cells(tmp_path / "some", "path")
    assert {cell["contender"] for cell in found} == {"Fenchel", "LIBLINEAR"}
    assert all(max(cell["Cs"]) <= 0.05 for cell in found)


@pytest.mark.thorough
def test_selection(tmp_path: Path) -> None:
    printed = run_module("benchmarks.selection", "--quick", "--output", str(tmp_path))
    assert "| lasso path | 500 × 100 | no |" in printed  # noqa: RUF001
    cells = _cells(tmp_path, "selection")
    assert {cell["contender"] for cell in cells} == {"fenchel", "lasso_path", "LogisticRegressionCV", "GridSearchCV"}
    assert all(len(cell["seconds"]) == 1 for cell in cells)


@pytest.mark.thorough
def test_oracle(tmp_path: Path) -> None:
    printed = run_module("benchmarks.oracle", "--quick", "--output", str(tmp_path))
    assert {cell["job"] for cell in _cells(tmp_path, "oracle")} >= {"np.argsort", "f1", "roc_auc"}
    assert "times np.argsort" in printed


def test_rigorous(tmp_path: Path) -> None:
    printed = run_module("benchmarks.rigorous", "--quick", "--output", str(tmp_path))
    assert all(cell["rigorous_floor"] <= 1e-15 for cell in _cells(tmp_path, "rigorous"))
    assert "| hinge |" in printed


def _tiny(tmp_path: Path, name: str, *options: str) -> tuple[list[dict[str, Any]], str]:
    """The cells and the table of a benchmark on simulated data."""
    printed = run_module(f"benchmarks.{name}", "--data", "simulated", "--output", str(tmp_path), *options)
    assert "| simulated" in printed
    return _cells(tmp_path, name), printed


@pytest.mark.thorough
def test_certificate(tmp_path: Path) -> None:
    options = ["--before", str(ROOT), "--rounds", "1", "--loss", "hinge"]
    [cell], _ = _tiny(tmp_path, "certificate", *options)
    assert set(cell["milliseconds"]) == {f"{key} {kind}" for key in ("before", "after") for kind in ("first", "later")}


def test_l1(tmp_path: Path) -> None:
    _need("liblinear")
    which = ["--only", "fenchel", "liblinear", "--C", "1", "--rounds", "1", "--cap", "60"]
    cells, _ = _tiny(tmp_path, "l1", *which)
    assert {(cell["loss"], cell["contender"]) for cell in cells} == {
        ("logistic", "fenchel"),
        ("logistic", "liblinear"),
        ("squared", "fenchel"),
    }
    assert all(cell["reached"] and cell["gap"] <= 1e-4 and len(cell["seconds"]) == 1 for cell in cells)


def test_made_lassos(tmp_path: Path) -> None:
    which = ["--rows", "80", "--without", "celer", "--rounds", "1", "--output", str(tmp_path)]
    printed = run_module("benchmarks.made_lassos", *which)
    assert "| lasso | 80 " in printed
    cells = _cells(tmp_path, "made_lassos")
    assert {cell["contender"] for cell in cells} == {"fenchel", "HiGHS", "scikit-learn"}
    assert all(cell["reached"] and cell["gap"] <= cell["target"] for cell in cells)


@pytest.mark.thorough
def test_newton_floors(tmp_path: Path) -> None:
    which = ["--loss", "logistic", "--C", "1", "--rounds", "1"]
    (cell,), _ = _tiny(tmp_path, "newton_floors", *which)
    assert 0.0 < sum(cell[kind] for kind in ("Hessians", "products", "inner", "losses")) < 10.0 * cell["fit"] + 1.0


@pytest.mark.thorough
def test_gain_of_the_same_code_is_a_comparison_of_both_sides(tmp_path: Path) -> None:
    which = ["--before", str(ROOT), "--question", "L1", "--data", "gaussian@2000", "--output", str(tmp_path)]
    assert "| L1 | 0.0001 | " in _run_apart("benchmarks.gain", *which)
    found = _cells(tmp_path, "gain")
    assert {(cell["loss"], cell["C"]) for cell in found} == {(cell.loss, cell.C) for cell in cells("L1")}
    assert all(cell["before reached"] and cell["after reached"] and gain(cell) > 0.0 for cell in found)
    assert gain({**found[0], "before": [3.0], "after": [2.0]}) == 1.5
    assert gain({**found[0], "after reached": False}) is None


def test_ridge(tmp_path: Path) -> None:
    cells, _ = _tiny(tmp_path, "ridge", "--C", "0.1", "--rounds", "1", "--cap", "60")
    assert {cell["contender"] for cell in cells} >= {"dual_conjugate_gradient", "dual_coordinate", "scikit-learn"}
    assert all(cell["reached"] and cell["gap"] <= 1e-6 for cell in cells)


def test_small(tmp_path: Path) -> None:
    printed = run_module("benchmarks.small", "--data", "iris", "--rounds", "1", "--output", str(tmp_path))
    assert "| LinearSVC |" in printed
    assert {who for cell in _cells(tmp_path, "small") for who in cell["ms"]} == {
        "scikit-learn",
        "drop-in",
        "own",
        "validation",
        "checks and proof",
    }


def test_limits(tmp_path: Path) -> None:
    which = ["hinge", "cv hinge"]
    # the signals would reach pytest
    cells, _ = _tiny(tmp_path, "limits", "--only", *which, "--limit", "0.01", "--no-signals")
    assert [cell["estimator"] for cell in cells] == which
    assert all(cell["certificate"] > 0.0 for cell in cells)


def test_pairs(tmp_path: Path) -> None:
    cells, _ = _tiny(tmp_path, "pairs", "--risk", "roc_auc", "--lam", "0.01", "--cap", "60")
    assert {cell["variant"] for cell in cells} == {"smoothing", "without curvature"}
    assert all(cell["relative_gap"] <= 1e-3 for cell in cells)


def test_fmeasure(tmp_path: Path) -> None:
    cells, _ = _tiny(tmp_path, "fmeasure", "--lam", "0.01", "--cap", "60")
    assert {cell["variant"] for cell in cells} == {"level", "smoothed plane", "short search"}
    assert all(cell["relative_gap"] <= 1e-2 for cell in cells)


@pytest.mark.thorough
def test_ranking(tmp_path: Path) -> None:
    options = ["--data", "simulated", "--rounds", "1", "--cap", "30", "--output", str(tmp_path)]
    printed = run_module("benchmarks.ranking", *options)
    times, quality = _cells(tmp_path, "ranking-times"), _cells(tmp_path, "ranking-quality")
    assert len(times) == 32
    assert all(cell["reached"] and cell["relative_gap"] <= cell["target"] for cell in times)
    assert {cell["method"] for cell in quality} == {*RANKINGS, "ridge"}
    assert all(0.7 < cell["ndcg"] <= 1.0 for cell in quality)
    assert "| simulated | 1 | `pairwise_hinge` |" in printed


@pytest.mark.thorough
def test_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ["--data", "simulated", "--lam", "0.01", "--cap", "30", "--output", str(tmp_path)]
    printed = run_module("benchmarks.bundle", *options)
    cells = _cells(tmp_path, "bundle")
    found = {(cell["risk"], cell["variant"]) for cell in cells}
    assert len(found) == len(cells) == 17
    assert {variant for risk, variant in found if risk == "f1"} == {"level", "plain", "segment", "line search"}
    assert all(cell["reached"] and cell["relative_gap"] <= 1e-2 for cell in cells)
    assert not any(cell["on_trust"] for cell in cells)
    assert "level: 4 of 4 problems to 0.01, 0 stalled." in printed
    # a second run finds everything measured
    assert "level simulated hinge" in printed
    assert "level simulated hinge" not in run_module("benchmarks.bundle", *options)
    # an unreached cell is measured again with a larger cap only
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.bundle import KEY, is_known
    from benchmarks.ledger import Ledger

    ledger = Ledger(tmp_path / "bundle.json", KEY)
    place = {"data": "a9a", "risk": "f1", "lam": 0.1, "variant": "level"}
    assert not is_known(ledger, place, 1.0)
    ledger.add([{**place, "reached": False, "status": "TIME_LIMIT", "cap": 30.0}])
    assert is_known(ledger, place, 30.0)
    assert not is_known(ledger, place, 60.0)


@pytest.mark.thorough
def test_benchopt_benchmark(tmp_path: Path) -> None:
    _need("benchopt", "liblinear", "rehline")
    from benchopt.results import read_results

    file = tmp_path / "results.parquet"
    which = ["-d", "Simulated[storage=simulated-dense]", "-o", "LinearModel[loss=hinge,C=1.0,reference_seconds=5.0]"]
    solvers = [option for name in ("Fenchel", "LIBLINEAR", "scikit-learn", "rehline") for option in ("-s", name)]
    options = ["-n", "2", "-r", "1", "--no-cache", "--no-plot", "--no-display", "--output", str(file)]
    printed = _run_apart("benchopt", "run", "benchmarks/speed", *which, *solvers, *options)
    assert file.exists(), printed
    table = read_results(file)
    assert {name.partition("[")[0] for name in table["solver_name"]} == {
        "Fenchel",
        "LIBLINEAR",
        "scikit-learn",
        "rehline",
    }
    assert (table["objective_suboptimality"] >= 0).all()


def test_readme_sections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks import report

    page = tmp_path / "README.md"
    page.write_text(report.README.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(report, "README", page)
    for section in SECTIONS:
        report.update_readme(section, f"table of {section}")
    written = page.read_text(encoding="utf-8")
    for section in SECTIONS:
        assert f"<!-- {section}:begin -->\ntable of {section}\n<!-- {section}:end -->" in written


def test_proved_predictions(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the picture needs matplotlib")
    options = ["--data", "clouds", "--loss", "logistic", "--output", str(tmp_path)]
    assert "clouds (200 rows)" in run_module("benchmarks.predictions", *options)
    assert _cells(tmp_path, "predictions")[-1]["proved"] > 0.9
    assert (tmp_path / "predictions.png").stat().st_size > 0


@pytest.mark.thorough
def test_sequences_table() -> None:
    shared_file("conll2000.zip")
    said = run_module("benchmarks.sequences", "--sentences", "12", "--rounds", "1", "--iterations", "5")
    assert "12 sentences" in said
    assert "| Fenchel, CRF, until proved | " in said
    assert "| Fenchel, max-margin, until proved | " in said


@pytest.mark.thorough
def test_rule_of_sequences(tmp_path: Path) -> None:
    options = ["--data", "made", "--cap", "0.1", "--rounds", "1", "--output", str(tmp_path)]
    said = run_module("benchmarks.sequence_rules", *options)
    assert said.count("| log-loss | made, ") == 21
    assert "`frank_wolfe` |" in said
    assert "log-loss, open: regret " in said


@pytest.mark.thorough
def test_mixed_witnesses_are_never_behind_single_ones() -> None:
    said = run_module("benchmarks.mixed_witnesses", "--data", "made", "--C", "1")
    cells = [cell.split(" / ") for line in said.splitlines() if "/" in line for cell in line.split(" | ")[2:]]
    passes = [[int(one.strip(" |")) for one in cell] for cell in cells]
    assert len(passes) == 8
    assert all(own == sorted(own, reverse=True) for own in passes)


@pytest.mark.thorough
def test_features_of_pairs_of_tokens() -> None:
    said = run_module("benchmarks.sequence_edges", "--tokens", "200", "--limit", "2")
    assert said.count("`exponentiated_gradient`") == 2
    assert "| max-margin | 5 | `frank_wolfe` |" in said


def test_growth_of_sequences() -> None:
    said = run_module("benchmarks.sequence_growth", "--most-tokens", "1000", "--most-labels", "10", "--rounds", "1")
    for solver in ("exponentiated_gradient", "frank_wolfe"):
        assert said.count(f"| 1,000 | 10 | {solver} | ") == 2
    assert "max-margin (M3N): slope in labels" in said


@pytest.mark.parametrize("name", charts.QUESTIONS)
def test_charts_find_their_tables(name: str) -> None:
    """Each chart has problems, and each of them Fenchel and another contender."""
    found = charts.lines(README.read_text(encoding="utf-8"), charts.QUESTIONS[name])
    assert len(found) >= 4
    for line in found:
        labels = {charts.CONTENDERS[one][0] for one in line.times}
        assert any(label.startswith("Fenchel") for label in labels)
        assert any(not label.startswith("Fenchel") for label in labels)
        assert all(seconds > 0.0 for seconds in line.times.values())


def _section(page: str, name: str) -> str:
    return page.partition(f"<!-- {name}:begin -->\n")[2].partition(f"\n<!-- {name}:end -->")[0]


def test_charts_are_drawn_from_the_tables_of_today() -> None:
    """A chart whose table changed is stale: `make bench-overall` draws it again."""
    page, drawn = README.read_text(encoding="utf-8"), json.loads(charts.DRAWN.read_text(encoding="utf-8"))
    found = {name: charts.lines(page, question) for name, question in charts.QUESTIONS.items()}
    expected = {name: charts.digest(shown) for name, shown in {**found, "overall": overall.dots(page)}.items()}
    assert drawn == expected
    assert {file.stem for file in charts.FOLDER.glob("*.png")} == set(drawn)


def test_summaries_follow_the_tables() -> None:
    """`make bench-overall` writes both pages from the tables, and nobody else does."""
    page = README.read_text(encoding="utf-8")
    assert _section(page, "overall") == overall.markdown(page)
    assert _section(overall.DOCS.read_text(encoding="utf-8"), "overall") == overall.docs_table(page)


@pytest.mark.parametrize("source", [*SOURCES, DEFAULTS], ids=lambda source: source.section)
def test_races_have_ratios(source: Any) -> None:
    found = races(README.read_text(encoding="utf-8"), source)
    assert len(found) >= 2
    assert all(race.ratio > 0.0 for race in found)


def test_ratios_are_those_of_the_fastest_peer() -> None:
    table = "<!-- x:begin -->\n| data set | C | own | A | B |\n| --- |\n"
    table += "| a9a (2 × 3) | 1 | 2 [1–3] | 3 ×1.5 | > 10 |\n| w8a | 100 | 2 | > 10 | > 20 |\n"  # noqa: RUF001
    table += "| imdb | 1 | gap 0.1 after 3 | 1 | – |\n| imdb | 1 | 2 | gap 0.1 after 3 | – |\n<!-- x:end -->"  # noqa: RUF001
    source = SOURCES[0]._replace(section="x", ratio="", own=("own",), peers=("A", "B"))
    assert [race[2:6] for race in races(table, source)] == [("a9a", 1.5, False, False), ("w8a", 10.0, True, True)]


def test_a_floor_counts_for_the_accuracy_that_it_was_measured_at() -> None:
    head = "| against | data | C | accuracy | Fenchel, proved | LIBLINEAR |\n|---|---|---|---|---|---|\n"
    lines = "".join(f"| non-zeros | text@100 (10 rows) | 1 | {target} | 0.2 | 0.1 |\n" for target in (0.001, 1e-06))
    page = f"<!-- growth:begin -->\n{head}{lines}<!-- growth:end -->\n"
    page += (
        "<!-- floors:begin -->\n| data set | loss | C | tol |\n|---|---|---|---|\n| text@100 | hinge | 1 | 0.001 |\n"
    )
    page += "<!-- floors:end -->\n"
    source = next(source for source in SOURCES if source.section == "growth")
    assert [has_floor(race, floors(page)) for race in races(page, source)] == [True, False]


@pytest.mark.parametrize("section", ["speed", "rehline", "kernels", "multinomial", "bundle", "joint", "path", "ridge"])
def test_tables_say_what_is_held_out(section: str) -> None:
    lines = [
        dict(zip(head, row, strict=True))
        for _, head, rows in charts.tables(README.read_text(encoding="utf-8"), section)
        if "data set" in head
        for row in rows
    ]
    assert len(lines) >= 4
    for line in lines:
        data, C = line["data set"].partition(" (")[0], line.get("C", line.get("C, gamma", "")).partition(",")[0]
        question = {"multinomial": "several classes", "joint": "several classes", "bundle": "measures"}.get(section)
        question = question or ("kernels" if section == "kernels" else question_of(data))
        assert line["held out"] == held_out_mark(question, data, float(C) if C else None), line


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peaks of memory are read from Linux")
def test_memory_of_cases(tmp_path: Path) -> None:
    names = ["dense, logistic", "sparse, Weston-Watkins, 10 classes"]
    printed = _run_apart("benchmarks.memory", "--cases", *names, "--size-mb", "1", "--output", str(tmp_path))
    results = json.loads((tmp_path / "memory-cases.json").read_text(encoding="utf-8"))["results"]
    assert [found["case"] for found in results] == names
    assert all(found["model"] > 0 and found["raise"] >= 0 and found["case"] in printed for found in results)


def test_the_busiest_thread_is_watched() -> None:
    from concurrent.futures import ThreadPoolExecutor

    from benchmarks.threads import busiest_thread

    with busiest_thread() as path, ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda n: sum(range(n)), [100_000, 10, 10])) == [sum(range(100_000)), 45, 45]
    assert 0.0 < path.longest <= path.total
    path.clear()
    assert path.longest == path.total == 0.0


def test_defaults(tmp_path: Path) -> None:
    options = ["--data", "simulated", "--model", "LinearSVC", "LogisticRegression", "--rounds", "1"]
    printed = run_module("benchmarks.defaults", *options, "--output", str(tmp_path))
    assert printed.count("| simulated (") == 2
    for cell in _cells(tmp_path, "defaults"):
        assert cell["reached"]
        assert cell["own_excess"] <= cell["excess"] + 1e-8


@pytest.mark.parametrize(
    ("cell", "expected"),
    [("0.107 [0.104, 0.121]", 0.107), ("5", 5.0), ("1e-05 (3)", 1e-5), ("gap 0.03 at 20 s", None), ("", None)],
)
def test_charts_read_cells(cell: str, expected: float | None) -> None:
    assert charts.seconds(cell) == expected


def test_both_products_of_passes_and_certificates_are_counted() -> None:
    assert products_of({"passes": 4.0, "certificates": 1, "scores": 0.25, "adjoint": 0.5}) == 3.75


def test_regret_of_auto() -> None:
    runs = {"auto": (0.3, True), "newton": (0.1, True), "bundle": (0.05, False)}
    found = {name: {"seconds": seconds, "reached": reached} for name, (seconds, reached) in runs.items()}
    assert regret({"solvers": found}) == pytest.approx(3.0)
    assert regret({"solvers": {name: {**run, "reached": False} for name, run in found.items()}}) is None
