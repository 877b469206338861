"""Random fits of rankings, of several labels and of labelled sequences, with the problems that they stand for."""

import numpy as np

import fenchel
from campaign import structured
from campaign.cases import one_of
from campaign.estimators import Fit, in_one_table, of_measure
from campaign.fits import LABELS, PENALTIES
from campaign.kernels import gram_rows
from fenchel.designs import ChainDesign
from fenchel.kernels import GramNorm
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
    """SequenceClassifier: both losses, with and without weights of pairs and ends, features of pairs, and kernels."""
    loss, transitions = one_of(draw.rng, ("hinge", "logistic")), one_of(draw.rng, list(TRANSITIONS))
    labels, lengths, weights, count = structured.chains(draw.rng, draw.n, draw.weighting)
    draw.note(loss=f"chain_{loss}", weights=draw.weighting, intercept=False, labels=draw.labels, classes=count)
    pairs, ends = TRANSITIONS[transitions]
    y = np.array(LABELS[draw.labels])[labels]
    if draw.rng.random() < draw.sequence_share:
        return _sequence_kernel(draw, loss, transitions, y, (labels, lengths, weights, count))
    columns = None
    if pairs and draw.rng.random() < structured.EDGES:
        columns = draw.rng.choice(draw.d, size=min(draw.d, int(draw.rng.integers(1, 3))), replace=False).tolist()
    draw.note(edges=0 if columns is None else len(columns))
    # entries that are stored in parts are rounded to one number
    edges = None if columns is None else np.array([[float(row[k]) for k in columns] for row in draw.rows])
    risk, exact = structured.chain_risk(f"chain_{loss}", labels, lengths, weights, count, edges)
    own = exact.matrices()
    design = ChainDesign(draw.X, count, transitions=pairs, ends=ends, edge_features=own - 1)
    rows = structured.chain_rows(draw.rows, count, pairs, ends, own)
    case = draw.structured_case(f"chain_{loss}", risk, exact, L2(), count, design, rows)
    return Fit(
        draw, fenchel.SequenceClassifier(loss, transitions=transitions, edge_features=columns, **draw.common()),
        y, weights, lambda _: [case],
        weights=lambda m: design.joined(m.coef_.T, [m.transitions_, *m.edge_transitions_], m.start_, m.end_),
        intercept=lambda _: 0.0, more={"lengths": lengths}, predict_more={"lengths": [4, 2]},
    )  # fmt: skip


def _sequence_kernel(draw, loss, transitions, y, chain):
    """The same with a kernel of tokens, in the stored Gram matrix of all tokens."""
    labels, lengths, weights, count = chain
    kernel, counting = one_of(draw.rng, draw.sequence_kernels), one_of(draw.rng, ("tokens", "pairs"))
    draw.note(kernel=f"{kernel}, {counting}", regularizer="gram_norm")
    more = {"kernel": kernel, "counting": counting, "transitions": transitions}
    more |= draw.kernel_options(kernel)
    risk, exact = structured.chain_risk(f"chain_{loss}", labels, lengths, weights, count)
    counts, X = structured.pair_counts(lengths.tolist()) if counting == "pairs" else [1] * draw.n, None
    if kernel == "precomputed":
        dense = np.array([[float(entry) for entry in row] for row in draw.rows])
        X = draw.precomputed(dense)

    def cases(model):
        task = model.encode(draw.X if X is None else X, y, weights, lengths=lengths)
        gram, entries = task.design, gram_rows(task.design.tokens)
        draw.check_entries(entries, model, task.fitted["gamma_"], range(draw.n))
        rows = structured.chain_gram_rows(entries, count, counts, *TRANSITIONS[transitions])
        return [draw.structured_case(f"chain_{loss}", risk, exact, GramNorm(gram), count, gram, rows)]

    def coefficients(model):
        # the model has those times the counts; of a token with none they are zero
        alpha = np.zeros((draw.n, count))
        alpha[model.support_] = model.dual_coef_.T
        parts = alpha / np.maximum(counts, 1)[:, None], model.transitions_, model.start_, model.end_
        return np.concatenate([np.ravel(part) for part in parts])

    return Fit(
        draw, fenchel.SequenceClassifier(loss, **more, **draw.common()), y, weights, cases, X=X,
        weights=coefficients, intercept=lambda _: 0.0,
        more={"lengths": lengths}, predict_more={"lengths": [4, 2] if X is None else lengths},
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
