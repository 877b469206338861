"""Sums over labellings and sequences that are computed some at a time are those of all at once."""

import numpy as np
import pytest

from fenchel.risks import ChainHinge, ChainLogistic
from fenchel.risks.chains import labellings, sequences
from fenchel.risks.chains.labellings import Labellings


def case(kind, edges):
    rng = np.random.default_rng(8)
    lengths = [4, 1, 3, 6, 2]
    n, m = sum(lengths), 3
    features = rng.standard_normal((n, 2)) if edges else None
    return kind(rng.integers(0, m, n), lengths, m, rng.integers(0, 3, 5) + np.eye(5)[0], features), rng


@pytest.mark.parametrize("edges", [False, True])
@pytest.mark.parametrize("at_once", [1, 3, 7])
def test_bounds_of_labellings_do_not_depend_on_the_parts(monkeypatch, edges, at_once):
    risk, rng = case(ChainHinge, edges)
    # the fourth sequence has no labelling, the first has three
    owners = np.array([0, 2, 0, 1, 4, 0, 2])
    labels = rng.integers(0, 3, int(np.sum(risk.sequences.lengths[owners])))
    stored = Labellings(owners, rng.random(len(owners)), labels).stored()
    whole = risk.decomposed_form(np.zeros(0), stored)
    monkeypatch.setattr(labellings, "_LABELS_AT_ONCE", at_once)
    parts = risk.decomposed_form(np.zeros(0), stored)
    np.testing.assert_allclose(parts.theta, whole.theta, atol=1e-15)
    assert parts.conjugate(parts.theta) == pytest.approx(whole.conjugate(whole.theta), rel=1e-15)
    # more sums have more roundings
    assert parts.domain_distance(parts.theta) >= whole.domain_distance(whole.theta)


@pytest.mark.parametrize("at_once", [1, 2])
def test_sums_of_sequences_do_not_depend_on_the_parts(monkeypatch, at_once):
    risk, rng = case(ChainLogistic, edges=False)
    scores = rng.standard_normal(risk.examples)
    whole = risk.value(scores)
    monkeypatch.setattr(sequences, "_SUMS_AT_ONCE", at_once)
    assert risk.value(scores) == whole


@pytest.mark.parametrize("kind", [ChainHinge, ChainLogistic])
def test_the_projection_of_theta_itself_is_no_copy(kind):
    risk, rng = case(kind, edges=False)
    scores = rng.standard_normal(risk.examples)
    slope = risk.subgradient(scores)
    form = risk.decomposed_form(-slope, risk.decompose(scores, slope))
    assert form.project(form.theta) is form.theta
    np.testing.assert_allclose(form.project(0.5 * form.theta), 0.5 * form.theta, atol=1e-15)
