"""What the stored runs of Wang and Scott (2021) come to, in the words of their page."""

# ruff: noqa: RUF001 (typographic signs in sentences for people)

import json
import statistics

from reproductions.wang2021 import paper, race, tables
from reproductions.wang2021.origin import TABLES

_LAST = paper.DECAYS[-1]
#: rows of letter.scale.t
_LETTER_TEST_ROWS = 5_000


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


def programs_over_ours(cells, data, inner):
    """Seconds of the authors' program over ours to 0.009: the median over C and seeds."""
    found = {}
    for cell in cells:
        at = next((one["seconds"] for one in cell["crossings"] if one["decay"] == 0.009), None)
        if cell["data"] == data and at:
            found[cell["exponent"], cell["seed"], cell["contender"]] = at
    pairs = [(key, seconds) for key, seconds in found.items() if key[2] == inner]
    both = [
        found[*key[:2], f"authors' {inner}"] / own for key, own in pairs if (*key[:2], f"authors' {inner}") in found
    ]
    return f"{statistics.median(both):.2f}"


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
    every = ("dna", "satimage", "mnist", "news20", "letter", "sector", "thousand")
    kept = [f"{middle(theirs, data, 0.009):.2f}" for data in every]
    names = ["DNA, 3 classes", "SATIMAGE, 6", "MNIST, 10", "NEWS20, 20", "LETTER, 26", "SECTOR, 105", "1,000 classes"]
    at_last = {
        data: [statistics.median(v) for (name, _, at), v in theirs.items() if (name, at) == (data, _LAST)]
        for data in few
    }
    low = [middle(ours, data, 0.009) for data in (*few, "mnist")]
    # early and late iterations
    for data, last in (
        ("letter", _LAST),
        ("news20", _LAST),
        *((data, 0.009) for data in ("mnist", "sector", "thousand")),
    ):
        assert middle(theirs, data, 0.09) < middle(theirs, data, last)
    apart, gaps = race.same_accuracy(cells), {}
    for cell in cells:
        place = (*(cell[field] for field in ("data", "exponent", "seed")), cell["contender"] in race.OURS)
        gaps.setdefault(place, []).append(cell["first_gap"])
    assert max(map(abs, apart)) < 5e-3
    aloi = [shown(found["thousand", 0, 0.009]) for found in (theirs, ours)]
    assert statistics.median(theirs["thousand", 0, 0.009]) < 0.5 < 1.0 < statistics.median(ours["thousand", 0, 0.009])
    slow = statistics.median(theirs["news20", -6, _LAST])
    letter = "and".join(f" {value} " for value in sorted({f"{value:.2f}" for value in at_last["letter"]})).strip()
    program = [", ".join(programs_over_ours(cells, data, inner) for data in every) for inner in race.OURS]
    return {
        "satimage": f"{shown(satimage)[0]} times {shown(satimage)[1]} over the seeds]",
        "sector": f"{' '.join(shown(sector))}] on SECTOR. In ours {own[0]} and {own[1]}",
        "medians": f"of {', '.join(f'{value} ({name})' for value, name in zip(kept, names, strict=True))}",
        "ours few": f"up to 26 classes ({min(low):.1f} to {max(low):.1f})",
        "ours many": f"Walrus on SECTOR ({middle(ours, 'sector', 0.009):.2f})",
        "ours most": f"and on 1,000 classes ({middle(ours, 'thousand', 0.009):.2f})",
        "late": f"at every C (medians {letter}) and NEWS20 at C = 1/64 ({slow:.2f}), and MNIST",
        "late mnist": f"MNIST at C = 1/64 and δ = 0.009 ({statistics.median(theirs['mnist', -6, 0.009]):.2f})",
        "program walrus": f"are {program[0]} for Walrus",
        "program greedy": f"and {program[1]} for greedy",
        "late satimage": f"no slower ({min(at_last['satimage']):.2f} to {max(at_last['satimage']):.2f})",
        "growing": "LETTER, NEWS20, MNIST, SECTOR and 1,000 classes, whose medians over C grow from δ = 0.09 to the",
        "accuracies": "equal to 0.005 points in all pairs of runs",
        "first gaps": f"{max(max(own) / min(own) for own in gaps.values()):.5f} at most",
        "aloi": f"{aloi[0][0]} at δ = 0.009 {aloi[0][1]} over the seeds]; in ours {' '.join(aloi[1])}]",
    }


def _tables():
    """Tables 4 to 7, and the choice of C."""
    cells = cells_of("runs")
    older = [cell for cell in cells if "provenance" not in cell]
    assert {cell["data"] for cell in older} == {"mnist"}
    assert sum("provenance" not in cell for cell in cells) == TABLES.older
    costs, first, same, unchanged = {}, [], [], []
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
            assert abs(second - third) == 1
            costs[data.upper()] = cost
    printed = []
    for data in paper.SETS:
        known = {
            d: dict(zip(paper.EXPONENTS, paper.ACCURACIES[data][i], strict=True)) for i, d in enumerate(paper.DECAYS)
        }
        found = tables.best_exponents(known)
        printed.append(found[0][1])
        unchanged.append(found[1][0] == found[2][0])
    assert all(unchanged)
    share = statistics.mean(one["accuracy"] for one in tables.found_at(cells, "letter", -3, _LAST)) / 100.0
    error = 100.0 * (share * (1.0 - share) / _LETTER_TEST_ROWS) ** 0.5
    moved, kept = (f"{', '.join(list(names)[:-1])} and {list(names)[-1]}" for names in (costs, same))
    small = max(value for data, value in costs.items() if data != "LETTER")
    return {
        "same C": f"the best C is the same on {kept}, and half or twice as large on {moved}",
        "other C": f"costs {costs['LETTER']:.2f} points at most (LETTER, whose {_LETTER_TEST_ROWS:,} test rows",
        "standard error": f"a standard error of {error:.2f}; {small:.2f} on the others)",
        "early C": f"up to {max(first):.2f} points here and {max(printed):.2f} in the paper's own tables",
        "older": f"Those of MNIST from C = {2 ** min(cell['exponent'] for cell in older)} on are older than the hashes",
    }
