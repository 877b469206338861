"""Every stored mutant can be made: a line that was moved or reworded would leave one that proves nothing, unnoticed."""

import json
from pathlib import Path

import pytest

from mutants.run import HERE, PROJECT, mutated

STORED = json.loads((HERE / "mutants.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("file", sorted({mutant["file"] for mutant in STORED}))
def test_the_line_of_every_stored_mutant_stands_once_in_its_function(file):
    text = (Path(PROJECT) / "src" / file).read_text(encoding="utf-8")
    gone = [one["id"] for one in STORED if one["file"] == file and mutated(text, one) in (None, text)]
    assert not gone, f"store others, as tests/mutants/README.md says, or the new line with the same change: {gone}"
