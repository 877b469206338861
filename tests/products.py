"""Which cases of a large product run by default: enough that every two values meet.

A law over loss x storage x intercept x weights x solver has thousands of cases, and what breaks it nearly always needs
no more than two of them together.  So a plain run takes for each test function a few of its cases in which every pair
of values that occurs in the whole product still occurs; ``--full-products`` (``make test-all``) takes all.

Nothing is written in the tests for this: tests/conftest.py reads the axes from their parametrizations.  A function of
one or two axes keeps all its cases.  ``@pytest.mark.meetings(1)`` asks only that each value occurs, for laws whose
cases are expensive (each compiles loops of its own, say), ``@pytest.mark.meetings(3)`` that every three values meet.
Functions of several files with the same ``law="..."`` count as one function.  ``only=["dtype", "layout"]`` names the
axes whose values have to meet; those of the others come in turn.  Arguments of a ``functools.partial`` are no value:
scikit-learn's checks have the name of the estimator there.
"""

import dataclasses
import functools
import itertools

import numpy as np


def axes_of(parameters):
    """A parametrization as {axis: value that can be hashed}; a dataclass is an axis for each of its fields."""
    axes = {}
    for name, value in parameters.items():
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            # its class is an axis too: cases of two kinds may share fields
            axes[name] = type(value)
            for field in dataclasses.fields(value):
                axes[f"{name}.{field.name}"] = _hashed(getattr(value, field.name))
        else:
            axes[name] = _hashed(value)
    return axes


def _hashed(value):
    if isinstance(value, functools.partial):
        return value.func, repr(value.keywords)
    try:
        hash(value)
    except TypeError:
        return type(value), repr(value)
    # 0, 0.0 and False are three values
    return type(value), value


def kept_calls(calls, mark):
    """Those of one function's parametrizations (pytest's call specs) that a plain run takes, by its ``meetings``."""
    # what is expected to fail stands for nothing else
    expected = [any(one.name == "xfail" for one in call.marks) for call in calls]
    kept = set()
    for failing in (False, True):
        places = [place for place, fails in enumerate(expected) if fails is failing]
        kept.update(places[one] for one in _chosen([calls[place].params for place in places], mark))
    return [calls[place] for place in sorted(kept)]


def left_out(items):
    """The set of pytest's items that a plain run does without, of laws that several functions share."""
    laws, left = {}, set()
    for item in items:
        mark = item.get_closest_marker("meetings")
        if mark and "law" in mark.kwargs:
            key = mark.kwargs["law"], item.get_closest_marker("xfail") is None
            laws.setdefault(key, []).append(item)
    for cases in laws.values():
        chosen = _chosen([case.callspec.params for case in cases], cases[0].get_closest_marker("meetings"))
        left.update(set(cases) - {cases[place] for place in chosen})
    return left


def _chosen(parametrizations, mark):
    """Places of the cases to take; every two values meet in those of a function without a mark."""
    rows = [axes_of(parameters) for parameters in parametrizations]
    return covering(rows, *(mark.args if mark else (2,)), only=mark and mark.kwargs.get("only"))


def covering(rows, strength=2, only=None):
    """Places of some of the rows ({axis: value}), in order, in which all meetings of ``strength`` values occur.

    With ``only``, those of the values of these axes.
    Greedy: the row with most new meetings; of several, that whose values were taken least so far.
    """
    if only is None and all(len(row) <= strength for row in rows):
        # each row is a meeting of its own, and the search below would ask all rows for each
        return sorted({tuple(row.items()): place for place, row in reversed(list(enumerate(rows)))}.values())
    # a number for each value, and for each meeting: tuples would be hashed again and again
    values, numbers, masks = {}, {}, []
    rows = [{axis: values.setdefault((axis, value), len(values)) for axis, value in row.items()} for row in rows]
    for row in rows:
        mask, places = 0, [value for axis, value in row.items() if only is None or axis in only]
        for meeting in itertools.combinations(places, min(strength, len(places))):
            mask |= 1 << numbers.setdefault(meeting, len(numbers))
        masks.append(mask)
    longest = max(map(len, rows), default=0)
    # the last value is that of a row without a further axis, and is never taken
    table = np.array([[*row.values(), *[len(values)] * (longest - len(row))] for row in rows], dtype=np.intp)
    taken = np.zeros(len(values) + 1, dtype=np.intp)
    missing, chosen, gains = (1 << len(numbers)) - 1, [], range(len(rows))
    while missing:
        # a row without new meetings has none later
        gains = {place: gain for place in gains if (gain := (masks[place] & missing).bit_count())}
        most = max(gains.values())
        ties = [place for place, gain in gains.items() if gain == most]
        best = ties[int(taken[table[ties]].sum(axis=1).argmin())]
        chosen.append(best)
        taken[table[best, : len(rows[best])]] += 1
        missing &= ~masks[best]
    return sorted(chosen)
