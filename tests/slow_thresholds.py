"""Thresholds by trying all of them: slow and right."""

import numpy as np


def slow_cut(scores, risk):
    """The least loss of any threshold, by trying all."""
    cuts = (*(scores > t for t in scores), np.ones(len(scores), dtype=bool))
    errors = [(np.sum(~cut & (risk.labels > 0)), np.sum(cut & (risk.labels < 0))) for cut in cuts]
    return min(slow_loss(risk, fn, fp) for fn, fp in errors)


def slow_loss(risk, fn, fp):
    n_pos, n_neg = np.sum(risk.labels > 0), np.sum(risk.labels < 0)
    if risk.name == "accuracy":
        return (fn + fp) / (n_pos + n_neg)
    if risk.name == "roc_auc":
        return fn / n_pos + fp / n_neg
    value = float(risk.delta(np.array(fn), np.array(fp)))
    return np.inf if value == -np.inf else value
