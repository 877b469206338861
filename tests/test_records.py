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


def test_the_outputs_of_a_problem_with_another_lam_have_that_lam():
    Y = np.where(np.random.default_rng(0).standard_normal((20, 2)) > 0.0, 1.0, -1.0)
    problem = Problem(Y, MeanRisk("hinge", Y), 0.1)
    assert [one.lam for one in problem.outputs_apart] == [0.1, 0.1]
    assert [one.lam for one in problem.with_lam(0.5).outputs_apart] == [0.5, 0.5]
    assert len(problem.outputs_apart[0].repeated(3).outputs_apart) == 3
