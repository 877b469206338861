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


def slow_held_out_losses(scores, risk):
    """For each number of predicted positives that a threshold can have, the mean loss of those nearby.

    Nearby are numbers that differ by at most the number of true positives to the power 2/3, rounded.
    """
    losses, hits = {}, {}
    for t in [*scores, -np.inf]:
        above = scores > t
        fn, fp = np.sum(~above & (risk.labels > 0)), np.sum(above & (risk.labels < 0))
        losses[int(np.sum(above))] = slow_loss(risk, fn, fp)
        hits[int(np.sum(above))] = np.sum(above & (risk.labels > 0))
    if not np.any(np.isfinite(list(losses.values()))):
        losses = {count: abs(count - np.sum(risk.labels > 0)) for count in losses}
    found = {}
    for count, loss in losses.items():
        reach = round(hits[count] ** (2 / 3))
        near = [other for k, other in losses.items() if abs(k - count) <= reach and np.isfinite(other)]
        found[count] = np.mean(near) if np.isfinite(loss) else np.inf
    return found
