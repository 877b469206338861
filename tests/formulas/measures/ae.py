"""The absolute error of the prevalence."""


def delta(fn, fp, n_pos, n_neg, parameter=None):
    """The mean over both classes of the error of their estimated share."""
    n = n_pos + n_neg
    return (abs((n_pos - fn + fp) / n - n_pos / n) + abs((n_neg - fp + fn) / n - n_neg / n)) / 2


def parameters(y):
    """Every kind of parameter of the measure; None if it has none."""
    return [None]
