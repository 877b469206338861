"""The Q-measure of quantification: the harmonic mean of recall and of the agreement of numbers of positives."""


def delta(fn, fp, n_pos, n_neg, parameter=None):
    """1 - 2 r a / (r + a); 0/0 is 0."""
    recall, agreement = 1 - fn / n_pos, 1 - abs(fp - fn) / max(n_pos, n_neg)
    return 1 - (2 * recall * agreement / (recall + agreement) if recall + agreement else 0.0)


def parameters(y):
    """Every kind of parameter of the measure; None if it has none."""
    return [None]
