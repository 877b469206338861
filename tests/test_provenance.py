"""Stored rows of the reproductions say what they were made from, and a changed method makes its rows stale."""

import json

import pytest

from reproductions import provenance
from reproductions.provenance import Accepted, StampedLedger, Study, hash_of_files, hash_of_source, stale_rows

_SOURCE = '''"""A method."""
from package.here import helper

STEP = 0.5
LEVELS: list[float] = [1.0, 2.0]


def solve(x: float, times: int = 3) -> float:
    """Halve it."""
    # a comment
    for _ in range(times):
        x = helper(STEP * x)
    return x


def report(x):
    return f"{x:.3f}"
'''


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# a comment", "# another"),
        ('"""Halve it."""', '"""Halve it again and again."""'),
        ('"""A method."""', '"""The method."""'),
        ("x: float, times: int", "x, times"),
        (" -> float", ""),
        ("package.here", "package.elsewhere"),
        ("LEVELS: list[float]", "LEVELS: tuple"),
        ("\n\n\ndef report", "\n\ndef report"),
    ],
)
def test_what_is_not_computed_with_does_not_count(old, new):
    changed = _SOURCE.replace(old, new)
    assert changed != _SOURCE
    assert hash_of_source(changed) == hash_of_source(_SOURCE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.5", "0.25"),
        ("times: int = 3", "times: int = 4"),
        ("STEP * x", "x * STEP"),
        ("import helper", "import other"),
    ],
)
def test_what_is_computed_with_counts(old, new):
    assert hash_of_source(_SOURCE.replace(old, new)) != hash_of_source(_SOURCE)


def test_definitions_can_be_named():
    of_solve = hash_of_source(_SOURCE, ["solve", "STEP"])
    assert hash_of_source(_SOURCE.replace(".3f", ".4f"), ["solve", "STEP"]) == of_solve
    assert hash_of_source(_SOURCE.replace("0.5", "0.4"), ["solve", "STEP"]) != of_solve
    with pytest.raises(ValueError, match="gone"):
        hash_of_source(_SOURCE, ["solve", "gone"])


