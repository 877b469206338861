"""The measured cells as a Markdown table, and what they say about the goals."""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.report import markdown_table
from benchmarks.speed.contenders import CONTENDERS, Fenchel, FenchelIntercept

Cell = dict[str, Any]


def markdown(cells: list[Cell]) -> str:
    """One row for each data set, C and target; notes and the goals below."""
    if not cells:
        return "(not measured yet)"
    names = [name for name in CONTENDERS if any(cell["contender"] == name for cell in cells)]
    rows = []
    for row in _rows(cells):
        first = next(iter(row.values()))
        own = row.get(Fenchel.name)
        found = [_cell_text(row.get(name), own) for name in names]
        rows.append([_label(first), f"{first['C']:g}", f"{first['target']:g}", *found, _advantage_text(row)])
    table = markdown_table(["data set", "C", "target", *names, "fastest peer ÷ Fenchel"], rows)
    return "\n\n".join([table, *_notes(cells), *_goals(cells)])


def _goals(cells: list[Cell]) -> list[str]:
    """The goals of the issue against what was measured."""
    lines = []
    for target in sorted({cell["target"] for cell in cells}, reverse=True):
        rows = [row for row in _rows(cells) if next(iter(row.values()))["target"] == target]
        sparse = [row for row in rows if next(iter(row.values()))["sparse"]]
        known = [factor for factor in map(_advantage, sparse) if factor is not None]
        if known:
            lines.append(
                f"Target {target:g}, sparse sets: the fastest peer takes {statistics.median(known):.2f} times "
                f"Fenchel's time in the median of {len(known)} cells (goal: at least 2), {min(known):.2f} at worst."
            )
        costs = [cost for cost in map(_intercept_cost, rows) if cost is not None]
        if costs:
            lines.append(
                f"Target {target:g}, all sets: with intercept Fenchel takes {statistics.median(costs):.2f} times as "
                f"long as without in the median of {len(costs)} cells (goal: at most 1.5), {max(costs):.2f} at worst."
            )
    return lines


def _rows(cells: list[Cell]) -> list[dict[str, Cell]]:
    """Cells by contender, grouped by data set, C and target."""
    rows: dict[tuple[str, float, float], dict[str, Cell]] = {}
    for cell in cells:
        rows.setdefault((cell["data"], cell["C"], cell["target"]), {})[cell["contender"]] = cell
    return list(rows.values())


def _label(cell: Cell) -> str:
    return f"{cell['data']} ({cell['description']})"


def _cell_text(cell: Cell | None, own: Cell | None) -> str:
    if cell is None or cell["status"] == "skipped":
        return "–"
    if cell["status"] == "cap":
        return f"> {cell['cap']:g} (cap hit)"
    if cell["status"] == "stopped":
        return f"not reached: {cell['reason']} after {_seconds(cell['seconds'][0])} at {cell['suboptimality']:.1e}"
    text = f"{_seconds(cell['median'])} [{_seconds(cell['least'])}–{_seconds(cell['most'])}]"
    if own is not None and own is not cell and own["status"] == "reached":
        text += f" ×{cell['median'] / own['median']:.2f}"
    return text + (f" ({cell['missed']} runs missed)" if cell.get("missed") else "")


def _seconds(seconds: float) -> str:
    return f"{seconds:.3g}"


def _advantage(row: dict[str, Cell]) -> float | None:
    """The fastest peer's time over Fenchel's; the cap stands in for whoever did not get there, so it is a bound."""
    own = row.get(Fenchel.name)
    peers = [cell for name, cell in row.items() if name not in (Fenchel.name, FenchelIntercept.name)]
    taken = [cell for cell in peers if cell["status"] != "skipped"]
    reached = [cell["median"] for cell in taken if cell["status"] == "reached"]
    if own is None or not taken:
        return None
    if own["status"] != "reached":
        return float(min(reached) / own["cap"]) if reached else None
    return float((min(reached) if reached else own["cap"]) / own["median"])


def _advantage_text(row: dict[str, Cell]) -> str:
    factor = _advantage(row)
    if factor is None:
        return "–"
    own_reached = row[Fenchel.name]["status"] == "reached"
    peer_reached = any(
        cell["status"] == "reached" for name, cell in row.items() if name not in (Fenchel.name, FenchelIntercept.name)
    )
    bound = "" if own_reached and peer_reached else ("> " if own_reached else "< ")
    return f"{bound}{factor:.2f}"


def _intercept_cost(row: dict[str, Cell]) -> float | None:
    own, other = row.get(Fenchel.name), row.get(FenchelIntercept.name)
    if own is None or other is None or own["status"] != "reached":
        return None
    taken = {"reached": other.get("median"), "cap": other["cap"]}.get(other["status"])
    return None if taken is None else float(taken / own["median"])


def _notes(cells: list[Cell]) -> list[str]:
    """What a reader must know to read the numbers."""
    rounds = sorted({len(cell["seconds"]) for cell in cells if cell["status"] == "reached"})
    caps = sorted({cell["cap"] for cell in cells})
    notes = [
        f"Seconds: median [least–most] of {' or '.join(map(str, rounds)) or 'no'} interleaved runs, one thread, and × "
        f"Fenchel's median; cap {' or '.join(f'{cap:g}' for cap in caps)} s a run. Target: relative suboptimality, "
        "judged from the weights."
    ]
    coarse = {(c["data"], c["C"], c["reference_gap"]) for c in cells if c["reference_gap"] > 0.1 * c["target"]}
    notes += [
        f"The optimum of {name}, C = {C:g}, is known to a relative gap of {gap:.1e} only: everyone is judged by the "
        "lower bound, hence too strictly by so much."
        for name, C, gap in sorted(coarse)
    ]
    return notes
