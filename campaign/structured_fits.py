"""Random fits of rankings, of several labels and of labelled sequences, with the problems that they stand for."""

import numpy as np

import fenchel
from campaign import structured
from campaign.cases import one_of
from campaign.estimators import Fit, in_one_table, of_measure
from campaign.fits import LABELS, PENALTIES
from fenchel.designs import ChainDesign
from fenchel.regularizers import L2
from fenchel.risks import RANKINGS, MultilabelHinge

#: transitions=: whether there are weights of pairs of labels, and of first and last labels
TRANSITIONS = {"full": (True, True), "pairs": (True, False), "none": (False, False)}
#: measures of several labels
MEASURES = ("f1", "fbeta", "prbep")


def linear_ranker(draw):
    """LinearRanker: any loss, with ridge, lasso or elastic net."""
    kind, (parameters, regularizer) = one_of(draw.rng, list(RANKINGS)), draw.penalty(tuple(PENALTIES))
    data = grades, queries, weights = structured.ranking(draw.rng, draw.n, draw.weighting)
    risk, labels, parameter = structured.ranking_risk(draw.rng, kind, *data)
    draw.note(loss=kind, weights=draw.weighting, intercept=False)
    gain, k = parameter or ("exponential", None)
    estimator = fenchel.LinearRanker(kind, gain=gain, k=k, **draw.common(**parameters))
    case = draw.structured_case(kind, risk, labels, regularizer, parameter)
    return Fit(draw, estimator, grades, weights, lambda _: [case], more={"qid": queries})


def sequence_classifier(draw):
    """SequenceClassifier: both losses, with and without weights of pairs and ends."""
    loss, transitions = one_of(draw.rng, ("hinge", "logistic")), one_of(draw.rng, list(TRANSITIONS))
    labels, lengths, weights, count = structured.chains(draw.rng, draw.n, draw.weighting)
    draw.note(loss=f"chain_{loss}", weights=draw.weighting, intercept=False, labels=draw.labels, classes=count)
    pairs, ends = TRANSITIONS[transitions]
    design = ChainDesign(draw.X, count, transitions=pairs, ends=ends)
    risk, exact = structured.chain_risk(f"chain_{loss}", labels, lengths, weights, count)
    rows = structured.chain_rows(draw.rows, count, pairs, ends)
    case = draw.structured_case(f"chain_{loss}", risk, exact, L2(), count, design, rows)
    return Fit(
        draw, fenchel.SequenceClassifier(loss, transitions=transitions, **draw.common()),
        np.array(LABELS[draw.labels])[labels], weights, lambda _: [case],
        weights=lambda m: design.joined(m.coef_.T, m.transitions_, m.start_, m.end_), intercept=lambda _: 0.0,
        more={"lengths": lengths}, predict_more={"lengths": [4, 2]},
    )  # fmt: skip


def multilabel_classifier(draw):
    """MultilabelClassifier: each label alone, all in one contingency table, or pairs of labels jointly."""
    form = one_of(draw.rng, ("loss", "measure", "joint"))
    table = draw.rng.integers(0, 2, size=(draw.n, draw.k))
    # every label varies
    table[1] = 1 - table[0]
    signs, sample_weight = np.where(table == 1, 1.0, -1.0), draw.weights(form != "measure")
    (given, loss), (parameters, regularizer) = draw.loss("classification"), draw.penalty(tuple(PENALTIES))
    draw.note(form=form, classes=f"{draw.k} labels")
    own = draw.common(fit_intercept=draw.intercept, **parameters)
    if form == "joint":
        # free intercepts of a joint risk need ridge; thresholds are no part of the problem
        free = draw.intercept and regularizer.is_ridge
        case = draw.case("multilabel", MultilabelHinge(table, sample_weight), table.tolist(), regularizer,
                         sample_weight, intercept=free)  # fmt: skip
        draw.note(loss="none", intercept=free)
        estimator = fenchel.MultilabelClassifier(form="joint", surrogate="bound", **own)
        held = {} if free else {"intercept": lambda _: 0.0}
        return Fit(draw, estimator, table, sample_weight, lambda _: [case], **held)
    if form == "loss":
        cases = [draw.mean(loss, column, regularizer, sample_weight) for column in signs.T]
        return Fit(draw, fenchel.MultilabelClassifier(given, **own), table, sample_weight, lambda _: cases)
    measure, draw.micro = one_of(draw.rng, MEASURES), bool(draw.rng.random() < 0.4)
    draw.note(loss="none")
    one = of_measure(draw, measure, (2.0,) if measure == "fbeta" else (), regularizer, None)
    average = "micro" if draw.micro else "macro"
    own |= {"measure": measure, "beta": 2.0, "average": average, "surrogate": "bound", "cv": 2}
    fit = Fit(
        draw, fenchel.MultilabelClassifier(**own), table, sample_weight, lambda _: [one(column) for column in signs.T]
    )  # fmt: skip
    return in_one_table(fit, lambda: draw.stacked(one, signs)) if draw.micro else fit
