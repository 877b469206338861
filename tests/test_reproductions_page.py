"""The table of the papers names every numbered item once, and only files that are there."""

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
#: ranges have a long dash there
PAGE = (ROOT / "reproductions" / "README.md").read_text(encoding="utf-8").replace("\u2013", "-")
#: what is numbered in each paper
NUMBERED = {
    "Saha 2009": {"Definition": "1-3", "Theorem": "4-8", "Algorithm": "1-3", "Table": "1", "Figure": "1-5"},
    "Zhang 2012": {
        "Assumption": "1-2",
        "Theorem": "3-5 7",
        "Proposition": "6",
        "Remark": "8",
        "Lemma": "9",
        "Algorithm": "1-4",
        "Table": "1-2",
        "Figure": "1-32",
    },
    "Zhang 2002": {"Algorithm": "1-3", "Proposition": "A.1", "Table": "1-2", "Figure": "1-7"},
    "Zhang 2010": {"Theorem": "1-2 5-6", "Lemma": "3-4", "Algorithm": "1-2", "Table": "1"},
    "Wang 2021": {
        "Definition": "3.1 4.1 A.2 A.8 A.10 A.11 A.13 A.18-A.20",
        "Theorem": "3.4 3.6 A.3",
        "Proposition": "3.2 3.5 A.4 A.5 A.29",
        "Corollary": "3.3 A.17 A.25",
        "Lemma": "A.1-A.28",
        "Algorithm": "1-2",
        "Subroutine": "3-5",
        "Table": "1-9",
        "Figure": "1-3",
    },
}
_KINDS = "|".join({kind for kinds in NUMBERED.values() for kind in kinds})
_ITEMS = re.compile(rf"({_KINDS}|Corollarie)(?:s?)\s((?:[A-Z]\.)?\d[\dA.]*(?:(?:, |-)(?:[A-Z]\.)?\d[\d.]*)*)")


def expanded(numbers):
    """Each number of a list of numbers and ranges."""
    found = []
    for part in re.split(r"[ ,]+", numbers):
        first, _, last = part.partition("-")
        if not last:
            found.append(first)
            continue
        letter = first[:2] if first.startswith("A.") else ""
        low, high = (int(end.removeprefix("A.")) for end in (first, last))
        found += [f"{letter}{number}" for number in range(low, high + 1)]
    return found


def rows():
    """The cells of the table's rows."""
    lines = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines][1:]


@pytest.mark.parametrize("paper", NUMBERED)
def test_every_numbered_item_of_a_paper_is_there_once(paper):
    found = Counter()
    for cells in rows():
        if cells[0] == paper:
            for kind, numbers in _ITEMS.findall(re.sub(r"\([^)]*\)", "", cells[1])):
                found.update((kind.replace("Corollarie", "Corollary"), number) for number in expanded(numbers))
    wanted = Counter((kind, number) for kind, numbers in NUMBERED[paper].items() for number in expanded(numbers))
    assert found == wanted


def test_every_row_has_six_cells_and_a_known_paper():
    assert len(rows()) > 50
    for cells in rows():
        assert len(cells) == 6, cells
        assert cells[0] in NUMBERED, cells


def test_files_and_commands_of_the_table_are_there():
    named = [name for cells in rows() for name in re.findall(r"`([^`]*)`", " ".join(cells[2:5]))]
    files = [name for name in named if re.fullmatch(r"[\w/]+(?:\.py|/)", name)]
    files += [name for command in named for name in re.findall(r"python ([\w/]+\.py)", command)]
    assert len(files) > 60
    missing = [file for file in files if not any((ROOT / base / file).exists() for base in ("", "src/fenchel"))]
    assert not missing
