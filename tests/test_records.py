"""Records with some fields changed."""

import dataclasses

import numpy as np
import pytest

from fenchel import Problem, solve
from fenchel.records import changed
from fenchel.risks import MeanRisk


def test_changed_records_are_those_of_dataclasses_and_leave_the_given_one_as_it_is():
    X = np.random.default_rng(0).standard_normal((20, 3))
    solution = solve(Problem(X, MeanRisk("squared", X[:, 0]), 0.1))
    for record, fields in ((solution, {"passes": 7.0}), (solution.path_certificate, {"scores": None, "risk": 1.0})):
        before = dict(vars(record))
        found, expected = changed(record, **fields), dataclasses.replace(record, **fields)
        assert type(found) is type(expected)
        for field in dataclasses.fields(record):
            assert getattr(found, field.name) is getattr(expected, field.name)
        assert vars(record) == before
        with pytest.raises(dataclasses.FrozenInstanceError):
            found.passes = 1.0
