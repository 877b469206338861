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

import collections
import dataclasses
import functools
import itertools


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


def left_out(items, strength=2):
    """The set of pytest's items that a plain run does without; ``strength`` is that of functions without a mark."""
    functions, left = {}, set()
    for item in items:
        if hasattr(item, "callspec"):
            mark = item.get_closest_marker("meetings")
            law = mark.kwargs.get("law") if mark else None
            # what is expected to fail stands for nothing else
            key = law or item.nodeid.partition("[")[0], item.get_closest_marker("xfail") is None
            functions.setdefault(key, []).append(item)
    for cases in functions.values():
        mark = cases[0].get_closest_marker("meetings")
        rows = [axes_of(case.callspec.params) for case in cases]
        chosen = covering(rows, *(mark.args if mark else (strength,)), only=mark and mark.kwargs.get("only"))
        left.update(set(cases) - {cases[place] for place in chosen})
    return left


def covering(rows, strength=2, only=None):
    """Places of some of the rows ({axis: value}), in order, in which all meetings of ``strength`` values occur.

    With ``only``, those of the values of these axes.
    Greedy: the row with most new meetings; of several, that whose values were taken least so far.
    """
    if only is None and all(len(row) <= strength for row in rows):
        # each row is a meeting of its own, and the search below would ask all rows for each
        return sorted({tuple(row.items()): place for place, row in reversed(list(enumerate(rows)))}.values())
    numbers, masks = {}, []
    for row in rows:
        mask, values = 0, [(axis, value) for axis, value in row.items() if only is None or axis in only]
        for meeting in itertools.combinations(values, min(strength, len(values))):
            mask |= 1 << numbers.setdefault(meeting, len(numbers))
        masks.append(mask)
    missing, chosen, taken, gains = (1 << len(numbers)) - 1, [], collections.Counter(), range(len(rows))
    while missing:
        # a row without new meetings has none later
        gains = {place: gain for place in gains if (gain := (masks[place] & missing).bit_count())}
        most = max(gains.values())
        best = min(
            (place for place, gain in gains.items() if gain == most),
            key=lambda place: sum(taken[value] for value in rows[place].items()),
        )
        chosen.append(best)
        taken.update(rows[best].items())
        missing &= ~masks[best]
    return sorted(chosen)
