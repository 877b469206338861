"""Stale rows that are made again are compared with the stored ones in all but seconds."""

import math

import pytest

from reproductions import provenance, replay
from reproductions.provenance import Accepted, StampedLedger, Study, hash_of_files, stale_rows
from reproductions.replay import compared

_ROW = {"data": "dna", "passes": 12.0, "seconds": 0.5, "crossings": [{"decay": 0.09, "solving": 0.1, "accuracy": 93.5}]}


@pytest.mark.parametrize("change", [{"seconds": 0.9}, {"load": 7.0}, {"run": "another day"}])
def test_what_depends_on_the_machine_is_not_compared(change):
    assert compared(_ROW, {**_ROW, **change}).size == 0.0


@pytest.mark.parametrize(
    ("change", "size", "where"),
    [
        ({"passes": 15.0}, 0.2, "passes"),
        ({"data": "web8"}, math.inf, "data"),
        ({"passes": None}, math.inf, "passes"),
        ({"status": "STALLED"}, math.inf, "status"),
        ({"crossings": [{"decay": 0.09, "solving": 0.2, "accuracy": 95.0}]}, 1.5 / 95.0, "crossings accuracy"),
        ({"crossings": []}, math.inf, "crossings"),
    ],
)
def test_the_largest_difference_and_its_place(change, size, where):
    found = compared(_ROW, {**_ROW, **change})
    assert (found.size, found.where) == (pytest.approx(size), where)


def test_numbers_in_a_line_are_compared_one_by_one():
    assert compared({"gap": "1 0.5 0.25"}, {"gap": "1 0.4 0.25"}).size == pytest.approx(0.2)
    assert compared({"gap": "1 0.5"}, {"gap": "1 0.5 0.25"}).size == math.inf
    assert compared({"gap": "nan 1"}, {"gap": "nan 1.0"}).size == 0.0


def test_curves_are_compared_as_far_as_both_go():
    stored = {"steps": 3, "curve": {"seconds": "1 2 3", "steps": "1 2 3", "objective": "9 8 7"}}
    longer = {"steps": 4, "curve": {"seconds": "2 3 4 5", "steps": "1 2 4 5", "objective": "9 8 6 5"}}
    # the third point was chosen by the clock
    assert compared(stored, longer).size == 0.0
    other = {"steps": 3, "curve": {"seconds": "1 2 3", "steps": "1 2 3", "objective": "9 4 7"}}
    assert compared(stored, other) == (0.5, "curve objective")


_SCRIPT = """
import argparse, json, pathlib
parser = argparse.ArgumentParser()
parser.add_argument("--output", type=pathlib.Path)
folder = parser.parse_args().output
file = folder / "runs.json"
cells = json.loads(file.read_text())["cells"]
cells[0] |= {"passes": PASSES, "run": "today"}
file.write_text(json.dumps({"cells": cells}))
"""


@pytest.mark.parametrize(("passes", "size"), [(4.0, 0.0), (5.0, 0.2)])
def test_a_stale_row_is_made_again_beside_the_stored_one(tmp_path, monkeypatch, capsys, passes, size):
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    monkeypatch.setattr(hash_of_files, "__defaults__", (tmp_path,))
    (tmp_path / "method.py").write_text("step = 1\n", encoding="utf-8")
    (tmp_path / "make.py").write_text(_SCRIPT.replace("PASSES", str(passes)), encoding="utf-8")
    file = tmp_path / "paper" / "results" / "runs.json"
    file.parent.mkdir(parents=True)
    study = Study(
        file,
        ("data",),
        {"method": ["method.py"]},
        lambda cell: ("method",),
        lambda cell: (),
        lambda cell: "FENCHEL_WW_TRAIN=… python make.py",
    )
    StampedLedger(study).add([{"data": "a", "passes": 4.0}, {"data": "b", "passes": 9.0}])
    before = file.read_text(encoding="utf-8")
    (tmp_path / "method.py").write_text("step = 2\n", encoding="utf-8")
    count, difference, row = replay.replay(study, stale_rows(study, Accepted(tmp_path / "accepted.json"))[0])
    # row b was not made again
    assert (count, row, difference.size) == (1, "paper data=a", pytest.approx(size))
    monkeypatch.setattr(provenance, "every_study", lambda: [study])
    monkeypatch.setattr("sys.argv", ["replay.py"])
    replay.main()
    said = capsys.readouterr().out
    assert f"1 rows made again, {f'largest relative difference {size:.1e}' if size else 'all the same'}" in said
    assert "1 stale pairs" in said
    # nothing is stored, and the row is as stale as before
    assert file.read_text(encoding="utf-8") == before
    assert len(stale_rows(study, Accepted(tmp_path / "accepted.json"))) == 2
