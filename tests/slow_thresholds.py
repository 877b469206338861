"""Thresholds by trying all of them: slow and right."""

import numpy as np
from scipy.optimize import minimize


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


def slow_calibration(scores, positive):
    """The probabilities of Platt's targets with a quadratic function of the score, by a general minimizer."""
    u = (scores - np.mean(scores)) / (np.std(scores) or 1.0)
    n_pos = np.sum(positive)
    targets = np.where(positive, (n_pos + 1) / (n_pos + 2), 1 / (len(scores) - n_pos + 2))

    def loss(a):
        logits = a[0] + a[1] * u + a[2] * u**2
        return np.sum(np.logaddexp(0.0, logits) - targets * logits) + 0.5e-6 * a @ a

    a = minimize(loss, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 4000}).x
    return 1 / (1 + np.exp(-(a[0] + a[1] * u + a[2] * u**2)))


def slow_held_out_losses(scores, risk, probabilities):
    """For each number of predicted positives that a threshold can have, the loss of the expected errors.

    The probabilities are scaled to the number of positives; between whole numbers of true positives a loss is linear.
    """
    n_pos, n_neg = np.sum(risk.labels > 0), np.sum(risk.labels < 0)
    losses = {}
    for t in [*scores, -np.inf]:
        above = scores > t
        m = int(np.sum(above))
        tp = np.sum(probabilities[above]) * n_pos / np.sum(probabilities)
        if risk.name in ("accuracy", "roc_auc"):
            # these are linear in the weights of the errors
            losses[m] = slow_loss(risk, n_pos - tp, m - tp)
            continue
        tp = min(max(tp, 0, m - n_neg), m, n_pos)
        low = int(np.floor(tp + 1e-12))
        if abs(tp - low) < 1e-12:
            losses[m] = slow_loss(risk, n_pos - low, m - low)
        else:
            ends = [slow_loss(risk, n_pos - count, m - count) for count in (low, low + 1)]
            losses[m] = (1 - tp + low) * ends[0] + (tp - low) * ends[1]
    if not np.any(np.isfinite(list(losses.values()))):
        losses = {count: abs(count - n_pos) for count in losses}
    return losses