def test_names_and_order_of_files_do_not_count(tmp_path):
    (tmp_path / "a.py").write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "b.py").write_text("y = 2\n", encoding="utf-8")
    before = hash_of_files(["a.py", "b.py"], tmp_path)
    assert hash_of_files(["b.py", "a.py"], tmp_path) == hash_of_files(["*.py"], tmp_path) == before
    (tmp_path / "a.py").rename(tmp_path / "z.py")
    assert hash_of_files(["*.py"], tmp_path) == before
    with pytest.raises(FileNotFoundError, match=r"a\.py"):
        hash_of_files(["a.py"], tmp_path)


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Two methods with a source each, and one file of data."""
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    monkeypatch.setattr(hash_of_files, "__defaults__", (tmp_path,))
    monkeypatch.setattr(provenance, "shared_folder", lambda: tmp_path)
    provenance.hash_of_data.cache_clear()
    for name in ("fast", "slow"):
        (tmp_path / f"{name}.py").write_text(f"step = '{name}'\n", encoding="utf-8")
    (tmp_path / "set.svm").write_text("1 1:2\n", encoding="utf-8")
    yield Study(
        tmp_path / "paper" / "results" / "runs.json",
        ("data", "solver"),
        {name: [f"{name}.py"] for name in ("fast", "slow")},
        lambda cell: (cell["solver"],),
        lambda cell: ("set.svm",),
        lambda cell: f"python make.py --solver {cell['solver']} --again",
    )
    provenance.hash_of_data.cache_clear()


def _run(study, again=False):
    study.file.parent.mkdir(parents=True, exist_ok=True)
    ledger = StampedLedger(study, again=again)
    missing = [name for name in ("fast", "slow") if not ledger.has(data="set", solver=name)]
    ledger.add({"data": "set", "solver": name} for name in missing)
    return missing


def test_a_changed_method_makes_its_rows_stale_and_says_how_to_renew_them(study, tmp_path):
    assert _run(study) == ["fast", "slow"]
    nothing = Accepted(tmp_path / "accepted.json")
    assert stale_rows(study, nothing) == []
    assert set(study.rows()[0]["provenance"]) == {"sources", "data", "load"}
    (tmp_path / "slow.py").write_text("step = 'slower'  # why\n", encoding="utf-8")
    [stale] = stale_rows(study, nothing)
    assert (stale.row, stale.what) == ("paper data=set solver=slow", "sources")
    text = provenance.report([stale])
    assert "python make.py --solver slow --again\n  paper data=set solver=slow: sources changed" in text
    # the command makes the row again
    assert _run(study) == []
    assert _run(study, again=True) == ["fast", "slow"]
    assert stale_rows(study, nothing) == []


def test_changed_data_make_rows_stale_and_missing_data_do_not(study, tmp_path):
    _run(study)
    provenance.hash_of_data.cache_clear()
    (tmp_path / "set.svm").write_text("1 1:3\n", encoding="utf-8")
    assert [stale.what for stale in stale_rows(study, Accepted(tmp_path / "no.json"))] == ["data", "data"]
    (tmp_path / "set.svm").unlink()
    assert stale_rows(study, Accepted(tmp_path / "no.json")) == []


def test_the_sources_are_those_in_place_when_the_runs_began(study, tmp_path):
    study.file.parent.mkdir(parents=True)
    ledger = StampedLedger(study)
    (tmp_path / "fast.py").write_text("step = 'edited while it ran'\n", encoding="utf-8")
    ledger.add([{"data": "set", "solver": "fast"}])
    assert [stale.what for stale in stale_rows(study, Accepted(tmp_path / "no.json"))] == ["sources"]


def test_accepted_changes_are_kept_with_their_reason(study, tmp_path):
    _run(study)
    file = tmp_path / "accepted.json"
    reasons = {"first": "a first change: no result changes", "second": "a second one"}
    for text, why in reasons.items():
        (tmp_path / "fast.py").write_text(f"step = '{text}'\n", encoding="utf-8")
        [stale] = stale_rows(study, Accepted(file))
        Accepted(file).add(stale.stored, stale.present, why, [stale])
        assert stale_rows(study, Accepted(file)) == []
    changes = json.loads(file.read_text(encoding="utf-8"))["changes"]
    assert [change["why"] for change in changes] == list(reasons.values())
    # a change that was not accepted is not
    (tmp_path / "fast.py").write_text("step = 'third'\n", encoding="utf-8")
    assert len(stale_rows(study, Accepted(file))) == 1


def test_rows_that_accepted_changes_made_equal_need_one_more_reason(study, tmp_path):
    study.file.parent.mkdir(parents=True)
    file, made = tmp_path / "accepted.json", []
    for text, name in (("first", "slow"), ("second", "fast")):
        for method in ("fast", "slow"):
            (tmp_path / f"{method}.py").write_text(f"step = '{text}'\n", encoding="utf-8")
        StampedLedger(study).add([{"data": text, "solver": name}])
        made.append(study.rows()[-1]["provenance"]["sources"])
    [one] = stale_rows(study, Accepted(file))
    Accepted(file).add(one.stored, one.present, "the same step", [one])
    for method in ("fast", "slow"):
        (tmp_path / f"{method}.py").write_text("step = 'third'\n", encoding="utf-8")
    stale = stale_rows(study, Accepted(file))
    # the row of the first sources is named by the second ones, to which its change was accepted
    assert [one.stored for one in stale] == [made[1], made[1]]
    Accepted(file).add(stale[0].stored, stale[0].present, "the third one too", stale)
    assert stale_rows(study, Accepted(file)) == []
    # without the reason of the first change its row is as stale as ever
    assert len(stale_rows(study, Accepted(tmp_path / "none.json"))) == 2


def test_each_stale_pair_needs_a_reason_of_its_own(study, tmp_path):
    _run(study)
    file = tmp_path / "accepted.json"
    for name in ("fast", "slow"):
        (tmp_path / f"{name}.py").write_text(f"step = 'another {name}'\n", encoding="utf-8")
    fast, slow = stale = stale_rows(study, Accepted(file))
    Accepted(file).add(fast.stored, fast.present, "the fast one only", stale)
    # the reason of one change is not that of another one
    assert [one.row for one in stale_rows(study, Accepted(file))] == [slow.row]
    with pytest.raises(ValueError, match="no row is stale from"):
        Accepted(file).add(fast.stored, slow.present, "a pair that is not there", stale)
    with pytest.raises(ValueError, match="no reason"):
        Accepted(file).add(slow.stored, slow.present, " ", stale)
    assert len(json.loads(file.read_text(encoding="utf-8"))["changes"]) == 1


def test_the_command_accepts_pairs_with_their_reasons(study, tmp_path, monkeypatch, capsys):
    _run(study)
    monkeypatch.setattr(provenance, "every_study", lambda: [study])
    defaults = (tmp_path / "accepted.json", *Accepted.__init__.__defaults__[1:])
    monkeypatch.setattr(Accepted.__init__, "__defaults__", defaults)
    (tmp_path / "fast.py").write_text("step = 'faster'\n", encoding="utf-8")
    [stale] = stale_rows(study)
    monkeypatch.setattr("sys.argv", ["provenance.py", "--accept", stale.stored, stale.present, "a name was changed"])
    provenance.main()
    assert "no stored row is stale" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["provenance.py", "--accept", stale.stored, stale.present, "once more"])
    with pytest.raises(SystemExit):
        provenance.main()
    assert "the pairs of stale rows are none" in capsys.readouterr().err


def _studies():
    return {f"{study.file.parents[1].name}/{study.file.name}": study for study in provenance.every_study()}


@pytest.mark.parametrize("name", _studies())
def test_no_committed_row_is_stale(name):
    study = _studies()[name]
    stale = stale_rows(study)
    assert not stale, provenance.report(stale)
    older = [cell for cell in study.rows() if "provenance" not in cell]
    assert len(older) <= study.older, f"{len(older)} rows of {name} do not say what they were made from"


def test_every_accepted_change_is_needed_by_a_committed_row():
    pairs = set()
    for study in provenance.every_study():
        hashes = study.hashes()
        stamped = [cell for cell in study.rows() if "provenance" in cell]
        pairs |= {(cell["provenance"]["sources"], study.sources(cell, hashes)) for cell in stamped}
    for change in Accepted().changes:
        others = Accepted()
        others.changes.remove(change)
        assert not all(others.leads(*pair) for pair in pairs), f"no stored row needs {change}: remove it"
