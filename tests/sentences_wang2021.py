"""What the stored runs of Wang and Scott (2021) come to, in the words of their page."""

# ruff: noqa: RUF001 (typographic signs in sentences for people)

import json
import statistics

from reproductions.wang2021 import paper, race, tables
from reproductions.wang2021.origin import TABLES

_LAST = paper.DECAYS[-1]


def cells_of(name):
    """The rows of a file."""
    return json.loads((race.RESULTS / f"{name}.json").read_text(encoding="utf-8"))["cells"]


def middle(found, data, decay):
    """The median over C of the medians over the seeds."""
    own = [statistics.median(values) for (name, _, at), values in found.items() if (name, at) == (data, decay)]
    return statistics.median(own)


def shown(values):
    """The median and the spread."""
    return f"{statistics.median(values):.2f}", f"[{min(values):.2f}–{max(values):.2f}"


def sentences():
    """All of them, by name."""
    return {**_figures(), **_tables()}


def _figures():
    """Figures 1 and 2."""
    cells = cells_of("race")
    theirs, ours = (race.ratios(cells, authors) for authors in (True, False))
    satimage, sector = (theirs[data, 0, 0.009] for data in ("satimage", "sector"))
    own = [" ".join(shown(ours[data, 0, 0.009])) + "]" for data in ("satimage", "sector")]
    few = ("dna", "satimage", "news20", "letter")
    kept = [f"{middle(theirs, data, 0.009):.2f}" for data in (*few[:3], "letter", "sector", "thousand")]
    names = ("DNA, 3 classes", "SATIMAGE, 6", "NEWS20, 20", "LETTER, 26", "SECTOR, 105", "1,000 classes")
    at_last = {
        data: [statistics.median(v) for (name, _, at), v in theirs.items() if (name, at) == (data, _LAST)]
        for data in few
    }
    low = [middle(ours, data, 0.009) for data in few]
    # early and late iterations
    for data, last in (("letter", _LAST), ("news20", _LAST), ("sector", 0.009), ("thousand", 0.009)):
        assert middle(theirs, data, 0.09) < middle(theirs, data, last)
    apart, gaps = race.same_accuracy(cells), {}
    for cell in cells:
        place = (*(cell[field] for field in ("data", "exponent", "seed")), cell["contender"] in race.OURS)
        gaps.setdefault(place, []).append(cell["first_gap"])
    assert max(map(abs, apart)) < 5e-3
    slow = statistics.median(theirs["news20", -6, _LAST])
    letter = "and".join(f" {value} " for value in sorted({f"{value:.2f}" for value in at_last["letter"]})).strip()
    return {
        "satimage": f"{shown(satimage)[0]} times {shown(satimage)[1]} over the seeds]",
        "sector": f"{' '.join(shown(sector))}] on SECTOR. In ours {own[0]} and {own[1]}",
        "medians": f"of {', '.join(f'{value} ({name})' for value, name in zip(kept, names, strict=True))}",
        "ours few": f"up to 26 classes ({min(low):.1f} to {max(low):.1f})",
        "ours many": f"SECTOR ({middle(ours, 'sector', 0.009):.2f})",
        "ours most": f"on 1,000 classes ({middle(ours, 'thousand', 0.009):.2f})",
        "late": f"at every C (medians {letter}) and NEWS20 at C = 1/64 ({slow:.2f})",
        "late satimage": f"no slower ({min(at_last['satimage']):.2f} to {max(at_last['satimage']):.2f})",
        "growing": "LETTER, NEWS20, SECTOR and 1,000 classes, whose medians over C grow from δ = 0.09 to the last",
        "accuracies": "equal to 0.005 points in all pairs of runs",
        "first gaps": f"{max(max(own) / min(own) for own in gaps.values()):.5f} at most",
        "aloi": f"{statistics.median(theirs['thousand', 0, 0.009]):.2f} at δ = 0.009",
    }


def _tables():
    """Tables 4 to 7, and the choice of C."""
    cells = cells_of("runs")
    without = {cell["data"] for cell in cells if "provenance" not in cell}
    older = [data.upper() for data in ("letter", "sector", "mnist") if data in without]
    assert len(older) == len(without)
    assert sum("provenance" not in cell for cell in cells) == TABLES.older
    costs, first, same = {}, [], []
    for data in paper.SETS:
        found = {
            decay: {
                exponent: statistics.mean(one["accuracy"] for one in here)
                for exponent in paper.EXPONENTS
                if (here := tables.found_at(cells, data, exponent, decay))
            }
            for decay in paper.DECAYS
        }
        (_, early), (second, cost), (third, _) = tables.best_exponents(found)
        first.append(early)
        if second == third:
            same.append(data.upper())
        else:
            costs[data.upper()] = cost
    printed = []
    for data in paper.SETS:
        known = {
            d: dict(zip(paper.EXPONENTS, paper.ACCURACIES[data][i], strict=True)) for i, d in enumerate(paper.DECAYS)
        }
        printed.append(tables.best_exponents(known)[0][1])
    return {
        "same C": f"the best C is the same on {same[0]}, {same[1]} and {same[2]}",
        "other C": f"costs {max(costs.values()):.2f} points at most",
        "early C": f"up to {max(first):.2f} points here and {max(printed):.2f} in the paper's own tables",
        "older": f"Those of {', '.join(older[:-1])} and {older[-1]} are older than the hashes",
    }
