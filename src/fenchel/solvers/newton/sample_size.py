"""Sizes of the growing samples on which Newton methods start where there are many more rows than features."""

from __future__ import annotations

#: fewest rows of the first sample
_FEWEST_ROWS = 1000
#: factor by which samples grow
_GROWTH = 4
#: a sample is solved when its relative gap is below this multiple of unknowns / rows, the order of its sampling error
_STATISTICAL = 0.3


def first_size(rows: int, features: int, rows_per_feature: int) -> int:
    """Return the number of rows of the first sample: all rows, divided by the growth factor as often as allowed."""
    fewest = max(_FEWEST_ROWS, rows_per_feature * features)
    while rows >= _GROWTH * fewest:
        rows //= _GROWTH
    return rows


def next_size(rows: int, all_rows: int) -> int:
    """Return the number of rows of the next sample."""
    rows *= _GROWTH
    return rows if rows * 2 <= all_rows else all_rows


def statistical_accuracy(unknowns: int, rows: int) -> float:
    """Return the relative gap at which a sample is solved."""
    return _STATISTICAL * unknowns / rows
